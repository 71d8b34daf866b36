"""The objective as the surrogate sees it: sections through the best point, along one parameter or two."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dale._arrays import Matrix, Vector
from dale._computing import computing
from dale.acquisition.feasibility import Feasibility
from dale.history.closed_regions import closed_regions
from dale.history.direction import Direction
from dale.history.reason import Source
from dale.models.constraint_gp import fit_constraints
from dale.models.ellipsoid import Ellipsoid
from dale.view.data.axes import GRID_POINTS, Axis, axis_of, base_of, cube_points, is_active, position, positions
from dale.view.run_view import RunView, view_of
from dale.view.tolerances import ELLIPSE_POINTS, acceptable_rise, ellipse, on_axis

SAME_PLANE = 0.05  # a minimum this close to the section, in the unit cube, counts as in it


@dataclass(frozen=True, eq=False)
class SliceData:
    """A surrogate along one parameter, with all other parameters at the best point.

    Attributes:
        axis: The parameter.
        mean: Mean of the surrogate, (m,).
        std: Its standard deviation, without the noise of the values, (m,).
        feasible: Probability that the outcome constraints are satisfied, (m,); empty if there are none.
        best: Value of the parameter at the best point, on the axis.
        best_value: Value of the objective there; the posterior mean under noise.
        base: Id of the trial that the slice goes through: the best one, or for a conditional parameter that is inactive
            there, the best one in which it is active.
        points: Value of the parameter in each completed trial in which it is active, outliers excluded, (n,).
        values: Value of the objective in these trials, (n,).
        feasible_points: Which of them are feasible, (n,).
        failed: Value of the parameter in the failed trials, (k,).

    Examples:
        >>> import dale
        >>> from dale.view import slice_data
        >>> space = dale.Space(a=(0, 1), b=(0, 2))
        >>> result = dale.minimize(lambda p: p["a"] ** 2 + p["b"], space, budget=6, seed=0)
        >>> [data.axis.name for data in slice_data(result)]
        ['a', 'b']
    """

    axis: Axis
    mean: Vector
    std: Vector
    feasible: Vector
    best: float
    best_value: float
    base: int
    points: Vector
    values: Vector
    feasible_points: np.ndarray
    failed: Vector


def slice_data(
    run: Any, space: Any = None, *, params: Sequence[str] | None = None, grid_points: int = GRID_POINTS
) -> tuple[SliceData, ...]:
    """Slices of the surrogate through the best point, one for each parameter.

    Args:
        run: A result, an optimizer, a stored run or the path of a store.
        space: Search space; needed only for a result that does not know it.
        params: Names of the parameters; None for all that vary.
        grid_points: Number of grid points along each axis.
    """
    view = view_of(run, space)
    names = view.check_names(params)
    return tuple(_slice(view, name, grid_points) for name in names)


def _slice(view: RunView, name: str, grid_points: int) -> SliceData:
    base, axis = base_of(view, [name]), axis_of(view, name, grid_points)
    points = cube_points(view, base.unit_x, [axis])
    mean, std = view.surrogate.predict(points)
    at = positions(view, name, view.inliers)
    shown = np.isfinite(at)
    value = view.posterior_means.get(base.id, base.value)
    return SliceData(
        axis=axis,
        mean=mean,
        std=std,
        feasible=probability_of_feasibility(view, points),
        best=float(positions(view, name, [base])[0]),
        best_value=float("nan") if value is None else value,
        base=base.id,
        points=at[shown],
        values=view.values[shown],
        feasible_points=np.array([t.feasible for t in view.inliers], dtype=bool)[shown],
        failed=_without_nan(positions(view, name, [t for t in view.finished if t.value is None])),
    )


@dataclass(frozen=True, eq=False)
class Region:
    """The outline of a region of the method, projected onto two parameters.

    Attributes:
        outline: A closed curve (m, 2) in the user's units; NaN outside the bounds.
        center: Id of the trial at its center.
        closed: Whether the region is closed; else it is that of the last local step.
        converged: Whether its model predicted no further improvement when it was closed.
    """

    outline: Matrix
    center: int
    closed: bool
    converged: bool


@dataclass(frozen=True, eq=False)
class ContourData:
    """A surrogate of the objective over two parameters, all others at the best point.

    Attributes:
        x: The first parameter.
        y: The second parameter.
        mean: Mean of the surrogate on the grid, (len(y), len(x)): one row for each y, as matplotlib expects. NaN where
            one of the parameters is inactive.
        std: Its standard deviation, (len(y), len(x)).
        feasible: Probability that the outcome constraints are satisfied, (len(y), len(x)); empty if there are none.
        allowed: Where the input constraints are satisfied, (len(y), len(x)); empty if they are not known.
        base: Id of the trial that the section goes through.
        points: The finished trials in the user's units, (n, 2); NaN where a parameter is inactive.
        value: Their values, (n,); NaN for failed trials.
        feasible_points: Which trials are feasible, (n,).
        source: Origin of each point.
        best: The best point, (2,).
        value_range: Lowest and highest value, outliers excluded.
        minima: The local minima, (k, 2), best first; the local maxima if the objective is maximised.
        in_plane: Which of them are in the section, (k,): all other parameters have nearly the same values.
        ellipses: Contour around each of them that is worse by ``rise``, all other parameters fixed, (m, 2).
        rise: 1 % of the width of ``value_range``.
        regions: The trust regions: closed ones, and that of the last local step.
        direction: Whether the objective is minimised or maximised.

    Examples:
        >>> import dale
        >>> from dale.view import contour_data
        >>> space = dale.Space(a=(0, 1), b=(0, 2), c=(0, 1))
        >>> result = dale.minimize(lambda p: p["a"] ** 2 + p["b"], space, budget=6, seed=0)
        >>> contour_data(result, params=("a", "b"), grid_points=11).mean.shape
        (11, 11)
    """

    x: Axis
    y: Axis
    mean: Matrix
    std: Matrix
    feasible: Matrix
    allowed: np.ndarray
    base: int
    points: Matrix
    value: Vector
    feasible_points: np.ndarray
    source: tuple[Source, ...]
    best: Vector
    value_range: tuple[float, float]
    minima: Matrix
    in_plane: np.ndarray
    ellipses: tuple[Matrix, ...]
    rise: float
    regions: tuple[Region, ...]
    direction: Direction


def contour_data(
    run: Any, space: Any = None, *, params: Sequence[str] | None = None, grid_points: int = GRID_POINTS
) -> ContourData:
    """A surrogate of a run over two parameters, on a grid.

    Args:
        run: A result, an optimizer, a stored run or the path of a store.
        space: Search space; needed only for a result that does not know it.
        params: Names of the two parameters; None for the two that matter most.
        grid_points: Number of grid points along each axis.
    """
    view = view_of(run, space)
    names = _two(view) if params is None else view.check_names(params, 2)
    base = base_of(view, names)
    x, y = (axis_of(view, name, grid_points) for name in names)
    points, shape = cube_points(view, base.unit_x, [y, x]), (len(y.values), len(x.values))
    mean, std = view.surrogate.predict(points)
    active = is_active(view, x.name, points) & is_active(view, y.name, points)
    mean, std = np.where(active, mean, np.nan), np.where(active, std, np.nan)
    domain, finished = view.snapshot.domain, view.finished
    minima, rise = view.result.local_minima, acceptable_rise(view.values)
    feasible = probability_of_feasibility(view, points)
    allowed = np.zeros((0, 0), dtype=bool) if domain.allowed_set is None else domain.allowed(points).reshape(shape)
    return ContourData(
        x=x,
        y=y,
        mean=mean.reshape(shape),
        std=std.reshape(shape),
        feasible=feasible.reshape(shape) if len(feasible) else np.zeros((0, 0)),
        allowed=allowed,
        base=base.id,
        points=_at(view, names, finished),
        value=np.array([np.nan if t.value is None else t.value for t in finished]),
        feasible_points=np.array([t.feasible for t in finished], dtype=bool),
        source=tuple(t.reason.source for t in finished),
        best=_at(view, names, [base])[0],
        value_range=(float(np.min(view.values)), float(np.max(view.values))),
        minima=np.array([_params_at(view, names, m.params) for m in minima]).reshape(-1, 2),
        in_plane=np.array([_in_plane(view, names, base.unit_x, m.params) for m in minima], dtype=bool),
        ellipses=tuple(ellipse(m, view.space, rise, names) for m in minima),
        rise=rise,
        regions=_regions(view, names),
        direction=view.direction,
    )


def _two(view: RunView) -> tuple[str, ...]:
    """The two parameters with the largest effects, in the user's order."""
    names = view.check_names(None)
    if len(names) < 2:
        raise ValueError(
            f"expected a space of at least two parameters, got {len(names)}; dale.plot.slice accepts any number"
        )
    total = view.sobol.total
    largest = sorted(np.argsort(-total, kind="stable")[:2].tolist())
    return tuple(names[g] for g in largest)


