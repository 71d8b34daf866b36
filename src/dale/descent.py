"""Minima of a smooth function on a box, from several starting points in step.

Projected quasi-Newton: coordinates that sit on a face of the box with the slope pushing outwards are held, the others
take a step along -H g, cut off at the faces and shortened until the function falls (Armijo); where the bend at a face
leads uphill, the step ends at the first face instead. H is, in the free coordinates, the inverse of the true second
derivatives, each eigenvalue by its size, where these are given (Newton: a polynomial's minimum to the last
digit in a few steps, however narrow its valley), else the BFGS estimate of it.

All starting points move at once, so that the function is called with a batch: in Python the calls cost more than the
arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from dale.arrays import Matrix, Vector

ARMIJO = 1e-4
SHORTER = 0.25
TRIES = 7  # of shortening a step
FIRST = 0.25  # length of a step along the bare slope, in sides of the box
FLATTEST = 1e-12  # curvatures below this part of the largest count as it

ValuesAndSlopes = Callable[[Matrix], tuple[Vector, Matrix]]  # (m, d) -> (m,), (m, d)


class Tolerance(NamedTuple):
    """When a point has arrived: the slope over the side of the box, or the relative gain of a step, is below this."""

    slope: float
    gain: float


def descend(
    function: ValuesAndSlopes,
    starts: Matrix,
    lower: Vector,
    upper: Vector,
    *,
    tolerance: Tolerance,
    steps: int = 30,
    curvatures: Callable[[Matrix], np.ndarray] | None = None,
    inverse: Matrix | None = None,
) -> tuple[Matrix, Vector]:
    """Go down from each of the starting points (m, d).

    Args:
        function: Values and slopes at points; where it is not finite nothing moves.
        starts: Starting points.
        lower: Of the box, (d,).
        upper: Of the box, (d,).
        tolerance: When to stop.
        steps: At most so many.
        curvatures: Second derivatives (m, d, d) at points (m, d).
        inverse: A first guess (d, d) of their inverse, where they are not given.

    Returns:
        Where each has arrived, (m, d), and the values there, (m,): never above those at the starts.
    """
    X = np.clip(starts, lower, upper)
    side = np.maximum(upper - lower, np.finfo(float).tiny)
    value, slope = function(X)
    live = np.isfinite(value)
    estimate = _Inverse(len(X), side, inverse)
    for _ in range(steps):
        held = _leaving(X, -slope, lower, upper)
        free = downhill = np.where(held, 0.0, slope)
        live = live & (np.max(np.abs(free) * side, axis=1) > tolerance.slope)
        if not live.any():
            break
        curvature = None if curvatures is None else curvatures(X)
        for _ in range(X.shape[1]):
            step = estimate.step(free, held) if curvature is None else _newton(curvature, free, held, side)
            leaving = _leaving(X, step, lower, upper)
            if not leaving.any():
                break
            held = held | leaving  # a step out of the box would be cut off at once: another one without it
            free = np.where(held, 0.0, slope)
        uphill = ~(np.sum(step * free, axis=1) < 0)[:, None]
        if uphill.any():
            step, free = np.where(uphill, _along(downhill, side), step), np.where(uphill, downhill, free)
        live = live & (-np.sum(step * free, axis=1) > tolerance.gain * np.abs(value))
        if not live.any():
            break
        X_new, value_new, slope_new, stuck = _shortened(function, X, value, slope, step, live, lower, upper)
        if curvatures is None:
            again = estimate.learn(X_new - X, slope_new - slope, live & ~stuck, stuck)
            stuck = stuck & ~again
        with np.errstate(invalid="ignore"):  # infinite ones
            arrived = value - value_new <= tolerance.gain * np.abs(value)
        X, live = X_new, live & ~stuck & ~(arrived & (value_new < value))
        value, slope = value_new, slope_new
    return X, value


def _leaving(X: Matrix, direction: Matrix, lower: Vector, upper: Vector) -> np.ndarray:
    """Which coordinates sit on a face that the direction points out of."""
    return ((lower >= X) & (direction < 0)) | ((upper <= X) & (direction > 0))


def _along(slope: Matrix, side: Vector) -> Matrix:
    """A step of the first length straight down."""
    scaled = slope * side
    norm = np.sqrt(np.sum(scaled * scaled, axis=1, keepdims=True)) + np.finfo(float).tiny
    return -FIRST * scaled * side / norm


def _newton(curvature: np.ndarray, slope: Matrix, held: np.ndarray, side: Vector) -> Matrix:
    """-|A|^-1 g in the free coordinates, no longer than the box."""
    curvature = np.where(held[:, :, None] | held[:, None, :], 0.0, curvature)
    values, vectors = np.linalg.eigh(curvature)
    size = np.abs(values)
    size = np.maximum(size, FLATTEST * np.max(size, axis=1, keepdims=True) + np.finfo(float).tiny)
    step = -np.einsum("mij,mj->mi", vectors, np.einsum("mji,mj->mi", vectors, slope) / size)
    step = np.where(held, 0.0, step)
    return step / np.maximum(np.max(np.abs(step) / side, axis=1, keepdims=True), 1.0)


def _shortened(
    function: ValuesAndSlopes,
    X: Matrix,
    value: Vector,
    slope: Matrix,
    step: Matrix,
    live: np.ndarray,
    lower: Vector,
    upper: Vector,
) -> tuple[Matrix, Vector, Matrix, np.ndarray]:
    """Each live point after the longest part of its step that pays; and which of them found none."""
    X_new, value_new, slope_new = X.copy(), value.copy(), slope.copy()
    waiting = live.copy()
    for to_first_face in (False, True):
        if to_first_face:
            step = _up_to_the_first_face(X, step, lower, upper)
        part = 1.0
        for _ in range(TRIES):
            if not waiting.any():
                break
            i = np.flatnonzero(waiting)
            tried = np.clip(X[i] + part * step[i], lower, upper)
            value_tried, slope_tried = function(tried)
            hoped = np.minimum(np.sum(slope[i] * (tried - X[i]), axis=1), 0.0)
            pays = (value_tried <= value[i] + ARMIJO * hoped) & (value_tried < value[i])  # not where it is NaN
            done = i[pays]
            X_new[done], value_new[done], slope_new[done] = tried[pays], value_tried[pays], slope_tried[pays]
            waiting[done] = False
            part *= SHORTER
    return X_new, value_new, slope_new, waiting


def _up_to_the_first_face(X: Matrix, step: Matrix, lower: Vector, upper: Vector) -> Matrix:
    """Straight on until a coordinate meets its face, which it oversteps by a hair so that cutting off puts it there."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        room = np.where(step < 0, (lower - X) / step, np.where(step > 0, (upper - X) / step, np.inf))
    first = np.minimum(np.min(room, axis=1, keepdims=True), 1.0)
    return first * step * np.where(room <= first, 1 + 1e-12, 1.0)


