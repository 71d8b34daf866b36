"""Test functions by name: `get("branin")`, `get("ackley10", seed=3)`, `get("hart6:moved:rotated", seed=3)`.

A name is a fixed one (`FIXED`) or that of a family with its dimension (`FAMILIES`: "levy<d>" is levy1, levy2, ...),
followed by any of the variants ":moved" (the minimiser at a random place in the central part of the box) and ":rotated"
(rotated about its minimiser); `variants` explains why the minimum stays the same. All random choices depend on
(seed, name) only.

    paper         the functions of Sec. 4 of the paper
    development   classical functions, mostly smooth
    rugged        ill-conditioned, with steps, kinks, plateaus, ripples or noise
    illustration  the objectives of Fig. 2: GP samples, with and without quadratic regions
    real          an ODE calibration and a classifier's cross-validation

`GROUPS` holds sets of names to run together: one for each of these files, and others.
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
# To be run moved and rotated, so that neither the center of the box nor the axes help.
HIGH: tuple[str, ...] = ("ellipsoid10_1e4", "rosen10", "ackley10", "levy10", "exp10")
HIGH += ("ellipsoid20_1e4", "rosen20", "ackley20", "levy20", "exp20")
# A local polynomial is the wrong model for these and must do no harm.
GUARD = ("step", "plateau2", "ridge2", "ridge5", "noisy20")
# The functions on which the default method is compared with the best peer at each checkpoint.
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

# Evaluations in the benchmark, also for the variants; the default is 20 per dimension.
BUDGETS = {"quad2": 30, "exp2": 40, "exp2_paper": 40, "branin": 60, "hart3": 60, "hart6": 100, "rosen2": 60}
BUDGETS |= {"rosen2_small": 60, "rosen4": 120, "goldstein": 80, "camel6": 60, "shekel10": 100, "levy4": 100}
BUDGETS |= {"stybtang3": 80, "noisy": 100, "noisy20": 100, "plateau2": 60, "rastrigin2": 60, "schwefel2": 60}
BUDGETS |= {"gp_l01": 80, "gp_l005_quadratic": 80, "gp_l03_quadratic": 60, "ode": 120}


def get(name: str, seed: int = 0) -> Function:
    """The function with this name.

    Args:
        name: A fixed name or a family with its dimension, with variants: "branin", "ackley10", "hart6:moved:rotated".
        seed: Determines everything random (place, rotation, GP sample, noise): same seed, same function.

    Raises:
        ValueError: No function has this name; the message lists all names.
    """
    base, *suffixes = name.split(":")
    variants = frozenset(suffixes)
    if not variants <= set(VARIANTS) or len(suffixes) > len(variants):
        raise ValueError(
            f"expected each of the variants {', '.join(':' + v for v in VARIANTS)} at most once, got {name!r}"
        )
    if seed < 0:
        raise ValueError(f"expected a non-negative integer as seed, got {seed}")
    function = _build(base, seed)
    return vary(replace(function, budget=BUDGETS.get(base, 0), seed=seed), variants, seed)


def names() -> tuple[str, ...]:
    """All names in groups, without variants. Families exist in more dimensions than these."""
    return tuple(dict.fromkeys(name for group in GROUPS.values() for name in group))


def families() -> tuple[str, ...]:
    """The families, with <d> in place of the dimension."""
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
                raise ValueError(f"{family}: expected d of at least {least}, got {base!r}")
            return build(d, seed)
    raise ValueError(_unknown(base))


def _unknown(base: str) -> str:
    close = difflib.get_close_matches(base, [*names(), *FIXED], n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    known = f"Known: {', '.join(sorted({*names(), *FIXED}))}; in any dimension d: {', '.join(families())}"
    return f"unknown function {base!r}.{hint} {known}; each also with {' and '.join(':' + v for v in VARIANTS)}"
