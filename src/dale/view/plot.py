"""Plots of a run, available as ``dale.plot``: convergence, contours of a surrogate, slices through the best point.

Each function takes a result and returns a matplotlib figure. Requires ``pip install 'dale[plot]'``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from dale._arrays import Matrix, Vector
from dale.history.result import Result
from dale.space.space import Space, as_space
from dale.view.data import (
    Axis,
    ContourData,
    ConvergenceData,
    SliceData,
    contour_data,
    convergence_data,
    params_of,
    slice_data,
)
from dale.view.style import (
    ALERT,
    FAINT,
    INK,
    LABEL,
    SKY,
    SMALL,
    TITLE,
    draw_by_source,
    legend_below,
    new_figure,
    style_axes,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.contour import ContourSet
    from matplotlib.figure import Figure

__all__ = ["contour", "convergence", "slice"]

N_LEVELS = 14  # contour lines
LOWEST_LEVEL = 1e-3  # lowest contour above the best value, relative to the range of the values
BEST_MARKER: dict[str, Any] = {"color": INK, "markersize": 12, "markeredgecolor": "white", "markeredgewidth": 0.8}
FEW_DECADES = 1e3  # a log axis that spans a smaller factor has labels between the powers of ten
LOG_SCALE_RATIO = 20.0  # positive values that span more than this factor are drawn on a logarithmic scale


def convergence(
    result: Result, minimum: float | None = None, *, title: str | None = None, objective: str = "objective"
) -> Figure:
    """Plot the value of every trial and the best value so far; below, the length-scale of the global model.

    Failed trials and outliers are marked at the top edge.

    Args:
        result: Result of the run.
        minimum: True minimum, if known. The regret (value − minimum) is then plotted on a logarithmic scale.
        title: Title of the figure.
        objective: Label of the objective, with its unit.

    Returns:
        A matplotlib figure.

    Examples:
        >>> import dale
        >>> result = dale.minimize(lambda x: (x[0] - 1) ** 2, [(-2, 2)], budget=10, seed=0)
        >>> figure = dale.plot.convergence(result, minimum=0.0)
        >>> figure.savefig("convergence.png")  # doctest: +SKIP
    """
    data = convergence_data(result)
    figure = new_figure(7.2, 5.2)
    top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=[2.6, 1])
    _draw_values(top, data, minimum)
    top.set_ylabel(objective if minimum is None else f"{objective} − minimum", fontsize=LABEL)
    _draw_length_scale(bottom, data)
    top.set_title(title or "Convergence", fontsize=TITLE, loc="left")
    bottom.set_xlabel("trial", fontsize=LABEL)
    bottom.set_xlim(-0.5, max(data.trial, default=0) + 0.5)
    bottom.xaxis.get_major_locator().set_params(integer=True)
    figure.align_ylabels([top, bottom])
    legend_below(figure, [top, bottom])
    return figure


def contour(
    result: Result,
    space: Any,
    fun: Callable[[Any], float] | None = None,
    *,
    title: str | None = None,
    objective: str = "objective",
) -> Figure:
    """Plot contours of a surrogate over two parameters, with all trials and local minima.

    The surrogate is a Gaussian process fitted to all values except outliers. The ring around a local minimum marks
    where its quadratic model has risen by 1 % of the range of the values.

    Args:
        result: Result of the run.
        space: Search space, as passed to ``minimize``.
        fun: The objective, if it is cheap enough for about 15 000 calls. Its contours are then drawn on the left.
        title: Title of the figure.
        objective: Label of the objective, with its unit.

    Returns:
        A matplotlib figure.

    Examples:
        >>> import dale
        >>> from scipy.optimize import rosen
        >>> bounds = [(-2, 2), (-2, 2)]
        >>> result = dale.minimize(rosen, bounds, budget=10, seed=0)
        >>> figure = dale.plot.contour(result, bounds)
        >>> figure.savefig("contour.png")  # doctest: +SKIP
    """
    space = as_space(space)
    data = contour_data(result, space)
    panels = [("Surrogate", data.mean)]
    if fun is not None:
        panels.insert(0, ("Objective", _true_values(fun, space, data)))
    levels = _levels(data)
    figure = new_figure(1.2 + 4.6 * len(panels), 4.9)
    axes = figure.subplots(1, len(panels), sharex=True, sharey=True, squeeze=False)[0]
    for ax, (name, values) in zip(axes, panels, strict=True):
        contours = _draw_contours(ax, data, values, levels)
        ax.set_title(name, fontsize=TITLE, loc="left")
        _label_x(ax, data.x)
    _label_y(axes[0], data.y)
    _draw_trials(axes[-1], data)
    if result.x is not None:
        axes[-1].plot(*np.asarray(result.x), "*", label="best", zorder=5, **BEST_MARKER)
    bar = figure.colorbar(contours, ax=list(axes), pad=0.015, aspect=30, ticks=levels[::2], format="%.6g")
    bar.set_label(objective, fontsize=LABEL)
    bar.ax.tick_params(labelsize=SMALL)
    legend_below(figure, [axes[-1]], columns=6 if fun is not None else 3)
    if title:
        figure.suptitle(title, fontsize=TITLE + 1, x=0.01, ha="left")
    return figure


def slice(  # noqa: A001 (always called dale.plot.slice)
    result: Result, space: Any, *, title: str | None = None, objective: str = "objective"
) -> Figure:
    """Plot a surrogate along each parameter, with all other parameters at the best point.

    The surrogate is a Gaussian process fitted to all values except outliers, drawn with two standard deviations. The
    grey points are the trials, outliers excluded, projected onto the axis: most of them lie outside the slice.

    Args:
        result: Result of the run.
        space: Search space, as passed to ``minimize``.
        title: Title of the figure.
        objective: Label of the objective, with its unit.

    Returns:
        A matplotlib figure.

    Examples:
        >>> import dale
        >>> space = dale.Space(rate=dale.Float(1e-4, 1, log=True), momentum=(0, 1))
        >>> result = dale.minimize(lambda p: p["rate"] + p["momentum"] ** 2, space, budget=10, seed=0)
        >>> figure = dale.plot.slice(result, space, objective="loss")
        >>> figure.savefig("slice.png")  # doctest: +SKIP
    """
    slices = slice_data(result, as_space(space))
    columns = min(len(slices), 4)
    rows = -(-len(slices) // columns)
    figure = new_figure(max(7.2, 0.8 + 3.0 * columns), 0.7 + 2.9 * rows)
    axes = figure.subplots(rows, columns, sharey=True, squeeze=False).ravel()
    for ax, data in zip(axes, slices, strict=False):
        _draw_slice(ax, data)
        ax.plot([data.best], [result.fun], "*", label="best", **BEST_MARKER)
    for ax in axes[len(slices) :]:
        ax.set_visible(False)
    for ax in axes[::columns]:
        ax.set_ylabel(objective, fontsize=LABEL)
    figure.align_xlabels(list(axes))
    legend_below(figure, [axes[0]])
    figure.suptitle(title or "Slices through the best point", fontsize=TITLE, x=0.01, ha="left")
    return figure


def _draw_values(ax: Axes, data: ConvergenceData, minimum: float | None) -> None:
    style_axes(ax)
    value, best = (data.value, data.best) if minimum is None else _regret(data, minimum)
    shown, failed = np.isfinite(value) & ~data.outlier, np.isnan(data.value)
    if np.any(shown):
        best = np.where(best <= np.max(value[shown]), best, np.nan)  # an outlier must not set the scale of the axis
        if minimum is not None or _spans_decades(value[shown]):
            _use_log_scale(ax, value[shown])
    ax.step(data.trial, best, where="post", color=INK, linewidth=1.6, label="best so far", zorder=2)
    draw_by_source(ax, np.column_stack([data.trial, value]), data.source, shown)
    for marked, marker, label in ((failed, "x", "failed"), (data.outlier, r"$\uparrow$", "outlier")):
        if np.any(marked):
            at_top, transform = np.full(np.sum(marked), 0.98), ax.get_xaxis_transform()
            ax.plot(data.trial[marked], at_top, ls="", marker=marker, color=ALERT, transform=transform, label=label)


def _draw_length_scale(ax: Axes, data: ConvergenceData) -> None:
    style_axes(ax)
    ax.set_ylabel("length-scale", fontsize=LABEL)
    known, cooled = np.isfinite(data.length_scale), data.cooled
    if not np.any(known):
        return
    ax.step(data.trial[known], data.length_scale[known], where="post", color=SKY, linewidth=1.6)
    if np.any(cooled):
        ax.plot(data.trial[cooled], data.length_scale[cooled], "v", color=ALERT, markersize=6, label="cooled down")
    low, high = np.min(data.length_scale[known]), np.max(data.length_scale[known])
    ax.set_yscale("log", base=2)
    ax.set_ylim(low / 1.5, high * 1.5)  # spans at least one power of two, so that the axis has a tick
    ax.yaxis.set_major_formatter(_format_tick)


def _draw_contours(ax: Axes, data: ContourData, values: Matrix, levels: Vector) -> ContourSet:
    from matplotlib.colors import BoundaryNorm

    norm = BoundaryNorm(list(levels), 256, extend="both")  # equal colour steps between unequal levels
    filled = ax.contourf(data.x.values, data.y.values, values, levels, cmap="YlGnBu_r", norm=norm, extend="both")
    ax.contour(data.x.values, data.y.values, values, levels, colors="white", linewidths=0.4, alpha=0.6)
    ax.tick_params(labelsize=SMALL, color=FAINT)
    return filled


def _draw_trials(ax: Axes, data: ContourData) -> None:
    complete = np.isfinite(data.value)
    draw_by_source(ax, data.points, data.source, complete)
    if not np.all(complete):
        ax.plot(*data.points[~complete].T, "x", color=ALERT, label="failed")
    for k, curve in enumerate(data.ellipses):
        ax.plot(*curve.T, color=ALERT, linewidth=1.4, label="local minimum (ring: + 1 %)" if k == 0 else None)
    if len(data.minima):
        ax.plot(*data.minima.T, "+", color=ALERT, markersize=9, markeredgewidth=1.6, zorder=4)


def _draw_slice(ax: Axes, data: SliceData) -> None:
    style_axes(ax)
    x, low, high = data.axis.values, data.mean - 2 * data.std, data.mean + 2 * data.std
    ax.fill_between(x, low, high, color=SKY, alpha=0.18, linewidth=0, label="± 2 standard deviations")
    ax.plot(x, data.mean, color=SKY, linewidth=1.8, label="surrogate")
    ax.plot(data.points, data.values, "o", color=FAINT, markersize=3, alpha=0.7, label="trials (projected)")
    _label_x(ax, data.axis)


def _label_x(ax: Axes, axis: Axis) -> None:
    ax.set_xlabel(axis.name, fontsize=LABEL)
    if axis.log:
        ax.set_xscale("log")
        ax.xaxis.set_major_formatter(_format_tick)


def _label_y(ax: Axes, axis: Axis) -> None:
    ax.set_ylabel(axis.name, fontsize=LABEL)
    if axis.log:
        ax.set_yscale("log")
        ax.yaxis.set_major_formatter(_format_tick)


def _use_log_scale(ax: Axes, values: Vector) -> None:
    """A logarithmic y axis for positive values; within a few decades the ticks 2 and 5 are labelled too."""
    from matplotlib.ticker import LogLocator

    ax.set_yscale("log")
    if float(np.max(values) / np.min(values)) < FEW_DECADES:
        ax.yaxis.set_major_formatter(_format_tick)
        ax.yaxis.set_minor_locator(LogLocator(subs=(2, 5)))
        ax.yaxis.set_minor_formatter(_format_tick)


def _format_tick(value: float, _: float) -> str:
    """0.1 instead of 10^-1."""
    return f"{value:.4g}"


def _levels(data: ContourData) -> Vector:
    """Contour levels, denser towards the minimum, where most trials are."""
    lowest, highest = data.value_range
    highest = float(np.max(data.mean, initial=highest, where=np.isfinite(data.mean)))
    above = (highest - lowest or 1.0) * np.geomspace(LOWEST_LEVEL, 1, N_LEVELS)
    digits = 1 - np.floor(np.log10(above)).astype(int)  # two significant digits above the minimum
    return np.array([round(lowest + step, int(n)) for step, n in zip(above, digits, strict=True)])


def _true_values(fun: Callable[[Any], float], space: Space, data: ContourData) -> Matrix:
    rows = [[fun(params_of(space, (x, y))) for x in data.x.values] for y in data.y.values]
    return np.array(rows, dtype=float)


def _regret(data: ConvergenceData, minimum: float) -> tuple[Vector, Vector]:
    """Values and best values above the minimum, at least their rounding error, so that a log scale can show them."""
    largest = np.max(np.abs(data.value), initial=abs(minimum), where=np.isfinite(data.value) & ~data.outlier)
    resolution = max(np.finfo(float).eps * float(largest), np.finfo(float).tiny)
    return np.maximum(data.value - minimum, resolution), np.maximum(data.best - minimum, resolution)


def _spans_decades(values: Vector) -> bool:
    return float(np.min(values)) > 0 and float(np.max(values) / np.min(values)) > LOG_SCALE_RATIO
