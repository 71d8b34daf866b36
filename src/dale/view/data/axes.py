"""The axes of plots: values of one parameter in the user's units, and their coordinates in the unit cube."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dale._arrays import Matrix, Vector
from dale.history.trial import Trial
from dale.space.parameter import Parameter
from dale.space.point import short_repr
from dale.view.run_view import RunView

GRID_POINTS = 121  # along an axis
MAX_LABEL = 24  # characters of an option


@dataclass(frozen=True, eq=False)
class Axis:
    """One parameter.

    Attributes:
        name: Its name.
        values: Its values in the user's units, (m,); for a choice, the numbers 0, 1, ... of the options.
        log: Whether its scale is logarithmic.
        options: The options of a choice as text; empty for a number.
    """

    name: str
    values: Vector
    log: bool
    options: tuple[str, ...] = ()


def axis_of(view: RunView, name: str, grid_points: int = GRID_POINTS) -> Axis:
    """A parameter from its lower to its upper bound, evenly spaced on its own scale; or all options of a choice."""
    parameter = view.space.parameters[name]
    if view.space.n_coordinates(name) == 0:
        how = "determined by the others" if parameter.n_coordinates > 0 else "fixed"
        raise TypeError(f"expected parameters that vary, got {name!r} = {parameter!r}, which is {how}; omit it")
    if parameter.is_numeric:
        return Axis(name, parameter.axis(grid_points), parameter.log)
    if parameter.cardinality is None:
        raise TypeError(f"expected numbers or choices, got {name!r} = {parameter!r}; it cannot be plotted")
    options = tuple(_label(parameter.decode(parameter.encode_index(k))) for k in range(parameter.cardinality))
    return Axis(name, np.arange(len(options), dtype=float), False, options)


def codes_of(view: RunView, axis: Axis) -> Matrix:
    """Coordinates of the values of an axis in the unit cube, (m, number of coordinates)."""
    parameter = view.space.parameters[axis.name]
    if axis.options:
        return np.array([parameter.encode_index(k) for k in range(len(axis.options))])
    return np.array([parameter.encode(parameter.check(v, axis.name)) for v in axis.values.tolist()])


def positions(view: RunView, name: str, trials: Sequence[Trial]) -> Vector:
    """Value of a parameter in each trial, on its axis, (n,); NaN where it is inactive."""
    parameter = view.space.parameters[name]
    values = (view.named(t) for t in trials)
    return np.array([position(parameter, v[name]) if name in v else np.nan for v in values], dtype=float)


def position(parameter: Parameter, value: Any) -> float:
    """A value on the axis of its parameter: a number as it is, an option by its number."""
    if parameter.is_numeric:
        return float(value)
    code = parameter.encode(value)
    return float(next(k for k in range(parameter.cardinality or 0) if np.array_equal(parameter.encode_index(k), code)))


def cube_points(view: RunView, base: Vector, axes: Sequence[Axis]) -> Matrix:
    """Points of the cube where some parameters take all combinations of the values of their axes; the last is fastest.

    The others are those of ``base`` (d,). A conditional parameter that only becomes active has its middle value.
    """
    codes = [codes_of(view, axis) for axis in axes]
    index = np.indices([len(c) for c in codes]).reshape(len(codes), -1)
    points = np.tile(base, (index.shape[1], 1))
    for axis, code, rows in zip(axes, codes, index, strict=True):
        points[:, view.space.columns(axis.name)] = code[rows]
    return view.space.snap_all(points) if view.space.conditions else points  # all codes are those of values


def is_active(view: RunView, name: str, points: Matrix) -> np.ndarray:
    """At which snapped points (m, d) a parameter is active, (m,)."""
    active: np.ndarray = view.space.active(points)[:, view.space.columns(name).start]
    return active


def base_of(view: RunView, names: Sequence[str]) -> Trial:
    """The trial that a section goes through: the best one, or the best one in which these parameters are active."""
    if not view.inliers:
        raise ValueError("expected at least one completed trial to plot, got none")
    if view.best is None:
        raise ValueError("expected a feasible trial to slice through, got none; evaluate more points")
    if view.best in view.inliers and all(name in view.named(view.best) for name in names):
        return view.best
    candidates = [t for t in view.inliers if t.feasible and all(name in view.named(t) for name in names)]
    if not candidates:
        return view.best
    means = {i: view.direction.loss(mean) for i, mean in view.posterior_means.items()}
    return min(candidates, key=lambda t: (means.get(t.id, t.loss), t.id))


def _label(option: Any) -> str:
    text = option if isinstance(option, str) else short_repr(option)
    text = " ".join(text.split()) or repr(option)
    return text if len(text) <= MAX_LABEL else f"{text[: MAX_LABEL - 3]}..."
