"""Points chosen without a model: the initial design, and a way out when a model has nothing to say."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from scipy.spatial.distance import cdist

from dale._arrays import Matrix, Vector


def latin_hypercube(n: int, dimension: int, rng: np.random.Generator) -> Matrix:
    """n points (n, d), one in each of n equal slices of every coordinate (Alg. 1, line 2)."""
    slices = np.stack([rng.permutation(n) for _ in range(dimension)], axis=1)
    return (slices + rng.random((n, dimension))) / n


def far_from(
    points: Matrix,
    dimension: int,
    rng: np.random.Generator,
    n_candidates: int = 1024,
    snap: Callable[[Matrix], Matrix] | None = None,
) -> Vector:
    """A random point of the cube that is far from all given ones (n, d); with ``snap``, as the objective sees it."""
    candidates = rng.random((n_candidates, dimension))
    return farthest(candidates if snap is None else snap(candidates), points)


def farthest(candidates: Matrix, points: Matrix) -> Vector:
    """Of candidates (m, d) the one that is farthest from all points (n, d); the first if there are none."""
    if len(points) == 0:
        return candidates[0]
    return candidates[np.argmax(np.min(cdist(candidates, points), axis=1))]


@lru_cache(maxsize=8)
def sobol(dimension: int, power: int) -> Matrix:
    """2^power points of the Sobol sequence, (m, d). A random shift for each use does what scrambling would."""
    from scipy.stats import qmc  # slow to import, so only when the first model is searched

    points: Matrix = qmc.Sobol(dimension, scramble=False).random_base2(power)
    points.flags.writeable = False
    return points
