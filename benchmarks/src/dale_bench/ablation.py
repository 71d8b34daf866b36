"""What each part of the default method is worth: the default beside variants of it, each with one thing changed.

A variant runs as the contender ``ablation:NAME``. It can be asked for by that name, worker processes included, but is
in no list of contenders and in no comparison that does not name it.

Default and variant are compared on the seeds that both have. All regrets are divided by the median regret of the
default's first evaluations, and shares below ``LEAST_SHARE`` count as it: eight decades of every function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from dale import methods
from dale.methods.base import Method
from dale.methods.length_scale.alpha_ratio import AlphaRatio
from dale_bench.comparison import LEAST, Comparison
from dale_bench.contender import Contender, Objective
from dale_bench.ours import ask_and_tell
from dale_bench.rows import Row, curves_of

DEFAULT = "default"
PREFIX = "ablation:"
LEAST_SHARE = 1e-8


def _local(**changes: Any) -> Method:
    default = methods.default()
    assert default.local is not None
    return replace(default, local=replace(default.local, **changes))


def _global(**changes: Any) -> Method:
    return replace(methods.default(), **changes)


def _never_surprised() -> Method:
    return _global(length_scale=AlphaRatio(initial=methods.default().length_scale.initial))


VARIANTS: dict[str, Callable[[], Method]] = {
    "no-local-models": partial(_global, local=None),
    "degree-2": partial(_local, most_degree=2),
    "no-far-radii": partial(_local, far_rhos=()),
    "full-spread": partial(_local, confidence=1.0),
    "no-leaps": partial(_local, leap=False),
    "no-patience": partial(_local, patience=1),
    "even-competition": partial(_global, keep_on=1.0, turn_aside=1.0),
    "no-surprise": _never_surprised,
    "no-compression": partial(_global, compress=False),
    "few-observations": partial(_global, most=32),
}

# Smooth and rugged, none with its minimum in the middle of the box or in line with the axes.
ABLATION_FUNCTIONS = (
    "branin:moved:rotated",
    "rosen2:moved:rotated",
    "hart3:moved:rotated",
    "hart6:moved:rotated",
    "exp5:moved:rotated",
    "ackley5:moved:rotated",
    "levy4:moved:rotated",
    "stybtang3:moved:rotated",
    "rosen4:moved:rotated",
    "ellipsoid5",
    "step",
    "ridge2",
    "ridge5",
    "plateau2",
    "rastrigin2:moved:rotated",
    "gp_l01",
)


def contender_name(variant: str) -> str:
    """What a variant is called as a contender."""
    return PREFIX + variant


def is_variant(name: str) -> bool:
    """Whether a contender's name is that of a variant, known or not: rows outlive variants."""
    return name.startswith(PREFIX)


def contender_named(name: str) -> Contender | None:
    """The variant that is called so as a contender; None if there is none."""
    make = VARIANTS.get(name.removeprefix(PREFIX)) if is_variant(name) else None
    return Contender(name, partial(ask_and_tell, partial(_build, make))) if make else None


def beside_the_default(rows: Sequence[Row], variant: str) -> Comparison:
    """A variant and the default, with their regrets as shares, on all that both have run without an error."""
    pair = DEFAULT, contender_name(variant)
    done = [{(row.function, row.seed) for row in rows if row.method == m and row.error is None} for m in pair]
    both = done[0] & done[1]
    curves = curves_of(row for row in rows if row.method in pair and (row.function, row.seed) in both)
    first = {f: max(float(np.median(by[DEFAULT][:, 0])), LEAST) for f, by in curves.items()}
    return Comparison(
        {f: {m: np.maximum(runs / first[f], LEAST_SHARE) for m, runs in by.items()} for f, by in curves.items()}
    )


def _build(make: Callable[[], Method], _: Objective) -> Method:
    return make()
