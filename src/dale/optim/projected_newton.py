"""Minima of a smooth function on a box, from several starting points in step.

Projected Newton: coordinates that sit on a face of the box with the gradient pushing outwards are held, the others take a
step along -|A|^-1 g, A being the second derivatives in the free coordinates with each eigenvalue by its size (so that
it leads downhill whatever the hessian, and away from a saddle). The step is cut off at the faces and shortened until
the function falls (Armijo); where the bend at a face leads uphill, it ends at the first face instead. A polynomial's
minimum is reached to the last digit in a few steps, however narrow its valley.

All starting points move at once, so that the function is called with a batch: in Python the calls cost more than the
arithmetic. For the same reason second derivatives pay: a third of the calls of a quasi-Newton search.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from dale._arrays import Matrix, Vector

ARMIJO = 1e-4
PARTS = 0.25 ** np.arange(7.0)  # of a step, the first that pays is taken
FIRST = 0.25  # length of a step along the bare gradient, in sides of the box
FLATTEST = 1e-12  # hessians below this part of the largest count as it
LEAST_STEP = 1e-300  # hessian over gradient is no less, so that a step is a number
TINY = float(np.finfo(float).tiny)


class FunctionValues(NamedTuple):
    """A function at m points: values (m,), gradients (m, d), second derivatives (m, d, d)."""

    value: Vector
    gradient: Matrix
    hessian: np.ndarray

    def at(self, i: np.ndarray) -> FunctionValues:
        """At some of the points."""
        return FunctionValues(self.value[i], self.gradient[i], self.hessian[i])

    def put(self, i: np.ndarray, other: FunctionValues) -> None:
        """Another's in place of some of the points."""
        for mine, new in zip(self, other, strict=True):
            mine[i] = new


class Tolerance(NamedTuple):
    """When a point has arrived.

    Attributes:
        gtol: The gradient over the side of the box is below this,
        ftol: or what a step is expected to gain, relative to the value,
        atol: or that gain as it is.
    """

    gtol: float
    ftol: float
    atol: float = 0.0


def minimize_on_box(
    function: Callable[[Matrix], FunctionValues],
    starts: Matrix,
    lower: Vector | Matrix,
    upper: Vector | Matrix,
    *,
    tolerance: Tolerance,
    steps: int = 30,
) -> tuple[Matrix, Vector]:
    """Go down from each of the starting points (m, d).

    Args:
        function: What it is at points (m, d); where it is not finite nothing moves.
        starts: Starting points.
        lower: Of the box, (d,), or of a box for each, (m, d).
        upper: The same.
        tolerance: When to stop.
        steps: At most so many.

    Returns:
        Where each has arrived, (m, d), and the values there, (m,): never above those at the starts.
    """
    ends = np.clip(starts, lower, upper)
    here = function(ends)
    values = here.value.copy()
    on = np.flatnonzero(np.isfinite(values))  # the points that are still moving
    X, here = ends[on], here.at(on)
    lower, upper = (np.broadcast_to(face, ends.shape)[on] for face in (lower, upper))
    side = np.maximum(upper - lower, TINY)
    for _ in range(steps):
        held = _leaving(X, -here.gradient, lower, upper)
        downhill = np.where(held, 0.0, here.gradient)
        moving = np.max(np.abs(downhill) * side, axis=1) > tolerance.gtol
        if not moving.any():
            break
        step, expected = _step(X, here, held, downhill, lower, upper, side)
        moving &= expected > np.maximum(tolerance.ftol * np.abs(here.value), tolerance.atol)
        if not moving.all():
            on, X, here, step = on[moving], X[moving], here.at(moving), step[moving]
            lower, upper, side = lower[moving], upper[moving], side[moving]
        if len(on) == 0:
            break
        X_new, there, stuck = _shortened(function, X, here, step, lower, upper)
        ends[on], values[on] = X_new, there.value
        with np.errstate(invalid="ignore"):  # infinite ones
            moving = ~stuck & (here.value - there.value > tolerance.ftol * np.abs(here.value))
        X, here = X_new, there
        if not moving.all():
            on, X, here = on[moving], X[moving], here.at(moving)
            lower, upper, side = lower[moving], upper[moving], side[moving]
    return ends, values


