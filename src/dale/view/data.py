"""The numbers behind the plots, computed from the history alone. ``plot.py`` draws them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dale._arrays import Matrix, Vector
from dale.history.history import History
from dale.history.reason import Source
from dale.history.result import Result
from dale.history.trial import Trial, TrialState
from dale.models.kernels.base import KernelFactory
from dale.models.kernels.squared_exponential import SquaredExponential
from dale.space.point import Params
from dale.space.space import Space
from dale.view.surrogate import PlotSurrogate
from dale.view.tolerances import acceptable_rise, ellipse

GRID_POINTS = 121  # along an axis


@dataclass(frozen=True, eq=False)
class ConvergenceData:
    """The finished trials of a run in the order of their ids; all arrays are (n,).

    Attributes:
        trial: Id of the trial.
        value: Value of the objective; NaN for a failed trial.
        best: Lowest feasible value so far; NaN before the first.
        source: Origin of the point.
        length_scale: Length-scale of the global model; NaN if the proposal had none.
        cooled: Whether the length-scale was reduced for this proposal.
        outlier: Whether the value is an outlier, which the models ignore.

    Examples:
        >>> import dale
        >>> from dale.view import convergence_data
        >>> result = dale.minimize(lambda x: x[0] ** 2, [(-1, 2)], budget=5, seed=0)
        >>> convergence_data(result).trial
        array([0, 1, 2, 3, 4])
    """

    trial: np.ndarray
    value: Vector
    best: Vector
    source: tuple[Source, ...]
    length_scale: Vector
    cooled: np.ndarray
    outlier: np.ndarray


def convergence_data(result: Result) -> ConvergenceData:
    """The finished trials of a result."""
    finished = finished_trials(result)
    value = np.array([np.nan if t.value is None else t.value for t in finished], dtype=float)
    feasible = np.array([t.feasible for t in finished], dtype=bool)
    reasons = [t.reason for t in finished]
    kept = {t.id for t in inliers(result)}
    return ConvergenceData(
        trial=np.array([t.id for t in finished], dtype=int),
        value=value,
        best=np.fmin.accumulate(np.where(feasible, value, np.nan)),  # fmin ignores NaN
        source=tuple(r.source for r in reasons),
        length_scale=np.array([np.nan if r.length_scale is None else r.length_scale for r in reasons], dtype=float),
        cooled=np.array([r.cooled for r in reasons], dtype=bool),
        outlier=np.array([t.value is not None and t.id not in kept for t in finished], dtype=bool),
    )


@dataclass(frozen=True, eq=False)
class Axis:
    """One parameter: its name, values in the user's units (m,), and whether its scale is logarithmic."""

    name: str
    values: Vector
    log: bool


@dataclass(frozen=True, eq=False)
class ContourData:
    """A surrogate of an objective of two parameters, with the trials and local minima.

    Attributes:
        x: The first parameter.
        y: The second parameter.
        mean: Mean of the surrogate on the grid, (len(y), len(x)): one row for each y, as matplotlib expects.
        std: Its standard deviation, (len(y), len(x)).
        points: The finished trials in the user's units, (n, 2).
        value: Their values, (n,); NaN for failed trials.
        source: Origin of each point.
        value_range: Lowest and highest value, outliers excluded.
        minima: The local minima, (k, 2), best first.
        ellipses: Contour around each local minimum at ``rise`` above it, (m, 2).
        rise: 1 % of the width of ``value_range``.

    Examples:
        >>> import dale
        >>> from dale.view import contour_data
        >>> space = dale.Space(a=(0, 1), b=(0, 2))
        >>> result = dale.minimize(lambda p: p["a"] ** 2 + p["b"], space, budget=6, seed=0)
        >>> contour_data(result, space, grid_points=11).mean.shape
        (11, 11)
    """

    x: Axis
    y: Axis
    mean: Matrix
    std: Matrix
    points: Matrix
    value: Vector
    source: tuple[Source, ...]
    value_range: tuple[float, float]
    minima: Matrix
    ellipses: tuple[Matrix, ...]
    rise: float


@dataclass(frozen=True, eq=False)
class SliceData:
    """A surrogate along one parameter, with all other parameters at the best point.

    Attributes:
        axis: The parameter.
        mean: Mean of the surrogate, (m,).
        std: Its standard deviation, (m,).
        best: Value of the parameter at the best point.
        points: Value of the parameter in each completed trial, outliers excluded, (n,).
        values: Value of the objective in these trials, (n,).

    Examples:
        >>> import dale
        >>> from dale.view import slice_data
        >>> space = dale.Space(a=(0, 1), b=(0, 2))
        >>> result = dale.minimize(lambda p: p["a"] ** 2 + p["b"], space, budget=6, seed=0)
        >>> [data.axis.name for data in slice_data(result, space)]
        ['a', 'b']
    """

    axis: Axis
    mean: Vector
    std: Vector
    best: float
    points: Vector
    values: Vector


