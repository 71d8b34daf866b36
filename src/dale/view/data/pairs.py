"""All parameters at once: evaluations and partial dependence of all pairs, and parallel coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from dale._arrays import Matrix, Vector
from dale._computing import computing
from dale.history.direction import Direction
from dale.history.reason import Source
from dale.view.data.axes import Axis, axis_of, base_of, codes_of, is_active, positions
from dale.view.run_view import RunView, view_of
from dale.view.sobol import spread_points

LINE_POINTS, PAIR_POINTS = 61, 21  # of the grids of one parameter and of two
LOG2_SAMPLES = 8  # number of points that a partial dependence is averaged over, as a power of 2 ...
PAIR_SAMPLES = 64  # ... and of those for a pair
MAX_PARAMETERS = 8  # in a corner plot; the rest is left out


@dataclass(frozen=True, eq=False)
class Dependence:
    """How the surrogate depends on one parameter on average over all others.

    Attributes:
        axis: The parameter.
        mean: Average of the surrogate's mean, (m,).
    """

    axis: Axis
    mean: Vector


@dataclass(frozen=True, eq=False)
class PairDependence:
    """How the surrogate depends on two parameters on average over all others.

    Attributes:
        x: The first parameter.
        y: The second parameter.
        mean: Average of the surrogate's mean, (len(y), len(x)); NaN where one of the two is inactive.
    """

    x: Axis
    y: Axis
    mean: Matrix


@dataclass(frozen=True, eq=False)
class CornerData:
    """Evaluations and partial dependence of all parameters and pairs.

    Attributes:
        single: Partial dependence on each parameter.
        pairs: Partial dependence on each pair (first, second), in the order of ``itertools.combinations``.
        points: The finished trials, (n, number of parameters); NaN where a parameter is inactive.
        value: Their values, (n,); NaN for failed trials.
        trial: Their ids, (n,).
        feasible: Which of them are feasible, (n,).
        source: Origin of each point.
        best: The best point; NaN where a parameter is inactive.
        left_out: Parameters that matter less and are left out, because there are too many.
        direction: Whether the objective is minimised or maximised.

    Examples:
        >>> import dale
        >>> from dale.view import corner_data
        >>> space = dale.Space(a=(0, 1), kind=dale.Choice(["p", "q"]))
        >>> result = dale.minimize(lambda p: p["a"] + (p["kind"] == "q"), space, budget=6, seed=0)
        >>> corner_data(result).single[1].axis.options
        ('p', 'q')
    """

    single: tuple[Dependence, ...]
    pairs: tuple[PairDependence, ...]
    points: Matrix
    value: Vector
    trial: np.ndarray
    feasible: np.ndarray
    source: tuple[Source, ...]
    best: Vector
    left_out: tuple[str, ...]
    direction: Direction


@computing()
def corner_data(run: Any, space: Any = None, *, params: Sequence[str] | None = None) -> CornerData:
    """Evaluations and partial dependence.

    Args:
        run: A result, an optimizer, a stored run or the path of a store.
        space: Search space; needed only for a result that does not know it.
        params: Names of the parameters; None for all, or the eight that matter most.
    """
    view = view_of(run, space)
    varied = view.check_names(params)
    names = varied if params is not None or len(varied) <= MAX_PARAMETERS else _most_important(view, varied)
    sample = _sample(view)
    finished = view.finished
    columns = [positions(view, name, finished) for name in names]
    best = np.full(len(names), np.nan)
    if view.best is not None:
        best = np.array([positions(view, name, [base_of(view, [name])])[0] for name in names])
    return CornerData(
        single=tuple(_dependence(view, name, sample) for name in names),
        pairs=tuple(_pair(view, pair, sample) for pair in combinations(names, 2)),
        points=np.column_stack(columns).reshape(len(finished), len(names)),
        value=np.array([np.nan if t.value is None else t.value for t in finished], dtype=float),
        trial=np.array([t.id for t in finished], dtype=int),
        feasible=np.array([t.feasible for t in finished], dtype=bool),
        source=tuple(t.reason.source for t in finished),
        best=best,
        left_out=tuple(name for name in varied if name not in names),
        direction=view.direction,
    )


def _most_important(view: RunView, names: tuple[str, ...]) -> tuple[str, ...]:
    total = view.sobol.total
    return tuple(names[g] for g in sorted(np.argsort(-total, kind="stable")[:MAX_PARAMETERS].tolist()))


def _sample(view: RunView) -> Matrix:
    """Points of the cube, evenly spread over all that the input constraints allow, or that is left free, (m, d)."""
    points, held = spread_points(LOG2_SAMPLES, view.space.dimension), view.snapshot.domain.held
    points = points if held is None else held.applied_to(points)
    allowed = view.snapshot.domain.allowed(view.space.snap_all(points))
    return points[allowed] if allowed.any() else points


def _dependence(view: RunView, name: str, sample: Matrix) -> Dependence:
    axis = axis_of(view, name, LINE_POINTS)
    return Dependence(axis, _average(view, [axis], sample))


def _pair(view: RunView, names: tuple[str, str], sample: Matrix) -> PairDependence:
    x, y = (axis_of(view, name, PAIR_POINTS) for name in names)
    return PairDependence(x, y, _average(view, [y, x], sample[:PAIR_SAMPLES]).reshape(len(y.values), len(x.values)))


def _average(view: RunView, axes: Sequence[Axis], sample: Matrix) -> Vector:
    """Mean of the surrogate at all combinations of the values of the axes, averaged over the rest of the sample.

    Only points count at which these parameters are active; NaN where there are none.
    """
    codes = [codes_of(view, axis) for axis in axes]
    index = np.indices([len(c) for c in codes]).reshape(len(codes), -1)
    n, m = len(sample), index.shape[1]
    points = np.repeat(sample[None, :, :], m, axis=0)  # (m, n, d)
    for axis, code, rows in zip(axes, codes, index, strict=True):
        points[:, :, view.space.columns(axis.name)] = code[rows][:, None, :]
    flat = view.space.snap_all(points.reshape(m * n, -1))
    values = view.surrogate.mean(flat)
    for axis in axes:
        values[~is_active(view, axis.name, flat)] = np.nan
    counts = np.sum(np.isfinite(values.reshape(m, n)), axis=1)
    sums = np.nansum(values.reshape(m, n), axis=1)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


@dataclass(frozen=True, eq=False)
class ParallelData:
    """All finished trials in parallel coordinates.

    Attributes:
        axes: The parameters, in the user's order; ``values`` are the ends of the axis, or all options.
        positions: Where each trial crosses each axis, from 0 to 1, (n, number of parameters); NaN where a parameter is
            inactive.
        value: Values, (n,); NaN for failed trials.
        trial: Ids, (n,).
        feasible: Which trials are feasible, (n,).
        outlier: Which values are outliers, (n,).
        best: Id of the best trial; None if there is none.
        direction: Whether the objective is minimised or maximised.

    Examples:
        >>> import dale
        >>> from dale.view import parallel_data
        >>> result = dale.minimize(lambda x: x[0] + x[1], [(0, 1), (0, 4)], budget=5, seed=0)
        >>> parallel_data(result).positions.shape
        (5, 2)
    """

    axes: tuple[Axis, ...]
    positions: Matrix
    value: Vector
    trial: np.ndarray
    feasible: np.ndarray
    outlier: np.ndarray
    best: int | None
    direction: Direction


def parallel_data(run: Any, space: Any = None, *, params: Sequence[str] | None = None) -> ParallelData:
    """All finished trials in parallel coordinates; arguments as in ``corner_data``."""
    view = view_of(run, space)
    names = view.check_names(params)
    axes = tuple(axis_of(view, name, 2) for name in names)
    columns = [_relative(axis, positions(view, axis.name, view.finished)) for axis in axes]
    kept = {t.id for t in view.inliers}
    return ParallelData(
        axes=axes,
        positions=np.column_stack(columns).reshape(len(view.finished), len(names)),
        value=np.array([np.nan if t.value is None else t.value for t in view.finished], dtype=float),
        trial=np.array([t.id for t in view.finished], dtype=int),
        feasible=np.array([t.feasible for t in view.finished], dtype=bool),
        outlier=np.array([t.value is not None and t.id not in kept for t in view.finished], dtype=bool),
        best=None if view.best is None else view.best.id,
        direction=view.direction,
    )


def _relative(axis: Axis, values: Vector) -> Vector:
    """Values of a parameter as fractions of its axis."""
    low, high = axis.values[0], axis.values[-1]
    if axis.log:
        low, high, values = np.log(low), np.log(high), np.log(values)
    return np.asarray((values - low) / (high - low) if high > low else np.full(len(values), 0.5))
