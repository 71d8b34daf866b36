"""Noise in the values: specified by the user, or detected.

A rugged function looks like a noisy one, so noise has to be proved: by two observations at the same point, or so close
to each other that no gradient seen elsewhere explains their difference. The default method asks for such a replicate
when its local models keep failing (``methods/default/replicate.py``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree
from scipy.spatial.distance import pdist

from dale._arrays import Matrix, Vector
from dale.models.transforms import Standardize

REPLICATE_DISTANCE = 1e-8  # observations this close to each other are at one point
MIN_GRADIENT_DISTANCE = 1e-2  # observations that gradients are estimated from are farther apart
GRADIENT_FACTOR = 100.0  # differences up to so many times the steepest gradient prove nothing
ROUNDING = 1e-9  # of the values' std: smaller differences prove nothing
MIN_MODELLED = 1e-4  # of the values' std: less noise needs no model
MAX_GRADIENT_POINTS = 200  # observations that gradients are estimated from


@dataclass(frozen=True, eq=False)
class NoiseEstimate:
    """The noise in the values of a run.

    Attributes:
        level: Typical standard deviation where there is any, in units of the objective; 0 for none.
        known: Standard deviations of all values, (n,), where the user gave them; else None.
        modelled: Whether the noise is large enough to need a model of its own.
    """

    level: float = 0.0
    known: Vector | None = None
    modelled: bool = False

    @classmethod
    def of(cls, X: Matrix, y: Vector, noise_std: Vector) -> NoiseEstimate:
        """From values (n,) at points (n, d), with the standard deviations (n,) that the user gave; NaN for unknown."""
        given = np.isfinite(noise_std)
        known = None
        if given.any():
            level = float(np.median(noise_std[noise_std > 0])) if np.any(noise_std > 0) else 0.0  # NaN > 0 is False
            known = np.where(given, noise_std, level)
        else:
            level = detect(X, y)
        if level == 0:
            return cls()
        return cls(level, known, bool(level > MIN_MODELLED * _std(y)))


def detect(X: Matrix, y: Vector) -> float:
    """Standard deviation of the noise that replicates among observations (n, d), (n,) prove; 0 if they prove none."""
    if len(X) < 2:
        return 0.0
    pairs = cKDTree(X).query_pairs(REPLICATE_DISTANCE, p=math.inf, output_type="ndarray")
    if len(pairs) == 0:
        return 0.0
    i, j = pairs.T
    scale = Standardize.of(y)  # squares and gradients of values around 1e155 would overflow
    z = scale(y)
    difference = np.abs(z[i] - z[j])
    explained = GRADIENT_FACTOR * _steepest(X, z) * np.max(np.abs(X[i] - X[j]), axis=1) + ROUNDING
    proved = np.any(difference > explained)
    return scale.inverse_scale(float(np.sqrt(np.mean(difference**2) / 2))) if proved else 0.0


def _std(y: Vector) -> float:
    """Standard deviation of values of any magnitude."""
    scale = Standardize.of(y)
    return scale.inverse_scale(1.0) if np.min(y) < np.max(y) else 0.0  # their difference may overflow


def _steepest(X: Matrix, z: Vector) -> float:
    """The steepest gradient of values (n,) between observations that are not neighbours."""
    if len(X) > MAX_GRADIENT_POINTS:
        sample = np.linspace(0, len(X) - 1, MAX_GRADIENT_POINTS).astype(int)
        X, z = X[sample], z[sample]
    distance = pdist(X, "chebyshev")
    far = distance > MIN_GRADIENT_DISTANCE
    gradients = pdist(z[:, None])[far] / distance[far]
    return float(np.max(gradients, initial=0.0))
