"""Values that stand side by side: the side of the cube is cut into equal cells, one for each value.

Value number k of n is the middle of its cell, u = (k + 1/2) / n, and every u of the cell stands for it, so that uniform
points of the cube give uniform values. Up to ``MOST`` values, k + 1/2 is a float and the two roundings of (k + 1/2) / n
and u n move u n by a quarter at most: a value always comes back from its middle.
"""

import numpy as np

from dale.arrays import Matrix

MOST = 2**50


def middle(k: int, n: int) -> float:
    """Where value number k of n stands."""
    return (k + 0.5) / n


def cell(u: float, n: int) -> int:
    """Number of the value that u stands for; beyond the cube, that at its face."""
    return min(int(max(float(u), 0.0) * n), n - 1)


def middles(U: Matrix, n: int) -> Matrix:
    """The middle of the cell that each u lies in: ``middle(cell(u, n), n)`` for an array of any shape."""
    return (np.minimum(np.floor(np.maximum(U, 0.0) * n), n - 1) + 0.5) / n
