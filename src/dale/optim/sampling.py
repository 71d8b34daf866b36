"""Point sets that need no model: the initial design, starting points, and points far from all others."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from scipy.spatial.distance import cdist

from dale._arrays import Matrix, Vector


def latin_hypercube(n: int, dimension: int, rng: np.random.Generator) -> Matrix:
    """n points (n, d), one in each of n equal slices of every coordinate (Alg. 1, line 2).

    Examples:
        >>> sorted((4 * latin_hypercube(4, 1, np.random.default_rng(0))[:, 0]).astype(int).tolist())
        [0, 1, 2, 3]
    """
    slices = np.stack([rng.permutation(n) for _ in range(dimension)], axis=1)
    return (slices + rng.random((n, dimension))) / n


def far_from(
    points: Matrix,
    dimension: int,
    rng: np.random.Generator,
    n_candidates: int = 1024,
    snap: Callable[[Matrix], Matrix] | None = None,
) -> Vector:
    """Of random points of the cube, the one farthest from all given ones (n, d); ``snap`` rounds them first."""
    candidates = rng.random((n_candidates, dimension))
    return farthest(candidates if snap is None else snap(candidates), points)


def farthest(candidates: Matrix, points: Matrix) -> Vector:
    """Of candidates (m, d), the one farthest from all points (n, d); the first candidate if n is 0.

    Examples:
        >>> farthest(np.array([[0.1], [0.6]]), np.array([[0.0], [1.0]]))
        array([0.6])
    """
    if len(points) == 0:
        return candidates[0]
    return candidates[np.argmax(np.min(cdist(candidates, points), axis=1))]


@lru_cache(maxsize=8)
def sobol(dimension: int, power: int) -> Matrix:
    """The first 2^power points of the Sobol sequence, (m, d). A random shift at each use replaces scrambling.

    Examples:
        >>> sobol(1, 2)[:, 0]
        array([0.  , 0.5 , 0.75, 0.25])
    """
    from scipy.stats import qmc  # slow to import

    points: Matrix = qmc.Sobol(dimension, scramble=False).random_base2(power)
    points.flags.writeable = False
    return points
