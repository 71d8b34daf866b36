"""Point sets that need no model: the initial design, starting points, and points far from all others."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from scipy.spatial.distance import cdist

from dale._arrays import Matrix, Vector

# Of each coordinate of the Sobol sequence: the bits of a primitive polynomial, and the first numbers m (Joe & Kuo,
# 2008: new-joe-kuo-6.21201). The numbers m of the first coordinate are all 1.
DIRECTIONS: tuple[tuple[int, tuple[int, ...]], ...] = (
    (1, (1,) * 64), (3, (1,)), (7, (1, 3)), (11, (1, 3, 1)), (13, (1, 1, 1)), (19, (1, 1, 3, 3)), (25, (1, 3, 5, 13)),
    (37, (1, 1, 5, 5, 17)), (41, (1, 1, 5, 5, 5)), (47, (1, 1, 7, 11, 19)), (55, (1, 1, 5, 1, 1)),
    (59, (1, 1, 1, 3, 11)), (61, (1, 3, 5, 5, 31)), (67, (1, 3, 3, 9, 7, 49)), (91, (1, 1, 1, 15, 21, 21)),
    (97, (1, 3, 1, 13, 27, 49)), (103, (1, 1, 1, 15, 7, 5)), (109, (1, 3, 1, 15, 13, 25)), (115, (1, 1, 5, 5, 19, 61)),
    (131, (1, 3, 7, 11, 23, 15, 103)), (137, (1, 3, 7, 13, 13, 15, 69)), (143, (1, 1, 3, 13, 7, 35, 63)),
    (145, (1, 3, 5, 9, 1, 25, 53)), (157, (1, 3, 1, 13, 9, 35, 107)),
)  # fmt: skip


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

    They are those of ``scipy.stats.qmc``, bit for bit. The import of ``scipy.stats`` takes longer than many proposals,
    so only more coordinates than the table has import it.

    Examples:
        >>> sobol(1, 2)[:, 0]
        array([0.  , 0.5 , 0.75, 0.25])
    """
    if dimension > len(DIRECTIONS):
        from scipy.stats import qmc

        points: Matrix = qmc.Sobol(dimension, scramble=False).random_base2(power)
    else:
        V = np.array([_direction_numbers(*given, power) for given in DIRECTIONS[:dimension]], dtype=np.int64)
        i = np.arange(2**power)
        gray = i ^ (i >> 1)  # point i is the exclusive or of the direction numbers of the bits of its Gray code
        bits = np.zeros((2**power, dimension), dtype=np.int64)
        for k in range(power):
            bits ^= (gray >> k & 1)[:, None] * V[:, k]
        points = bits / 2**power
    points.flags.writeable = False
    return points


def _direction_numbers(polynomial: int, first: tuple[int, ...], power: int) -> list[int]:
    """The direction numbers 2^(power - k) m_k of one coordinate, k = 1 ... power, from the first of m.

    With the coefficients a of a polynomial of degree s over the field of two elements, and + for the exclusive or,
    m_k = 2 a_1 m_(k-1) + 2^2 a_2 m_(k-2) + ... + 2^s m_(k-s) + m_(k-s) (Bratley & Fox, 1988).
    """
    m, s = list(first), polynomial.bit_length() - 1
    for k in range(len(m), power):
        m.append(m[k - s])
        for j in range(1, s + 1):
            m[k] ^= (polynomial >> (s - j) & 1) * m[k - j] << j
    return [m[k] << (power - k - 1) for k in range(power)]
