"""Values that stand side by side: the side of the cube is cut into equal cells, one for each value.

Value number k of n is the middle of its cell, u = (k + 1/2) / n, and every u of the cell stands for it, so that uniform
points of the cube give uniform values. Up to ``MOST`` values, k + 1/2 is a float and the two roundings of (k + 1/2) / n
and u n move u n by a quarter at most: a value always comes back from its middle.

Real numbers in even steps, as exact as they were written.

Value number k is the float nearest to lower + k step, computed with the decimals that a person reads: from 0 in steps
of 0.1, value number 3 is 0.3, though 3 * 0.1 is not.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from dale._arrays import Matrix
from dale.errors import SpaceError

MOST = 2**50
OFF = 1e-9  # of a step: what a user's own arithmetic may be off


def middle(k: int, n: int) -> float:
    """Where value number k of n stands."""
    return (k + 0.5) / n


def cell(u: float, n: int) -> int:
    """Number of the value that u stands for; beyond the cube, that at its face."""
    return min(int(max(float(u), 0.0) * n), n - 1)


def middles(U: Matrix, n: int) -> Matrix:
    """The middle of the cell that each u lies in: ``middle(cell(u, n), n)`` for an array of any shape."""
    return (np.minimum(np.floor(np.maximum(U, 0.0) * n), n - 1) + 0.5) / n


@dataclass(frozen=True)
class Steps:
    """The numbers lower, lower + step, ..., up to the last that is not above upper; lower < upper."""

    lower: float
    upper: float
    step: float

    def __post_init__(self) -> None:
        bounds = f"[{self.lower!r}, {self.upper!r}]"
        if not 0 < self.step < math.inf:
            raise SpaceError(f"step must be positive and finite, got {self.step!r}; leave it out for all values")
        if self.count < 2:
            raise SpaceError(
                f"a step of {self.step!r} leaves one value of {bounds}; "
                f"make it smaller, or fix the parameter with dale.Float({self.lower!r}, {self.lower!r})"
            )
        if self.count > MOST or self.step < 2 * math.ulp(max(abs(self.lower), abs(self.upper))):
            raise SpaceError(f"a step of {self.step!r} is too fine for floats of {bounds}; leave it out for all values")

    @cached_property
    def _written(self) -> tuple[Fraction, Fraction]:
        return Fraction(repr(self.lower)), Fraction(repr(self.step))

    @cached_property
    def count(self) -> int:
        """How many there are."""
        lower, step = self._written
        return math.floor((Fraction(repr(self.upper)) - lower) / step) + 1

    def value(self, k: int) -> float:
        """Number k of them."""
        lower, step = self._written
        return float(lower + k * step)

    def nearest(self, x: float) -> int:
        """Number of the one that is nearest to x."""
        lower, step = self._written
        return min(max(round((Fraction(x) - lower) / step), 0), self.count - 1)

    def check(self, x: float, name: str) -> float:
        """The one that x is, or an error."""
        k = self.nearest(x)
        nearest = self.value(k)
        if abs(x - nearest) <= max(OFF * self.step, 4 * math.ulp(x)):
            return nearest
        raise SpaceError(
            f"{name} = {x!r} is not one of {self.lower!r}, {self.value(1)!r}, ... in steps of {self.step!r}; "
            f"the nearest is {nearest!r}: leave the point out or use a smaller step"
        )
