"""Finite grids of values: equal cells of the interval [0, 1], and numbers in exact steps.

The n values of an ordered finite parameter divide the interval into n equal cells. Value number k is represented by the
center of its cell, u = (k + 1/2) / n, and every u of the cell decodes to it, so uniform points of the cube give uniform
values. Up to ``MAX_CELLS`` values, k + 1/2 is a float, and the two roundings in (k + 1/2) / n and u n change u n by at
most 1/4: the center of a cell always decodes to its value.

``Steps`` are the real numbers low, low + step, ... Value number k is the float nearest to low + k step, computed with
the decimals as written: from 0 in steps of 0.1, value number 3 is 0.3, although 3 * 0.1 is not.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from dale._arrays import Matrix
from dale.errors import SpaceError

MAX_CELLS = 2**50
STEP_TOLERANCE = 1e-9  # in steps: rounding errors of the user's arithmetic


def cell_center(k: int, n: int) -> float:
    """Center of cell number k of n."""
    return (k + 0.5) / n


def cell_index(u: float, n: int) -> int:
    """Index of the cell that contains u; outside of [0, 1], of the nearest cell."""
    return min(int(max(float(u), 0.0) * n), n - 1)


def snap_to_centers(U: Matrix, n: int) -> Matrix:
    """Apply ``cell_center(cell_index(u, n), n)`` to an array of any shape."""
    return (np.minimum(np.floor(np.maximum(U, 0.0) * n), n - 1) + 0.5) / n


@dataclass(frozen=True)
class Steps:
    """The numbers low, low + step, ..., not above high; low < high."""

    low: float
    high: float
    step: float

    def __post_init__(self) -> None:
        bounds = f"[{self.low!r}, {self.high!r}]"
        if not 0 < self.step < math.inf:
            raise SpaceError(f"step must be positive and finite, got {self.step!r}; omit it to allow all values")
        if self.count < 2:
            raise SpaceError(
                f"a step of {self.step!r} leaves only one value in {bounds}; "
                f"use a smaller step, or fix the parameter with dale.Float({self.low!r}, {self.low!r})"
            )
        if self.count > MAX_CELLS or self.step < 2 * math.ulp(max(abs(self.low), abs(self.high))):
            raise SpaceError(
                f"a step of {self.step!r} is too small for floats in {bounds}; omit it to allow all values"
            )

    @cached_property
    def _exact(self) -> tuple[Fraction, Fraction]:
        return Fraction(repr(self.low)), Fraction(repr(self.step))

    @cached_property
    def count(self) -> int:
        """Number of values."""
        low, step = self._exact
        return math.floor((Fraction(repr(self.high)) - low) / step) + 1

    def value(self, k: int) -> float:
        """Value number k."""
        low, step = self._exact
        return float(low + k * step)

    def nearest(self, x: float) -> int:
        """Number of the value nearest to x."""
        low, step = self._exact
        return min(max(round((Fraction(x) - low) / step), 0), self.count - 1)

    def check(self, x: float, name: str) -> float:
        """Return the value that x equals up to rounding errors, or raise a ``SpaceError``."""
        nearest = self.value(self.nearest(x))
        if abs(x - nearest) <= max(STEP_TOLERANCE * self.step, 4 * math.ulp(x)):
            return nearest
        raise SpaceError(
            f"{name} must be one of {self.low!r}, {self.value(1)!r}, ... in steps of {self.step!r}, got {x!r}; "
            f"the nearest value is {nearest!r}: omit the point or use a smaller step"
        )
