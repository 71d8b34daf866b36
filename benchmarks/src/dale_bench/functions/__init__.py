"""Test functions by name: `get("branin")`, `get("ackley10", seed=3)`, `get("hart6:moved:rotated", seed=3)`.

A name is a fixed one (`FIXED`) or a family with its dimension (`FAMILIES`: "levy<d>" is levy1, levy2, ...), followed
by any of the variants ":moved" (the minimiser put at random in the central part of the box) and ":rotated" (turned
about its minimiser); see `variants` for how the minimum stays true. All that is random comes from (seed, name).

    paper         the functions of Sec. 4 of the paper
    development   classical ones, mostly smooth
    rugged        ill-conditioned, stepped, kinked, flat, rippled, noisy
    illustration  the objectives of Fig. 2: GP samples, with and without quadratic regions
    real          an ODE calibration and a classifier's cross-validation

`GROUPS` has sets of names to run together: one for each of these files, and others across them.
"""

import difflib
import re
from dataclasses import replace

from dale_bench.functions import development, illustration, paper, real, rugged
from dale_bench.functions.function import Function, Noise
from dale_bench.functions.variants import VARIANTS, vary

__all__ = [
    "FAMILIES",
    "FIXED",
    "GROUPS",
    "ILLUSTRATION",
    "VARIANTS",
    "Function",
    "Noise",
    "families",
    "get",
    "names",
]

FIXED = paper.FIXED | development.FIXED | rugged.FIXED | illustration.FIXED | real.FIXED
FAMILIES = paper.FAMILIES | development.FAMILIES | rugged.FAMILIES

PAPER = ("quad2", "rosen2", "rosen2_small", "branin", "hart3", "hart6", "exp2", "exp5", "exp2_paper", "exp5_paper")
DEVELOPMENT: tuple[str, ...] = (
    "camel6",
    "goldstein",
    "stybtang3",
    "levy4",
    "shekel10",
    "ackley5",
    "rosen4",
    "michalewicz5",
)
DEVELOPMENT += ("griewank4", "ellipsoid5", "step", "noisy")
RUGGED = ("rastrigin2", "rastrigin5", "schwefel2", "schwefel5", "plateau2", "ridge2", "ridge5")
ILLUSTRATION = tuple(illustration.FIXED)
# To be run moved and rotated, so that neither the middle of the box nor the axes help.
HIGH: tuple[str, ...] = ("ellipsoid10_1e4", "rosen10", "ackley10", "levy10", "exp10")
HIGH += ("ellipsoid20_1e4", "rosen20", "ackley20", "levy20", "exp20")
# Where a local polynomial is the wrong model and must do no harm.
GUARD = ("step", "plateau2", "ridge2", "ridge5", "noisy20")
# Where the best of the peers at each checkpoint is the bar to pass.
ENVELOPE: tuple[str, ...] = ("quad2", "rosen2", "branin", "hart3", "hart6", "exp5", "exp2", "camel6", "goldstein")
ENVELOPE += ("ackley5", "levy4", "stybtang3", "shekel10", "rosen4")

GROUPS: dict[str, tuple[str, ...]] = {
    "paper": PAPER,
    "development": DEVELOPMENT,
    "rugged": RUGGED,
    "illustration": ILLUSTRATION,
    "real": tuple(real.FIXED),
    "high": HIGH,
    "guard": GUARD,
    "envelope": ENVELOPE,
}

# Evaluations in the benchmark, the variants' too; the others get 20 for each dimension.
BUDGETS = {"quad2": 30, "exp2": 40, "exp2_paper": 40, "branin": 60, "hart3": 60, "hart6": 100, "rosen2": 60}
BUDGETS |= {"rosen2_small": 60, "rosen4": 120, "goldstein": 80, "camel6": 60, "shekel10": 100, "levy4": 100}
BUDGETS |= {"stybtang3": 80, "noisy": 100, "noisy20": 100, "plateau2": 60, "rastrigin2": 60, "schwefel2": 60}
BUDGETS |= {"gp_l01": 80, "gp_l005_quadratic": 80, "gp_l03_quadratic": 60, "ode": 120}


def get(name: str, seed: int = 0) -> Function:
    """The function called `name`.

    Args:
        name: A fixed name or a family with its dimension, with variants: "branin", "ackley10", "hart6:moved:rotated".
        seed: What is random about it (place, rotation, GP sample, noise) comes from here; same seed, same function.

    Raises:
        ValueError: No function has that name; the message lists those there are.
    """
    base, *suffixes = name.split(":")
    variants = frozenset(suffixes)
    if not variants <= set(VARIANTS) or len(suffixes) > len(variants):
        raise ValueError(
            f"unknown variant in {name!r}: write each of {', '.join(':' + v for v in VARIANTS)} at most once"
        )
    if seed < 0:
        raise ValueError(f"a seed is a whole number from 0 up, got {seed}")
    function = _build(base, seed)
    return vary(replace(function, budget=BUDGETS.get(base, 0), seed=seed), variants, seed)


def names() -> tuple[str, ...]:
    """The names of the benchmark, without variants: all groups; families know more dimensions than are listed."""
    return tuple(dict.fromkeys(name for group in GROUPS.values() for name in group))


def families() -> tuple[str, ...]:
    """The families, with <d> where the dimension stands."""
    return tuple(FAMILIES)


def _build(base: str, seed: int) -> Function:
    if base in FIXED:
        return FIXED[base](seed)
    number = re.search(r"[1-9][0-9]*", base)
    if number:
        family = base[: number.start()] + "<d>" + base[number.end() :]
        d = int(number.group())
        if family in FAMILIES:
            build, least = FAMILIES[family]
            if d < least:
                raise ValueError(f"{family} starts at d = {least}, got {base!r}")
            return build(d, seed)
    raise ValueError(_unknown(base))


def _unknown(base: str) -> str:
    close = difflib.get_close_matches(base, [*names(), *FIXED], n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    known = f"Known: {', '.join(sorted({*names(), *FIXED}))}; in any dimension d: {', '.join(families())}"
    return f"unknown function {base!r}.{hint} {known}; each also with {' and '.join(':' + v for v in VARIANTS)}"
