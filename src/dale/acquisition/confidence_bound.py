"""TODO docstring."""

import numpy as np

from dale._arrays import Vector
from dale.acquisition.base import Acquisition

KAPPA = 2.0  # LCB: two standard deviations


def lower_confidence_bound(mean: Vector, std: Vector, best: float) -> Acquisition:
    """-(mean - kappa std); the best value so far plays no part."""
    mean, std = np.asarray(mean, dtype=float), np.asarray(std, dtype=float)
    return Acquisition(KAPPA * std - mean, np.full_like(mean, -1.0), np.full_like(mean, KAPPA))
