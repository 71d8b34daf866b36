"""Constraints on the inputs, as a user writes them: which points of a space may be evaluated.

Each constraint is converted to constraint values, numbers that are at most 0 where the point is allowed:

    LinearConstraint(A, lb, ub)          lb - A x,  A x - ub        (sides that are finite)
    NonlinearConstraint(fun, lb, ub)     lb - fun(x),  fun(x) - ub
    text, "0 <= a + b <= c ** 2"         left - right of each comparison (``space/expressions.py``)
    a callable that returns numbers      the numbers
    a callable that returns a bool       -1 for True, 1 for False

They are evaluated at the point that the objective receives, after rounding. For floats, a - b <= 0 exactly if a <= b,
so a point that is allowed here also passes the user's own comparison. A point at which a constraint raises an exception
or returns NaN is not allowed.

Linear equalities (a LinearConstraint with lb = ub, or text with ==) become a part of the space. Of these, only the
bounds of the parameters that they determine are left here (``space/equalities.py``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import LinearConstraint, NonlinearConstraint

from dale._arrays import Matrix, Vector
from dale.errors import SpaceError
from dale.space.equalities import BY_HAND, Equality
from dale.space.expressions import Comparison, parse_constraint
from dale.space.point import Params, format_point
from dale.space.space import Space

SUMMATION_ERROR = 1e-13  # relative to the terms: bound on the effect of the order of summation
EXPECTED = (
    "constraints must be text such as 'a + b <= 4', scipy.optimize.LinearConstraint or NonlinearConstraint, or "
    "callables that take the argument of the objective and return True where a point is allowed, or numbers that are "
    "at most 0 there"
)


@dataclass(frozen=True, eq=False)
class Linear:
    """Constraint values of lower <= A x <= upper, for the finite sides: A x - upper.

    Attributes:
        names: The parameters x.
        A: One row for each constraint value, (k, n).
        upper: Upper bounds on A x, (k,).
    """

    names: tuple[str, ...]
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
class Written:
    """Constraint values of comparisons that are not linear: left - right."""

    comparisons: tuple[Comparison, ...]

    def __call__(self, values: Mapping[str, float]) -> Vector:
        """Constraint values at one point."""
        return np.array([comparison.value(values) for comparison in self.comparisons])


@dataclass(frozen=True, eq=False)
class Constraints:
    """All constraints on the inputs of a space.

    Attributes:
        space: The space; equalities among the constraints are a part of it.
        functions: Functions of a point that return constraint values or a bool: ``Linear``, ``Nonlinear``, ``Written``,
            or the user's own, which take what the objective takes.
        labels: What error messages call them.
        given: The constraints as the user wrote them, without those of the space.
    """

    space: Space
    functions: tuple[Callable[[Any], Any], ...]
    labels: tuple[str, ...]
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
                values, error = function.evaluate(params.arrays(function.names))
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
            return function.evaluate(params.arrays(function.names))[0]
        rows = []
        for j in range(m):
            values, boolean = self._evaluate(i, params[j])
            if np.isfinite(values).all() and len(self._boolean.setdefault(i, boolean)) != len(values):
                raise SpaceError(
                    f"expected as many numbers from {self.labels[i]} at every point, got {len(values)} at "
                    f"{params[j]!r} and {len(self._boolean[i])} elsewhere"
                )
            rows.append(values)
        k = len(self._boolean.get(i, np.ones(1)))
        return np.array([v if len(v) == k else np.full(k, np.inf) for v in rows]).reshape(-1, k)

    def _evaluate(self, i: int, params: Params) -> tuple[Vector, np.ndarray]:
        """Values of constraint number i at a copy of a point, and which of them come from a bool."""
        try:
            return _as_values(self.functions[i](self._argument(self.functions[i], params)))
        except Exception as error:  # the user's function may raise anything
            self._errors[:] = [f"{type(error).__name__}: {error}"]
            return np.array([np.inf]), np.zeros(1, dtype=bool)

    def _argument(self, function: Callable[[Any], Any], params: Params) -> Any:
        """A point as a function takes it; a copy, which the function may change."""
        if isinstance(function, Linear):
            values = self.space.by_name(params)
            return np.array([values[name] for name in function.names], dtype=float)
        if isinstance(function, Written):
            return self.space.by_name(params)
        if isinstance(function, Nonlinear):
            params = self.space.as_array(params)
        return params.copy() if isinstance(params, np.ndarray) else dict(params)


class _DecodedPoints:
    """Points (m, dimension) of the cube, decoded: one by one as the objective receives them, or as an array."""

    def __init__(self, space: Space, points: Matrix) -> None:
        self._space = space
        self._points = space.snap_all(points)

    def __getitem__(self, j: int) -> Params:
        if not self._space.named and self._space.is_numeric:
            x: Vector = self._all[j]
            return x
        if not self._space.named or self._space.conditions:
            return self._space.decode(self._points[j])
        return {name: column[j] for name, column in self._columns.items()}

    @cached_property
    def _columns(self) -> dict[str, list[Any]]:
        return self._space.decode_columns(self._points)

    @cached_property
    def _all(self) -> Matrix:
        return self.arrays(self._space.names)

    def arrays(self, names: Sequence[str]) -> Matrix:
        """Values of numeric parameters, (m, number of names)."""
        arrays = np.empty((len(self._points), len(names)))
        for j, name in enumerate(names):
            arrays[:, j] = self._columns[name]
        return arrays


def _as_values(returned: Any) -> tuple[Vector, np.ndarray]:
    """Constraint values from what a constraint returned, and which of them come from a bool; NaN becomes infinite."""
    raw = np.atleast_1d(np.asarray(returned)).ravel()
    if raw.dtype == bool:
        return np.where(raw, -1.0, 1.0), np.ones(len(raw), dtype=bool)
    values = raw.astype(float)
    return np.where(np.isnan(values), np.inf, values), np.zeros(len(values), dtype=bool)


class _Parts(NamedTuple):
    """What a constraint consists of: functions that return constraint values, and linear equalities."""

    functions: Sequence[Callable[[Any], Any]] = ()
    equalities: Sequence[Equality] = ()


def as_constraints(constraints: Any, space: Space) -> Constraints | None:
    """Convert one constraint or a sequence of them, as a user writes them, after those of the space; None for none."""
    own = _as_list(constraints)
    given = [*space.constraints, *own]
    labels = [f"constraint {c!r}" if isinstance(c, str) else f"constraint {i}" for i, c in enumerate(given)]
    parts = [_parts(c, label, space) for c, label in zip(given, labels, strict=True)]
    equalities = [equality for part in parts for equality in part.equalities]
    space = space.subject_to(equalities) if equalities else space
    found = [(f, label) for part, label in zip(parts, labels, strict=True) for f in part.functions]
    if space.equalities is not None:
        found.insert(0, (_bounds_of_determined(space), "the equalities"))  # first: others may fail beyond the bounds
    if not found:
        return None
    functions, labels_of_functions = zip(*found, strict=True)
    return Constraints(space, functions, labels_of_functions, tuple(own))


def _as_list(constraints: Any) -> list[Any]:
    if constraints is None:
        return []
    if isinstance(constraints, LinearConstraint | NonlinearConstraint | str) or callable(constraints):
        return [constraints]
    if not isinstance(constraints, Sequence):
        raise TypeError(f"{EXPECTED}; got {constraints!r}")
    return list(constraints)


def _bounds_of_determined(space: Space) -> Linear:
    """The bounds of the parameters that equalities determine; all others are within theirs anyway."""
    assert space.equalities is not None
    names, (low, high) = space.equalities.determined, space.equalities.bounds
    identity = np.eye(len(names))
    return Linear(names, np.vstack([-identity, identity]), np.append(-low, high))


def _parts(constraint: Any, label: str, space: Space) -> _Parts:
    if isinstance(constraint, LinearConstraint):
        return _linear(constraint, label, space)
    if isinstance(constraint, NonlinearConstraint):
        return _Parts([_nonlinear(constraint, label, space)])
    if isinstance(constraint, str):
        return _written(constraint, label, space)
    if callable(constraint):
        return _Parts([constraint])
    hint = "; in SciPy's dictionaries fun(x) >= 0 is allowed: use a callable with the opposite sign"
    raise TypeError(f"{EXPECTED}; got {constraint!r} as {label}" + (hint if isinstance(constraint, dict) else ""))


def _written(text: str, label: str, space: Space) -> _Parts:
    """The parts of a constraint that is text."""
    rows: list[tuple[Mapping[str, float], float]] = []  # coefficients and upper bounds
    nonlinear, equalities = [], []
    for comparison in parse_constraint(text, space.names):
        _check_names(comparison.names(), label, space)
        try:
            difference = comparison.affine()
        except (ArithmeticError, ValueError) as error:
            raise SpaceError(f"{label} cannot be evaluated: {error}") from None
        if difference is None:
            if comparison.is_equality:
                raise SpaceError(f"{label} is a nonlinear equality, which is not supported; {BY_HAND}")
            nonlinear.append(comparison)
        elif not difference.coefficients:
            raise SpaceError(f"{label} depends on no parameter, because they cancel; remove it")
        elif not np.all(np.isfinite([difference.constant, *difference.coefficients.values()])):
            raise SpaceError(f"expected finite numbers in {label}")
        elif comparison.is_equality:
            equalities.append(Equality(difference.coefficients, 0.0 - difference.constant))
        else:
            rows.append((difference.coefficients, 0.0 - difference.constant))
    functions: list[Callable[[Any], Any]] = [Written(tuple(nonlinear))] if nonlinear else []
    if rows:
        names = tuple(name for name in space.names if any(name in coefficients for coefficients, _ in rows))
        A = np.array([[coefficients.get(name, 0.0) for name in names] for coefficients, _ in rows])
        functions.insert(0, Linear(names, A, np.array([upper for _, upper in rows])))
    return _Parts(functions, equalities)


def _check_names(names: set[str], label: str, space: Space) -> None:
    """Whether parameters have a number at every point."""
    for name in sorted(names):
        kind = "conditional" if name in space.conditions else "not numeric"
        if name in space.conditions or not space.parameters[name].is_numeric:
            raise SpaceError(f"{label} involves {name!r}, which is {kind}; in Python, use a callable instead of text")


def _linear(constraint: LinearConstraint, name: str, space: Space) -> _Parts:
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
    equal = lower == upper
    equalities = [
        Equality(dict(zip(space.names, row, strict=True)), value)
        for row, value in zip(A[equal].tolist(), lower[equal].tolist(), strict=True)
    ]
    has_lower, has_upper = np.isfinite(lower) & ~equal, np.isfinite(upper) & ~equal
    A, upper = np.vstack([-A[has_lower], A[has_upper]]), np.append(-lower[has_lower], upper[has_upper])
    return _Parts([Linear(space.names, A, upper)] if len(upper) or not equalities else [], equalities)


def _nonlinear(constraint: NonlinearConstraint, name: str, space: Space) -> Nonlinear:
    _check_numeric(name, space)
    lower, upper = _sides(constraint.lb, constraint.ub, name)
    if np.any(lower == upper):
        raise SpaceError(
            f"{name} is a nonlinear equality (lb = ub = {float(lower[lower == upper].flat[0])!r}), which is not "
            f"supported; {BY_HAND}"
        )
    return Nonlinear(constraint.fun, lower, upper)


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
    if np.any(np.isnan(lower) | np.isnan(upper) | (lower > upper) | (np.isinf(lower) & (lower == upper))):
        raise SpaceError(f"expected lb <= ub in {name}, got lb = {lower!r} and ub = {upper!r}")
    return lower, upper
