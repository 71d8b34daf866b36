"""Constraints on the inputs, as a user writes them: which points of a space may be evaluated at all.

Each becomes some margins, numbers that are at most 0 where the point is allowed:

    LinearConstraint(A, lb, ub)          lb - A x,  A x - ub        (those with a finite side)
    NonlinearConstraint(fun, lb, ub)     lb - fun(x),  fun(x) - ub
    a callable that returns numbers      the numbers
    a callable that returns a bool       -1 for True, 1 for False

They are taken at what the objective gets, rounded as it is. For floats a - b <= 0 just where a <= b, so that a point is
allowed here if and only if the user's own comparison says so. Where a constraint raises, or gives NaN, nothing is
allowed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.optimize import LinearConstraint, NonlinearConstraint

from dale.arrays import Matrix, Vector
from dale.errors import SpaceError
from dale.space.float import Float
from dale.space.int import Int
from dale.space.space import Space
from dale.trial import Params

WANTED = (
    "constraints must be scipy.optimize.LinearConstraint or NonlinearConstraint, or callables that take what the "
    "objective takes and return True where a point is allowed, or numbers that are at most 0 there"
)


@dataclass(frozen=True, eq=False)
class Constraints:
    """All constraints on the inputs of a space.

    Attributes:
        space: The space.
        each: Margins of a point of the user's, for each constraint: numbers, or a bool.
        flat: Which margins say yes or no only, (k,): known once a point has been looked at.
        trouble: What the last constraint to raise said.
    """

    space: Space
    each: tuple[Callable[[Params], Any], ...]
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
        return all(bool(np.all(_numbers(self._at(i, params))[0] <= 0)) for i in range(len(self.each)))

    def allowed(self, points: Matrix) -> np.ndarray:
        """Which points (m, dimension) of the cube may be evaluated, as the objective sees them."""
        return np.array([self.allows(self.space.decode(p)) for p in self.space.snap_all(points)], dtype=bool)

    def margins(self, points: Matrix) -> Matrix:
        """Margins (m, k) at points (m, dimension) of the cube; infinite where they cannot be told."""
        params = [self.space.decode(p) for p in self.space.snap_all(points)]
        columns = [self._column(i, params) for i in range(len(self.each))]
        return np.hstack(columns) if columns else np.empty((len(points), 0))

    def _column(self, i: int, params: Sequence[Params]) -> Matrix:
        """Margins of one constraint, (m, its own)."""
        rows = []
        for p in params:
            values, flat = _numbers(self._at(i, p))
            if np.all(np.isfinite(values)):
                if len(self._seen.setdefault(i, flat)) != len(values):
                    raise SpaceError(
                        f"constraint {i} gave {len(values)} numbers at {p!r} and {len(self._seen[i])} elsewhere; "
                        "let it give as many at every point"
                    )
            rows.append(values)
        width = len(self._seen.get(i, np.ones(1)))
        return np.array([v if len(v) == width else np.full(width, np.inf) for v in rows]).reshape(-1, width)

    def _at(self, i: int, params: Params) -> Any:
        """What a constraint says to a point, which it gets as a copy; NaN if it raises."""
        copy = params.copy() if isinstance(params, np.ndarray) else dict(params)
        try:
            return self.each[i](copy)
        except Exception as error:  # whatever a user's function raises
            self._trouble[:] = [f"{type(error).__name__}: {error}"]
            return np.nan


def _numbers(answer: Any) -> tuple[Vector, np.ndarray]:
    """Margins from what a constraint returned, and which of them are mere yes or no; NaN counts as infinite."""
    raw = np.atleast_1d(np.asarray(answer)).ravel()
    if raw.dtype == bool:
        return np.where(raw, -1.0, 1.0), np.ones(len(raw), dtype=bool)
    try:
        values = raw.astype(float)
    except (TypeError, ValueError):
        values = np.full(max(len(raw), 1), np.nan)
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
    return Constraints(space, each) if each else None


def _read(constraint: Any, name: str, space: Space) -> Callable[[Params], Any]:
    if isinstance(constraint, LinearConstraint):
        return _linear(constraint, name, space)
    if isinstance(constraint, NonlinearConstraint):
        return _nonlinear(constraint, name, space)
    if callable(constraint):
        read: Callable[[Params], Any] = constraint
        return read
    hint = "; SciPy's dictionaries count fun(x) >= 0 as allowed: use a callable and turn the sign"
    raise TypeError(f"{WANTED}; got {constraint!r} as {name}" + (hint if isinstance(constraint, dict) else ""))


def _linear(constraint: LinearConstraint, name: str, space: Space) -> Callable[[Params], Any]:
    _check_numbers(name, space)
    A = constraint.A.toarray() if hasattr(constraint.A, "toarray") else np.asarray(constraint.A, dtype=float)
    A = np.atleast_2d(A)
    if A.shape[1] != len(space.names):
        raise SpaceError(
            f"{name} has a matrix of shape {A.shape}; wanted {len(space.names)} columns, one for each parameter in the "
            f"order {', '.join(space.names)}"
        )
    within = _between(constraint.lb, constraint.ub, name, len(A))
    return lambda params: within(A @ np.asarray(space.as_array(params), dtype=float))


def _nonlinear(constraint: NonlinearConstraint, name: str, space: Space) -> Callable[[Params], Any]:
    _check_numbers(name, space)
    within = _between(constraint.lb, constraint.ub, name, None)
    fun = constraint.fun
    return lambda params: within(np.atleast_1d(np.asarray(fun(np.array(space.as_array(params))), dtype=float)))


def _check_numbers(name: str, space: Space) -> None:
    others = [n for n, p in space.parameters.items() if not isinstance(p, Float | Int)]
    if others:
        raise SpaceError(
            f"{name} is one of SciPy's, which takes an array of numbers, but {', '.join(map(repr, others))} of the space "
            "is none; use a callable that takes what the objective takes"
        )


def _between(lower: Any, upper: Any, name: str, n: int | None) -> Callable[[Vector], Vector]:
    """Margins of lower <= v <= upper; sides that are infinite have none."""
    try:
        lower, upper = np.asarray(lower, dtype=float), np.asarray(upper, dtype=float)
        lower, upper = np.broadcast_arrays(lower, upper) if n is None else (
            np.broadcast_to(lower, n),
            np.broadcast_to(upper, n),
        )
    except ValueError:
        raise SpaceError(
            f"{name} has lb of shape {np.shape(lower)} and ub of shape {np.shape(upper)}"
            + ("" if n is None else f"; wanted one number, or {n} of them, one for each row of A")
        ) from None
    if np.any(np.isnan(lower) | np.isnan(upper) | (lower > upper)):
        raise SpaceError(f"{name} has lb = {lower!r} and ub = {upper!r}; wanted lb < ub")
    if np.any(lower == upper):
        raise SpaceError(
            f"{name} is an equality (lb = ub = {lower[lower == upper].flat[0]!r}), which no rounded point would fulfil "
            "exactly; take one parameter out of the space and compute it from the others"
        )

    def within(v: Vector) -> Vector:
        low, high = np.broadcast_to(lower, v.shape), np.broadcast_to(upper, v.shape)
        below, above = low - v, v - high
        return np.concatenate([below[np.isfinite(low) | np.isnan(v)], above[np.isfinite(high) | np.isnan(v)]])

    return within
