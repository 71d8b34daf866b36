"""TODO docstring."""

import numpy as np
from scipy.special import ndtr

from dale._arrays import Vector
from dale.acquisition.base import LOG_SQRT_2PI, Acquisition, _standardized_gain


def probability_of_improvement(mean: Vector, std: Vector, best: float) -> Acquisition:
    """Phi(u); 0 or 1 where the outcome is certain."""
    mean, std = np.asarray(mean, dtype=float), np.asarray(std, dtype=float)
    sure, safe, u = _standardized_gain(best - mean, std)
    with np.errstate(under="ignore", over="ignore"):
        density = np.exp(-0.5 * u**2 - LOG_SQRT_2PI)
        return Acquisition(
            np.where(sure, (best > mean).astype(float), ndtr(u)),
            np.where(sure, 0.0, -density / safe),
            np.where(sure, 0.0, -u * density / safe),
        )
