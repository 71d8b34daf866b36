"""Constraints on the inputs, as a user writes them: which points of a space may be evaluated at all.

Each becomes some margins, numbers that are at most 0 where the point is allowed:

    LinearConstraint(A, lb, ub)          lb - A x,  A x - ub        (those with a finite side)
    NonlinearConstraint(fun, lb, ub)     lb - fun(x),  fun(x) - ub
    a callable that returns numbers      the numbers
    a callable that returns a bool       -1 for True, 1 for False

They are taken at what the objective gets, rounded as it is. For floats a - b <= 0 just where a <= b, so that what is
allowed here is allowed by the user's own comparison. Where a constraint raises, or gives NaN, nothing is
allowed.
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
from dale.space.float import Float
from dale.space.int import Int
from dale.space.point import Params
from dale.space.space import Space

ROUNDING = 1e-13  # of the terms of a sum: how much its order may matter, with much to spare
WANTED = (
    "constraints must be scipy.optimize.LinearConstraint or NonlinearConstraint, or callables that take what the "
    "objective takes and return True where a point is allowed, or numbers that are at most 0 there"
)


@dataclass(frozen=True, eq=False)
class Linear:
    """Margins of lower <= A x <= upper, of the sides that are finite.

    Attributes:
        A: A row for each margin, (k, n).
        most: What A x is at most, (k,).
    """

    A: Matrix
    most: Vector

    def __call__(self, x: Vector) -> Vector:
        """At one point (n,): the largest that a sum may come to, in whichever order a user adds it up."""
        terms = self.A * x
        sums = [self.A @ x, np.sum(terms, axis=1), [np.dot(a, x) for a in self.A], [math.fsum(t) for t in terms]]
        return np.asarray(np.max([*sums, [sum(t.tolist()) for t in terms]], axis=0) - self.most)

    def at_all(self, X: Matrix) -> tuple[Matrix, Vector]:
        """At points (m, n), with how far rounding may have moved them from those that ``__call__`` gives, (k,)."""
        negative_log_feasibility = ROUNDING * (
            np.max(np.abs(X), axis=0, initial=0.0) @ np.abs(self.A).T + np.abs(self.most)
        )
        return X @ self.A.T - self.most, negative_log_feasibility


@dataclass(frozen=True, eq=False)
class Nonlinear:
    """Margins of lower <= fun(x) <= upper; an object and no closure, so that an optimizer can be pickled.

    Attributes:
        fun: Numbers of a point.
        lower: What they are at least.
        upper: What they are at most.
    """

    fun: Callable[[Vector], Any]
    lower: Vector
    upper: Vector

    def __call__(self, x: Vector) -> Vector:
        """At one point (n,)."""
        v = np.atleast_1d(np.asarray(self.fun(x), dtype=float))
        lower, upper = (np.broadcast_to(side, v.shape) for side in (self.lower, self.upper))
        low, high = np.isfinite(lower), np.isfinite(upper)  # a side that is infinite is kept anyway
        return np.append(lower[low] - v[low], v[high] - upper[high])


@dataclass(frozen=True, eq=False)
class Constraints:
    """All constraints on the inputs of a space.

    Attributes:
        space: The space.
        each: Margins of a point of the user's, for each constraint: numbers, or a bool.
        of_arrays: Which of them take it as an array of numbers; the others take it as the objective does.
    """

    space: Space
    each: tuple[Callable[[Any], Any], ...]
    of_arrays: frozenset[int]
    _seen: dict[int, np.ndarray] = field(default_factory=dict)
    _trouble: list[str] = field(default_factory=list)

    @property
    def flat(self) -> np.ndarray:
        """Which margins say yes or no only, (k,); as many as were seen so far."""
        return np.concatenate([self._seen.get(i, np.ones(1, dtype=bool)) for i in range(len(self.each))])

    @property
    def trouble(self) -> str:
        """What the last constraint to raise has said; empty if none has."""
        return self._trouble[-1] if self._trouble else ""

    def allows(self, params: Params) -> bool:
        """Whether a point of the user's may be evaluated."""
        return all(bool(np.all(self._at(i, params)[0] <= 0)) for i in range(len(self.each)))

    def allowed(self, points: Matrix) -> np.ndarray:
        """Which points (m, dimension) of the cube may be evaluated, as the objective sees them."""
        allowed = np.ones(len(points), dtype=bool)
        params = _Decoded(self.space, points)
        for i, each in enumerate(self.each):
            if isinstance(each, Linear):
                margins, negative_log_feasibility = each.at_all(params.arrays)
                near = np.flatnonzero(allowed & np.any(np.abs(margins) <= negative_log_feasibility, axis=1))
                allowed &= np.all(margins <= 0, axis=1)
                rest = near
            else:
                rest = np.flatnonzero(allowed)
            for j in rest.tolist():
                allowed[j] = bool(np.all(self._at(i, params[j])[0] <= 0))
        return allowed

    def margins(self, points: Matrix) -> Matrix:
        """Margins (m, k) at points (m, dimension) of the cube; infinite where they cannot be told."""
        params = _Decoded(self.space, points)
        return np.hstack([self._column(i, params, len(points)) for i in range(len(self.each))])

    def _column(self, i: int, params: _Decoded, m: int) -> Matrix:
        """Margins of one constraint, (m, its own)."""
        each = self.each[i]
        if isinstance(each, Linear):
            self._seen.setdefault(i, np.zeros(len(each.most), dtype=bool))
            return each.at_all(params.arrays)[0]
        rows = []
        for j in range(m):
            values, flat = self._at(i, params[j])
            if np.isfinite(values).all() and len(self._seen.setdefault(i, flat)) != len(values):
                raise SpaceError(
                    f"constraint {i} gave {len(values)} numbers at {params[j]!r} and {len(self._seen[i])} elsewhere; "
                    "let it give as many at every point"
                )
            rows.append(values)
        width = len(self._seen.get(i, np.ones(1)))
        return np.array([v if len(v) == width else np.full(width, np.inf) for v in rows]).reshape(-1, width)

    def _at(self, i: int, params: Params) -> tuple[Vector, np.ndarray]:
        """Margins of one constraint at a point, which it gets as a copy, and which of them are mere yes or no."""
        if i in self.of_arrays and not isinstance(params, np.ndarray):
            params = self.space.as_array(params)
        copy = params.copy() if isinstance(params, np.ndarray) else dict(params)
        try:
            return _numbers(self.each[i](copy))
        except Exception as error:  # whatever a user's function raises
            self._trouble[:] = [f"{type(error).__name__}: {error}"]
            return np.array([np.inf]), np.zeros(1, dtype=bool)


