"""Local minima that the observations show, for the user to read.

Alg. 3 looks for the next evaluation, so it drops minima that are reached or worse than the best one. A user wants to
see those too: where the minima are, how deep and how sharp. So neighbourhoods are judged here by Def. 1 alone (convex,
minimiser inside the ball and the cube) and by how well the fit predicts each of its points from the others.

Around every observation that is the lowest of its own neighbourhood, the ball with the smallest leave-one-out error is
taken; that error is also the error of the predicted minimum.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist

from dale._arrays import Matrix, Vector
from dale.history.history import History
from dale.history.trial import Trial
from dale.models.ellipsoid import Ellipsoid
from dale.models.quadratic_fit import QuadraticFit, n_unknowns
from dale.models.transforms import Standardize
from dale.space.domain import Domain
from dale.space.point import Params
from dale.space.space import Space

MAX_RELATIVE_ERROR = 0.1  # leave-one-out error over the range of the values in the ball
CONVERGED = 1e-9  # what is left to gain, over the range of the better three quarters: huge values say nothing
MIN_RELATIVE_REDUCTION = 1e-14  # of the values' std: a region that leaves no more than this to gain has converged
CHUNK_SIZE = 256  # observations processed together, to bound the memory
EXTRA_POINTS = 2  # beyond the unknowns: with fewer, the leave-one-out error says nothing


@dataclass(frozen=True, eq=False)
class LocalMinimum:
    """A local minimum: a quadratic fitted to the observations around it (Def. 1 of the paper).

    Where a local model of the method has converged, ``x`` and ``fun`` are those of its last center.

    Attributes:
        x: Minimiser of the quadratic, as an array in the user's units.
        params: The same point as the objective takes it.
        fun: Predicted minimum.
        error: Error of the prediction: the leave-one-out error of the quadratic.
        hessian: Hessian in the user's units: how sharp the minimum is. NaN where a parameter is fixed or a choice.
        condition: Ratio of the largest to the smallest eigenvalue of the Hessian in the unit cube.
        radius: Radius of the neighbourhood in the unit cube.
        n_points: Number of observations in the neighbourhood.
        converged: Whether nothing is left to gain here: a local model of the method has converged, or the best
            observation equals the predicted minimum, and the error is as small, to within 1e-9 of the range of the
            better three quarters of all observations.

    Examples:
        >>> import dale
        >>> result = dale.minimize(lambda x: (x[0] - 1) ** 2 + 3 * x[1] ** 2, [(-2, 2)] * 2, budget=20, seed=0)
        >>> minimum = result.local_minima[0]
        >>> minimum.hessian.diagonal().round(3), minimum.converged
        (array([2., 6.]), True)
    """

    x: Vector
    params: Params
    fun: float
    error: float
    hessian: Matrix
    condition: float
    radius: float
    n_points: int
    converged: bool


def find_minima(history: History, domain: Domain) -> tuple[LocalMinimum, ...]:
    """The local minima of a run, best first, without those where constraints are violated as far as is known."""
    if not np.all(domain.ordered):
        return ()  # a quadratic across unordered options has no meaning
    observations = history.observations.inliers
    some = observations.has_value
    if not some.any():
        return ()
    X, y, feasible = observations.X[some], observations.y[some], observations.feasible[some]
    scale = observations.standardize  # squares of values around 1e155 would overflow
    found = [
        m
        for m in minima_in_cube(X, scale(y))
        if feasible[int(np.argmin(cdist(m.fit.minimiser[None, :], X)))] and domain.allows(m.fit.minimiser)
    ]
    minima = [_at_closed_region(_in_units(m, scale, domain.space), m, scale, history.trials) for m in found]
    if observations.noise.level > 0:
        minima = [dataclasses.replace(m, converged=False) for m in minima]
    return tuple(sorted(minima, key=lambda m: m.fun + m.error))


@dataclass(frozen=True, eq=False)
class CubeMinimum:
    """A local minimum in the unit cube."""

    fit: QuadraticFit
    n_points: int
    converged: bool


def minima_in_cube(X: Matrix, y: Vector) -> tuple[CubeMinimum, ...]:
    """Local minima of observations X (n, d) in the unit cube with values y (n,), best first, in disjoint balls."""
    n, d = X.shape
    size = n_unknowns(d) + EXTRA_POINTS
    if n < size or np.ptp(y) == 0:
        return ()
    found = []
    for begin in range(0, n, CHUNK_SIZE):
        distances = cdist(X[begin : begin + CHUNK_SIZE], X)
        farthest = np.partition(distances, size - 1, axis=1)[:, size - 1 : size]  # of the nearest ``size``
        lowest = np.min(np.where(distances <= farthest, y, np.inf), axis=1)
        for i in np.flatnonzero(y[begin : begin + CHUNK_SIZE] <= lowest):
            minimum = _best_ball(X, y, np.argsort(distances[i], kind="stable"), distances[i], size)
            if minimum is not None:
                found.append(minimum)
    kept: list[CubeMinimum] = []
    for minimum in sorted(found, key=lambda m: m.fit.minimum + m.fit.leave_one_out_error):
        if not any(minimum.fit.ball.overlaps(other.fit.ball) for other in kept):
            kept.append(minimum)
    return tuple(kept)


def _best_ball(X: Matrix, y: Vector, nearest: np.ndarray, distance: Vector, size: int) -> CubeMinimum | None:
    """The neighbourhood of one observation whose fit predicts its own points best; None if no fit is good enough."""
    best: tuple[QuadraticFit, np.ndarray] | None = None
    for k in range(size, min(2 * size, len(X)) + 1):
        members = nearest[:k]
        ball = Ellipsoid(X[members[0]], float(distance[members[-1]]))
        fit = QuadraticFit.to(X[members], y[members], ball) if ball.radius > 0 else None
        if fit is None or not fit.is_convex or fit.leave_one_out_error > MAX_RELATIVE_ERROR * float(np.ptp(y[members])):
            continue
        x_star = fit.minimiser
        inside = ball.contains(x_star) and np.all((x_star >= 0) & (x_star <= 1))
        if inside and (best is None or fit.leave_one_out_error < best[0].leave_one_out_error):
            best = fit, members
    if best is None:
        return None
    fit, members = best
    left = max(abs(float(np.min(y[members])) - fit.minimum), fit.leave_one_out_error)
    return CubeMinimum(fit, len(members), converged=left <= CONVERGED * float(np.quantile(y, 0.75) - np.min(y)))


def _at_closed_region(
    minimum: LocalMinimum, in_cube: CubeMinimum, scale: Standardize, trials: Sequence[Trial]
) -> LocalMinimum:
    """The minimum as a converged local model of the method left it in the same ball: finer than any quadratic fit."""
    closed = [trials[c.center] for t in trials for c in t.reason.closed_regions if c.converged]
    inside = [(t.value, t) for t in closed if t.value is not None and in_cube.fit.ball.contains(t.unit_x)]
    if not inside:
        return minimum
    value, best = min(inside, key=lambda pair: pair[0])
    error = max(scale.inverse_scale(MIN_RELATIVE_REDUCTION), float(np.spacing(abs(value))))
    return dataclasses.replace(minimum, x=best.x, params=best.params, fun=value, error=error, converged=True)


def _in_units(minimum: CubeMinimum, scale: Standardize, space: Space) -> LocalMinimum:
    """The minimum in the user's units."""
    fit = minimum.fit
    params = space.decode(fit.minimiser)
    continuous = bool(np.all(space.continuous))
    eigenvalues = np.linalg.eigvalsh(fit.hessian)
    return LocalMinimum(
        x=space.as_array(params),
        params=params,
        fun=scale.inverse(fit.minimum if continuous else float(fit(space.encode(params)[None, :])[0])),
        error=scale.inverse_scale(fit.leave_one_out_error),
        hessian=space.hessian(params, fit.hessian * scale.inverse_scale(1.0)),
        condition=float(eigenvalues[-1] / eigenvalues[0]),
        radius=fit.ball.radius,
        n_points=minimum.n_points,
        converged=minimum.converged,
    )
