"""The probability of improvement, Phi(u) with u = (best - mean) / std.

Reference: Kushner, "A New Method of Locating the Maximum Point of an Arbitrary Multipeak Curve", J. Basic Eng. 1964.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import ndtr

from dale._arrays import Vector
from dale.acquisition.base import LOG_SQRT_2PI, Partials, standardized_gain
from dale.models.base import Prediction


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


@dataclass(frozen=True)
class ProbabilityOfImprovement:
    """Phi((best - mean) / std).

    Examples:
        >>> from dale.models import Prediction
        >>> ProbabilityOfImprovement()(Prediction([0.0, 1.0], [1.0, 0.0]), best=0.0)
        array([0.5, 0. ])
    """

    is_log: ClassVar[bool] = False

    def __call__(self, prediction: Prediction, best: float) -> Vector:
        """Values, (k,)."""
        return self.partials(prediction, best).value

    def partials(self, prediction: Prediction, best: float) -> Partials:
        """Values and first derivatives."""
        return probability_of_improvement(*prediction, best)
