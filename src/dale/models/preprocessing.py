"""What the global models of all methods have in common: how observations are prepared and points kept apart.

Values that a global model sees and points that it proposes are rounded. Its jitter makes it blind to finer digits; what
they hold is rounding error, which would grow from ask to ask until runs that should be equal are not.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist

from dale._arrays import Matrix, Vector

VALUE_RESOLUTION = 2.0**-23  # of standardised values
POINT_RESOLUTION = 2.0**-17  # of the cube's side
APART = 1e-9  # least distance to an observation; the tolerance of Alg. 3
CHUNK = 128  # observations thinned at once
THIN = 0.02  # observations nearer than this times sqrt(d) are one to a global model


def average_replicates(X: Matrix, z: Vector, told: np.ndarray) -> tuple[Matrix, Vector]:
    """Points (n, d) without repeats: of those told several times the mean, and no failure where there is a value.

    The model is without noise, so two values at one point would be a jump, and its variance would explode.
    """
    # One number for each point tells quickly that none is repeated; only then are whole points compared.
    cells = np.round(X / APART)
    if len(np.unique(np.sum(cells * np.sqrt(np.arange(2.0, X.shape[1] + 2)), axis=1))) == len(X):
        return X, z
    _, first, group = np.unique(cells, axis=0, return_index=True, return_inverse=True)
    group = group.ravel()
    counts = np.bincount(group, told)
    means = np.bincount(group, np.where(told, z, 0.0)) / np.maximum(counts, 1)
    values = np.where(counts > 0, means, z[first])
    order = np.argsort(first)  # as they came
    return X[first[order]], values[order]


def quantize(values: Vector | float | list[float], grain: float) -> Vector:
    """The nearest multiples of ``grain``."""
    return np.round(np.asarray(values) / grain) * grain


def are_separated(A: Matrix, points: Matrix, distance: float) -> np.ndarray:
    """Which of A (m, d) are farther than ``distance`` from all points (n, d)."""
    if len(points) == 0:
        return np.ones(len(A), dtype=bool)
    return np.asarray(np.min(cdist(A, points), axis=1) > distance)


def thin(X: Matrix, z: Vector, distance: float, most: int) -> np.ndarray:
    """Numbers of at most ``most`` observations (n, d), (n,), none of which is near to a better one.

    From the best to the worst each is kept that is farther than ``distance`` from all kept before. Where this gives too
    many, the better half stays, with an even sample of all that are worse, in the order of the trials, thinned as well.
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
        if len(kept) > most:
            break
    if len(kept) > most:
        half = most // 2
        worse = np.sort(order[int(np.flatnonzero(order == kept[half])[0]) :])
        sample = worse[np.linspace(0, len(worse) - 1, most - half).astype(int)]
        chosen = np.array([*kept[:half], *sample], dtype=int)
        return np.sort(chosen[thin(X[chosen], z[chosen], distance, most)])
    return np.sort(np.array(kept, dtype=int))
