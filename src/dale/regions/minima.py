"""The minima that the data show, for a person to read.

Alg. 3 looks for the next evaluation, so it drops minima that are reached or are worse than the best. A user wants just
these: where the valleys are, how deep and how sharp. So neighbourhoods are judged here by Def. 1 alone (convex, minimum
inside the ball and the box) and by whether they can be believed: the fit predicts each of its points from the others.

Around every observation that is the lowest of its own neighbourhood, the ball with the least leave-one-out error is
taken, which is also how far off the predicted minimum may be.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist

from dale.arrays import Matrix, Vector
from dale.regions.ball import Ball
from dale.regions.quadratic_fit import QuadraticFit, n_unknowns

BELIEVED = 0.1  # leave-one-out error over the range of the values in the ball
CONVERGED = 1e-9  # what is left to gain, over the range of the better three quarters: huge values say nothing
CHUNK = 256  # observations looked at together, so that memory stays in bounds
SPARE = 2  # points beyond the unknowns: with fewer, leaving one out says nothing


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
