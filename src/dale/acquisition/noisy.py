"""What one more noisy evaluation can teach about the mean, as a std that acquisition functions can use.

With the std s of the model and the std e of the noise, one more evaluation changes the mean by a normal variable of
std t = s^2 / sqrt(s^2 + e^2): almost s where the noise is small beside it, almost 0 where s is. Replacing s by t
rates an evaluation by what is learned from it, whatever its value. With w = s^2 + e^2,

    t' = s (s^2 + 2 e^2) / w^(3/2),   t'' = e^2 (2 e^2 - s^2) / w^(5/2).

Reference: Frazier, Powell & Dayanik, "The Knowledge-Gradient Policy for Correlated Normal Beliefs", INFORMS J. Comput.
2009.
"""

from __future__ import annotations

import numpy as np

from dale._arrays import Vector
from dale.models.base import PredictionDerivatives

TINY = float(np.finfo(float).tiny)


def std_reduction(std: Vector, noise_std: float) -> Vector:
    """t: how much one more evaluation may change a mean with this std."""
    return std**2 / np.sqrt(np.maximum(std**2 + noise_std**2, TINY))


def with_std_reduction(derivatives: PredictionDerivatives, noise_std: float) -> PredictionDerivatives:
    """The same predictions with t in place of the std."""
    s, e2 = derivatives.std, noise_std**2
    w = np.maximum(s * s + e2, TINY)
    first = s * (s * s + 2 * e2) / w**1.5
    second = e2 * (2 * e2 - s * s) / w**2.5
    outer = derivatives.std_gradient[:, :, None] * derivatives.std_gradient[:, None, :]
    return derivatives._replace(
        std=std_reduction(s, noise_std),
        std_gradient=first[:, None] * derivatives.std_gradient,
        std_hessian=first[:, None, None] * derivatives.std_hessian + second[:, None, None] * outer,
    )
