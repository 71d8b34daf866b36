"""Integer parameters: linear or logarithmic."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from dale._arrays import Matrix, Vector
from dale.errors import SpaceError
from dale.space.grid import MAX_CELLS, cell_index, snap_to_centers
from dale.space.parameter import Parameter, register_parameter

MAX_INT = 2**53  # beyond, float64 does not distinguish neighbours
MAX_LOG_INT = 2**44  # beyond, their coordinates on a logarithmic scale could coincide


@register_parameter
@dataclass(frozen=True)
class Int(Parameter):
    """An integer between ``low`` and ``high``, both included; equal bounds fix it.

    The coordinate is divided into equal cells, and a value is represented by the center of its cell. With
    ``log=True``, x is at u = log(x / a) / log(b / a) with a = low - 1/2 and b = high + 1/2, and its cell extends from
    x - 1/2 to x + 1/2 on this scale, so smaller numbers have larger cells, as for a logarithmic ``Float``.

    The objective receives an ``int``; in a space without names, it receives an array of floats, as in SciPy. Therefore
    a float with an integer value, such as 3.0, is accepted; 3.5 and True are not.

    Args:
        low: Smallest value.
        high: Largest value.
        log: Whether the scale is logarithmic; requires ``low >= 1``.
        step: Distance between values, counted from ``low``; it cannot be combined with ``log``.

    Examples:
        >>> Int(1, 12)
        Int(low=1, high=12, log=False, step=1)
    """

    low: int
    high: int
    log: bool = False
    step: int = 1

    converters: ClassVar[Mapping[str, Callable[[Any], Parameter]]] = {
        "optuna.distributions.IntDistribution": lambda d: Int(
            d.low, d.high, log=d.log, step=1 if d.low == d.high else d.step
        ),
        "ConfigSpace.UniformIntegerHyperparameter": lambda h: Int(h.lower, h.upper, log=h.log),
        "skopt.space.Integer": lambda d: Int(d.low, d.high, log=d.prior == "log-uniform"),
    }

    def __post_init__(self) -> None:
        for name in ("low", "high", "step"):
            number = _as_int(getattr(self, name), name)
            if abs(number) > MAX_INT:
                raise SpaceError(f"{name} must be between -2**53 and 2**53, got {number!r}; use dale.Float and round")
            object.__setattr__(self, name, number)
        if self.low > self.high:
            raise SpaceError(
                f"expected low <= high, got [{self.low!r}, {self.high!r}]; did you mean [{self.high!r}, {self.low!r}]?"
            )
        if self.step < 1:
            raise SpaceError(f"step must be at least 1, got {self.step!r}")
        if self.step > self.high - self.low > 0:
            raise SpaceError(
                f"a step of {self.step!r} leaves only one value in [{self.low!r}, {self.high!r}]; "
                f"use a smaller step, or fix the parameter with dale.Int({self.low!r}, {self.low!r})"
            )
        if self.cardinality > MAX_CELLS:
            raise SpaceError(
                f"expected at most 2**50 integers, got {self.cardinality} in [{self.low!r}, {self.high!r}]; "
                "use dale.Float and round in the objective"
            )
        if self.log:
            self._check_log()

    def _check_log(self) -> None:
        if self.low < 1:
            raise SpaceError(
                f"a logarithmic parameter requires low >= 1, got [{self.low!r}, {self.high!r}]; "
                "increase low or use log=False"
            )
        if self.high > MAX_LOG_INT:
            raise SpaceError(
                f"a logarithmic parameter requires high <= 2**44, got {self.high!r}; "
                "use dale.Float(..., log=True) and round in the objective"
            )
        if self.step != 1:
            raise SpaceError(f"a logarithmic parameter cannot have a step, got step={self.step!r}; omit one of them")

    @property
    def cardinality(self) -> int:
        """Number of values."""
        return (self.high - self.low) // self.step + 1

    @property
    def n_coordinates(self) -> int:
        """One, or none if there is only one value."""
        return 0 if self.cardinality == 1 else 1

    @property
    def is_numeric(self) -> bool:
        """True."""
        return True

    def check(self, value: Any, name: str) -> int:
        """Return the value as an int that is one of the values."""
        number = _as_int(value, name)
        if not self.low <= number <= self.high:
            raise SpaceError(
                f"{name} must be in [{self.low!r}, {self.high!r}], got {number!r}; omit the point or use wider bounds"
            )
        remainder = (number - self.low) % self.step
        if remainder:
            raise SpaceError(
                f"{name} must be one of {self.low!r}, {self.low + self.step!r}, ..., got {number!r}; "
                f"the next lower value is {number - remainder!r}: omit the point or use a smaller step"
            )
        return number

    def encode(self, value: Any) -> Vector:
        """Coordinate of a value."""
        return self.encode_index((value - self.low) // self.step)

    def decode(self, coordinates: Vector) -> int:
        """Value whose cell contains the coordinate."""
        if self.n_coordinates == 0:
            return self.low
        u = float(coordinates[0])
        if not self.log:
            return self.low + cell_index(u, self.cardinality) * self.step
        return self._log_value(u)

    def encode_index(self, k: int) -> Vector:
        """Coordinate of value number k."""
        if self.log and self.n_coordinates:
            return np.array([self._log_coordinate(self.low + k)])
        return super().encode_index(k)

    def snap(self, coordinates: Matrix) -> Matrix:
        """Apply ``encode(decode(u))`` to each row."""
        if not self.log:
            return snap_to_centers(coordinates, self.cardinality)
        # one by one: NumPy's logarithms may differ from Python's in the last bit
        snapped = [self._log_coordinate(self._log_value(u)) for u in coordinates.ravel().tolist()]
        return np.array(snapped).reshape(coordinates.shape)

    def derivative(self, value: Any) -> Vector:
        """du/dx at a value, on the scale of the cells."""
        if self.log:
            return np.full(self.n_coordinates, 1 / value / self._log_range)
        return np.full(self.n_coordinates, 1 / (self.step * self.cardinality))

    def to_json(self, value: Any) -> int:
        """The value as an int; in a space without names it is a float."""
        return int(value)

    def to_argument(self, value: Any) -> int:
        """The value as an int; in a space without names it is a float."""
        return int(value)

    def _log_coordinate(self, x: int) -> float:
        """Coordinate of a value on a logarithmic scale."""
        return math.log(x / (self.low - 0.5)) / self._log_range

    def _log_value(self, u: float) -> int:
        """Value whose cell on a logarithmic scale contains the coordinate."""
        x = (self.low - 0.5) * math.exp(min(max(u, 0.0), 1.0) * self._log_range)
        return min(max(math.floor(x + 0.5), self.low), self.high)

    @cached_property
    def _log_range(self) -> float:
        return math.log((self.high + 0.5) / (self.low - 0.5))


def _as_int(number: Any, name: str) -> int:
    """The number as an int, if it is a real number with an integer value."""
    if isinstance(number, np.ndarray) and number.ndim == 0:
        number = number.item()
    if isinstance(number, bool | np.bool_) or not isinstance(number, Real):
        raise TypeError(f"{name} must be an integer, got {number!r}")
    try:
        floor: Any = math.floor(number)
    except (OverflowError, ValueError):  # infinite, NaN
        floor = None
    if floor != number:
        raise SpaceError(f"{name} must be an integer, got {number!r}; round it, or use dale.Float")
    return int(floor)
