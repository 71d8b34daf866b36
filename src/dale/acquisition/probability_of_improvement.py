"""The probability of improvement, Phi(u) with u = (best - mean) / std, and its logarithm.

With r(u) = phi(u) / Phi(u), the derivatives of log Phi(u) are -r / std by the mean and -u r / std by the std. For u far
below 0, where Phi underflows, r is computed from its logarithm.

Reference: Kushner, "A New Method of Locating the Maximum Point of an Arbitrary Multipeak Curve", J. Basic Eng. 1964.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import log_ndtr, ndtr

from dale._arrays import Vector
from dale.acquisition.base import LOG_SQRT_2PI, MAX_STANDARDIZED_GAIN, Partials, Quantity, standardized_gain
from dale.models.base import Prediction

SERIES_BELOW = -1e7  # from here on r(u) = -u to machine precision, and u^2 / 2 has no digits left


def probability_of_improvement(mean: Vector, std: Vector, best: float) -> Partials:
    """Phi(u); 0 or 1 where the outcome is certain."""
    mean, std = np.asarray(mean, dtype=float), np.asarray(std, dtype=float)
    certain, positive_std, u = standardized_gain(best - mean, std)
    with np.errstate(under="ignore", over="ignore"):
        density = np.exp(-0.5 * u**2 - LOG_SQRT_2PI)
        return Partials(
            np.where(certain, (best > mean).astype(float), ndtr(u)),
            np.where(certain, 0.0, -density / positive_std),
            np.where(certain, 0.0, -u * density / positive_std),
        )


def log_probability_of_improvement(mean: Vector, std: Vector, best: float) -> Partials:
    """log Phi(u); 0 or minus infinity where the outcome is certain."""
    if np.ndim(mean) == 0:
        return Partials(*map(np.array, _log_probability_at(best - float(mean), float(std))))
    mean, std = np.asarray(mean, dtype=float), np.asarray(std, dtype=float)
    certain, positive_std, u = standardized_gain(best - mean, std)
    with np.errstate(under="ignore", over="ignore", invalid="ignore"):
        log_Phi = log_ndtr(u)
        r = np.where(u > SERIES_BELOW, np.exp(-0.5 * u**2 - LOG_SQRT_2PI - log_Phi), -u)
        return Partials(
            np.where(certain, np.where(best > mean, 0.0, -np.inf), log_Phi),
            np.where(certain, 0.0, -r / positive_std),
            np.where(certain, 0.0, -u * r / positive_std),
        )


def _log_probability_at(gain: float, std: float) -> tuple[float, float, float]:
    """The same at one point: searches call it point by point, and arrays of one element cost ten times as much."""
    if std <= 0 or gain > MAX_STANDARDIZED_GAIN * std:
        return (0.0 if gain > 0 else -math.inf), 0.0, 0.0
    u = max(gain / std, -MAX_STANDARDIZED_GAIN)
    log_Phi = float(log_ndtr(u))
    r = math.exp(-0.5 * u * u - LOG_SQRT_2PI - log_Phi) if u > SERIES_BELOW else -u
    return log_Phi, -r / std, -u * r / std


@dataclass(frozen=True)
class LogProbabilityOfImprovement:
    """log Phi((best - mean) / std), for a cool down and for regions: a certain improvement has the value 0.

    Examples:
        >>> from dale.models import Prediction
        >>> LogProbabilityOfImprovement()(Prediction([0.0, 4.0], [1.0, 1.0]), best=0.0).round(2)
        array([ -0.69, -10.36])
    """

    is_log: ClassVar[bool] = True
    quantity: ClassVar[Quantity] = Quantity.PROBABILITY

    def __call__(self, prediction: Prediction, best: float) -> Vector:
        """Values, (k,)."""
        return self.partials(prediction, best).value

    def partials(self, prediction: Prediction, best: float) -> Partials:
        """Values and first derivatives."""
        return log_probability_of_improvement(*prediction, best)


@dataclass(frozen=True)
class ProbabilityOfImprovement:
    """Phi((best - mean) / std).

    Examples:
        >>> from dale.models import Prediction
        >>> ProbabilityOfImprovement()(Prediction([0.0, 1.0], [1.0, 0.0]), best=0.0)
        array([0.5, 0. ])
    """

    is_log: ClassVar[bool] = False
    quantity: ClassVar[Quantity] = Quantity.PROBABILITY

    def __call__(self, prediction: Prediction, best: float) -> Vector:
        """Values, (k,)."""
        return self.partials(prediction, best).value

    def partials(self, prediction: Prediction, best: float) -> Partials:
        """Values and first derivatives."""
        return probability_of_improvement(*prediction, best)
