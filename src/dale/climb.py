"""The best points of log EI on a box, for any model that tells its beliefs with their derivatives."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dale.acquisition import Acquisition, Curvature, log_expected_improvement_with_curvature
from dale.arrays import Matrix, Vector
from dale.beliefs import Beliefs
from dale.descent import Surface, Tolerance, descend


def climb(
    believe: Callable[[Matrix], Beliefs],
    target: float,
    starts: Matrix,
    lower: Vector | Matrix,
    upper: Vector | Matrix,
    *,
    tolerance: Tolerance,
    steps: int = 30,
) -> tuple[Matrix, Vector]:
    """Go up from each of the starting points (m, d).

    Args:
        believe: The model.
        target: The value to improve on.
        starts: Starting points.
        lower: Of the box, (d,), or of a box for each, (m, d).
        upper: The same.
        tolerance: When to stop.
        steps: At most so many.

    Returns:
        Where each has arrived, (m, d), and log EI there, (m,); NaN where the model gave none.
    """

    def below(A: Matrix) -> Surface:
        return disappointment(believe(A), target)

    tops, losses = descend(below, starts, lower, upper, tolerance=tolerance, steps=steps)
    return tops, -losses


def disappointment(beliefs: Beliefs, target: float) -> Surface:
    """-log EI with its derivatives."""
    with np.errstate(invalid="ignore", over="ignore"):
        promise, curvature = log_expected_improvement_with_curvature(beliefs.mean, beliefs.spread, target)
    return by_chain_rule(beliefs, promise, curvature)


def by_chain_rule(beliefs: Beliefs, promise: Acquisition, bends: Curvature) -> Surface:
    """Minus a function of mean and spread, with its derivatives by the coordinates."""
    m, s = beliefs.mean_slope, beliefs.spread_slope
    (value, by_mean, by_spread), (twice, both, spread_twice) = promise, bends
    with np.errstate(invalid="ignore", over="ignore"):
        slope = by_mean[:, None] * m + by_spread[:, None] * s
        along = twice[:, None] * m + both[:, None] * s
        across = both[:, None] * m + spread_twice[:, None] * s
        curvature = (
            by_mean[:, None, None] * beliefs.mean_curvature
            + by_spread[:, None, None] * beliefs.spread_curvature
            + along[:, :, None] * m[:, None, :]
            + across[:, :, None] * s[:, None, :]
        )
    usable = np.isfinite(curvature).all(axis=(1, 2))
    return Surface(
        np.where(usable & np.isfinite(slope).all(axis=1), -value, np.nan),
        -slope,
        np.where(usable[:, None, None], -curvature, 0.0),
    )
