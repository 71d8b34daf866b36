"""Sections of the surrogate along every parameter and over every pair of parameters, predicted in one batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from time import monotonic
from typing import Any

import numpy as np

from dale._arrays import Matrix, Vector
from dale.view.data.axes import Axis, axis_of, base_of, cube_points, is_active
from dale.view.data.landscape import probability_of_feasibility
from dale.view.run_view import RunView, view_of

LINE_POINTS, PLANE_POINTS = 49, 21  # along an axis, of a section along one parameter and over two
MAX_PLANE_PARAMETERS = 8  # the most important ones, of which all pairs have a section
MAX_SECONDS, CHUNK = 0.5, 200  # for the input constraints at all points, which are checked some at a time


@dataclass(frozen=True, eq=False)
class Section:
    """The surrogate over one or two parameters, with all others at one trial.

    Attributes:
        axes: The parameters.
        base: Id of that trial: the best one, or the best one in which the parameters are active.
        mean: Mean of the surrogate, (m,) or (len(y), len(x)); NaN where a parameter is inactive.
        std: Its standard deviation, without the noise of the values, of the same shape.
        feasible: Probability that the outcome constraints are satisfied, 0 where the input constraints are violated; of
            the same shape, or empty if there are no constraints.
    """

    axes: tuple[Axis, ...]
    base: int
    mean: Matrix
    std: Matrix
    feasible: Matrix


@dataclass(frozen=True, eq=False)
class SectionsData:
    """Sections of the surrogate.

    Attributes:
        lines: Along each parameter that varies.
        planes: Over each pair of parameters.
        left_out: Parameters that matter less and have no plane, because there are too many.

    Examples:
        >>> import dale
        >>> from dale.view.data.sections import sections_data
        >>> result = dale.minimize(lambda x: x[0] ** 2 + x[1], [(-1, 2), (0, 1)], budget=6, seed=0)
        >>> data = sections_data(result)
        >>> len(data.lines), [[axis.name for axis in plane.axes] for plane in data.planes]
        (2, [['x0', 'x1']])
    """

    lines: tuple[Section, ...]
    planes: tuple[Section, ...]
    left_out: tuple[str, ...]


def sections_data(run: Any, space: Any = None) -> SectionsData:
    """Sections of the surrogate of a run along each parameter and over each pair."""
    view = view_of(run, space)
    names = view.check_names(None)
    paired = _most_important(view, names)
    grids = [_Grid.of(view, (name,), LINE_POINTS) for name in names]
    grids += [_Grid.of(view, pair, PLANE_POINTS) for pair in combinations(paired, 2)]
    points = np.concatenate([grid.points for grid in grids])
    mean, std = view.surrogate.predict(points)
    feasible = _feasible(view, points)
    ends = np.cumsum([len(grid.points) for grid in grids])[:-1]
    parts = [np.split(values, ends) if len(values) else [values] * len(grids) for values in (mean, std, feasible)]
    sections = [grid.section(view, *values) for grid, *values in zip(grids, *parts, strict=True)]
    left_out = tuple(name for name in names if name not in paired)
    return SectionsData(tuple(sections[: len(names)]), tuple(sections[len(names) :]), left_out)


@dataclass(frozen=True, eq=False)
class _Grid:
    """The points of a section in the unit cube, (m, d)."""

    axes: tuple[Axis, ...]
    base: int
    points: Matrix

    @classmethod
    def of(cls, view: RunView, names: Sequence[str], grid_points: int) -> _Grid:
        base, axes = base_of(view, names), tuple(axis_of(view, name, grid_points) for name in names)
        return cls(axes, base.id, cube_points(view, base.unit_x, axes[::-1]))

    def section(self, view: RunView, mean: Vector, std: Vector, feasible: Vector) -> Section:
        shape = [len(axis.values) for axis in self.axes[::-1]]
        active = np.all([is_active(view, axis.name, self.points) for axis in self.axes], axis=0)
        return Section(
            axes=self.axes,
            base=self.base,
            mean=np.where(active, mean, np.nan).reshape(shape),
            std=np.where(active, std, np.nan).reshape(shape),
            feasible=feasible.reshape(shape) if len(feasible) else feasible,
        )


def _feasible(view: RunView, points: Matrix) -> Vector:
    probability, domain = probability_of_feasibility(view, points), view.snapshot.domain
    if domain.allowed_set is None:
        return probability
    allowed = _allowed(view, points)
    if allowed is None:
        return probability
    return np.where(allowed, probability, 0.0) if len(probability) else allowed.astype(float)


def _allowed(view: RunView, points: Matrix) -> np.ndarray | None:
    """Which points the input constraints allow; None if they, which are the user's code, take too long."""
    domain, end, found = view.snapshot.domain, monotonic() + MAX_SECONDS, []
    for some in np.array_split(points, max(len(points) // CHUNK, 1)):
        if monotonic() > end:
            return None
        found.append(domain.allowed(some))
    return np.concatenate(found)


def _most_important(view: RunView, names: tuple[str, ...]) -> tuple[str, ...]:
    """The parameters with the largest effects, in the user's order."""
    if len(names) <= MAX_PLANE_PARAMETERS:
        return names
    total = view.sobol.total
    return tuple(names[g] for g in sorted(np.argsort(-total, kind="stable")[:MAX_PLANE_PARAMETERS].tolist()))
