"""Local minima that the observations show, for the user to read.

The method looks for the next evaluation, so it leaves minima that are reached or worse than the best one. A user wants
to see those too: where the minima are, how deep and how sharp.

Around every observation that is the lowest of its own neighbourhood, a Taylor model (``models/taylor.py``) is fitted:
in the shape of the last step of the method from or to this observation, or in a ball if that is more probable or if
there was no such step. The model shows a minimum if its mean has one inside the neighbourhood and the cube and if it
predicts the observations of the neighbourhood well, each from the others. Position, value, Hessian and error are those
of the model there.

A Taylor model interpolates its center, which is wrong where noise needs a model of its own. There, the neighbourhood is
the ball in which a least-squares quadratic (Def. 1) predicts the observations best.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

from dale._arrays import Matrix, Vector
from dale.acquisition.feasibility import log_completes
from dale.history.closed_regions import closed_regions
from dale.history.direction import Direction
from dale.history.history import History
from dale.history.local_minimum import LocalMinimum
from dale.history.trial import Trial
from dale.models.ellipsoid import Ellipsoid
from dale.models.quadratic_fit import QuadraticFit, n_unknowns
from dale.models.taylor import TaylorModel
from dale.models.transforms import Standardize
from dale.optim.projected_newton import Tolerance, minimize_on_box
from dale.space.domain import Domain
from dale.space.space import Space

MAX_RELATIVE_ERROR = 0.15  # leave-one-out error over the range of the values in the neighbourhood ...
MAX_RELATIVE_ERROR_NOISY = 0.1  # ... of a Taylor model, and of a quadratic where values are noisy
CONVERGED = 1e-9  # what is left to gain, over the range of the better three quarters: huge values say nothing
MIN_RELATIVE_REDUCTION = 1e-14  # of the values' std: a region that leaves no more than this to gain has converged
EXTRA_POINTS = 2  # beyond the unknowns: with fewer, the leave-one-out error says nothing
MIN_DIFFERENCE = 1e4  # from the lowest value, in rounding errors: nearer observations do not make a neighbourhood
NEAR_RADII = 2.0  # a Taylor model sees observations up to this distance, in radii of the neighbourhood ...
MAX_POINTS = 120  # ... but no more than this, or than the neighbourhood itself has
GTOL = 1e-15  # of the search for the minimum of a model, relative to the gradient at the center
MIN_EIGENVALUE_RATIO = 1e-12  # smallest over largest eigenvalue from which a minimum is one


def find_minima(history: History, domain: Domain) -> tuple[LocalMinimum, ...]:
    """The local minima of a run, best first, without those that are infeasible or where evaluations mostly fail."""
    if not np.all(domain.ordered):
        return ()  # a polynomial across unordered options has no meaning
    observations = history.observations.smoothed
    some = observations.has_value
    if not some.any():
        return ()
    X, y, feasible = observations.X[some], observations.y[some], observations.feasible[some]
    scale, noise = observations.standardize, observations.noise  # squares of values around 1e155 would overflow
    shapes = last_shapes(history.trials)
    by_row = {row: shapes[i] for row, i in enumerate(observations.ids[some].tolist()) if i in shapes}
    found = [
        m
        for m in minima_in_cube(X, scale.above_lowest(y), by_row, resolution=scale.resolution, noisy=noise.modelled)
        if feasible[int(np.argmin(cdist(m.x[None, :], X)))] and domain.allows(m.x) and _completes(m.x, history)
    ]
    minima = [_at_closed_region(_in_units(m, scale, domain.space), m, scale, history.trials) for m in found]
    if noise.level > 0:
        best = history.observations.best
        std = best.noise if best is not None and best.noise > 0 else noise.level
        minima = [dataclasses.replace(m, error=max(m.error, std), converged=False) for m in minima]
    return tuple(_in_direction(m, history.direction) for m in minima)


def _in_direction(minimum: LocalMinimum, direction: Direction) -> LocalMinimum:
    """A minimum of the loss as an optimum of the objective."""
    fun, hessian = direction.from_loss(minimum.fun), direction.from_loss(minimum.hessian)
    return dataclasses.replace(minimum, fun=fun, hessian=hessian, direction=direction)


def _completes(x: Vector, history: History) -> bool:
    """Whether an evaluation at a point of the cube (d,) more probably completes than not, random failures aside."""
    failures = history.observations.failure_boundary
    return failures is None or float(log_completes(failures, x[None, :])[0]) > math.log(0.5)


@dataclass(frozen=True, eq=False)
class CubeMinimum:
    """A local minimum in the unit cube.

    Attributes:
        x: Minimiser, (d,).
        value: Predicted minimum.
        error: Of the prediction.
        hessian: (d, d).
        region: The neighbourhood.
        n_points: Number of observations that the model was fitted to.
        converged: Whether nothing is left to gain.
    """

    x: Vector
    value: float
    error: float
    hessian: Matrix
    region: Ellipsoid
    n_points: int
    converged: bool = False


def minima_in_cube(
    X: Matrix, y: Vector, shapes: Mapping[int, Matrix] | None = None, *, resolution: float = 0.0, noisy: bool = False
) -> tuple[CubeMinimum, ...]:
    """Local minima of observations in the unit cube, none in the neighbourhood of another.

    They have the order of their lowest observations; of noisy values, which may be luck, that of the predictions.

    Args:
        X: Points, (n, d).
        y: Their values, (n,).
        shapes: Shapes (d, d) of the neighbourhoods of some rows, where the method has learnt them.
        resolution: Rounding error of the values.
        noisy: Whether the noise in the values needs a model of its own.
    """
    n, d = X.shape
    size = n_unknowns(d) + EXTRA_POINTS
    if n < size or np.ptp(y) == 0:
        return ()
    kept: list[CubeMinimum] = []
    for row in _lowest_of_their_neighbours(X, y, size):
        if any(m.region.contains(X[row]) for m in kept):
            continue
        if noisy:
            minimum = _of_quadratic(X, y, row, size)
        else:
            minimum = _of_taylor(X, y, row, size, (shapes or {}).get(row), resolution)
        if minimum is not None and not any(_are_the_same(minimum, m, noisy) for m in kept):
            left = max(abs(float(y[row]) - minimum.value), minimum.error)
            converged = left <= CONVERGED * float(np.quantile(y, 0.75) - np.min(y))
            kept.append(dataclasses.replace(minimum, converged=converged))
    return tuple(sorted(kept, key=lambda m: m.value + m.error) if noisy else kept)


def _are_the_same(a: CubeMinimum, b: CubeMinimum, noisy: bool) -> bool:
    """Whether one of the minima is in the neighbourhood of the other; of noisy values, if these overlap."""
    return a.region.overlaps(b.region) if noisy else bool(a.region.contains(b.x) or b.region.contains(a.x))


def _lowest_of_their_neighbours(X: Matrix, y: Vector, size: int) -> list[int]:
    """Rows of the observations with the lowest value among the ``size`` nearest, themselves included; lowest first.

    All observations at the distance of the last neighbour count as neighbours.
    """
    tree = cKDTree(X)
    distance, nearest = tree.query(X, k=size)
    candidates = np.flatnonzero(y <= np.min(y[nearest], axis=1))
    _, first, place = np.unique(X[candidates], axis=0, return_index=True, return_inverse=True)  # replicates share one
    lowest = np.empty(len(first))
    for i, row in enumerate(candidates[first].tolist()):
        near = tree.query_ball_point(X[row], (1 + 1e-12) * distance[row, -1])
        distances = cdist(X[row : row + 1], X[near])[0]
        lowest[i] = np.min(y[near][distances <= np.partition(distances, size - 1)[size - 1]])
    rows = candidates[y[candidates] <= lowest[place.ravel()]]
    return sorted(rows.tolist(), key=lambda row: y[row])


def _of_taylor(
    X: Matrix, y: Vector, row: int, size: int, shape: Matrix | None, resolution: float
) -> CubeMinimum | None:
    """The minimum of the Taylor model around an observation; None if there is none or the model predicts badly."""
    distance = np.linalg.norm(Ellipsoid(X[row], 1.0, shape).to_local(X), axis=1)
    others = np.sort(distance[np.abs(y - y[row]) > MIN_DIFFERENCE * resolution])
    if len(others) < size - 1 or others[size - 2] == 0:
        return None
    core, radius = float(others[size - 2]), float(others[: 2 * size - 1][-1])
    n_near = min(int(np.sum(distance <= NEAR_RADII * radius)), max(MAX_POINTS, int(np.sum(distance <= radius))))
    near = np.argsort(distance, kind="stable")[:n_near]
    frames = [Ellipsoid(X[row], radius, S) for S in ((None,) if shape is None else (None, shape))]
    models = (TaylorModel.fit(frame, X[near], y[near], float(y[row])) for frame in frames)
    model = min(models, key=lambda m: m.loss)
    z = minimiser(model)
    x, there = model.frame.to_cube(z), model.mean_derivatives(z[None, :])
    eigenvalues = np.linalg.eigvalsh(there.hessian[0])
    is_minimum = float(np.linalg.norm(z)) < 1 and eigenvalues[0] > MIN_EIGENVALUE_RATIO * abs(eigenvalues[-1])
    misfit = model.leave_one_out(core / radius)
    if not (is_minimum and misfit.error <= MAX_RELATIVE_ERROR * float(np.ptp(y[distance <= core])) and _in_cube(x)):
        return None
    std = math.hypot(float(model.predict(z[None, :]).std[0]), float(model.remainder(float(np.linalg.norm(z)))))
    return CubeMinimum(
        x=x,
        value=model.value + float(there.value[0]),
        error=std * max(1.0, misfit.standardised),
        hessian=model.frame.hessian_to_cube(there.hessian[0]),
        region=model.frame,
        n_points=n_near,
    )


def minimiser(model: TaylorModel, reach: float = 1.0) -> Vector:
    """Local minimiser of the mean in |z_i| <= reach, (d,), from the center."""
    box = np.full(len(model.center), reach)
    steepest = max(float(np.max(np.abs(model.gradient))), float(np.finfo(float).tiny))
    tolerance = Tolerance(gtol=GTOL * steepest, ftol=GTOL)
    return minimize_on_box(model.mean_derivatives, 0 * box[None, :], -box, box, tolerance=tolerance)[0][0]


def _of_quadratic(X: Matrix, y: Vector, row: int, size: int) -> CubeMinimum | None:
    """The minimum of the quadratic around an observation that predicts its own points best; None if none is good."""
    distance = np.linalg.norm(X - X[row], axis=1)
    nearest = np.argsort(distance, kind="stable")
    best: CubeMinimum | None = None
    for k in range(size, min(2 * size, len(X)) + 1):
        members = nearest[:k]
        ball = Ellipsoid(X[row], float(distance[members[-1]]))
        fit = QuadraticFit.to(X[members], y[members], ball) if ball.radius > 0 else None
        if fit is None or not fit.is_convex:
            continue
        x, error = fit.minimiser, fit.leave_one_out_error
        is_good = error <= MAX_RELATIVE_ERROR_NOISY * float(np.ptp(y[members])) and ball.contains(x) and _in_cube(x)
        if is_good and (best is None or error < best.error):
            best = CubeMinimum(x, fit.minimum, error, fit.hessian, ball, k)
    return best


def _in_cube(x: Vector) -> bool:
    return bool(np.all((x >= 0) & (x <= 1)))


def last_shapes(trials: Sequence[Trial]) -> dict[int, Matrix]:
    """By id of a trial, the shape of the last step from or to it that had one."""
    shapes: dict[int, Matrix] = {}
    for trial in trials:
        step = trial.reason.step
        if step is not None and step.shape is not None:
            shapes[step.center] = shapes[trial.id] = np.array(step.shape)
    return shapes


def _at_closed_region(
    minimum: LocalMinimum, in_cube: CubeMinimum, scale: Standardize, trials: Sequence[Trial]
) -> LocalMinimum:
    """The minimum as a converged local model of the method left it at the same center, if that is finer."""
    closed = (trials[c.center] for c in closed_regions(trials) if c.converged)
    center = next((t for t in closed if np.array_equal(t.unit_x, in_cube.region.center)), None)
    if center is None or center.value is None:
        return minimum
    error = max(scale.inverse_scale(MIN_RELATIVE_REDUCTION), float(np.spacing(abs(center.value))))
    if minimum.error <= error:
        return dataclasses.replace(minimum, converged=True)
    return dataclasses.replace(minimum, x=center.x, params=center.params, fun=center.loss, error=error, converged=True)


def _in_units(minimum: CubeMinimum, scale: Standardize, space: Space) -> LocalMinimum:
    """The minimum in the user's units."""
    params = space.decode(minimum.x)
    moved = space.encode(params) - minimum.x  # to the nearest integers and steps
    fun = scale.lowest + scale.inverse_scale(minimum.value + 0.5 * float(moved @ minimum.hessian @ moved))
    eigenvalues = np.linalg.eigvalsh(minimum.hessian)
    return LocalMinimum(
        x=space.as_array(params),
        params=params,
        fun=fun,
        error=max(scale.inverse_scale(minimum.error), float(np.spacing(abs(fun)))),
        hessian=space.hessian(params, minimum.hessian * scale.inverse_scale(1.0)),
        condition=float(eigenvalues[-1] / eigenvalues[0]),
        radius=minimum.region.radius,
        n_points=minimum.n_points,
        converged=minimum.converged,
        log=tuple(space.parameters[name].log for name in space.names),
        dependence=_dependence(space),
    )


def _dependence(space: Space) -> Matrix | None:
    """Derivatives of all parameters by those that equalities leave free, (d, d); None without equalities."""
    if space.equalities is None:
        return None
    J, place = np.eye(len(space.names)), {name: i for i, name in enumerate(space.names)}
    rows, columns = ([place[name] for name in names] for names in (space.equalities.determined, space.equalities.free))
    J[rows] = 0.0
    J[np.ix_(rows, columns)] = space.equalities.weights[0]
    return J
