"""Constraints on the inputs, as a user writes them: which points of a space may be evaluated.

Each constraint is converted to constraint values, numbers that are at most 0 where the point is allowed:

    LinearConstraint(A, lb, ub)          lb - A x,  A x - ub        (sides that are finite)
    NonlinearConstraint(fun, lb, ub)     lb - fun(x),  fun(x) - ub
    a callable that returns numbers      the numbers
    a callable that returns a bool       -1 for True, 1 for False

They are evaluated at the point that the objective receives, after rounding. For floats, a - b <= 0 exactly if a <= b,
so a point that is allowed here also passes the user's own comparison. A point at which a constraint raises an exception
or returns NaN is not allowed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy.optimize import LinearConstraint, NonlinearConstraint

from dale._arrays import Matrix, Vector
from dale.errors import SpaceError
from dale.space.point import Params, format_point
from dale.space.space import Space

SUMMATION_ERROR = 1e-13  # relative to the terms: bound on the effect of the order of summation
EXPECTED = (
    "constraints must be scipy.optimize.LinearConstraint or NonlinearConstraint, or callables that take the "
    "argument of the objective and return True where a point is allowed, or numbers that are at most 0 there"
)


@dataclass(frozen=True, eq=False)
class Linear:
    """Constraint values of lower <= A x <= upper, for the finite sides: A x - upper.

    Attributes:
        A: One row for each constraint value, (k, n).
        upper: Upper bounds on A x, (k,).
    """

    A: Matrix
    upper: Vector

    def __call__(self, x: Vector) -> Vector:
        """Constraint values at one point (n,): the largest result of all usual orders of summation."""
        terms = self.A * x
        sums = [self.A @ x, np.sum(terms, axis=1), [np.dot(a, x) for a in self.A], [math.fsum(t) for t in terms]]
        return np.asarray(np.max([*sums, [sum(t.tolist()) for t in terms]], axis=0) - self.upper)

    def evaluate(self, X: Matrix) -> tuple[Matrix, Vector]:
        """Constraint values at points (m, n), and bounds (k,) on their difference from those of ``__call__``."""
        size = np.max(np.abs(X), axis=0, initial=0.0) @ np.abs(self.A).T + np.abs(self.upper)
        return X @ self.A.T - self.upper, SUMMATION_ERROR * size


@dataclass(frozen=True, eq=False)
class Nonlinear:
    """Constraint values of lower <= fun(x) <= upper; a class rather than a closure, so that it can be pickled.

    Attributes:
        fun: Function of a point that returns numbers.
        lower: Their lower bounds.
        upper: Their upper bounds.
    """

    fun: Callable[[Vector], Any]
    lower: Vector
    upper: Vector

    def __call__(self, x: Vector) -> Vector:
        """Constraint values at one point (n,)."""
        v = np.atleast_1d(np.asarray(self.fun(x), dtype=float))
        lower, upper = (np.broadcast_to(side, v.shape) for side in (self.lower, self.upper))
        has_lower, has_upper = np.isfinite(lower), np.isfinite(upper)  # infinite sides are always satisfied
        return np.append(lower[has_lower] - v[has_lower], v[has_upper] - upper[has_upper])


@dataclass(frozen=True, eq=False)
class Constraints:
    """All constraints on the inputs of a space.

    Attributes:
        space: The space.
        functions: For each constraint, a function of a point that returns constraint values or a bool.
        of_arrays: Indices of the constraints that take an array of numbers; the others take what the objective takes.
        given: The constraints as the user wrote them.
    """

    space: Space
    functions: tuple[Callable[[Any], Any], ...]
    of_arrays: frozenset[int]
    given: tuple[Any, ...] = ()
    _boolean: dict[int, np.ndarray] = field(default_factory=dict)
    _errors: list[str] = field(default_factory=list)

    @property
    def boolean(self) -> np.ndarray:
        """Which constraint values come from a bool, (k,); known after the first evaluation."""
        return np.concatenate([self._boolean.get(i, np.ones(1, dtype=bool)) for i in range(len(self.functions))])

    @property
    def last_error(self) -> str:
        """The last exception that a constraint raised, as text; empty if there was none."""
        return self._errors[-1] if self._errors else ""

    def allows(self, params: Params) -> bool:
        """Whether a point in the user's units may be evaluated."""
        return all(bool(np.all(self._evaluate(i, params)[0] <= 0)) for i in range(len(self.functions)))

    def check(self, params: Params) -> None:
        """An error if a point in the user's units may not be evaluated."""
        if not self.allows(params):
            raise SpaceError(
                f"the constraints do not allow {format_point(params)}; leave the point out, or record a value that is "
                "known there with add(params, value)"
            )

    def allowed(self, points: Matrix) -> np.ndarray:
        """Which points (m, dimension) of the cube may be evaluated, after rounding as for the objective."""
        allowed = np.ones(len(points), dtype=bool)
        params = _DecodedPoints(self.space, points)
        for i, function in enumerate(self.functions):
            if isinstance(function, Linear):
                values, error = function.evaluate(params.arrays)
                unsure = np.flatnonzero(allowed & np.any(np.abs(values) <= error, axis=1))
                allowed &= np.all(values <= 0, axis=1)
            else:
                unsure = np.flatnonzero(allowed)
            for j in unsure.tolist():
                allowed[j] = bool(np.all(self._evaluate(i, params[j])[0] <= 0))
        return allowed

    def values(self, points: Matrix) -> Matrix:
        """Constraint values (m, k) at points (m, dimension) of the cube; infinite where they cannot be computed."""
        params = _DecodedPoints(self.space, points)
        return np.hstack([self._values_of(i, params, len(points)) for i in range(len(self.functions))])

    def _values_of(self, i: int, params: _DecodedPoints, m: int) -> Matrix:
        """Constraint values (m, k_i) of constraint number i."""
        function = self.functions[i]
        if isinstance(function, Linear):
            self._boolean.setdefault(i, np.zeros(len(function.upper), dtype=bool))
            return function.evaluate(params.arrays)[0]
        rows = []
        for j in range(m):
            values, boolean = self._evaluate(i, params[j])
            if np.isfinite(values).all() and len(self._boolean.setdefault(i, boolean)) != len(values):
                raise SpaceError(
                    f"expected as many numbers from constraint {i} at every point, got {len(values)} at {params[j]!r} "
                    f"and {len(self._boolean[i])} elsewhere"
                )
            rows.append(values)
        k = len(self._boolean.get(i, np.ones(1)))
        return np.array([v if len(v) == k else np.full(k, np.inf) for v in rows]).reshape(-1, k)

    def _evaluate(self, i: int, params: Params) -> tuple[Vector, np.ndarray]:
        """Values of constraint number i at a copy of a point, and which of them come from a bool."""
        if i in self.of_arrays and not isinstance(params, np.ndarray):
            params = self.space.as_array(params)
        copy = params.copy() if isinstance(params, np.ndarray) else dict(params)
        try:
            return _as_values(self.functions[i](copy))
        except Exception as error:  # the user's function may raise anything
            self._errors[:] = [f"{type(error).__name__}: {error}"]
            return np.array([np.inf]), np.zeros(1, dtype=bool)


