"""Plots of how a run went: convergence, length-scale, timeline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dale._arrays import Vector
from dale.history.direction import Direction
from dale.history.trial import TrialState
from dale.view.data.progress import (
    ConvergenceData,
    LengthScaleData,
    convergence_data,
    length_scale_data,
    timeline_data,
)
from dale.view.plot.marks import finished, format_tick, hollow, integer_ticks, spans_decades, use_log_scale
from dale.view.style import LABEL, SOURCE_STYLES, Theme, draw_by_source, legend_below, new_figure, style_axes, theme_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TIME_UNITS = ((2 * 86400.0, 86400.0, "days"), (2 * 3600.0, 3600.0, "hours"), (120.0, 60.0, "minutes"))


def convergence(
    run: Any,
    minimum: float | None = None,
    *,
    space: Any = None,
    title: str | None = None,
    objective: str = "objective",
    style: str = "light",
) -> Figure:
    """Plot the value of every trial and the best value so far; below, the length-scale of the global model.

    Failed trials are marked at the top edge, outliers at the edge where values are worse, and infeasible ones by hollow
    markers. Where values are noisy, the line is the best posterior mean so far and not the best value, which is luck.

    Args:
        run: A result, an optimizer, a stored run or the path of a store.
        minimum: True minimum, if known; the true maximum of an objective that is maximised. The regret (value − minimum
            or maximum − value) is then plotted on a logarithmic scale.
        space: Search space; needed only for a result that does not know it.
        title: Title of the figure.
        objective: Label of the objective, with its unit.
        style: ``"light"`` or ``"dark"``.

    Returns:
        A matplotlib figure.

    Examples:
        >>> import dale
        >>> result = dale.minimize(lambda x: (x[0] - 1) ** 2, [(-2, 2)], budget=10, seed=0)
        >>> figure = dale.plot.convergence(result, minimum=0.0)
        >>> figure.savefig("convergence.png")  # doctest: +SKIP
    """
    theme, data = theme_of(style), convergence_data(run, space)
    figure = new_figure(7.2, 5.2, theme)
    top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=[2.6, 1])
    _draw_values(top, data, minimum, theme)
    top.set_ylabel(objective if minimum is None else _regret(objective, data.direction), fontsize=LABEL)
    _draw_length_scale(bottom, data, theme)
    top.set_title(title or "Convergence", fontsize=11, loc="left")
    _label_trials(bottom, data.trial)
    figure.align_ylabels([top, bottom])
    legend_below(figure, [top, bottom], theme=theme)
    return finished(figure, theme)


def _regret(objective: str, direction: Direction) -> str:
    return f"{objective} − minimum" if direction is Direction.MINIMIZE else f"maximum − {objective}"


def _draw_values(ax: Axes, data: ConvergenceData, minimum: float | None, theme: Theme) -> None:
    style_axes(ax, theme)
    value, mean, best = _above(data, minimum)
    drawn_as = data.direction if minimum is None else Direction.MINIMIZE
    shown = np.isfinite(value) & ~data.outlier
    if np.any(shown):
        worst = np.max(drawn_as.loss(value[shown]))
        best = np.where(drawn_as.loss(best) <= worst, best, np.nan)  # an outlier must not set the scale of the axis
        drawn = np.concatenate([value[shown], mean[np.isfinite(mean)]])
        if minimum is not None or spans_decades(drawn):
            use_log_scale(ax, drawn)
    label = "best so far" if data.noise == 0 else f"{data.direction.best} posterior mean so far"
    ax.step(data.trial, best, where="post", color=theme.ink, linewidth=1.6, label=label, zorder=2)
    points = np.column_stack([data.trial, value])
    draw_by_source(ax, points, data.source, shown & data.feasible, theme)
    infeasible = shown & ~data.feasible
    if np.any(infeasible):
        ax.plot(*points[infeasible].T, "o", markersize=5, zorder=3, **hollow(theme.faint, "infeasible"))
    if np.any(np.isfinite(mean)):
        ax.plot(data.trial, mean, "_", color=theme.ink, markersize=7, label="posterior mean", zorder=4)
    arrow, edge = (r"$\uparrow$", 0.98) if drawn_as is Direction.MINIMIZE else (r"$\downarrow$", 0.02)
    for marked, marker, at, label in ((data.failed, "x", 0.98, "failed"), (data.outlier, arrow, edge, "outlier")):
        if np.any(marked):
            places, transform = np.full(np.sum(marked), at), ax.get_xaxis_transform()
            ax.plot(
                data.trial[marked], places, ls="", marker=marker, color=theme.alert, transform=transform, label=label
            )


def _above(data: ConvergenceData, minimum: float | None) -> tuple[Vector, Vector, Vector]:
    """Values, posterior means and best values; with an optimum, how much worse they are, at least a rounding error."""
    if minimum is None:
        return data.value, data.mean, data.best
    largest = np.max(np.abs(data.value), initial=abs(minimum), where=np.isfinite(data.value) & ~data.outlier)
    resolution = max(np.finfo(float).eps * float(largest), np.finfo(float).tiny)
    loss = data.direction.loss
    value, mean, best = (np.maximum(loss(v) - loss(minimum), resolution) for v in (data.value, data.mean, data.best))
    return value, mean, best


def _draw_length_scale(ax: Axes, data: ConvergenceData | LengthScaleData, theme: Theme) -> None:
    style_axes(ax, theme)
    ax.set_ylabel("length-scale", fontsize=LABEL)
    known, cooled = np.isfinite(data.length_scale), data.cooled
    if not np.any(known):
        return
    ax.step(data.trial[known], data.length_scale[known], where="post", color=theme.sky, linewidth=1.6)
    if np.any(cooled):
        ax.plot(
            data.trial[cooled], data.length_scale[cooled], "v", color=theme.alert, markersize=6, label="cooled down"
        )
    low, high = np.min(data.length_scale[known]), np.max(data.length_scale[known])
    ax.set_yscale("log", base=2)
    ax.set_ylim(low / 1.5, high * 1.5)  # spans at least one power of two, so that the axis has a tick
    ax.yaxis.set_major_formatter(format_tick)


def length_scale(run: Any, *, space: Any = None, title: str | None = None, style: str = "light") -> Figure:
    """Plot the length-scale of the global model with its floor, and below, the alpha ratios that decide about it.

    A ratio above the threshold is a vote for a smaller length-scale (Alg. 2 of the paper). The strip at the bottom
    shows which side proposed each point.

    Args:
        run: A result, an optimizer, a stored run or the path of a store.
        space: Search space; needed only for a result that does not know it.
        title: Title of the figure.
        style: ``"light"`` or ``"dark"``.

    Examples:
        >>> import dale
        >>> result = dale.minimize(lambda x: (x[0] - 1) ** 2, [(-2, 2)], budget=10, seed=0)
        >>> figure = dale.plot.length_scale(result)
    """
    theme, data = theme_of(style), length_scale_data(run, space)
    figure = new_figure(7.2, 5.4, theme)
    top, middle, bottom = figure.subplots(3, 1, sharex=True, height_ratios=[1.6, 1.4, 0.22])
    _draw_length_scale(top, data, theme)
    if len(data.trial):
        top.plot(
            data.trial, data.floor, color=theme.faint, linestyle=(0, (4, 3)), linewidth=1.2, label="floor (eq. 16)"
        )
        top.set_ylim(min(np.min(data.floor), top.get_ylim()[0]) / 1.1, top.get_ylim()[1])
    _draw_votes(middle, data, theme)
    style_axes(bottom, theme, grid=False)
    bottom.set_yticks([])
    bottom.spines["left"].set_visible(False)
    draw_by_source(
        bottom,
        np.column_stack([data.trial, np.zeros(len(data.trial))]),
        data.source,
        np.ones(len(data.trial), dtype=bool),
        theme,
    )
    _label_trials(bottom, data.trial)
    figure.align_ylabels([top, middle])
    legend_below(figure, [top, middle, bottom], theme=theme)
    return finished(figure, theme, title or "Length-scale and the votes to reduce it")


def _draw_votes(ax: Axes, data: LengthScaleData, theme: Theme) -> None:
    style_axes(ax, theme)
    ax.set_ylabel("alpha ratio", fontsize=LABEL)
    known = np.isfinite(data.alpha_ratio) & (data.alpha_ratio > 0)
    ax.axhline(data.threshold, color=theme.alert, linewidth=1.2, linestyle="--", label=f"threshold {data.threshold:g}")
    for vote, fill, label in ((True, theme.alert, "vote to reduce"), (False, theme.paper, "vote to keep")):
        some = known & (data.votes == vote)
        if np.any(some):
            look = hollow(theme.alert if vote else theme.sky, label, fill)
            ax.plot(data.trial[some], data.alpha_ratio[some], "o", markersize=5, **look)
    if np.any(known) and float(np.max(data.alpha_ratio[known])) > 5 * data.threshold:
        ax.set_yscale("log")
        ax.yaxis.set_major_formatter(format_tick)


def timeline(run: Any, *, space: Any = None, title: str | None = None, style: str = "light") -> Figure:
    """Plot when each evaluation of a stored run began and ended.

    An evaluation takes the first lane that is free, so there are as many lanes as evaluations ran at once; gaps are
    times when fewer did.

    Args:
        run: The path of a store, a run from ``dale.open``, or an optimizer with a store.
        space: Search space; needed only for a store with options that no file can keep.
        title: Title of the figure.
        style: ``"light"`` or ``"dark"``.

    Examples:
        >>> import dale
        >>> result = dale.minimize(lambda x: x[0] ** 2, [(-1, 2)], budget=3, seed=0, store="lanes.db")
        >>> figure = dale.plot.timeline("lanes.db")
    """
    theme, data = theme_of(style), timeline_data(run, space)
    n = int(np.max(data.lane, initial=0)) + 1
    longest = float(np.max(data.end, initial=0.0))
    unit, name = next(((u, name) for limit, u, name in TIME_UNITS if longest >= limit), (1.0, "seconds"))
    figure = new_figure(8.4, 2.0 + 0.32 * min(n, 24), theme)
    ax = figure.subplots()
    style_axes(ax, theme)
    labelled = set()
    for i in range(len(data.trial)):
        label, colour, hatch = _look(data.state[i], data.source[i], theme)
        begin, width = data.start[i] / unit, max((data.end[i] - data.start[i]) / unit, 1e-3 * longest / unit)
        bar = ax.barh(data.lane[i], width, left=begin, height=0.8, color=colour, edgecolor=theme.paper, linewidth=0.5)
        bar[0].set_hatch(hatch)
        bar.set_label("_" if label in labelled else label)
        labelled.add(label)
    ax.set_xlabel(f"{name} since {data.start_time[:19].replace('T', ' ')} UTC", fontsize=LABEL)
    ax.set_ylabel("evaluations at once", fontsize=LABEL)
    ax.set_ylim(n - 0.5, -0.5)
    ax.set_yticks(range(n), [str(k + 1) for k in range(n)])
    legend_below(figure, [ax], theme=theme)
    return finished(figure, theme, title or f"Timeline: evaluations took {100 * data.busy:.0f} % of the time")


def _look(state: TrialState, source: Any, theme: Theme) -> tuple[str, str, str]:
    if state is TrialState.FAILED:
        return "failed", theme.alert, "xxx"
    if state is TrialState.PENDING:
        return "pending", theme.grid, "..."
    if state is TrialState.DISCARDED:
        return "discarded", theme.grid, "///"
    return SOURCE_STYLES[source].label, theme.colour_of(source), ""


def _label_trials(ax: Axes, trial: np.ndarray) -> None:
    ax.set_xlabel("trial", fontsize=LABEL)
    ax.set_xlim(-0.5, max(trial, default=0) + 0.5)
    integer_ticks(ax.xaxis)
