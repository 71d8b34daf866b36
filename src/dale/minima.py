"""The minima that a run's data show, as a user sees them: in the units of the parameters and of the objective."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
from scipy.spatial.distance import cdist

from dale.arrays import Vector
from dale.methods.global_local import MOST
from dale.methods.history import Ledger
from dale.methods.noise import Noise
from dale.methods.observations import believable
from dale.methods.standardise import Scale
from dale.methods.valleys import NOTHING
from dale.regions import CubeMinimum, local_minima
from dale.space import Space
from dale.trial import LocalMinimum, Trial


def shown_minima(ledger: Ledger, space: Space, allows: Callable[[Vector], bool]) -> tuple[LocalMinimum, ...]:
    """Best first; not those where constraints are violated, as far as is known.

    Args:
        ledger: The trials.
        space: That they are of.
        allows: Whether the constraints on the inputs allow a point (d,) of the cube.
    """
    if not np.all(space.ordered):
        return ()  # a quadratic across options means nothing
    history = believable(ledger.history(), MOST)
    told, feasible = history.told, history.feasible[history.told]
    X, y = history.X[told], history.y[told]
    scale = Scale.of(y)  # squares of values around 1e155 overflow
    shown = [
        m
        for m in local_minima(X, scale(y))
        if feasible[int(np.argmin(cdist(m.fit.minimiser[None, :], X)))] and allows(m.fit.minimiser)
    ]
    minima = [_finished(_in_units(m, scale, space), m, scale, ledger.trials) for m in shown]
    if Noise.of(history).level > 0:
        minima = [dataclasses.replace(m, converged=False) for m in minima]
    return tuple(sorted(minima, key=lambda m: m.fun + m.error))


def _finished(minimum: LocalMinimum, in_cube: CubeMinimum, scale: Scale, trials: list[Trial]) -> LocalMinimum:
    """The minimum as a local model that has converged in its ball left it: finer than any quadratic fit."""
    closed = [trials[c.centre] for t in trials for c in t.reason.closed if c.converged]
    inside = [(t.value, t) for t in closed if t.value is not None and in_cube.fit.ball.contains(t.point)]
    if not inside:
        return minimum
    value, best = min(inside, key=lambda pair: pair[0])
    error = max(scale.back_length(NOTHING), float(np.spacing(abs(value))))  # it promised no more than this
    return dataclasses.replace(minimum, x=best.x, params=best.params, fun=value, error=error, converged=True)


def _in_units(minimum: CubeMinimum, scale: Scale, space: Space) -> LocalMinimum:
    fit = minimum.fit
    params = space.decode(fit.minimiser)
    free = bool(np.all(space.continuous))
    eigenvalues = np.linalg.eigvalsh(fit.hessian)
    return LocalMinimum(
        x=space.as_array(params),
        params=params,
        fun=scale.back(fit.minimum if free else float(fit(space.encode(params)[None, :])[0])),
        error=scale.back_length(fit.leave_one_out_error),
        hessian=space.hessian(params, fit.hessian * scale.back_length(1.0)),
        condition=float(eigenvalues[-1] / eigenvalues[0]),
        radius=fit.ball.radius,
        n_points=minimum.n_points,
        converged=minimum.converged,
    )