def contour_data(
    result: Result,
    space: Space,
    *,
    length_scale: float | None = None,
    kernel: KernelFactory = SquaredExponential,
    grid_points: int = GRID_POINTS,
) -> ContourData:
    """A surrogate of a run in a space of two parameters, on a square grid.

    Args:
        result: Result of the run.
        space: Search space of the run.
        length_scale: Length-scale of the surrogate in the unit cube; None for the maximum-likelihood one.
        kernel: Kernel of the surrogate.
        grid_points: Number of grid points along each axis.
    """
    if len(space.names) != 2:
        raise ValueError(
            f"expected a space of two parameters, got {len(space.names)}; dale.plot.slice accepts any number"
        )
    kept = inliers(result)
    surrogate = _surrogate(kept, length_scale, kernel)
    x, y = (axis_of(space, name, grid_points) for name in space.names)
    grid = [params_of(space, (a, b)) for b in y.values for a in x.values]
    mean, std = surrogate.predict(np.array([space.encode(params) for params in grid]))
    finished = finished_trials(result)
    values = values_of(kept)
    rise = acceptable_rise(values)
    return ContourData(
        x=x,
        y=y,
        mean=mean.reshape(len(y.values), len(x.values)),
        std=std.reshape(len(y.values), len(x.values)),
        points=np.array([t.x for t in finished]),
        value=np.array([np.nan if t.value is None else t.value for t in finished]),
        source=tuple(t.reason.source for t in finished),
        value_range=(float(np.min(values)), float(np.max(values))),
        minima=np.array([m.x for m in result.local_minima]).reshape(-1, 2),
        ellipses=tuple(ellipse(m, space, rise) for m in result.local_minima),
        rise=rise,
    )


def slice_data(
    result: Result,
    space: Space,
    *,
    length_scale: float | None = None,
    kernel: KernelFactory = SquaredExponential,
    grid_points: int = GRID_POINTS,
) -> tuple[SliceData, ...]:
    """Slices of the surrogate through the best point, one for each parameter; arguments as in ``contour_data``."""
    kept = inliers(result)
    surrogate = _surrogate(kept, length_scale, kernel)
    if result.x is None:
        raise ValueError("expected a feasible trial to slice through, got none; evaluate more points")
    axes = [axis_of(space, name, grid_points) for name in space.names]
    best = np.asarray(result.x, dtype=float)
    points, values = np.array([t.x for t in kept], dtype=float), values_of(kept)
    slices = []
    for i, axis in enumerate(axes):
        rows = np.tile(best, (len(axis.values), 1))
        rows[:, i] = axis.values
        mean, std = surrogate.predict(np.array([space.encode(params_of(space, row)) for row in rows]))
        slices.append(SliceData(axis, mean, std, float(best[i]), points[:, i], values))
    return tuple(slices)


def finished_trials(result: Result) -> list[Trial]:
    """The completed and failed trials, in the order of their ids."""
    return [t for t in result.history if t.state is not TrialState.PENDING]


def inliers(result: Result) -> tuple[Trial, ...]:
    """The completed trials whose values are not outliers."""
    complete = [t for t in result.history if t.state is TrialState.COMPLETE]
    if not complete:
        return ()
    kept = History.of(result.history, len(complete[0].unit_x)).observations.inliers
    return tuple(result.history[i] for i in kept.ids[kept.has_value])


def values_of(trials: Sequence[Trial]) -> Vector:
    """The values of completed trials, (n,)."""
    return np.array([t.value for t in trials], dtype=float)


def _surrogate(trials: Sequence[Trial], length_scale: float | None, kernel: KernelFactory) -> PlotSurrogate:
    if not trials:
        raise ValueError("expected at least one completed trial to plot, got none")
    return PlotSurrogate.fit(np.array([t.unit_x for t in trials]), values_of(trials), length_scale, kernel)


def axis_of(space: Space, name: str, grid_points: int = GRID_POINTS) -> Axis:
    """A parameter from its lower to its upper bound, evenly spaced on its own scale."""
    parameter = space.parameters[name]
    if name in space.conditions:
        raise TypeError(f"expected parameters without conditions, got the conditional {name!r}; it cannot be plotted")
    if parameter.n_coordinates == 0 or not parameter.is_numeric:
        raise TypeError(f"expected numeric parameters, got {name!r} = {parameter!r}; it cannot be plotted")
    return Axis(name, parameter.axis(grid_points), parameter.log)


def params_of(space: Space, values: Sequence[float] | Vector) -> Params:
    """Numbers in the order of the space's parameters, as a point of the space."""
    if not space.named:
        return np.array(values, dtype=float)
    named: Mapping[str, float] = {name: float(v) for name, v in zip(space.names, values, strict=True)}
    return named
