"""Minima of a smooth function on a box subject to smooth constraints, h_j(x) <= 0.

Sequential quadratic programming (SciPy's SLSQP) from one start. The function is scaled by its gradient at the start and
each constraint by its own, so that tolerances are lengths in the coordinates. The solution may violate a constraint by
a rounding error; ``restore_feasibility`` makes it feasible: first by Newton's method on the violated constraints, and
where this fails, by bisection towards a feasible point.

Where the constraints cannot be met, ``least_violation`` makes them soft: with slacks s_j >= 0,

    minimise  sum of s_j   subject to   h_j(x) <= s_j.

Shapes: x, low, high (d,); h (q,) with gradients J (q, d).

Examples:
    >>> def disc(x):
    ...     return np.array([x @ x - 0.25]), 2 * x[None, :]
    >>> x, _ = minimize_slsqp(lambda x: (-x[0], np.array([-1.0, 0.0])), disc, np.zeros(2), -np.ones(2), np.ones(2))
    >>> abs(x.round(6))
    array([0.5, 0. ])

    >>> def above_two(x):
    ...     return np.array([2.0 - x[0]]), np.array([[-1.0]])
    >>> least_violation(above_two, np.array([0.5]), np.zeros(1), np.ones(1)).round(6)
    array([1.])

    >>> restore_feasibility(np.array([0.8]), np.zeros(1), lambda x: x[0] <= 0.5, None, np.zeros(1), np.ones(1))
    array([0.5])
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import minimize

from dale._arrays import Matrix, Vector

Function = Callable[[Vector], tuple[float, Vector]]  # value and gradient (d,) at x (d,)
ConstraintFunctions = Callable[[Vector], tuple[Vector, Matrix]]  # values (q,) and gradients (q, d) at x (d,)

MAX_STEPS = 40
MAX_CALLS_PER_STEP = 10  # of the function
FTOL = 1e-13  # of the function, scaled by its gradient
NOT_FINITE = 1e30  # in place of values that are not finite, so that a line search turns back
MAX_BISECTIONS = 60
MAX_CORRECTIONS = 6
MIN_CONSTRAINT_SCALE = 1e-6  # of a constraint's value: a constraint without a gradient is scaled by this
TINY = float(np.finfo(float).tiny)


class _TooManyCalls(Exception):
    """SLSQP does not limit the calls of its line search, which on a function with jumps may never end."""


def minimize_slsqp(
    fun: Function,
    constraint_functions: ConstraintFunctions,
    start: Vector,
    low: Vector,
    high: Vector,
    *,
    max_steps: int = MAX_STEPS,
) -> tuple[Vector, float]:
    """A local minimum of a function on a box, subject to constraints.

    Args:
        fun: Value and gradient at a point.
        constraint_functions: Values, at most 0 where feasible, and gradients at a point.
        start: Starting point; it need not be feasible.
        low: Lower bounds, (d,).
        high: Upper bounds, (d,).
        max_steps: Maximum number of steps.

    Returns:
        A point of the box that is feasible up to rounding, and the value there; the start with its value where the
        search fails.
    """
    start = np.clip(start, low, high)
    value, gradient = fun(start)
    if not (np.isfinite(value) and np.all(np.isfinite(gradient))):
        return start, value
    problem = _ScaledProblem(fun, constraint_functions, start, (value, gradient), MAX_CALLS_PER_STEP * max_steps)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")  # SLSQP warns when it clips points by a rounding error
            found = minimize(
                problem.fun,
                start,
                jac=True,
                method="SLSQP",
                bounds=list(zip(low, high, strict=True)),
                constraints=problem.constraints,
                options={"maxiter": max_steps, "ftol": FTOL},
            )
    except _TooManyCalls:
        return start, value
    x = np.clip(found.x, low, high)
    value_there = fun(x)[0] if np.all(np.isfinite(x)) else np.nan
    return (x, value_there) if np.isfinite(value_there) else (start, value)


class _ScaledProblem:
    """A function and its constraints as SLSQP takes them: scaled, finite, and with a limited number of calls."""

    def __init__(
        self,
        fun: Function,
        constraint_functions: ConstraintFunctions,
        start: Vector,
        at_start: tuple[float, Vector],
        max_calls: int,
    ) -> None:
        self._fun, self._constraint_functions = fun, constraint_functions
        h, J = constraint_functions(start)
        value, gradient = at_start
        self._value = value
        self._scale = max(float(np.max(np.abs(gradient))), TINY)
        steepest = np.max(np.abs(J), axis=1, initial=0.0)
        self._scales = np.maximum(np.maximum(steepest, MIN_CONSTRAINT_SCALE * np.abs(h)), TINY)
        self._calls_left = max_calls
        self._last: tuple[bytes, tuple[Vector, Matrix]] | None = None

    def fun(self, x: Vector) -> tuple[float, Vector]:
        """The function relative to its value at the start, and its gradient."""
        if self._calls_left == 0:
            raise _TooManyCalls
        self._calls_left -= 1
        v, g = self._fun(x)
        v = (v - self._value) / self._scale
        return (v, g / self._scale) if np.isfinite(v) and np.all(np.isfinite(g)) else (NOT_FINITE, np.zeros_like(x))

    @property
    def constraints(self) -> list[dict[str, Any]]:
        """For SciPy, which wants them at least 0."""
        return [{"type": "ineq", "fun": lambda x: self._room(x)[0], "jac": lambda x: self._room(x)[1]}]

    def _room(self, x: Vector) -> tuple[Vector, Matrix]:
        """-h and its gradients; SciPy asks for them in two calls."""
        key = x.tobytes()
        if self._last is None or self._last[0] != key:
            h, J = self._constraint_functions(x)
            h = np.where(np.isfinite(h), h / self._scales, NOT_FINITE)
            self._last = key, (-h, -np.where(np.isfinite(J), J / self._scales[:, None], 0.0))
        return self._last[1]


def least_violation(
    constraint_functions: ConstraintFunctions,
    start: Vector,
    low: Vector,
    high: Vector,
    *,
    hard: ConstraintFunctions | None = None,
    max_steps: int = MAX_STEPS,
) -> Vector:
    """The point of a box that violates constraints least, by the sum of their positive parts.

    Args:
        constraint_functions: Constraints that may be violated.
        start: Starting point.
        low: Lower bounds, (d,).
        high: Upper bounds, (d,).
        hard: Constraints that must hold.
        max_steps: Maximum number of steps.
    """
    d = len(start)
    start = np.clip(start, low, high)
    h_start = np.minimum(constraint_functions(start)[0], NOT_FINITE)
    q = len(h_start)

    def slack(xs: Vector) -> tuple[float, Vector]:
        return float(np.sum(xs[d:])), np.append(np.zeros(d), np.ones(q))

    def soft(xs: Vector) -> tuple[Vector, Matrix]:
        h, J = constraint_functions(xs[:d])
        values, gradients = h - xs[d:], np.hstack([J, -np.eye(q)])
        if hard is None:
            return values, gradients
        h, J = hard(xs[:d])
        return np.append(values, h), np.vstack([gradients, np.hstack([J, np.zeros((len(h), q))])])

    max_slack = 2 * float(np.max(h_start, initial=0.0)) + 1.0
    x, _ = minimize_slsqp(
        slack,
        soft,
        np.append(start, np.maximum(h_start, 0.0)),
        np.append(low, np.zeros(q)),
        np.append(high, np.full(q, max_slack)),
        max_steps=max_steps,
    )
    return x[:d]


def restore_feasibility(
    x: Vector,
    inside: Vector | None,
    allowed: Callable[[Vector], bool],
    constraint_functions: ConstraintFunctions | None,
    low: Vector,
    high: Vector,
    *,
    margin: float = 0.0,
    max_bisections: int = MAX_BISECTIONS,
) -> Vector | None:
    """A feasible point near x (d,); None if none is found.

    Args:
        x: A point of the box.
        inside: A feasible point to bisect towards; None if none is known.
        allowed: The exact check.
        constraint_functions: Values and gradients of what it checks; None if it has none.
        low: Lower bounds, (d,).
        high: Upper bounds, (d,).
        margin: How far inside the boundary, in coordinates, the first correction aims.
        max_bisections: Maximum number of bisections towards ``inside``.
    """
    if allowed(x):
        return x
    if constraint_functions is not None:
        corrected = _correct(x, allowed, constraint_functions, low, high, margin)
        if corrected is not None:
            return corrected
    if inside is None:
        return None
    feasible, infeasible = 0.0, 1.0  # parts of the way from ``inside`` to x
    for _ in range(max_bisections):
        middle = (feasible + infeasible) / 2
        if allowed(inside + middle * (x - inside)):
            feasible = middle
        else:
            infeasible = middle
    there = inside + feasible * (x - inside)
    return there if allowed(there) else inside


def _correct(
    x: Vector,
    allowed: Callable[[Vector], bool],
    constraint_functions: ConstraintFunctions,
    low: Vector,
    high: Vector,
    margin: float,
) -> Vector | None:
    """x moved along the gradients of violated constraints; the margin grows until the point is allowed."""
    for _ in range(MAX_CORRECTIONS):
        h, J = constraint_functions(x)
        norm = np.sqrt(np.sum(J * J, axis=1))
        near = (norm > 0) & (h > -2 * margin * norm)
        if not near.any() or not np.all(np.isfinite(h[near])):
            return None
        unit = J[near] / norm[near, None]
        step, *_ = np.linalg.lstsq(unit, -(h[near] / norm[near] + margin), rcond=None)
        x = np.clip(x + step, low, high)
        if allowed(x):
            return x
        margin *= 4
    return None
