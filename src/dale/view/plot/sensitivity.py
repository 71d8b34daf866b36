"""Plots of which parameters matter: importance, and stiff and sloppy directions at a minimum."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dale.view.data.sensitivity import LOCAL_MODEL, DirectionsData, ImportanceData, directions_data, importance_data
from dale.view.plot.marks import finished, format_tick, matrix_panel, plain
from dale.view.style import LABEL, SMALL, TITLE, Theme, legend_below, new_figure, style_axes, theme_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

POOR = 0.5  # explained fraction below which the surrogate is called poor


def importance(run: Any, *, space: Any = None, title: str | None = None, style: str = "light") -> Figure:
    """Plot how much each parameter and each pair matters, over the whole space and near the best point.

    Left: the fraction of the surrogate's variance that each parameter explains alone (main effect) and together with
    others (interactions). Middle: the interactions of all pairs. Right: the share of each parameter in the curvature
    at the best minimum: a parameter may matter over the whole space and not there, or the other way round.

    Args:
        run: A result, an optimizer, a stored run or the path of a store.
        space: Search space; needed only for a result that does not know it.
        title: Title of the figure.
        style: ``"light"`` or ``"dark"``.

    Examples:
        >>> import dale
        >>> result = dale.minimize(lambda x: x[0] ** 2 + 0.1 * x[1] ** 2, [(-1, 1)] * 2, budget=12, seed=0)
        >>> figure = dale.plot.importance(result)
    """
    theme, data = theme_of(style), importance_data(run, space)
    order = np.argsort(-data.total, kind="stable")
    names = [data.names[g] for g in order]
    figure = new_figure(11.0, 1.9 + 0.42 * max(len(names), 3), theme)
    left, middle, right = figure.subplots(1, 3, width_ratios=[1.2, 1.1, 0.9])
    _draw_effects(left, data, order, theme)
    pairs = np.where(np.eye(len(names), dtype=bool), np.nan, data.pairs[np.ix_(order, order)])
    top = max(float(np.nanmax(pairs, initial=0.0)), 0.05)
    matrix_panel(middle, pairs, names, names, theme, cmap=theme.share, vmin=0.0, vmax=top)
    middle.set_title("interactions of pairs", fontsize=TITLE, loc="left")
    near = data.near_best[order]
    _bars(right, names, np.nan_to_num(near), theme.colour_of_local, theme)
    for row in np.flatnonzero(np.isnan(near)).tolist():
        right.text(0.01, row, "no derivative", va="center", fontsize=SMALL, color=theme.faint)
    source = "by the local model" if data.near_best_model == LOCAL_MODEL else "by the surrogate"
    right.set_title(f"near the best, {source}", fontsize=TITLE, loc="left")
    right.set_xlabel("share of the curvature", fontsize=LABEL)
    legend_below(figure, [left], theme=theme)
    trust = f"the surrogate explains {100 * max(data.explained, 0):.0f} % of the values' variance when it is tested"
    return finished(figure, theme, title or f"Importance ({trust}{': poor' if data.explained < POOR else ''})")


def _draw_effects(ax: Axes, data: ImportanceData, order: np.ndarray, theme: Theme) -> None:
    names, main = [data.names[g] for g in order], data.main[order]
    _bars(ax, names, main, theme.sky, theme, label="alone")
    more = np.maximum(data.total[order] - main, 0.0)
    look: dict[str, Any] = {"color": theme.sky, "alpha": 0.4, "height": 0.62}
    ax.barh(range(len(names)), more, left=main, label="with others", **look)
    ax.set_title("over the whole space", fontsize=TITLE, loc="left")
    ax.set_xlabel("share of the surrogate's variance", fontsize=LABEL)


def _bars(ax: Axes, names: list[str], values: Any, colour: str, theme: Theme, label: str | None = None) -> None:
    style_axes(ax, theme)
    ax.barh(range(len(names)), values, color=colour, height=0.62, label=label)
    ax.set_yticks(range(len(names)), [plain(name) for name in names])
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.set_xlim(0, 1)


def directions(
    run: Any, *, minimum: int = 0, space: Any = None, title: str | None = None, style: str = "light"
) -> Figure:
    """Plot stiff and sloppy directions at a minimum, and how parameters compensate for each other there.

    Left: how far one can move along each direction before the objective has risen by 1 % of the range of its values.
    Middle: the components of each direction, in fractions of the parameters' ranges. Right: correlations; near 1 or -1,
    a move of one parameter is compensated by the other.

    Args:
        run: A result, an optimizer, a stored run or the path of a store.
        minimum: Number of the local minimum, 0 for the best.
        space: Search space; needed only for a result that does not know it.
        title: Title of the figure.
        style: ``"light"`` or ``"dark"``.

    Examples:
        >>> import dale
        >>> result = dale.minimize(lambda x: x[0] ** 2 + 0.1 * x[1] ** 2, [(-1, 1)] * 2, budget=12, seed=0)
        >>> figure = dale.plot.directions(result)
    """
    theme, data = theme_of(style), directions_data(run, space, minimum=minimum)
    k, names = len(data.names), list(data.names)
    figure = new_figure(11.0, 2.0 + 0.42 * max(k, 3), theme)
    left, middle, right = figure.subplots(1, 3, width_ratios=[1.0, 1.1, 1.1])
    rows = [f"direction {i + 1}" for i in range(k)]
    _draw_tolerances(left, data, rows, theme)
    signed: dict[str, Any] = {"cmap": theme.signed, "vmin": -1.0, "vmax": 1.0}
    matrix_panel(middle, data.vectors, rows, names, theme, **signed)
    middle.set_title("components", fontsize=TITLE, loc="left")
    matrix_panel(right, data.correlations, names, names, theme, **signed)
    right.set_title("correlations", fontsize=TITLE, loc="left")
    where = f"{data.sense.optimum} {minimum + 1}" if data.model == LOCAL_MODEL else "the best point, by the surrogate"
    return finished(figure, theme, title or f"Stiff and sloppy directions at {where}")


def _draw_tolerances(ax: Axes, data: DirectionsData, rows: list[str], theme: Theme) -> None:
    from matplotlib.ticker import LogLocator

    style_axes(ax, theme)
    finite = np.isfinite(data.tolerance)
    length = 100 * np.where(finite, data.tolerance, np.nan)
    ax.plot(length, range(len(rows)), "o", color=theme.colour_of_local, markersize=7)
    for i in np.flatnonzero(~finite).tolist():
        ax.text(
            0.03, i, f"does not {data.sense.decline}", transform=ax.get_yaxis_transform(), va="center", fontsize=SMALL
        )
    ax.set_xscale("log")
    if finite.any():
        ax.set_xlim(np.nanmin(length) / 2, np.nanmax(length) * 2)
    ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    ax.xaxis.set_major_formatter(format_tick)
    ax.xaxis.set_minor_formatter("")
    ax.set_yticks(range(len(rows)), rows)
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.set_title("stiff (top) to sloppy", fontsize=TITLE, loc="left")
    ax.set_xlabel(f"% of the range for a {data.sense.decline} of {data.rise:.2g}", fontsize=LABEL)