class _DecodedPoints:
    """Points (m, dimension) of the cube, decoded: one by one as the objective receives them, or as an array."""

    def __init__(self, space: Space, points: Matrix) -> None:
        self._space = space
        self._points = space.snap_all(points)

    def __getitem__(self, j: int) -> Params:
        if not self._space.named and self._space.is_numeric:
            x: Vector = self.arrays[j]
            return x
        if not self._space.named or self._space.conditions:
            return self._space.decode(self._points[j])
        return {name: column[j] for name, column in self._columns.items()}

    @cached_property
    def _columns(self) -> dict[str, list[Any]]:
        return self._space.decode_columns(self._points)

    @cached_property
    def arrays(self) -> Matrix:
        """(m, number of parameters), in the user's order."""
        arrays = np.empty((len(self._points), len(self._space.names)))
        for j, column in enumerate(self._columns.values()):
            arrays[:, j] = column
        return arrays


def _as_values(returned: Any) -> tuple[Vector, np.ndarray]:
    """Constraint values from what a constraint returned, and which of them come from a bool; NaN becomes infinite."""
    raw = np.atleast_1d(np.asarray(returned)).ravel()
    if raw.dtype == bool:
        return np.where(raw, -1.0, 1.0), np.ones(len(raw), dtype=bool)
    values = raw.astype(float)
    return np.where(np.isnan(values), np.inf, values), np.zeros(len(values), dtype=bool)