class _Decoded:
    """Points (m, dimension) of the cube as the objective gets them, one by one or as an array of numbers."""

    def __init__(self, space: Space, points: Matrix) -> None:
        self._space = space
        self._points = space.snap_all(points)

    def __getitem__(self, j: int) -> Params:
        space = self._space
        if space.named and not space.conditions and all(isinstance(p, Float) for p in space.parameters.values()):
            return dict(zip(space.names, self.arrays[j].tolist(), strict=True))
        if space.named or not space.of_numbers:
            return space.decode(self._points[j])
        x: Vector = self.arrays[j]
        return x

    @cached_property
    def arrays(self) -> Matrix:
        """(m, number of parameters), in the user's order."""
        return self._space.decode_all(self._points)


def _numbers(answer: Any) -> tuple[Vector, np.ndarray]:
    """Margins from what a constraint returned, and which of them are mere yes or no; NaN counts as infinite."""
    raw = np.atleast_1d(np.asarray(answer)).ravel()
    if raw.dtype == bool:
        return np.where(raw, -1.0, 1.0), np.ones(len(raw), dtype=bool)
    values = raw.astype(float)
    return np.where(np.isnan(values), np.inf, values), np.zeros(len(values), dtype=bool)


def as_constraints(constraints: Any, space: Space) -> Constraints | None:
    """Constraints of a space from whatever a user writes; None for none."""
    if constraints is None:
        return None
    if isinstance(constraints, LinearConstraint | NonlinearConstraint) or callable(constraints):
        constraints = [constraints]
    if not isinstance(constraints, Sequence) or isinstance(constraints, str):
        raise TypeError(f"{WANTED}; got {constraints!r}")
    each = tuple(_read(c, f"constraint {i}", space) for i, c in enumerate(constraints))
    scipys = [i for i, c in enumerate(constraints) if isinstance(c, LinearConstraint | NonlinearConstraint)]
    return Constraints(space, each, frozenset(scipys)) if each else None


