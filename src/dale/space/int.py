"""A whole number on a linear or a logarithmic scale."""

import math
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from dale._arrays import Matrix, Vector
from dale.errors import SpaceError
from dale.space.grid import MOST, cell, middle, middles
from dale.space.parameter import CanBeConditional

LARGEST = 2**53  # beyond, a float64 cannot tell neighbours are_separated
LARGEST_LOG = 2**44  # beyond, their places on a logarithmic scale could not be told are_separated


@dataclass(frozen=True)
class Int(CanBeConditional):
    """A whole number between ``lower`` and ``upper``, both allowed; equal ones fix it.

    Linear: the side of the cube is cut into equal cells, and a value stands in the middle of its cell. With
    ``log=True``: x is at u = log(x / a) / log(b / a) between a = lower - 1/2 and b = upper + 1/2, and its cell reaches
    from x - 1/2 to x + 1/2 on that scale, so that small numbers have the wider cells, as on a ``Float`` with a
    logarithmic scale.

    The objective gets an ``int``, or an array of floats in a space without names, as in SciPy. So a float without a
    fraction, such as 3.0, is taken for the whole number that it is; 3.5 and True are refused.

    Args:
        lower: Smallest value.
        upper: Largest value.
        log: Whether the scale is logarithmic; needs ``lower >= 1``.
        step: Distance between values, counted from ``lower``; not together with ``log``.
    """

    lower: int
    upper: int
    log: bool = False
    step: int = 1

    def __post_init__(self) -> None:
        for name in ("lower", "upper", "step"):
            what = "step" if name == "step" else f"{name} bound"
            number = _whole(getattr(self, name), what)
            if abs(number) > LARGEST:
                raise SpaceError(f"{what} must be within 2**53 of zero, got {number!r}; use dale.Float and round")
            object.__setattr__(self, name, number)
        if self.lower > self.upper:
            raise SpaceError(
                f"bounds are reversed, got [{self.lower!r}, {self.upper!r}]; wanted lower < upper: "
                f"[{self.upper!r}, {self.lower!r}]"
            )
        if self.step < 1:
            raise SpaceError(f"step must be at least 1, got {self.step!r}")
        if self.step > self.upper - self.lower > 0:
            raise SpaceError(
                f"a step of {self.step!r} leaves one value of [{self.lower!r}, {self.upper!r}]; "
                f"make it smaller, or fix the parameter with dale.Int({self.lower!r}, {self.lower!r})"
            )
        if self.cardinality > MOST:
            raise SpaceError(
                f"[{self.lower!r}, {self.upper!r}] holds {self.cardinality} whole numbers, wanted at most 2**50; "
                "use dale.Float and round in the objective"
            )
        if self.log:
            self._check_log()

    def _check_log(self) -> None:
        if self.lower < 1:
            raise SpaceError(
                f"a logarithmic parameter needs lower >= 1, got [{self.lower!r}, {self.upper!r}]; "
                "raise the lower bound or use log=False"
            )
        if self.upper > LARGEST_LOG:
            raise SpaceError(
                f"a logarithmic parameter needs upper <= 2**44, got {self.upper!r}; "
                "use dale.Float(..., log=True) and round in the objective"
            )
        if self.step != 1:
            raise SpaceError(f"a logarithmic parameter takes no step, got step={self.step!r}; use one of the two")

    @property
    def cardinality(self) -> int:
        """Number of values."""
        return (self.upper - self.lower) // self.step + 1

    @property
    def width(self) -> int:
        """One coordinate, or none where there is one value."""
        return 0 if self.cardinality == 1 else 1

    @property
    def continuous(self) -> bool:
        """Values are apart from each other."""
        return False

    @property
    def ordered(self) -> bool:
        """Values stand in an order."""
        return True

    def check(self, value: Any, name: str) -> int:
        """The value as an int that is one of the values."""
        number = _whole(value, name)
        if not self.lower <= number <= self.upper:
            raise SpaceError(
                f"{name} = {number!r} is outside its bounds [{self.lower!r}, {self.upper!r}]; "
                "leave the point out or make the space wider"
            )
        beyond = (number - self.lower) % self.step
        if beyond:
            raise SpaceError(
                f"{name} = {number!r} is not one of {self.lower!r}, {self.lower + self.step!r}, ...; "
                f"the nearest below is {number - beyond!r}: leave the point out or use a smaller step"
            )
        return number

    def encode(self, value: Any) -> Vector:
        """Value to its place in [0, 1]."""
        return self.place((value - self.lower) // self.step)

    def decode(self, coordinates: Vector) -> int:
        """Place in [0, 1] to the value whose cell it lies in."""
        if self.width == 0:
            return self.lower
        u = float(coordinates[0])
        if not self.log:
            return self._value(cell(u, self.cardinality))
        x = (self.lower - 0.5) * math.exp(min(max(u, 0.0), 1.0) * self._log_range)
        return min(max(math.floor(x + 0.5), self.lower), self.upper)

    def place(self, k: int) -> Vector:
        """Coordinates of value number k."""
        if self.width == 0:
            return np.empty(0)
        if self.log:
            return np.array([math.log((self.lower + k) / (self.lower - 0.5)) / self._log_range])
        return np.array([middle(k, self.cardinality)])

    def snap(self, coordinates: Matrix) -> Matrix:
        """Coordinates (n, width) to those of the values they stand for."""
        if self.log and self.width:
            return np.array([self.encode(self.decode(u)) for u in coordinates]).reshape(coordinates.shape)
        return middles(coordinates, self.cardinality)

    def derivative(self, value: Any) -> Vector:
        """du/dx at a value, of the scale that the cells lie on."""
        if self.log:
            return np.full(self.width, 1 / value / self._log_range)
        return np.full(self.width, 1 / (self.step * self.cardinality))

    def _value(self, k: int) -> int:
        return self.lower + k * self.step

    @property
    def _log_range(self) -> float:
        return math.log((self.upper + 0.5) / (self.lower - 0.5))


def _whole(number: Any, what: str) -> int:
    """The number as an int, if it is one real number without a fraction."""
    if isinstance(number, np.ndarray) and number.ndim == 0:
        number = number.item()
    if isinstance(number, bool | np.bool_) or not isinstance(number, Real):
        raise TypeError(f"{what} must be a whole number, got {number!r}")
    try:
        whole: Any = math.floor(number)
    except (OverflowError, ValueError):  # infinite, NaN
        whole = None
    if whole != number:
        raise SpaceError(f"{what} must be a whole number, got {number!r}; round it, or use dale.Float")
    return int(whole)
