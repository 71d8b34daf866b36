"""The minima that a run's data show, as a user sees them: in the units of the parameters and of the objective.

The minima that the data show, for a person to read.

Alg. 3 looks for the next evaluation, so it drops minima that are reached or are worse than the best. A user wants just
these: where the valleys are, how deep and how sharp. So neighbourhoods are judged here by Def. 1 alone (convex, minimum
inside the ball and the box) and by whether they can be believed: the fit predicts each of its points from the others.

Around every observation that is the lowest of its own neighbourhood, the ball with the least leave-one-out error is
taken, which is also how far off the predicted minimum may be.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist

from dale._arrays import Matrix, Vector
from dale.history.history import Ledger
from dale.history.noise import NoiseEstimate
from dale.history.outliers import MAX_OBSERVATIONS, remove_outliers
from dale.history.result import LocalMinimum
from dale.history.trial import Trial
from dale.models.ellipsoid import Ball
from dale.models.quadratic_fit import QuadraticFit, n_unknowns
from dale.models.transforms import Standardize
from dale.space.space import Space

BELIEVED = 0.1  # leave-one-out error over the range of the values in the ball
CONVERGED = 1e-9  # what is left to gain, over the range of the better three quarters: huge values say nothing
CHUNK = 256  # observations looked at together, so that memory stays in bounds
NOTHING = 1e-14  # of the values' std: what a method that closes a region as converged leaves to gain
SPARE = 2  # points beyond the unknowns: with fewer, leaving one out says nothing


def shown_minima(ledger: Ledger, space: Space, allows: Callable[[Vector], bool]) -> tuple[LocalMinimum, ...]:
    """Best first; not those where constraints are violated, as far as is known.

    Args:
        ledger: The trials.
        space: That they are of.
        allows: Whether the constraints on the inputs allow a point (d,) of the cube.
    """
    if not np.all(space.ordered):
        return ()  # a quadratic across options means nothing
    history = remove_outliers(ledger.history(), MAX_OBSERVATIONS)
    told, feasible = history.told, history.feasible[history.told]
    X, y = history.X[told], history.y[told]
    scale = Standardize.of(y)  # squares of values around 1e155 overflow
    shown = [
        m
        for m in local_minima(X, scale(y))
        if feasible[int(np.argmin(cdist(m.fit.minimiser[None, :], X)))] and allows(m.fit.minimiser)
    ]
    minima = [_finished(_in_units(m, scale, space), m, scale, ledger.trials) for m in shown]
    if NoiseEstimate.of(history).level > 0:
        minima = [dataclasses.replace(m, converged=False) for m in minima]
    return tuple(sorted(minima, key=lambda m: m.fun + m.error))


def _finished(minimum: LocalMinimum, in_cube: CubeMinimum, scale: Standardize, trials: list[Trial]) -> LocalMinimum:
    """The minimum as a local model that has converged in its ball left it: finer than any quadratic fit."""
    closed = [trials[c.center] for t in trials for c in t.reason.closed_regions if c.converged]
    inside = [(t.value, t) for t in closed if t.value is not None and in_cube.fit.ball.contains(t.unit_x)]
    if not inside:
        return minimum
    value, best = min(inside, key=lambda pair: pair[0])
    error = max(scale.inverse_scale(NOTHING), float(np.spacing(abs(value))))  # it promised no more than this
    return dataclasses.replace(minimum, x=best.x, params=best.params, fun=value, error=error, converged=True)


def _in_units(minimum: CubeMinimum, scale: Standardize, space: Space) -> LocalMinimum:
    fit = minimum.fit
    params = space.decode(fit.minimiser)
    free = bool(np.all(space.continuous))
    eigenvalues = np.linalg.eigvalsh(fit.hessian)
    return LocalMinimum(
        x=space.as_array(params),
        params=params,
        fun=scale.inverse(fit.minimum if free else float(fit(space.encode(params)[None, :])[0])),
        error=scale.inverse_scale(fit.leave_one_out_error),
        hessian=space.hessian(params, fit.hessian * scale.inverse_scale(1.0)),
        condition=float(eigenvalues[-1] / eigenvalues[0]),
        radius=fit.ball.radius,
        n_points=minimum.n_points,
        converged=minimum.converged,
    )


@dataclass(frozen=True, eq=False)
class CubeMinimum:
    """A minimum in the coordinates of the unit cube."""

    fit: QuadraticFit
    n_points: int
    converged: bool


def local_minima(X: Matrix, y: Vector) -> tuple[CubeMinimum, ...]:
    """Minima of observations X (n, d) in the unit cube with values y (n,), best first, in disjoint balls."""
    n, d = X.shape
    least = n_unknowns(d) + SPARE
    if n < least or np.ptp(y) == 0:
        return ()
    found = []
    for begin in range(0, n, CHUNK):
        distances = cdist(X[begin : begin + CHUNK], X)
        farthest = np.partition(distances, least - 1, axis=1)[:, least - 1 : least]  # of the nearest ``least``
        lowest = np.min(np.where(distances <= farthest, y, np.inf), axis=1)
        for i in np.flatnonzero(y[begin : begin + CHUNK] <= lowest):
            minimum = _best_ball(X, y, np.argsort(distances[i], kind="stable"), distances[i], least)
            if minimum is not None:
                found.append(minimum)
    kept: list[CubeMinimum] = []
    for minimum in sorted(found, key=lambda m: m.fit.minimum + m.fit.leave_one_out_error):
        if not any(minimum.fit.ball.overlaps(other.fit.ball) for other in kept):
            kept.append(minimum)
    return tuple(kept)


def _best_ball(X: Matrix, y: Vector, nearest: np.ndarray, distance: Vector, least: int) -> CubeMinimum | None:
    """The neighbourhood of one observation whose fit predicts its own points best, if any can be believed."""
    best: tuple[QuadraticFit, np.ndarray] | None = None
    for k in range(least, min(2 * least, len(X)) + 1):
        members = nearest[:k]
        ball = Ball(X[members[0]], float(distance[members[-1]]))
        fit = QuadraticFit.to(X[members], y[members], ball) if ball.radius > 0 else None
        if fit is None or not fit.is_convex or fit.leave_one_out_error > BELIEVED * float(np.ptp(y[members])):
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