def _read(constraint: Any, name: str, space: Space) -> Callable[[Any], Any]:
    if isinstance(constraint, LinearConstraint):
        return _linear(constraint, name, space)
    if isinstance(constraint, NonlinearConstraint):
        return _nonlinear(constraint, name, space)
    if callable(constraint):
        read: Callable[[Any], Any] = constraint
        return read
    hint = "; SciPy's dictionaries count fun(x) >= 0 as allowed: use a callable and turn the sign"
    raise TypeError(f"{WANTED}; got {constraint!r} as {name}" + (hint if isinstance(constraint, dict) else ""))


def _linear(constraint: LinearConstraint, name: str, space: Space) -> Linear:
    _check_numbers(name, space)
    A = constraint.A.toarray() if hasattr(constraint.A, "toarray") else np.asarray(constraint.A, dtype=float)
    A = np.atleast_2d(A)
    if A.shape[1] != len(space.names) or not np.all(np.isfinite(A)):
        raise SpaceError(
            f"{name} has a matrix of shape {A.shape}; wanted {len(space.names)} columns of finite numbers, one for "
            f"each parameter in the order {', '.join(space.names)}"
        )
    lower, upper = _sides(constraint.lb, constraint.ub, name)
    try:
        lower, upper = (np.broadcast_to(side, len(A)) for side in (lower, upper))
    except ValueError:
        raise SpaceError(
            f"{name} has lb and ub of shape {lower.shape}; wanted one number, or {len(A)}, one for each row of A"
        ) from None
    low, high = np.isfinite(lower), np.isfinite(upper)
    return Linear(np.vstack([-A[low], A[high]]), np.append(-lower[low], upper[high]))


def _nonlinear(constraint: NonlinearConstraint, name: str, space: Space) -> Nonlinear:
    _check_numbers(name, space)
    return Nonlinear(constraint.fun, *_sides(constraint.lb, constraint.ub, name))


def _check_numbers(name: str, space: Space) -> None:
    others = [n for n, p in space.parameters.items() if not isinstance(p, Float | Int)]
    if others:
        raise SpaceError(
            f"{name} is one of SciPy's, which takes an array of numbers, but {', '.join(map(repr, others))} of the "
            "space is none; use a callable that takes what the objective takes"
        )


def _sides(lower: Any, upper: Any, name: str) -> tuple[Vector, Vector]:
    """Both sides of a constraint as arrays of one shape, if they make sense."""
    try:
        lower, upper = np.broadcast_arrays(np.asarray(lower, dtype=float), np.asarray(upper, dtype=float))
    except ValueError:
        raise SpaceError(f"{name} has lb of shape {np.shape(lower)} and ub of shape {np.shape(upper)}") from None
    if np.any(np.isnan(lower) | np.isnan(upper) | (lower > upper)):
        raise SpaceError(f"{name} has lb = {lower!r} and ub = {upper!r}; wanted lb < ub")
    if np.any(lower == upper):
        raise SpaceError(
            f"{name} is an equality (lb = ub = {float(lower[lower == upper].flat[0])!r}), which no rounded point would "
            "fulfil exactly; take one parameter out of the space and compute it from the others"
        )
    return lower, upper
