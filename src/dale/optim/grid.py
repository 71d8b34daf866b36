"""Descent on a grid: from neighbour to neighbour, as long as the function falls."""

from __future__ import annotations

from collections.abc import Callable

Index = tuple[int, ...]


def descend_on_grid(fun: Callable[[Index], float], start: Index, sizes: Index, stride: int = 1) -> Index:
    """The local minimum of a function on a grid that the descent from a start leads to.

    Args:
        fun: The function of the indices; it is called again for the same ones, so it should remember its values.
        start: Indices to start from.
        sizes: Number of grid points along each axis.
        stride: Of a step: this many grid points.

    Examples:
        >>> descend_on_grid(lambda at: (at[0] - 3) ** 2 + at[1], (0, 1), (9, 2))
        (3, 0)
    """
    here = start
    while True:
        there = min(_neighbours(here, sizes, stride), key=fun, default=here)
        if not fun(there) < fun(here):
            return here
        here = there


def _neighbours(here: Index, sizes: Index, stride: int) -> list[Index]:
    """Points of the grid one step away from one, along each axis."""
    around = [(*here[:k], here[k] + step, *here[k + 1 :]) for k in range(len(here)) for step in (-stride, stride)]
    return [at for at in around if all(0 <= i < n for i, n in zip(at, sizes, strict=True))]