def as_constraints(constraints: Any, space: Space) -> Constraints | None:
    """Convert one constraint or a sequence of them, as a user writes them; None if there are none."""
    if constraints is None:
        return None
    if isinstance(constraints, LinearConstraint | NonlinearConstraint) or callable(constraints):
        constraints = [constraints]
    if not isinstance(constraints, Sequence) or isinstance(constraints, str):
        raise TypeError(f"{EXPECTED}; got {constraints!r}")
    functions = tuple(_as_function(c, f"constraint {i}", space) for i, c in enumerate(constraints))
    of_arrays = [i for i, c in enumerate(constraints) if isinstance(c, LinearConstraint | NonlinearConstraint)]
    return Constraints(space, functions, frozenset(of_arrays), tuple(constraints)) if functions else None


def _as_function(constraint: Any, name: str, space: Space) -> Callable[[Any], Any]:
    if isinstance(constraint, LinearConstraint):
        return _linear(constraint, name, space)
    if isinstance(constraint, NonlinearConstraint):
        return _nonlinear(constraint, name, space)
    if callable(constraint):
        function: Callable[[Any], Any] = constraint
        return function
    hint = "; in SciPy's dictionaries fun(x) >= 0 is allowed: use a callable with the opposite sign"
    raise TypeError(f"{EXPECTED}; got {constraint!r} as {name}" + (hint if isinstance(constraint, dict) else ""))


def _linear(constraint: LinearConstraint, name: str, space: Space) -> Linear:
    _check_numeric(name, space)
    if space.conditions:
        raise SpaceError(
            f"{name} is a LinearConstraint, which takes a value of every parameter, but the space has the conditional "
            f"{', '.join(map(repr, space.conditions))}; use a callable that takes the objective's argument"
        )
    A = constraint.A.toarray() if hasattr(constraint.A, "toarray") else np.asarray(constraint.A, dtype=float)
    A = np.atleast_2d(A)
    if A.shape[1] != len(space.names) or not np.all(np.isfinite(A)):
        raise SpaceError(
            f"expected {len(space.names)} columns of finite numbers in the matrix of {name}, one for each parameter in "
            f"the order {', '.join(space.names)}, got shape {A.shape}"
        )
    lower, upper = _sides(constraint.lb, constraint.ub, name)
    try:
        lower, upper = (np.broadcast_to(side, len(A)) for side in (lower, upper))
    except ValueError:
        raise SpaceError(
            f"expected one number, or one for each of the {len(A)} rows of A, in lb and ub of {name}, got shape "
            f"{lower.shape}"
        ) from None
    has_lower, has_upper = np.isfinite(lower), np.isfinite(upper)
    return Linear(np.vstack([-A[has_lower], A[has_upper]]), np.append(-lower[has_lower], upper[has_upper]))


def _nonlinear(constraint: NonlinearConstraint, name: str, space: Space) -> Nonlinear:
    _check_numeric(name, space)
    return Nonlinear(constraint.fun, *_sides(constraint.lb, constraint.ub, name))


def _check_numeric(name: str, space: Space) -> None:
    others = [n for n, p in space.parameters.items() if not p.is_numeric]
    if others:
        raise SpaceError(
            f"{name} is a SciPy constraint, which takes an array of numbers, but the space has "
            f"{', '.join(map(repr, others))}, which is not numeric; use a callable that takes the objective's argument"
        )


def _sides(lower: Any, upper: Any, name: str) -> tuple[Vector, Vector]:
    """Both sides of a constraint as arrays of the same shape, checked."""
    try:
        lower, upper = np.broadcast_arrays(np.asarray(lower, dtype=float), np.asarray(upper, dtype=float))
    except ValueError:
        raise SpaceError(
            f"expected lb and ub of {name} to have the same shape, got {np.shape(lower)} and {np.shape(upper)}"
        ) from None
    if np.any(np.isnan(lower) | np.isnan(upper) | (lower > upper)):
        raise SpaceError(f"expected lb < ub in {name}, got lb = {lower!r} and ub = {upper!r}")
    if np.any(lower == upper):
        raise SpaceError(
            f"{name} is an equality (lb = ub = {float(lower[lower == upper].flat[0])!r}), which rounded points do not "
            "satisfy exactly; remove one parameter from the space and compute it from the others"
        )
    return lower, upper
