"""Pictures of a run: how it converged, what the objective looks like, cuts through the best point.

Each takes a result and returns a matplotlib figure; ``save`` writes it. Needs ``pip install 'dale[plot]'``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from dale._arrays import Matrix, Vector
from dale.history.result import Result
from dale.space.space import Space, as_space
from dale.view.data import Axis, ContourData, Convergence, convergence, landscape, params_of, slices
from dale.view.style import ALERT, FAINT, INK, LABEL, SKY, SMALL, TITLE, draw_by_source, legend_below, new_figure, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.contour import ContourSet
    from matplotlib.figure import Figure

LEVELS = 14  # contours
LEAST_LEVEL = 1e-3  # the lowest contour above the minimum, in parts of the range
STAR: dict[str, Any] = {"color": INK, "markersize": 12, "markeredgecolor": "white", "markeredgewidth": 0.8}
FROM_THE_SIDE = "all evaluations, seen from the side"
MANY_DECADES = 20.0  # positive values that span this factor are drawn on a logarithmic scale


def convergence_figure(
    result: Result, minimum: float | None = None, *, title: str | None = None, objective: str = "objective"
) -> Figure:
    """Value of every evaluation and the best so far; below, the length-scale and where it was cooled down.

    Args:
        result: Of the run.
        minimum: The true minimum if known: then the regret is drawn, on a logarithmic scale.
        title: Above the picture.
        objective: What the value is called, with its unit.
    """
    series = convergence(result.history)
    figure = new_figure(7.2, 5.2)
    top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=[2.6, 1])
    _draw_values(top, series, minimum)
    top.set_ylabel(objective if minimum is None else f"{objective} − minimum", fontsize=LABEL)
    _draw_length_scale(bottom, series)
    top.set_title(title or "Convergence", fontsize=TITLE, loc="left")
    bottom.set_xlabel("evaluation", fontsize=LABEL)
    bottom.set_xlim(0.5, max(len(series.number), 1) + 0.5)
    bottom.xaxis.get_major_locator().set_params(integer=True)
    figure.align_ylabels([top, bottom])
    legend_below(figure, [top, bottom])
    return figure


def landscape_figure(
    result: Result,
    space: Any,
    fun: Callable[[Any], float] | None = None,
    *,
    title: str | None = None,
    objective: str = "objective",
) -> Figure:
    """The model over two parameters with the evaluations and the local minima on it.

    The ring around a local minimum is where its quadratic has risen by 1 % of the range of the values.

    Args:
        result: Of the run.
        space: Where it searched, as ``minimize`` took it.
        fun: The objective, if it is cheap enough for some 15 000 calls: its true contours come beside the model's.
        title: Above the picture.
        objective: What the value is called, with its unit.
    """
    space = as_space(space)
    series = landscape(result, space)
    panels = [("What dale has learnt", series.mean)]
    if fun is not None:
        panels.insert(0, ("The objective", _true_values(fun, space, series)))
    levels = _levels(panels[0][1], result.func_vals)
    figure = new_figure(1.2 + 4.6 * len(panels), 4.9)
    axes = figure.subplots(1, len(panels), sharex=True, sharey=True, squeeze=False)[0]
    for ax, (name, values) in zip(axes, panels, strict=True):
        contours = _draw_contours(ax, series, values, levels)
        ax.set_title(name, fontsize=TITLE, loc="left")
        _name_x(ax, series.x)
    _name_y(axes[0], series.y)
    _draw_evaluations(axes[-1], series)
    if result.x is not None:
        axes[-1].plot(*np.asarray(result.x), "*", label="best", zorder=5, **STAR)
    bar = figure.colorbar(contours, ax=list(axes), pad=0.015, aspect=30, ticks=levels[::2], format="%.6g")
    bar.set_label(objective, fontsize=LABEL)
    bar.ax.tick_params(labelsize=SMALL)
    legend_below(figure, [axes[-1]], columns=6 if fun is not None else 3)
    if title:
        figure.suptitle(title, fontsize=TITLE + 1, x=0.01, ha="left")
    return figure


def slices_figure(result: Result, space: Any, *, title: str | None = None, objective: str = "objective") -> Figure:
    """The model along each parameter through the best point, with two standard deviations around it.

    Args:
        result: Of the run.
        space: Where it searched, as ``minimize`` took it.
        title: Above the picture.
        objective: What the value is called, with its unit.
    """
    cuts = slices(result, as_space(space))
    columns = min(len(cuts), 4)
    rows = -(-len(cuts) // columns)
    figure = new_figure(max(7.2, 0.8 + 3.0 * columns), 0.7 + 2.9 * rows)
    axes = figure.subplots(rows, columns, sharey=True, squeeze=False).ravel()
    for ax, cut in zip(axes, cuts, strict=False):
        plain(ax)
        low, high = cut.mean - 2 * cut.std, cut.mean + 2 * cut.std
        ax.fill_between(cut.axis.values, low, high, color=SKY, alpha=0.18, linewidth=0, label="± 2 standard deviations")
        ax.plot(cut.axis.values, cut.mean, color=SKY, linewidth=1.8, label="model")
        ax.plot(cut.points, result.func_vals, "o", color=FAINT, markersize=3, alpha=0.7, label=FROM_THE_SIDE)
        ax.plot([cut.best], [result.fun], "*", label="best", **STAR)
        _name_x(ax, cut.axis)
    for ax in axes[len(cuts) :]:
        ax.set_visible(False)
    for ax in axes[::columns]:
        ax.set_ylabel(objective, fontsize=LABEL)
    figure.align_xlabels(list(axes))
    legend_below(figure, [axes[0]])
    figure.suptitle(title or "Cuts through the best point", fontsize=TITLE, x=0.01, ha="left")
    return figure


def _draw_values(ax: Axes, series: Convergence, minimum: float | None) -> None:
    plain(ax)
    value, best = (series.value, series.best) if minimum is None else _regret(series, minimum)
    known = np.isfinite(value)
    if np.any(known) and (minimum is not None or _spans_decades(value[known])):
        ax.set_yscale("log")
    ax.step(series.number, best, where="post", color=INK, linewidth=1.6, label="best so far", zorder=2)
    draw_by_source(ax, np.column_stack([series.number, value]), series.source, known)
    if not np.all(known):
        at_top = np.full(np.sum(~known), 0.98)
        ax.plot(series.number[~known], at_top, "x", color=ALERT, transform=ax.get_xaxis_transform(), label="failed")


def _draw_length_scale(ax: Axes, series: Convergence) -> None:
    plain(ax)
    ax.set_ylabel("length-scale", fontsize=LABEL)
    known, cooled = np.isfinite(series.length_scale), series.cooled
    if not np.any(known):
        return
    ax.step(series.number[known], series.length_scale[known], where="post", color=SKY, linewidth=1.6)
    if np.any(cooled):
        ax.plot(series.number[cooled], series.length_scale[cooled], "v", color=ALERT, markersize=6, label="cooled down")
    low, high = np.min(series.length_scale[known]), np.max(series.length_scale[known])
    ax.set_yscale("log", base=2)
    ax.set_ylim(low / 1.5, high * 1.5)  # at least one power of two, and so a number on the axis
    ax.yaxis.set_major_formatter(_plain_number)


def _draw_contours(ax: Axes, series: ContourData, values: Matrix, levels: Vector) -> ContourSet:
    from matplotlib.colors import BoundaryNorm

    norm = BoundaryNorm(list(levels), 256, extend="both")  # one colour step for each level, however far apart
    filled = ax.contourf(series.x.values, series.y.values, values, levels, cmap="YlGnBu_r", norm=norm, extend="both")
    ax.contour(series.x.values, series.y.values, values, levels, colors="white", linewidths=0.4, alpha=0.6)
    ax.tick_params(labelsize=SMALL, color=FAINT)
    return filled


def _draw_evaluations(ax: Axes, series: ContourData) -> None:
    known = np.isfinite(series.value)
    draw_by_source(ax, series.points, series.source, known)
    if not np.all(known):
        ax.plot(*series.points[~known].T, "x", color=ALERT, label="failed")
    for k, line in enumerate(series.ellipses):
        ax.plot(*line.T, color=ALERT, linewidth=1.4, label="local minimum (ring: + 1 %)" if k == 0 else None)
    if len(series.minima):
        ax.plot(*series.minima.T, "+", color=ALERT, markersize=9, markeredgewidth=1.6, zorder=4)


def _name_x(ax: Axes, axis: Axis) -> None:
    ax.set_xlabel(axis.name, fontsize=LABEL)
    if axis.log:
        ax.set_xscale("log")
        ax.xaxis.set_major_formatter(_plain_number)


def _name_y(ax: Axes, axis: Axis) -> None:
    ax.set_ylabel(axis.name, fontsize=LABEL)
    if axis.log:
        ax.set_yscale("log")
        ax.yaxis.set_major_formatter(_plain_number)


def _plain_number(value: float, _: float) -> str:
    """0.1 and not 10 to the -1."""
    return f"{value:.4g}"


def _levels(values: Matrix, seen: Vector) -> Vector:
    """Contours that crowd towards the minimum, where a run spends its evaluations."""
    lowest = float(np.min(seen))
    highest = float(np.max(values, initial=float(np.max(seen)), where=np.isfinite(values)))
    above = (highest - lowest or 1.0) * np.geomspace(LEAST_LEVEL, 1, LEVELS)
    digits = 1 - np.floor(np.log10(above)).astype(int)  # two that count, above the minimum
    return np.array([round(lowest + step, int(n)) for step, n in zip(above, digits, strict=True)])


def _true_values(fun: Callable[[Any], float], space: Space, series: ContourData) -> Matrix:
    rows = [[fun(params_of(space, (x, y))) for x in series.x.values] for y in series.y.values]
    return np.array(rows, dtype=float)


def _regret(series: Convergence, minimum: float) -> tuple[Vector, Vector]:
    """Values and best values above the minimum; where rounding hides the difference, as much as rounding can hide."""
    largest = np.max(np.abs(series.value), initial=abs(minimum), where=np.isfinite(series.value))
    least = max(np.finfo(float).eps * float(largest), np.finfo(float).tiny)
    return np.maximum(series.value - minimum, least), np.maximum(series.best - minimum, least)


def _spans_decades(values: Vector) -> bool:
    return len(values) > 0 and float(np.min(values)) > 0 and float(np.max(values) / np.min(values)) > MANY_DECADES
