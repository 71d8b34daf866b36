"""Preparation of observations: those near a center; for a global model, replicates averaged, close ones thinned.

The values that a global model sees and the points that it proposes are rounded. Its jitter makes it blind to finer
digits; these contain rounding errors, which would grow from proposal to proposal until runs that should be equal
differ.

Shapes: points X (n, d), values z (n,).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist

from dale._arrays import Matrix, Vector
from dale.models.monomials import n_terms

VALUE_RESOLUTION = 2.0**-23  # of standardised values
POINT_RESOLUTION = 2.0**-17  # of the cube's side
MIN_DISTANCE = 1e-9  # of a proposal to an observation; the tolerance of Alg. 3
GROWTH = 1.1  # of the number of observations between two fits of what is learnt from time to time
CHUNK = 128  # observations thinned together
THINNING_DISTANCE = 0.02  # times sqrt(d): of closer observations a global model sees the best


def average_replicates(X: Matrix, z: Vector, has_value: np.ndarray) -> tuple[Matrix, Vector]:
    """Points without replicates: their values averaged, and failures dropped at points that have a value.

    The model has no noise, so two values at one point would be a jump, and its variance would explode.

    Args:
        X: Points.
        z: Values.
        has_value: Which are values of the objective, rather than substitutes for failures, (n,).
    """
    # A hash of each point shows quickly that all differ; otherwise whole points are compared.
    cells = np.round(X / MIN_DISTANCE)
    if len(np.unique(np.sum(cells * np.sqrt(np.arange(2.0, X.shape[1] + 2)), axis=1))) == len(X):
        return X, z
    _, first, group = np.unique(cells, axis=0, return_index=True, return_inverse=True)
    group = group.ravel()
    counts = np.bincount(group, has_value)
    means = np.bincount(group, np.where(has_value, z, 0.0)) / np.maximum(counts, 1)
    values = np.where(counts > 0, means, z[first])
    order = np.argsort(first)  # by first occurrence
    return X[first[order]], values[order]


def last_growth(n: int) -> int:
    """The number of observations, of n, when they had last grown by a factor of ``GROWTH``.

    What is learnt from the first so many costs little, and stays a function of the observations.
    """
    return int(GROWTH ** math.floor(math.log(n, GROWTH)) + 0.5)


def quantize(values: Vector | float | list[float], resolution: float) -> Vector:
    """The nearest multiples of the resolution."""
    return np.round(np.asarray(values) / resolution) * resolution


def are_separated(A: Matrix, points: Matrix, distance: float) -> np.ndarray:
    """Which of the points A (m, d) are farther than ``distance`` from all others (n, d)."""
    if len(points) == 0:
        return np.ones(len(A), dtype=bool)
    return np.asarray(np.min(cdist(A, points), axis=1) > distance)


def thin(X: Matrix, z: Vector, distance: float, max_points: int) -> np.ndarray:
    """Indices of at most ``max_points`` observations, none of which is within ``distance`` of a better one.

    From the best to the worst, each observation is kept that is farther than ``distance`` from all kept before. If
    these are too many, the better half is kept, with an even sample of all worse ones in the order of the trials,
    thinned as well.
    """
    order = np.argsort(z, kind="stable")
    kept: list[int] = []
    for begin in range(0, len(order), CHUNK):
        chunk = order[begin : begin + CHUNK]
        if kept:
            chunk = chunk[are_separated(X[chunk], X[kept], distance)]
        near = cdist(X[chunk], X[chunk]) <= distance
        left = np.ones(len(chunk), dtype=bool)
        for i in range(len(chunk)):
            if left[i]:
                left[i + 1 :] &= ~near[i, i + 1 :]
        kept.extend(chunk[left])
        if len(kept) > max_points:
            break
    if len(kept) > max_points:
        half = max_points // 2
        worse = np.sort(order[int(np.flatnonzero(order == kept[half])[0]) :])
        sample = worse[np.linspace(0, len(worse) - 1, max_points - half).astype(int)]
        chosen = np.array([*kept[:half], *sample], dtype=int)
        return np.sort(chosen[thin(X[chosen], z[chosen], distance, max_points)])
    return np.sort(np.array(kept, dtype=int))


@dataclass(frozen=True)
class Neighbourhood:
    """Which observations take part in a model around a center.

    Attributes:
        radii: Those within so many radii, in the metric of the region ...
        terms: ... and at least so many times the terms of a quadratic ...
        max_points: ... but no more than this; more where a quadratic has more terms. The center is one more.
    """

    radii: float = 8.0
    terms: float = 3.0
    max_points: int = 120

    def limit(self, dimension: int) -> int:
        """Maximum number of observations, with the center."""
        return max(self.max_points, n_terms(dimension, 2) * 3 // 2) + 1

    def count(self, distances: Vector, dimension: int) -> int:
        """Number of observations, with the center, from the distances of all of them in radii, (n,)."""
        near = int(np.sum(distances <= self.radii))
        return min(max(near, int(self.terms * n_terms(dimension, 2)) + 1), self.limit(dimension))
