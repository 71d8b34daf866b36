"""Plots of all parameters at once: the corner plot and parallel coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from dale.view.data.axes import Axis
from dale.view.data.pairs import CornerData, ParallelData, corner_data, parallel_data
from dale.view.plot.marks import (
    best_marker,
    colour_bar,
    draw_field,
    finished,
    format_tick,
    jittered,
    label_x,
    label_y,
    levels_of,
    plain,
)
from dale.view.style import LABEL, SMALL, Theme, legend_below, new_figure, style_axes, theme_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ORDER = "viridis"  # colour map of the order of trials


def corner(
    run: Any,
    *,
    space: Any = None,
    params: Sequence[str] | None = None,
    title: str | None = None,
    objective: str = "objective",
    style: str = "light",
) -> Figure:
    """Plot all pairs of parameters: what the surrogate says of them, and where the evaluations were made.

    On the diagonal and below it, the partial dependence: the mean of the surrogate, averaged over all other parameters.
    The bars on the diagonal count the evaluations. Above it, the evaluations in their order, early ones dark, with
    failed and infeasible ones marked.

    Args:
        run: A result, an optimizer, a stored run or the path of a store.
        space: Search space; needed only for a result that does not know it.
        params: Names of the parameters; None for all, or the eight that matter most.
        title: Title of the figure.
        objective: Label of the objective, with its unit.
        style: ``"light"`` or ``"dark"``.

    Examples:
        >>> import dale
        >>> result = dale.minimize(lambda x: float(x @ x), [(-1, 1)] * 3, budget=10, seed=0)
        >>> figure = dale.plot.corner(result)
    """
    theme, data = theme_of(style), corner_data(run, space, params=params)
    k = len(data.single)
    figure = new_figure(1.6 + 2.0 * k, 1.4 + 1.8 * k, theme)
    axes = figure.subplots(k, k, squeeze=False)
    for i, one in enumerate(data.single):
        _draw_single(axes[i, i], data, i, theme)
        label_x(axes[i, i], one.axis)
    means = np.concatenate([p.mean.ravel() for p in data.pairs] or [one.mean for one in data.single])
    means = means[np.isfinite(means)]
    levels = levels_of(means, data.direction, 11)
    filled = None
    for (i, j), pair in zip(combinations(range(k), 2), data.pairs, strict=True):
        filled = draw_field(axes[j, i], pair.x, pair.y, pair.mean, levels, theme)
        axes[j, i].plot(data.best[i], data.best[j], "*", label="best", **best_marker(theme))
        _scatter(axes[i, j], data, (j, i), theme)
        label_both(axes[j, i], pair.x, pair.y)
        label_both(axes[i, j], pair.y, pair.x)
    _thin_labels(axes, k)
    if filled is not None:
        colour_bar(
            figure, filled, list(axes.ravel()), f"partial dependence of {plain(objective)}", theme, format="%.4g"
        )
        legend_below(figure, [axes[1, 0], axes[0, 1]], theme=theme)
    left_out = f" ({len(data.left_out)} parameters that matter less are left out)" if data.left_out else ""
    return finished(figure, theme, (title or "Partial dependence and evaluations") + left_out)


def label_both(ax: Axes, x: Axis, y: Axis) -> None:
    """Names and scales of two parameters."""
    label_x(ax, x)
    label_y(ax, y)


def _thin_labels(axes: Any, k: int) -> None:
    """Labels at the left and lower edge, and on the diagonal, only."""
    for i in range(k):
        for j in range(k):
            ax = axes[i, j]
            if i < k - 1:
                ax.set_xlabel("")
            if i < k - 1 and i != j:
                ax.tick_params(labelbottom=False, which="both")
            if i == j or j > 0:
                ax.set_ylabel("")
            if j > 0:
                ax.tick_params(labelleft=False, which="both")
            ax.tick_params(labelsize=SMALL - 1.5)
            for label in ax.get_xticklabels():
                label.set_rotation(45)
    for i in range(k - 1):
        axes[i, i].set_title(axes[k - 1, i].get_xlabel(), fontsize=LABEL)


def _draw_single(ax: Axes, data: CornerData, i: int, theme: Theme) -> None:
    one = data.single[i]
    style_axes(ax, theme, grid=False)
    counts = ax.twinx()
    counts.set_axis_off()
    points = data.points[np.isfinite(data.points[:, i]), i]
    if one.axis.options:
        numbers, edges = np.bincount(points.astype(int), minlength=len(one.axis.options)), one.axis.values
        counts.bar(edges, numbers, width=0.7, color=theme.faint, alpha=0.35)
        ax.plot(one.axis.values, one.mean, "o-", color=theme.sky, markersize=4, linewidth=1.2)
    else:
        low, high = one.axis.values[0], one.axis.values[-1]
        bins = np.geomspace(low, high, 13) if one.axis.log else np.linspace(low, high, 13)
        counts.hist(points, bins=bins.tolist(), color=theme.faint, alpha=0.35)
        ax.plot(one.axis.values, one.mean, color=theme.sky, linewidth=1.6)
    ax.axvline(data.best[i], color=theme.ink, linewidth=1.0, linestyle=":")
    ax.set_zorder(counts.get_zorder() + 1)
    ax.patch.set_visible(False)


def _scatter(ax: Axes, data: CornerData, columns: tuple[int, int], theme: Theme) -> None:
    style_axes(ax, theme, grid=False)
    x, y = (jittered(data.single[c].axis, data.points[:, c]) for c in columns)
    failed, ok = ~np.isfinite(data.value), data.feasible
    last = float(np.max(data.trial, initial=1))
    ends = (0.0, 1.2 * last) if theme.paper == "white" else (-0.4 * last, last)  # no colour close to the background's
    look: dict[str, Any] = {"cmap": ORDER, "vmin": ends[0], "vmax": ends[1], "s": 14, "linewidths": 0}
    ax.scatter(x[ok], y[ok], c=data.trial[ok], label="evaluation, early to late", **look)
    infeasible = ~ok & ~failed
    if np.any(infeasible):
        ax.plot(x[infeasible], y[infeasible], "o", markersize=4, mfc="none", mec=theme.faint, label="infeasible")
    if np.any(failed):
        ax.plot(x[failed], y[failed], "x", color=theme.alert, markersize=4, label="failed")
    ax.plot(data.best[columns[0]], data.best[columns[1]], "*", label="best", **best_marker(theme))


def parallel(
    run: Any,
    *,
    space: Any = None,
    params: Sequence[str] | None = None,
    title: str | None = None,
    objective: str = "objective",
    style: str = "light",
) -> Figure:
    """Plot every trial as a line across one axis for each parameter, coloured by the rank of its value.

    The best trial is drawn on top. Failed trials are dashed, infeasible ones dotted. A line is interrupted where a
    parameter is inactive.

    Args:
        run: A result, an optimizer, a stored run or the path of a store.
        space: Search space; needed only for a result that does not know it.
        params: Names of the parameters, in this order; None for all that vary.
        title: Title of the figure.
        objective: Label of the objective, with its unit.
        style: ``"light"`` or ``"dark"``.

    Examples:
        >>> import dale
        >>> result = dale.minimize(lambda x: float(x @ x), [(-1, 1)] * 3, budget=10, seed=0)
        >>> figure = dale.plot.parallel(result)
    """
    theme, data = theme_of(style), parallel_data(run, space, params=params)
    figure = new_figure(max(6.0, 1.8 + 1.5 * len(data.axes)), 4.6, theme)
    ax = figure.subplots()
    style_axes(ax, theme, grid=False)
    ax.spines[:].set_visible(False)
    shown = data.feasible & ~data.outlier
    _draw_lines(ax, data, shown, theme)
    for k, axis in enumerate(data.axes):
        _draw_axis(ax, k, axis, theme)
    ax.set_yticks([])
    ax.set_xticks(range(len(data.axes)), [plain(axis.name) for axis in data.axes])
    ax.tick_params(axis="x", length=0, pad=12, labelsize=LABEL)
    ax.set_xlim(-0.35, len(data.axes) - 0.65 + 0.3)
    ax.set_ylim(-0.08, 1.08)
    if np.any(shown):
        losses, ticks = data.direction.loss(data.value[shown]), np.linspace(0, 1, 5)
        values = data.direction.from_loss(np.quantile(losses, ticks))
        bar = figure.colorbar(_mappable(theme), ax=ax, pad=0.02, aspect=30)
        bar.set_ticks(ticks.tolist(), labels=[f"{v:.3g}" for v in values])
        bar.set_label(f"{plain(objective)} (by rank)", fontsize=LABEL)
        bar.outline.set_edgecolor(theme.faint)
        bar.ax.tick_params(labelsize=SMALL, color=theme.faint, labelcolor=theme.ink)
    legend_below(figure, [ax], theme=theme)
    return finished(figure, theme, title or "Trials in parallel coordinates")


def _mappable(theme: Theme) -> Any:
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    return ScalarMappable(Normalize(0, 1), "cividis" if theme.paper == "white" else "cividis_r")


def _draw_lines(ax: Axes, data: ParallelData, shown: np.ndarray, theme: Theme) -> None:
    x, colours = np.arange(len(data.axes)), _mappable(theme)
    worst_first = np.flatnonzero(shown)[np.argsort(-data.direction.loss(data.value[shown]), kind="stable")]
    n = max(len(worst_first) - 1, 1)
    labelled: set[str] = set()

    def line(i: int, label: str, **look: Any) -> None:
        ax.plot(x, data.positions[i], label=None if label in labelled else label, **look)
        labelled.add(label)

    for i in np.flatnonzero(~shown).tolist():
        if np.isnan(data.value[i]):
            line(i, "failed", color=theme.alert, linewidth=1.0, linestyle="--", alpha=0.8)
        elif not data.outlier[i]:
            line(i, "infeasible", color=theme.faint, linewidth=0.8, linestyle=":")
    for place, i in enumerate(worst_first):
        rank = 1 - place / n
        ax.plot(x, data.positions[i], color=colours.to_rgba(rank), linewidth=1.0, alpha=0.75)
    if data.best is not None:
        row = int(np.flatnonzero(data.trial == data.best)[0])
        line(row, "best", color=theme.ink, linewidth=2.4, marker="o", markersize=4, zorder=5)


def _draw_axis(ax: Axes, k: int, axis: Axis, theme: Theme) -> None:
    ax.axvline(k, color=theme.faint, linewidth=0.9, zorder=1)
    look: dict[str, Any] = {"fontsize": SMALL - 0.5, "color": theme.ink, "zorder": 6}
    box = {"facecolor": theme.paper, "edgecolor": "none", "alpha": 0.7, "pad": 0.6}
    if axis.options:
        step = max(len(axis.options) - 1, 1)
        for i, option in enumerate(axis.options):
            ax.text(k + 0.03, i / step, plain(option), va="center", bbox=box, **look)
        return
    for place, value in ((0.0, axis.values[0]), (1.0, axis.values[-1])):
        text = format_tick(float(value), 0.0)
        ax.text(k, place + (0.02 if place else -0.02), text, ha="center", va="bottom" if place else "top", **look)
