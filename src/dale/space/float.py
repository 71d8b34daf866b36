"""A real parameter on a linear or a logarithmic scale, or in steps."""

import math
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np

from dale._arrays import Matrix, Vector
from dale.errors import SpaceError
from dale.space.grid import Steps, cell, middle, middles
from dale.space.parameter import CanBeConditional


@dataclass(frozen=True)
class Float(CanBeConditional):
    """A real number between ``lower`` and ``upper``, both allowed; equal ones fix it.

    Linear: u = (x - lower) / (upper - lower). With ``log=True``: u = log(x / lower) / log(upper / lower), for
    parameters where a factor matters and not a difference.

    With a ``step``: only lower, lower + step, ..., up to the last that is not above ``upper``, each in the middle of
    one of as many equal cells. Steps are taken as they are written: from 0 in steps of 0.1, value number 3 is 0.3.

    Args:
        lower: Smallest value.
        upper: Largest value.
        log: Whether the scale is logarithmic; needs ``lower > 0``.
        step: Distance between values; None for no steps. Not together with ``log``.
    """

    lower: float
    upper: float
    log: bool = False
    step: float | None = None

    def __post_init__(self) -> None:
        for name, bound in (("lower", self.lower), ("upper", self.upper)):
            if isinstance(bound, bool | np.bool_) or not isinstance(bound, Real):
                raise TypeError(f"{name} bound must be a number, got {bound!r}")
            number = _as_float(bound)
            if not math.isfinite(number):
                raise SpaceError(
                    f"{name} bound must be finite, got {number!r}; give the widest range in which the objective "
                    "can be evaluated, and log=True if it spans many decades"
                )
            object.__setattr__(self, name, number)
        if self.lower > self.upper:
            raise SpaceError(
                f"bounds are reversed, got [{self.lower!r}, {self.upper!r}]; wanted lower < upper: "
                f"[{self.upper!r}, {self.lower!r}]"
            )
        if self.log and self.lower <= 0:
            raise SpaceError(
                f"a logarithmic parameter needs lower > 0, got [{self.lower!r}, {self.upper!r}]; "
                "raise the lower bound or use log=False"
            )
        if self.step is not None:
            if isinstance(self.step, bool | np.bool_) or not isinstance(self.step, Real):
                raise TypeError(f"step must be a number or None, got {self.step!r}")
            if self.log:
                raise SpaceError(f"a logarithmic parameter takes no step, got step={self.step!r}; use one of the two")
            object.__setattr__(self, "step", _as_float(self.step))
            _ = self._steps  # which checks them

    @cached_property
    def _steps(self) -> Steps | None:
        return None if self.step is None or self.fixed else Steps(self.lower, self.upper, self.step)

    @property
    def fixed(self) -> bool:
        """Whether there is one value only."""
        return self.lower == self.upper

    @property
    def width(self) -> int:
        """One coordinate, or none where the value is fixed."""
        return 0 if self.fixed else 1

    @property
    def continuous(self) -> bool:
        """Whether the coordinate moves freely."""
        return self._steps is None

    @property
    def straight(self) -> bool:
        """Whether values are a linear function of the coordinate."""
        return self.continuous and not self.log and not self.fixed and math.isfinite(self.upper - self.lower)

    @property
    def ordered(self) -> bool:
        """Values stand in an order."""
        return True

    @property
    def cardinality(self) -> int | None:
        """Number of values; None without steps, however few floats there may be."""
        if self.fixed:
            return 1
        return None if self._steps is None else self._steps.count

    def check(self, value: Any, name: str) -> float:
        """The value as a float within the bounds."""
        if isinstance(value, np.ndarray) and value.ndim == 0:
            value = value.item()
        if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
            raise TypeError(f"{name} must be a number, got {value!r}")
        value = _as_float(value)
        if not self.lower <= value <= self.upper:
            raise SpaceError(
                f"{name} = {value!r} is outside its bounds [{self.lower!r}, {self.upper!r}]; "
                "leave the point out or make the space wider"
            )
        return value if self._steps is None else self._steps.check(value, name)

    def encode(self, value: Any) -> Vector:
        """Value to its place in [0, 1]."""
        if self.fixed:
            return np.empty(0)
        if self._steps is not None:
            return self.place(self._steps.nearest(value))
        if self.log:
            u = _log_ratio(self.lower, value) / _log_ratio(self.lower, self.upper)
        elif math.isfinite(self.upper - self.lower):
            u = (value - self.lower) / (self.upper - self.lower)
        else:  # the range is wider than the largest float
            u = (value / 2 - self.lower / 2) / (self.upper / 2 - self.lower / 2)
        return np.array([min(max(u, 0.0), 1.0)])

    def decode(self, coordinates: Vector) -> float:
        """Place in [0, 1] to a value that is within the bounds bit for bit."""
        if self.fixed:
            return self.lower
        if self._steps is not None:
            return self._steps.value(cell(float(coordinates[0]), self._steps.count))
        u = min(max(float(coordinates[0]), 0.0), 1.0)
        if u == 0.0:
            return self.lower
        if u == 1.0:
            return self.upper
        if self.log and math.isfinite(self.upper / self.lower):
            x = self.lower + self.lower * math.expm1(u * _log_ratio(self.lower, self.upper))
        elif self.log:
            x = math.exp((1 - u) * math.log(self.lower) + u * math.log(self.upper))
        elif math.isfinite(self.upper - self.lower):
            x = self.lower + u * (self.upper - self.lower)
        else:
            x = (1 - u) * self.lower + u * self.upper
        return min(max(x, self.lower), self.upper)

    def place(self, k: int) -> Vector:
        """Coordinates of value number k of a fixed value or of steps."""
        return np.empty(0) if self._steps is None else np.array([middle(k, self._steps.count)])

    def snap(self, coordinates: Matrix) -> Matrix:
        """Coordinates (n, width) to those of the values they stand for."""
        if self._steps is not None:
            return middles(coordinates, self._steps.count)
        span = self.upper - self.lower
        if not self.log and 0 < span < math.inf:
            x = np.clip(self.lower + np.clip(coordinates, 0.0, 1.0) * span, self.lower, self.upper)
            x = np.where(coordinates >= 1.0, self.upper, x)
            return np.clip((x - self.lower) / span, 0.0, 1.0)
        # One by one: NumPy's logarithms may differ from Python's in the last bit.
        return np.array([self.encode(self.decode(u)) for u in coordinates]).reshape(coordinates.shape)

    def derivative(self, value: Any) -> Vector:
        """du/dx at a value; with steps, of the line through the middles of their cells."""
        if self.fixed:
            return np.empty(0)
        if self._steps is not None:
            return np.array([1 / (self._steps.step * self._steps.count)])
        if self.log:
            return np.array([1 / value / _log_ratio(self.lower, self.upper)])
        if math.isfinite(self.upper - self.lower):
            return np.array([1 / (self.upper - self.lower)])
        return np.array([0.5 / (self.upper / 2 - self.lower / 2)])


def _as_float(number: Any) -> float:
    """The nearest float; an integer beyond the largest float is infinite."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _log_ratio(a: float, b: float) -> float:
    """log(b / a) for 0 < a <= b, precise where they are close and finite where b / a is not."""
    ratio = b / a
    if ratio < 2:
        return math.log1p((b - a) / a)
    return math.log(ratio) if math.isfinite(ratio) else math.log(b) - math.log(a)
