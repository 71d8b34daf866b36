"""TODO docstring."""

from __future__ import annotations

import numpy as np

from dale._arrays import Vector
from dale.models.base import Beliefs


def learnt(spread: Vector, error: float) -> Vector:
    """How much one more evaluation, with this standard deviation, may change a mean with this spread."""
    return spread**2 / np.sqrt(np.maximum(spread**2 + error**2, np.finfo(float).tiny))


def as_learnt(beliefs: Beliefs, error: float) -> Beliefs:
    """What one more noisy evaluation may make of the mean: the same with the spread t = s^2 / sqrt(s^2 + error^2).

    Where much is known already an evaluation teaches little, whatever its value. With w = s^2 + error^2,

        t' = s (s^2 + 2 error^2) / w^(3/2),   t'' = error^2 (2 error^2 - s^2) / w^(5/2).
    """
    s, e2 = beliefs.spread, error**2
    w = np.maximum(s * s + e2, np.finfo(float).tiny)
    first = s * (s * s + 2 * e2) / w**1.5
    second = e2 * (2 * e2 - s * s) / w**2.5
    outer = beliefs.spread_slope[:, :, None] * beliefs.spread_slope[:, None, :]
    return beliefs._replace(
        spread=learnt(s, error),
        spread_slope=first[:, None] * beliefs.spread_slope,
        spread_curvature=first[:, None, None] * beliefs.spread_curvature + second[:, None, None] * outer,
    )
