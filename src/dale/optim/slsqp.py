"""Minima of a smooth function on a box subject to smooth limits: h_j(x) <= 0.

Sequential quadratic programming (SciPy's SLSQP) from one start, with the function in units of its gradient at the start
and each limit in units of its own, so that "exact" means exact in coordinates, whatever the units. What it returns is
all but inside; ``restore_feasibility`` makes it so: first along the gradients of the violated limits (Newton), and where this does
not help, by bisection towards a point that is inside.

Where the limits cannot be met, ``least_violation`` takes them as soft: with slacks s_j >= 0,

    minimise  sum of s_j   subject to   h_j(x) <= s_j.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize

from dale._arrays import Matrix, Vector

Smooth = Callable[[Vector], tuple[float, Vector]]  # value and gradient (d,) at x (d,)
Limits = Callable[[Vector], tuple[Vector, Matrix]]  # values (k,) and gradients (k, d) at x (d,)

STEPS = 40
CALLS = 10  # of the function, for each step, at most
EXACT = 1e-13  # of the value, in units of its gradient
HUGE = 1e30  # in place of what is not finite, so that a line search turns back
HALVINGS = 60
CORRECTIONS = 6
TINY = float(np.finfo(float).tiny)


class _Endless(Exception):
    """SLSQP does not count the calls of its line search, which on a function with jumps may never end."""


def minimize_slsqp(
    function: Smooth, limits: Limits, start: Vector, lower: Vector, upper: Vector, *, steps: int = STEPS
) -> tuple[Vector, float]:
    """Go down from a start inside the box, within the limits.

    Args:
        function: Value and gradient at a point.
        limits: Values, wanted at most 0, and gradients at a point.
        start: Starting point; it need not be within the limits.
        lower: Of the box, (d,).
        upper: The same.
        steps: At most so many.

    Returns:
        Where it has arrived, in the box and within the limits but for rounding, and the value there. The start with its
        value if nothing came of it.
    """
    start = np.clip(start, lower, upper)
    value, gradient = function(start)
    if not (np.isfinite(value) and np.all(np.isfinite(gradient))):
        return start, value
    first, gradients = limits(start)
    unit = max(float(np.max(np.abs(gradient))), TINY)
    units = np.maximum(np.maximum(np.max(np.abs(gradients), axis=1, initial=0.0), 1e-6 * np.abs(first)), TINY)
    seen: dict[bytes, tuple[Vector, Matrix]] = {}

    calls = 0

    def scaled(x: Vector) -> tuple[float, Vector]:
        nonlocal calls
        calls += 1
        if calls > CALLS * steps:
            raise _Endless
        v, g = function(x)
        v = (v - value) / unit
        return (v, g / unit) if np.isfinite(v) and np.all(np.isfinite(g)) else (HUGE, np.zeros_like(x))

    def room(x: Vector) -> tuple[Vector, Matrix]:
        key = x.tobytes()
        if key not in seen:
            seen.clear()
            h, J = limits(x)
            h = np.where(np.isfinite(h), h / units, HUGE)
            seen[key] = -h, -np.where(np.isfinite(J), J / units[:, None], 0.0)
        return seen[key]

    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")  # SLSQP clips points by a rounding error, and says so
            found = minimize(
                scaled,
                start,
                jac=True,
                method="SLSQP",
                bounds=list(zip(lower, upper, strict=True)),
                constraints=[{"type": "ineq", "fun": lambda x: room(x)[0], "jac": lambda x: room(x)[1]}],
                options={"maxiter": steps, "ftol": EXACT},
            )
    except _Endless:
        return start, value
    x = np.clip(found.x, lower, upper)
    value_there = function(x)[0] if np.all(np.isfinite(x)) else np.nan
    return (x, value_there) if np.isfinite(value_there) else (start, value)


def least_violation(
    limits: Limits, start: Vector, lower: Vector, upper: Vector, *, hard: Limits | None = None, steps: int = STEPS
) -> Vector:
    """The point of a box (d,) that violates the limits least, in the sum of their positive parts.

    Args:
        limits: What may be violated.
        start: Starting point.
        lower: Of the box, (d,).
        upper: The same.
        hard: What may not.
        steps: At most so many.
    """
    d = len(start)
    start = np.clip(start, lower, upper)
    first = np.minimum(limits(start)[0], HUGE)
    k = len(first)

    def slack(xs: Vector) -> tuple[float, Vector]:
        return float(np.sum(xs[d:])), np.append(np.zeros(d), np.ones(k))

    def soft(xs: Vector) -> tuple[Vector, Matrix]:
        h, J = limits(xs[:d])
        values, gradients = h - xs[d:], np.hstack([J, -np.eye(k)])
        if hard is None:
            return values, gradients
        h, J = hard(xs[:d])
        return np.append(values, h), np.vstack([gradients, np.hstack([J, np.zeros((len(h), k))])])

    most = 2 * float(np.max(first, initial=0.0)) + 1.0
    begin = np.append(start, np.maximum(first, 0.0))
    low, high = np.append(lower, np.zeros(k)), np.append(upper, np.full(k, most))
    x, _ = minimize_slsqp(slack, soft, begin, low, high, steps=steps)
    return x[:d]


def restore_feasibility(
    x: Vector,
    inside: Vector | None,
    allowed: Callable[[Vector], bool],
    limits: Limits | None,
    lower: Vector,
    upper: Vector,
    *,
    spare: float = 0.0,
    halvings: int = HALVINGS,
) -> Vector | None:
    """A point near x (d,) that is allowed; None if there is none to be found.

    Args:
        x: A point of the box.
        inside: An allowed point to bisect towards; None if there is none.
        allowed: The exact check.
        limits: Values and gradients of what it checks; None where it has none.
        lower: Of the box, (d,).
        upper: The same.
        spare: How far inside, in coordinates, a correction aims.
        halvings: Of the way to ``inside``, at most.
    """
    if allowed(x):
        return x
    corrected = x
    for _ in range(CORRECTIONS if limits is not None else 0):
        h, J = limits(corrected)  # type: ignore[misc]
        norm = np.sqrt(np.sum(J * J, axis=1))
        near = (norm > 0) & (h > -2 * spare * norm)
        if not near.any() or not np.all(np.isfinite(h[near])):
            break
        unit = J[near] / norm[near, None]
        step, *_ = np.linalg.lstsq(unit, -(h[near] / norm[near] + spare), rcond=None)
        corrected = np.clip(corrected + step, lower, upper)
        if allowed(corrected):
            return corrected
        spare *= 4
    if inside is None:
        return None
    low, high = 0.0, 1.0
    for _ in range(halvings):
        middle = (low + high) / 2
        low, high = (middle, high) if allowed(inside + middle * (x - inside)) else (low, middle)
    there = inside + low * (x - inside)
    return there if allowed(there) else inside
