"""Local minima of a smooth function on a box, from several starting points at once: a projected Newton method.

Coordinates at a bound of the box whose gradient points outwards are held. The others take the step -|H|^-1 g, where
|H| is the Hessian in the free coordinates with the absolute values of its eigenvalues: it leads downhill whatever the
signs of the eigenvalues, and away from a saddle point. The step is clipped to the box and shortened until the function
falls by enough (Armijo). Where clipping makes it lead uphill, it ends at the first bound instead. The minimum of a
polynomial is reached to the last digit in a few steps, however ill-conditioned it is.

All starting points move together, because calls of the function cost more than its arithmetic in Python. For the same
reason second derivatives pay: the method needs a third of the calls of a quasi-Newton search.

Shapes: k points X (k, d), values (k,), gradients (k, d), Hessians (k, d, d); bounds (d,) or (k, d).

Reference: Bertsekas, "Projected Newton Methods for Optimization Problems with Simple Constraints", SIAM J. Control
Optim. 1982.

Examples:
    >>> def fun(X):
    ...     return FunctionValues((X[:, 0] - 2.0) ** 2, 2 * (X - 2.0), np.full((len(X), 1, 1), 2.0))
    >>> minimize_on_box(fun, np.array([[0.5]]), [0.0], [1.0], tolerance=Tolerance(gtol=1e-9, ftol=1e-12))
    (array([[1.]]), array([1.]))
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dale._arrays import Matrix, Vector

ARMIJO = 1e-4  # part of the decrease predicted to first order that a step has to achieve
STEP_FRACTIONS = 0.25 ** np.arange(7.0)  # of a step, tried in this order
GRADIENT_STEP = 0.25  # norm of a step along the negative gradient, in sides of the box
MIN_EIGENVALUE_RATIO = 1e-12  # eigenvalues of |H| are at least this part of the largest
MIN_CURVATURE = 1e-300  # and at least this part of the gradient, so that a step is finite
BOUND_OVERSHOOT = 1e-12  # relative; a step to a bound overshoots by this, so that clipping puts it on the bound
TINY = float(np.finfo(float).tiny)


class FunctionValues(NamedTuple):
    """A function at k points: values (k,), gradients (k, d) and Hessians (k, d, d)."""

    value: Vector
    gradient: Matrix
    hessian: np.ndarray

    def at(self, i: np.ndarray) -> FunctionValues:
        """Those of the points i."""
        return FunctionValues(self.value[i], self.gradient[i], self.hessian[i])

    def put(self, i: np.ndarray, other: FunctionValues) -> None:
        """Overwrite those of the points i."""
        for mine, new in zip(self, other, strict=True):
            mine[i] = new


class Tolerance(NamedTuple):
    """When a search stops: at the first of these.

    Attributes:
        gtol: The gradient times the side of the box is at most this in every coordinate.
        ftol: The expected decrease is at most this part of the value.
        atol: The expected decrease is at most this.
    """

    gtol: float
    ftol: float
    atol: float = 0.0


def minimize_on_box(
    fun: Callable[[Matrix], FunctionValues],
    starts: Matrix,
    low: Vector | Matrix,
    high: Vector | Matrix,
    *,
    tolerance: Tolerance,
    max_steps: int = 30,
) -> tuple[Matrix, Vector]:
    """Local minima of a function on a box, one from each start (k, d).

    Args:
        fun: The function with its derivatives at points (k, d). A point where it is not finite stays where it is.
        starts: Starting points.
        low: Lower bounds of the box, (d,), or of one box for each start, (k, d).
        high: Upper bounds, likewise.
        tolerance: When to stop.
        max_steps: Maximum number of steps.

    Returns:
        The minima, (k, d), and the values there, (k,): never above those at the starts.

    Examples:
        >>> def fun(X):  # the square of the distance to 0.3
        ...     return FunctionValues(((X - 0.3) ** 2).sum(axis=1), 2 * (X - 0.3), np.full((len(X), 1, 1), 2.0))
        >>> tolerance = Tolerance(gtol=1e-9, ftol=1e-12)
        >>> x, value = minimize_on_box(fun, np.array([[0.9]]), np.zeros(1), np.ones(1), tolerance=tolerance)
        >>> x.round(6)
        array([[0.3]])
    """
    ends = np.clip(starts, low, high)
    here = fun(ends)
    values = here.value.copy()
    low, high = (np.broadcast_to(bound, ends.shape) for bound in (low, high))
    box = _Box(low, high, np.maximum(high - low, TINY))
    moving = _Moving(np.arange(len(ends)), ends, here, box).at(np.isfinite(values))
    for _ in range(max_steps):
        _, X, here, box = moving
        held = box.leaving(X, -here.gradient)
        free_gradient = np.where(held, 0.0, here.gradient)
        unfinished = (np.abs(free_gradient) * box.side).max(axis=1) > tolerance.gtol
        if not unfinished.any():
            break
        step, expected = _newton_step(X, here, held, free_gradient, box)
        unfinished &= expected > np.maximum(tolerance.ftol * np.abs(here.value), tolerance.atol)
        if not unfinished.any():
            break
        moving, step = moving.at(unfinished), step[unfinished]
        index, X, here, box = moving
        X_new, there, stuck = _line_search(fun, X, here, step, box)
        ends[index], values[index] = X_new, there.value
        with np.errstate(invalid="ignore"):  # infinite values
            unfinished = ~stuck & (here.value - there.value > tolerance.ftol * np.abs(here.value))
        moving = _Moving(index, X_new, there, box).at(unfinished)
    return ends, values


class _Box(NamedTuple):
    """A box for each of k points: bounds and lengths of the sides, which are positive, each (k, d)."""

    low: Matrix
    high: Matrix
    side: Matrix

    def at(self, i: np.ndarray) -> _Box:
        """Those of the points i."""
        return _Box(self.low[i], self.high[i], self.side[i])

    def clip(self, X: Matrix) -> Matrix:
        """The nearest points of the box."""
        return np.minimum(np.maximum(X, self.low), self.high)

    def leaving(self, X: Matrix, direction: Matrix) -> np.ndarray:
        """Which coordinates are at a bound that the direction points out of."""
        return ((self.low >= X) & (direction < 0)) | ((self.high <= X) & (direction > 0))


class _Moving(NamedTuple):
    """The points that still move: their index among the starts, coordinates, function values and boxes."""

    starts: np.ndarray
    X: Matrix
    here: FunctionValues
    box: _Box

    def at(self, keep: np.ndarray) -> _Moving:
        """Those where ``keep`` is True."""
        if keep.all():
            return self
        return _Moving(self.starts[keep], self.X[keep], self.here.at(keep), self.box.at(keep))


def _newton_step(
    X: Matrix, here: FunctionValues, held: np.ndarray, free_gradient: Matrix, box: _Box
) -> tuple[Matrix, Vector]:
    """The step of each point, and the decrease that it predicts to first order, which is positive."""
    gradient, side = free_gradient, box.side
    for _ in range(X.shape[1]):
        step = _solve(here.hessian, gradient, held, side)
        leaving = box.leaving(X, step)
        if not leaving.any():
            break
        held = held | leaving  # clipping would cut these coordinates off: another step without them
        gradient = np.where(held, 0.0, here.gradient)
    expected = -(step * gradient).sum(axis=1)
    uphill = ~(expected > 0)
    if uphill.any():
        straight = _gradient_step(free_gradient, side)
        step = np.where(uphill[:, None], straight, step)
        expected = np.where(uphill, -(straight * free_gradient).sum(axis=1), expected)
    return step, expected


def _gradient_step(gradient: Matrix, side: Matrix) -> Matrix:
    """A step along the negative gradient."""
    scaled = gradient * side
    norm = np.sqrt(np.sum(scaled * scaled, axis=1, keepdims=True)) + TINY
    return -GRADIENT_STEP * scaled * side / norm


def _solve(hessian: np.ndarray, gradient: Matrix, held: np.ndarray, side: Matrix) -> Matrix:
    """-|H|^-1 g in the free coordinates, no longer than the box."""
    if held.any():
        hessian = np.where(held[:, :, None] | held[:, None, :], 0.0, hessian)
    values, vectors = np.linalg.eigh(hessian)
    size = np.abs(values)
    smallest = MIN_EIGENVALUE_RATIO * size.max(axis=1) + TINY + MIN_CURVATURE * np.abs(gradient).max(axis=1)
    size = np.maximum(size, smallest[:, None])
    step = -(vectors @ ((gradient[:, None, :] @ vectors)[:, 0] / size)[:, :, None])[:, :, 0]
    step = np.where(held, 0.0, step)
    return step / np.maximum((np.abs(step) / side).max(axis=1, keepdims=True), 1.0)


def _line_search(
    fun: Callable[[Matrix], FunctionValues], X: Matrix, here: FunctionValues, step: Matrix, box: _Box
) -> tuple[Matrix, FunctionValues, np.ndarray]:
    """Each point after the longest fraction of its step that decreases the function enough; and which have none."""
    X_new = box.clip(X + step)
    there = fun(X_new)
    waiting = np.flatnonzero(~sufficient_decrease(X, here, X_new, there))
    if len(waiting):
        X_new[waiting] = X[waiting]
        there.put(waiting, here.at(waiting))
        search = _Backtracking(fun, X, here, box, X_new, there)
        waiting = search.run(step, STEP_FRACTIONS[1:], waiting)
        if len(waiting):
            waiting = search.run(_to_first_bound(X, step, box), STEP_FRACTIONS, waiting)
    stuck = np.zeros(len(X), dtype=bool)
    stuck[waiting] = True
    return X_new, there, stuck


@dataclass(frozen=True, eq=False)
class _Backtracking:
    """A line search that writes the points that it accepts into ``X_new`` and ``there``."""

    fun: Callable[[Matrix], FunctionValues]
    X: Matrix
    here: FunctionValues
    box: _Box
    X_new: Matrix
    there: FunctionValues

    def run(self, step: Matrix, fractions: Vector, waiting: np.ndarray) -> np.ndarray:
        """Try fractions of the steps of the points ``waiting``; return those for which none was accepted."""
        for fraction in fractions:
            X, here = self.X[waiting], self.here.at(waiting)
            tried = self.box.at(waiting).clip(X + fraction * step[waiting])
            found = self.fun(tried)
            accepted = sufficient_decrease(X, here, tried, found)
            self.X_new[waiting[accepted]] = tried[accepted]
            self.there.put(waiting[accepted], found.at(accepted))
            waiting = waiting[~accepted]
            if len(waiting) == 0:
                break
        return waiting


def sufficient_decrease(X: Matrix, here: FunctionValues, tried: Matrix, found: FunctionValues) -> np.ndarray:
    """Which steps fulfil Armijo's condition; none where the function is not a number."""
    expected = np.minimum((here.gradient * (tried - X)).sum(axis=1), 0.0)
    return np.asarray((found.value <= here.value + ARMIJO * expected) & (found.value < here.value))


def _to_first_bound(X: Matrix, step: Matrix, box: _Box) -> Matrix:
    """The steps, shortened so that each ends where its first coordinate meets a bound."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        room = np.where(step < 0, (box.low - X) / step, np.where(step > 0, (box.high - X) / step, np.inf))
    first = np.minimum(np.min(room, axis=1, keepdims=True), 1.0)
    return first * step * np.where(room <= first, 1 + BOUND_OVERSHOOT, 1.0)
