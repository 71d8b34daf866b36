"""Real parameters: linear, logarithmic, or in steps."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from dale._arrays import Matrix, Vector
from dale.errors import SpaceError
from dale.space.grid import Steps, cell_index, snap_to_centers
from dale.space.parameter import Parameter, register_parameter


@register_parameter
@dataclass(frozen=True)
class Float(Parameter):
    """A real number between ``low`` and ``high``, both included; equal bounds fix it.

    The coordinate is u = (x - low) / (high - low). With ``log=True`` it is u = log(x / low) / log(high / low), for
    parameters whose ratios matter rather than their differences.

    With a ``step`` the values are low, low + step, ..., not above ``high``, and each has one of as many equal cells of
    the coordinate. Steps are exact in decimals: from 0 in steps of 0.1, value number 3 is 0.3.

    Args:
        low: Smallest value.
        high: Largest value.
        log: Whether the scale is logarithmic; requires ``low > 0``.
        step: Distance between values; None for continuous values. It cannot be combined with ``log``.

    Examples:
        >>> Float(1e-5, 1e-1, log=True)
        Float(low=1e-05, high=0.1, log=True, step=None)
    """

    low: float
    high: float
    log: bool = False
    step: float | None = None

    converters: ClassVar[Mapping[str, Callable[[Any], Parameter]]] = {
        "optuna.distributions.FloatDistribution": lambda d: Float(d.low, d.high, log=d.log, step=d.step),
        "ConfigSpace.UniformFloatHyperparameter": lambda h: Float(h.lower, h.upper, log=h.log),
        "skopt.space.Real": lambda d: Float(d.low, d.high, log=d.prior == "log-uniform"),
    }

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            bound = getattr(self, name)
            if isinstance(bound, bool | np.bool_) or not isinstance(bound, Real):
                raise TypeError(f"{name} must be a number, got {bound!r}")
            number = _as_float(bound)
            if not math.isfinite(number):
                raise SpaceError(
                    f"{name} must be finite, got {number!r}; give the widest range in which the objective "
                    "can be evaluated, with log=True if it spans many decades"
                )
            object.__setattr__(self, name, number)
        if self.low > self.high:
            raise SpaceError(
                f"expected low <= high, got [{self.low!r}, {self.high!r}]; did you mean [{self.high!r}, {self.low!r}]?"
            )
        if self.log and self.low <= 0:
            raise SpaceError(
                f"a logarithmic parameter requires low > 0, got [{self.low!r}, {self.high!r}]; "
                "increase low or use log=False"
            )
        if self.step is not None:
            if isinstance(self.step, bool | np.bool_) or not isinstance(self.step, Real):
                raise TypeError(f"step must be a number or None, got {self.step!r}")
            if self.log:
                raise SpaceError(
                    f"a logarithmic parameter cannot have a step, got step={self.step!r}; omit one of them"
                )
            object.__setattr__(self, "step", _as_float(self.step))
            _ = self._steps  # raises an error if they are invalid

    @cached_property
    def _steps(self) -> Steps | None:
        return None if self.step is None or self.fixed else Steps(self.low, self.high, self.step)

    @property
    def fixed(self) -> bool:
        """Whether there is only one value."""
        return self.low == self.high

    @property
    def n_coordinates(self) -> int:
        """One, or none if the value is fixed."""
        return 0 if self.fixed else 1

    @cached_property
    def is_linear(self) -> bool:
        """Whether the value is a linear function of the coordinate, and high - low a finite float."""
        return self._steps is None and not self.log and 0 < self.high - self.low < math.inf

    @property
    def is_numeric(self) -> bool:
        """True."""
        return True

    @property
    def cardinality(self) -> int | None:
        """Number of values; None without steps, although floats are finite in number."""
        if self.fixed:
            return 1
        return None if self._steps is None else self._steps.count

    def check(self, value: Any, name: str) -> float:
        """Return the value as a float within the bounds."""
        if isinstance(value, np.ndarray) and value.ndim == 0:
            value = value.item()
        if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
            raise TypeError(f"{name} must be a number, got {value!r}")
        value = _as_float(value)
        if not self.low <= value <= self.high:
            raise SpaceError(
                f"{name} must be in [{self.low!r}, {self.high!r}], got {value!r}; omit the point or use wider bounds"
            )
        return value if self._steps is None else self._steps.check(value, name)

    def encode(self, value: Any) -> Vector:
        """Coordinate of a value."""
        if self.fixed:
            return np.empty(0)
        if self._steps is not None:
            return self.encode_index(self._steps.nearest(value))
        return np.array([self._coordinate(value)])

    def decode(self, coordinates: Vector) -> float:
        """Value of a coordinate, always within the bounds."""
        if self.fixed:
            return self.low
        if self._steps is not None:
            return self._steps.value(cell_index(float(coordinates[0]), self._steps.count))
        return self._value(float(coordinates[0]))

    def snap(self, coordinates: Matrix) -> Matrix:
        """Apply ``encode(decode(u))`` to each row."""
        if self._steps is not None:
            return snap_to_centers(coordinates, self._steps.count)
        if self.is_linear:
            span = self.high - self.low
            x = np.clip(self.low + np.clip(coordinates, 0.0, 1.0) * span, self.low, self.high)
            x = np.where(coordinates >= 1.0, self.high, x)
            return np.clip((x - self.low) / span, 0.0, 1.0)
        # one by one: NumPy's logarithms may differ from Python's in the last bit
        snapped = [self._coordinate(self._value(u)) for u in coordinates.ravel().tolist()]
        return np.array(snapped).reshape(coordinates.shape)

    def decode_all(self, coordinates: Matrix) -> list[float]:
        """Apply ``decode`` to each row."""
        if not self.is_linear:
            return super().decode_all(coordinates)
        u = coordinates[:, 0]
        x = np.clip(self.low + u * (self.high - self.low), self.low, self.high)
        values: list[float] = np.where(u >= 1.0, self.high, np.where(u <= 0.0, self.low, x)).tolist()
        return values

    def derivative(self, value: Any) -> Vector:
        """du/dx at a value; with steps, of the line through the centers of the cells."""
        if self.fixed:
            return np.empty(0)
        if self._steps is not None:
            return np.array([1 / (self._steps.step * self._steps.count)])
        if self.log:
            return np.array([1 / value / self._log_range])
        if self.is_linear:
            return np.array([1 / (self.high - self.low)])
        return np.array([0.5 / (self.high / 2 - self.low / 2)])

    def _coordinate(self, x: float) -> float:
        """Coordinate of a value, without steps."""
        if self.log:
            u = _log_ratio(self.low, x) / self._log_range
        elif self.is_linear:
            u = (x - self.low) / (self.high - self.low)
        else:  # high - low overflows
            u = (x / 2 - self.low / 2) / (self.high / 2 - self.low / 2)
        return min(max(u, 0.0), 1.0)

    def _value(self, u: float) -> float:
        """Value of a coordinate, without steps."""
        if u <= 0.0:
            return self.low
        if u >= 1.0:
            return self.high
        if self.log and math.isfinite(self.high / self.low):
            x = self.low + self.low * math.expm1(u * self._log_range)
        elif self.log:
            x = math.exp((1 - u) * math.log(self.low) + u * math.log(self.high))
        elif self.is_linear:
            x = self.low + u * (self.high - self.low)
        else:
            x = (1 - u) * self.low + u * self.high
        return min(max(x, self.low), self.high)

    @cached_property
    def _log_range(self) -> float:
        return _log_ratio(self.low, self.high)


def _as_float(number: Any) -> float:
    """The nearest float; infinite for an integer that is too large."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _log_ratio(a: float, b: float) -> float:
    """log(b / a) for 0 < a <= b; accurate if a and b are close, finite if b / a overflows."""
    ratio = b / a
    if ratio < 2:
        return math.log1p((b - a) / a)
    return math.log(ratio) if math.isfinite(ratio) else math.log(b) - math.log(a)
