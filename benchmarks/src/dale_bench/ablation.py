"""The contribution of each part of the default method: the default compared with variants, each with one change.

A variant runs as the contender ``ablation:NAME``. It can be selected by that name, but it is in no list of contenders
and in no comparison that does not name it.

The default and a variant are compared on the seeds that both have. All regrets are divided by the median regret of the
default's first evaluations, and ratios below ``MIN_RATIO`` count as ``MIN_RATIO``: eight decades of every function.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from dale import methods
from dale.methods.base import Method
from dale.methods.length_scale.alpha_ratio import AlphaRatio
from dale.models.preprocessing import Neighbourhood
from dale_bench.comparison import MIN_REGRET, Comparison
from dale_bench.contender import Contender, Objective
from dale_bench.ours import ask_and_tell
from dale_bench.rows import Row, curves_of

DEFAULT = "default"
PREFIX = "ablation:"
MIN_RATIO = 1e-8


def _changed(part: str, **changes: Any) -> Method:
    """The default method with some settings of a part changed."""
    default = methods.default()
    return replace(default, **{part: replace(getattr(default, part), **changes)})


def _without_variance_mismatch() -> Method:
    initial = methods.default().global_model.length_scale.initial
    return _changed("global_model", length_scale=AlphaRatio(initial=initial))


VARIANTS: dict[str, Callable[[], Method]] = {
    "no-local-models": partial(replace, methods.default(), trust_region=None),
    "degree-2": partial(_changed, "taylor", max_degree=2),
    "no-shapes": partial(_changed, "taylor", shapes=False),
    "no-structure": partial(_changed, "taylor", structured=False),
    "all-points": partial(_changed, "taylor", neighbourhood=Neighbourhood(radii=math.inf)),
    "full-std": partial(_changed, "taylor", std_factor=1.0),
    "not-calibrated": partial(_changed, "taylor", calibrated=False),
    "no-long-steps": partial(_changed, "taylor", allow_long_steps=False),
    "no-failure-tolerance": partial(_changed, "trust_region", failure_tolerance=1),
    "equal-thresholds": partial(_changed, "selection", min_ei_ratio_incumbent=1.0, min_ei_ratio_other=1.0),
    "no-wait": partial(_changed, "selection", max_wait=0),
    "no-variance-mismatch": _without_variance_mismatch,
    "no-log-transform": partial(_changed, "global_model", log_transform=False),
    "no-trend-and-ripples": partial(_changed, "global_model", trend_and_ripples=False),
    "few-observations": partial(_changed, "global_model", max_observations=32),
}

# Smooth and rugged; no function has its minimum in the center of the box or its axes along the coordinates.
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
    """The name of a variant as a contender."""
    return PREFIX + variant


def is_variant(name: str) -> bool:
    """Whether a contender is a variant. Rows on disk may name variants that no longer exist."""
    return name.startswith(PREFIX)


def contender_named(name: str) -> Contender | None:
    """The variant with this name as a contender; None if there is none."""
    make = VARIANTS.get(name.removeprefix(PREFIX)) if is_variant(name) else None
    return Contender(name, partial(ask_and_tell, partial(_build, make))) if make else None


def compared_with_default(rows: Sequence[Row], variant: str) -> Comparison:
    """A variant and the default, with relative regrets, on all (function, seed) that both have run without an error."""
    pair = DEFAULT, contender_name(variant)
    done = [{(row.function, row.seed) for row in rows if row.method == m and row.error is None} for m in pair]
    both = done[0] & done[1]
    curves = curves_of(row for row in rows if row.method in pair and (row.function, row.seed) in both)
    first = {f: max(float(np.median(by[DEFAULT][:, 0])), MIN_REGRET) for f, by in curves.items()}
    return Comparison(
        {f: {m: np.maximum(runs / first[f], MIN_RATIO) for m, runs in by.items()} for f, by in curves.items()}
    )


def _build(make: Callable[[], Method], _: Objective) -> Method:
    return make()
