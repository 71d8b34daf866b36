"""TODO docstring."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from dale._arrays import Vector
from dale.history.history import History
from dale.models.preprocessing import THIN, thin

MAX_OBSERVATIONS = 768  # that a global model sees at most
OUTLIER_FACTOR = 1e4  # values are absurd from so far above the best, in units of how far the typical one is


def remove_outliers(history: History, most: int) -> History:
    """The history without absurd values, as if they had not been told: one of them would be the unit of all others.

    Absurd is what lies ``OUTLIER_FACTOR`` times as far above the best as the typical value does, the lower median of the
    thinned observations: of those around the best there are ever more, and beside them everything else is absurd.
    """
    told = history.told
    X, y = history.X[told], history.y[told]
    if not _are_outliers(y, y).any():
        return history
    sample = thin(X, y, THIN * math.sqrt(history.dimension), most)
    absurd = _are_outliers(y, y[sample] if len(sample) > 2 else y)  # of one or two the lower median is the best
    values = history.y.copy()
    values[np.flatnonzero(told)[absurd]] = np.nan
    return replace(history, y=values)


def _are_outliers(y: Vector, sample: Vector) -> np.ndarray:
    """Which values (n,) are absurd beside a sample of them. Halves, for differences may overflow."""
    best = float(np.min(y)) / 2
    typical = float(np.quantile(sample, 0.5, method="lower")) / 2 - best
    return np.asarray((y / 2 - best) / OUTLIER_FACTOR > typical) & (typical > 0)
