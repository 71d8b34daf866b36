"""The outcome of an evaluation: one finite real number, its noise, constraints and extra values; and their checks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sized
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any

import numpy as np

from dale.history.extra import check_extra
from dale.space.point import short_repr


@dataclass(frozen=True)
class Evaluation:
    """A value with its noise, constraints and extra values: what an objective may return instead of a number.

    Attributes:
        value: Value of the objective.
        noise: Standard deviation of the noise in it, where it is known.
        constraints: Outcome constraints: numbers that must be at most 0 for the point to be feasible, the same number
            of them each time.
        extra: Further results by name, which the run keeps and no model reads: None, booleans, integers, finite floats,
            strings, and lists and dicts of these; at most 64 kB as JSON. ``Trial.extra`` holds them.

    Examples:
        >>> import dale
        >>> fun = lambda x: dale.Evaluation(x[0] ** 2, constraints=[0.5 - x[0]])
        >>> result = dale.minimize(fun, [(-1, 1)], budget=15, seed=0)
        >>> round(float(result.x[0]), 3)
        0.5
        >>> fun = lambda x: dale.Evaluation(x[0] ** 2, extra={"slope": 2 * x[0]})
        >>> result = dale.minimize(fun, [(1, 2)], budget=2, seed=0)
        >>> [sorted(trial.extra) for trial in result.history]
        [['slope'], ['slope']]
    """

    value: Any
    noise: Any = None
    constraints: Any = ()
    extra: Any = field(default=None, hash=False)


class NotFinite(ValueError):
    """A number that is NaN or infinite where a finite one is expected."""


def check_evaluation(value: Any, noise: Any, constraints: Any, extra: Any = None) -> Evaluation:
    """An evaluation in its proper types: a finite value, noise, constraints and extra values; else a clear error."""
    if isinstance(value, Evaluation):
        if noise is not None or np.size(constraints) or extra is not None:
            raise TypeError(
                f"got {short_repr(value)} and noise, constraints or extra besides; give them in one of the two ways"
            )
        value, noise, constraints, extra = value.value, value.noise, value.constraints, value.extra
    return Evaluation(check_value(value), check_noise(noise), check_constraints(constraints), check_extra(extra))


def are_several(value: Any) -> bool:
    """Whether a value is a collection, as returned by several objectives."""
    if isinstance(value, np.ndarray):
        return value.size > 1
    if getattr(value, "ndim", None) == 0:  # len() of a torch scalar raises
        return False
    return isinstance(value, Mapping) or (isinstance(value, Sized) and not isinstance(value, str) and len(value) > 1)


def check_value(value: Any) -> float:
    """The value as a float, if it is one finite real number."""
    value = _as_scalar(value)
    if are_several(value):
        raise TypeError(
            f"the value of a trial must be one real number, got {short_repr(value)}; dale minimises one objective: "
            "combine several into one, such as a weighted sum, or use Optuna or BoTorch for multiple objectives"
        )
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        raise TypeError(
            f"the value of a trial must be one real number, got {short_repr(value)}; report an evaluation without a "
            "value with fail(trial, why)"
        )
    number = as_float(value)
    if not math.isfinite(number):
        raise NotFinite(
            f"the value of a trial must be finite, got {number!r}; use fail(trial, why) for a failed evaluation"
        )
    return number


def _as_scalar(value: Any) -> Any:
    """The element of an array that has one; any other value as it is."""
    if isinstance(value, np.ndarray) and value.size == 1 and not np.ma.is_masked(value):
        return value.reshape(()).item()
    if getattr(value, "ndim", None) == 0 and hasattr(value, "item") and not isinstance(value, np.ndarray | Real):
        return value.item()  # a scalar of torch, JAX or the like
    return value


def check_noise(noise: Any) -> float | None:
    """A standard deviation as a float, or None."""
    if noise is None:
        return None
    noise = _as_scalar(noise)
    if isinstance(noise, bool | np.bool_) or not isinstance(noise, Real):
        raise TypeError(f"noise must be a number, the standard deviation of a value, got {short_repr(noise)}")
    number = as_float(noise)
    if not 0 <= number < math.inf:
        raise ValueError(
            f"noise must be a finite number of at least 0, the standard deviation, got {short_repr(noise)}"
        )
    return number


def check_default_noise(noise: Any) -> float | None:
    """The noise of a run as the user gives it: a standard deviation, or None for ``"auto"``."""
    if isinstance(noise, str) and noise != "auto":
        raise ValueError(f'noise must be "auto" or a number, the standard deviation of the values, got {noise!r}')
    return check_noise(None if noise == "auto" else noise)


def check_constraints(constraints: Any) -> tuple[float, ...]:
    """Constraints as a tuple of finite floats."""
    if constraints is None:
        return ()
    try:
        values = [_as_scalar(c) for c in ([constraints] if np.ndim(constraints) == 0 else constraints)]
    except (TypeError, ValueError):
        values = [constraints]
    for value in values:
        is_number = isinstance(value, Real) and not isinstance(value, bool | np.bool_)
        if not is_number or not math.isfinite(as_float(value)):
            raise (NotFinite if is_number else ValueError)(
                f"constraints must be finite numbers, feasible when at most 0, got {short_repr(constraints)}; "
                "use fail(trial, why) for an evaluation that has none"
            )
    return tuple(float(v) for v in values)


def check_count(n: Any, name: str, expected: str, hint: str = "") -> int:
    """An argument as a positive integer."""
    if isinstance(n, bool) or not isinstance(n, Integral):
        raise TypeError(f"{name} must be {expected}, got {n!r}")
    if n < 1:
        must = f"at least 1, got {n!r}; {hint}" if hint else f"{expected}, got {n!r}"
        raise ValueError(f"{name} must be {must}")
    return int(n)


def check_positive(number: Any, name: str, expected: str, hint: str) -> float:
    """An argument as a positive number, which may be infinite."""
    if isinstance(number, bool) or not isinstance(number, Real):
        raise TypeError(f"{name} must be {expected}, got {number!r}")
    if not as_float(number) > 0:
        raise ValueError(f"{name} must be positive, got {number!r}; {hint}")
    return as_float(number)


def as_float(number: Any) -> float:
    """A number as a float; an integer above the largest float is infinite."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf
