"""Outliers: values so far above all others that they would set the scale of the models.

With y_min the best value and y_typ the lower median of the thinned observations, a value is an outlier if

    y - y_min > OUTLIER_FACTOR (y_typ - y_min).

Thinning matters: most observations of a converged run lie around the best one, and compared with those alone
everything else would be an outlier.
"""

from __future__ import annotations

import math

import numpy as np

from dale._arrays import Matrix, Vector
from dale.models.preprocessing import THINNING_DISTANCE, thin

MAX_OBSERVATIONS = 768  # that a global model is fitted to: its cost grows with their cube
OUTLIER_FACTOR = 1e4


def find_outliers(X: Matrix, y: Vector) -> np.ndarray:
    """Which values (n,) at points X (n, d) are outliers, (n,)."""
    if len(y) == 0 or not _far_above(y, y).any():
        return np.zeros(len(y), dtype=bool)
    sample = thin(X, y, THINNING_DISTANCE * math.sqrt(X.shape[1]), MAX_OBSERVATIONS)
    return _far_above(y, y[sample] if len(sample) > 2 else y)  # the lower median of one or two values is the best


def _far_above(y: Vector, sample: Vector) -> np.ndarray:
    """Which values (n,) lie far above a sample of them. Halves, because differences may overflow."""
    best = float(np.min(y)) / 2
    middle = (len(sample) - 1) // 2
    typical = float(np.partition(sample, middle)[middle]) / 2 - best
    return np.asarray((y / 2 - best) / OUTLIER_FACTOR > typical) & (typical > 0)