class _Inverse:
    """The BFGS estimate of the inverse second derivatives at each of m points."""

    def __init__(self, m: int, side: Vector, guess: Matrix | None) -> None:
        d = len(side)
        self._side = side
        self._H = np.zeros((m, d, d)) if guess is None else np.tile(guess, (m, 1, 1))
        self._blank = np.full(m, guess is None)

    def step(self, slope: Matrix, held: np.ndarray) -> Matrix:
        """-H g, where the held coordinates stay (a block of the second derivatives, not of their inverse, counts)."""
        known = np.zeros_like(slope)
        for k in np.flatnonzero(~self._blank):
            stay, go, H = held[k], ~held[k], self._H[k]
            within = H[np.ix_(go, go)]
            if stay.any():
                across = H[np.ix_(go, stay)]
                within = within - across @ np.linalg.lstsq(H[np.ix_(stay, stay)], across.T, rcond=None)[0]
            known[k, go] = -within @ slope[k, go]
        return np.where(self._blank[:, None], _along(slope, self._side), known)

    def learn(self, s: Matrix, y: Matrix, moved: np.ndarray, stuck: np.ndarray) -> np.ndarray:
        """Take in steps s and changes of slope y; those that are stuck start afresh, once. Returns which of them."""
        sy = np.sum(s * y, axis=1)
        yy = np.sum(y * y, axis=1)
        k = np.flatnonzero(moved & (sy > 1e-14 * np.sqrt(np.sum(s * s, axis=1) * yy)))
        if len(k):
            s, y, sy, yy = s[k], y[k], sy[k], yy[k]
            fresh = (sy / yy)[:, None, None] * np.eye(s.shape[1])
            H = np.where(self._blank[k, None, None], fresh, self._H[k])
            Hy = np.einsum("mij,mj->mi", H, y)
            across = s[:, :, None] * Hy[:, None, :]
            along = s[:, :, None] * s[:, None, :]
            weight = ((1 + np.sum(y * Hy, axis=1) / sy) / sy)[:, None, None]
            self._H[k] = H + weight * along - (across + across.transpose(0, 2, 1)) / sy[:, None, None]
            self._blank[k] = False
        again = stuck & ~self._blank
        self._blank |= stuck
        return again