def _step(
    X: Matrix, here: FunctionValues, held: np.ndarray, downhill: Matrix, lower: Matrix, upper: Matrix, side: Matrix
) -> tuple[Matrix, Vector]:
    """The step of each point, and the decrease to first order, which is positive."""
    free = downhill
    for _ in range(X.shape[1]):
        step = _newton(here.hessian, free, held, side)
        leaving = _leaving(X, step, lower, upper)
        if not leaving.any():
            break
        held = held | leaving  # a step out of the box would be cut off at once: another one without it
        free = np.where(held, 0.0, here.gradient)
    expected = -np.sum(step * free, axis=1)
    uphill = ~(expected > 0)
    if uphill.any():
        straight = _along(downhill, side)
        step = np.where(uphill[:, None], straight, step)
        expected = np.where(uphill, -np.sum(straight * downhill, axis=1), expected)
    return step, expected


def _leaving(X: Matrix, direction: Matrix, lower: Matrix, upper: Matrix) -> np.ndarray:
    """Which coordinates sit on a face that the direction points out of."""
    return ((lower >= X) & (direction < 0)) | ((upper <= X) & (direction > 0))


def _along(gradient: Matrix, side: Matrix) -> Matrix:
    """A step of the first length straight down."""
    scaled = gradient * side
    norm = np.sqrt(np.sum(scaled * scaled, axis=1, keepdims=True)) + TINY
    return -FIRST * scaled * side / norm


def _newton(hessian: np.ndarray, gradient: Matrix, held: np.ndarray, side: Matrix) -> Matrix:
    """-|A|^-1 g in the free coordinates, no longer than the box."""
    if held.any():
        hessian = np.where(held[:, :, None] | held[:, None, :], 0.0, hessian)
    values, vectors = np.linalg.eigh(hessian)
    size = np.abs(values)
    least = FLATTEST * np.max(size, axis=1) + TINY + LEAST_STEP * np.max(np.abs(gradient), axis=1)
    size = np.maximum(size, least[:, None])
    step = -(vectors @ ((gradient[:, None, :] @ vectors)[:, 0] / size)[:, :, None])[:, :, 0]
    step = np.where(held, 0.0, step)
    return step / np.maximum(np.max(np.abs(step) / side, axis=1, keepdims=True), 1.0)


def _shortened(
    function: Callable[[Matrix], FunctionValues],
    X: Matrix,
    here: FunctionValues,
    step: Matrix,
    lower: Matrix,
    upper: Matrix,
) -> tuple[Matrix, FunctionValues, np.ndarray]:
    """Each point after the longest part of its step that pays; and which of them found none."""
    X_new = np.clip(X + step, lower, upper)
    there = function(X_new)
    waiting = np.flatnonzero(~_pays(X, here, X_new, there))
    if len(waiting):
        X_new[waiting] = X[waiting]
        there.put(waiting, here.at(waiting))
        waiting = _tried(function, X, here, step, PARTS[1:], waiting, X_new, there, lower, upper)
    if len(waiting):
        step = _up_to_the_first_face(X, step, lower, upper)
        waiting = _tried(function, X, here, step, PARTS, waiting, X_new, there, lower, upper)
    stuck = np.zeros(len(X), dtype=bool)
    stuck[waiting] = True
    return X_new, there, stuck


def _tried(
    function: Callable[[Matrix], FunctionValues],
    X: Matrix,
    here: FunctionValues,
    step: Matrix,
    parts: Vector,
    waiting: np.ndarray,
    X_new: Matrix,
    there: FunctionValues,
    lower: Matrix,
    upper: Matrix,
) -> np.ndarray:
    """Write the first part of the step that pays into ``X_new`` and ``there``; return those that wait in vain."""
    for part in parts:
        tried = np.clip(X[waiting] + part * step[waiting], lower[waiting], upper[waiting])
        found = function(tried)
        pays = _pays(X[waiting], here.at(waiting), tried, found)
        X_new[waiting[pays]] = tried[pays]
        there.put(waiting[pays], found.at(pays))
        waiting = waiting[~pays]
        if len(waiting) == 0:
            break
    return waiting


def _pays(X: Matrix, here: FunctionValues, tried: Matrix, found: FunctionValues) -> np.ndarray:
    """Which steps lower the function by enough; none where it is not a number."""
    hoped = np.minimum(np.sum(here.gradient * (tried - X), axis=1), 0.0)
    return np.asarray((found.value <= here.value + ARMIJO * hoped) & (found.value < here.value))


def _up_to_the_first_face(X: Matrix, step: Matrix, lower: Matrix, upper: Matrix) -> Matrix:
    """Straight on until a coordinate meets its face, which it oversteps by a hair so that cutting off puts it there."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        room = np.where(step < 0, (lower - X) / step, np.where(step > 0, (upper - X) / step, np.inf))
    first = np.minimum(np.min(room, axis=1, keepdims=True), 1.0)
    return first * step * np.where(room <= first, 1 + 1e-12, 1.0)
