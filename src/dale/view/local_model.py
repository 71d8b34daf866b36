"""The Taylor model of the objective around the best point, whatever the method of the run.

Its frame is the ball, or the shape of the last step of the method from or to this point, whichever is more probable.
"""

from __future__ import annotations

import numpy as np

from dale.history.minima import last_shapes
from dale.history.trial import Trial
from dale.models.ellipsoid import Ellipsoid
from dale.models.quadratic_fit import n_unknowns
from dale.models.taylor import TaylorModel
from dale.view.run_view import RunView

NEIGHBOURS = 2  # times the unknowns of a quadratic: observations that give the model its radius
MAX_POINTS = 120  # observations in the model, unless these are more


def local_model(view: RunView, best: Trial) -> TaylorModel | None:
    """The model of standardised values; None for noisy, rough or too few values, and among options."""
    if view.observations.smoothed.noise.modelled or best.value is None or not np.all(view.space.ordered):
        return None
    some = view.observations.has_value
    X, y = view.observations.X[some], view.observations.standardize.above_lowest(view.observations.y[some])
    size = n_unknowns(X.shape[1])
    if len(y) < size + 1:
        return None
    row = int(np.argmin(np.linalg.norm(X - best.unit_x, axis=1)))
    shape = last_shapes(view.trials).get(best.id)
    distance = np.linalg.norm(Ellipsoid(X[row], 1.0, shape).to_local(X), axis=1)
    nearest = np.argsort(distance, kind="stable")
    radius = float(distance[nearest[: NEIGHBOURS * size + 1][-1]])
    if radius == 0:
        return None
    near = nearest[: max(MAX_POINTS, NEIGHBOURS * size) + 1]
    frames = [Ellipsoid(X[row], radius, S) for S in ((None,) if shape is None else (None, shape))]
    return min((TaylorModel.fit(f, X[near], y[near], float(y[row])) for f in frames), key=lambda model: model.loss)
