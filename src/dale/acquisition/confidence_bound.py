"""The lower confidence bound of the objective, mean - beta std, negated so that larger is better.

Reference: Srinivas, Krause, Kakade & Seeger, "Gaussian Process Optimization in the Bandit Setting", ICML 2010.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dale._arrays import Vector
from dale.acquisition.base import Partials
from dale.models.base import Prediction

BETA = 2.0  # two standard deviations


def lower_confidence_bound(mean: Vector, std: Vector, beta: float = BETA) -> Partials:
    """-(mean - beta std)."""
    mean, std = np.asarray(mean, dtype=float), np.asarray(std, dtype=float)
    return Partials(beta * std - mean, np.full_like(mean, -1.0), np.full_like(mean, beta))


@dataclass(frozen=True)
class LowerConfidenceBound:
    """-(mean - beta std); the best value so far plays no part.

    Attributes:
        beta: Number of standard deviations, at least 0.

    Examples:
        >>> from dale.models import Prediction
        >>> LowerConfidenceBound(beta=2.0)(Prediction([0.0, 1.0], [1.0, 1.0]), best=0.0)
        array([2., 1.])
    """

    beta: float = BETA
    is_log: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not (np.isfinite(self.beta) and self.beta >= 0):
            raise ValueError(f"beta: expected a finite number of at least 0, got {self.beta!r}")

    def __call__(self, prediction: Prediction, best: float) -> Vector:
        """Values, (k,)."""
        return self.partials(prediction, best).value

    def partials(self, prediction: Prediction, best: float) -> Partials:
        """Values and first derivatives."""
        return lower_confidence_bound(*prediction, self.beta)