def _at(view: RunView, names: Sequence[str], trials: Any) -> Matrix:
    return np.column_stack([positions(view, name, trials) for name in names]).reshape(-1, len(names))


def _params_at(view: RunView, names: Sequence[str], params: Any) -> list[float]:
    values = params if isinstance(params, Mapping) else dict(zip(view.space.names, params, strict=True))
    return [position(view.space.parameters[name], values[name]) for name in names]


def _in_plane(view: RunView, names: Sequence[str], base: Vector, params: Any) -> bool:
    others = np.ones(len(base), dtype=bool)
    for name in names:
        others[view.space.columns(name)] = False
    return bool(np.max(np.abs(view.space.encode(params) - base)[others], initial=0.0) <= SAME_PLANE)


@computing()
def probability_of_feasibility(view: RunView, points: Matrix) -> Vector:
    """By models of the outcome constraints, (m,); empty if there are none."""
    observations = view.observations
    if observations.constraints.shape[1] == 0:
        return np.zeros(0)
    some = observations.has_value
    models = fit_constraints(observations.X[some], observations.constraints[some], np.empty((0, points.shape[1])))
    return np.asarray(np.exp(Feasibility(models).log_probability(points)))


def _regions(view: RunView, names: Sequence[str]) -> tuple[Region, ...]:
    """Closed regions, and that of the last local step; none along options, where they have no extent."""
    if any(view.space.n_coordinates(name) != 1 or not view.space.parameters[name].is_numeric for name in names):
        return ()
    regions = []
    for closed in closed_regions(view.trials):
        ball = Ellipsoid(view.trials[closed.center].unit_x, closed.radius)
        regions.append(Region(_outline(view, names, ball), closed.center, True, closed.converged))
    steps = [t.reason.step for t in view.trials if t.reason.step is not None]
    if steps:
        step, S = steps[-1], None if steps[-1].shape is None else np.array(steps[-1].shape)
        region = Ellipsoid(view.trials[step.center].unit_x, step.radius, S)
        regions.append(Region(_outline(view, names, region), step.center, False, False))
    return tuple(regions)


def _outline(view: RunView, names: Sequence[str], region: Ellipsoid) -> Matrix:
    """The projection of an ellipsoid {c + D S z} onto two coordinates is {c + F u}, with F F' the block of D^2 S S'."""
    columns = [view.space.columns(name).start for name in names]
    S = np.eye(len(region.center)) if region.shape is None else region.shape
    block = region.radius**2 * (S @ S.T)[np.ix_(columns, columns)]
    e, Q = np.linalg.eigh(block)
    angle = np.linspace(0, 2 * np.pi, ELLIPSE_POINTS)
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    points = region.center[columns] + circle @ (Q * np.sqrt(np.maximum(e, 0.0))).T
    parameters = [view.space.parameters[name] for name in names]
    return on_axis(points, parameters)


def _without_nan(values: Vector) -> Vector:
    return values[np.isfinite(values)]
