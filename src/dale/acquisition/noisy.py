"""TODO docstring."""

from __future__ import annotations

import numpy as np

from dale._arrays import Vector
from dale.models.base import PredictionDerivatives


def std_reduction(std: Vector, error: float) -> Vector:
    """How much one more evaluation, with this standard deviation, may change a mean with this std."""
    return std**2 / np.sqrt(np.maximum(std**2 + error**2, np.finfo(float).tiny))


def with_std_reduction(beliefs: PredictionDerivatives, error: float) -> PredictionDerivatives:
    """What one more noisy evaluation may make of the mean: the same with the std t = s^2 / sqrt(s^2 + error^2).

    Where much is known already an evaluation teaches little, whatever its value. With w = s^2 + error^2,

        t' = s (s^2 + 2 error^2) / w^(3/2),   t'' = error^2 (2 error^2 - s^2) / w^(5/2).
    """
    s, e2 = beliefs.std, error**2
    w = np.maximum(s * s + e2, np.finfo(float).tiny)
    first = s * (s * s + 2 * e2) / w**1.5
    second = e2 * (2 * e2 - s * s) / w**2.5
    outer = beliefs.std_gradient[:, :, None] * beliefs.std_gradient[:, None, :]
    return beliefs._replace(
        std=std_reduction(s, error),
        std_gradient=first[:, None] * beliefs.std_gradient,
        std_hessian=first[:, None, None] * beliefs.std_hessian + second[:, None, None] * outer,
    )
