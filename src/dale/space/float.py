"""A real parameter on a linear or a logarithmic scale."""

import math
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from dale.arrays import Vector
from dale.errors import SpaceError


@dataclass(frozen=True)
class Float:
    """A real number between ``lower`` and ``upper``, both allowed.

    Linear: u = (x - lower) / (upper - lower). With ``log=True``: u = log(x / lower) / log(upper / lower), for
    parameters where a factor matters and not a difference.

    Args:
        lower: Smallest value.
        upper: Largest value.
        log: Whether the scale is logarithmic; needs ``lower > 0``.
    """

    lower: float
    upper: float
    log: bool = False

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
        if self.lower == self.upper:
            raise SpaceError(
                f"bounds are equal, got [{self.lower!r}, {self.upper!r}]; leave a parameter that cannot vary out of "
                "the space and fix it in the objective"
            )
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

    @property
    def width(self) -> int:
        """One coordinate."""
        return 1

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
        return value

    def encode(self, value: Any) -> Vector:
        """Value to its place in [0, 1]."""
        if self.log:
            u = _log_ratio(self.lower, value) / _log_ratio(self.lower, self.upper)
        elif math.isfinite(self.upper - self.lower):
            u = (value - self.lower) / (self.upper - self.lower)
        else:  # the range is wider than the largest float
            u = (value / 2 - self.lower / 2) / (self.upper / 2 - self.lower / 2)
        return np.array([min(max(u, 0.0), 1.0)])

    def decode(self, coordinates: Vector) -> float:
        """Place in [0, 1] to a value that is within the bounds bit for bit."""
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

    def slope(self, value: Any) -> Vector:
        """du/dx at a value."""
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
