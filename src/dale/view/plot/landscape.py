"""Plots of the objective as the surrogate sees it: slices through the best point, contours over two parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dale._arrays import Matrix, Vector
from dale.history.direction import Direction
from dale.view.data.axes import Axis, cube_points
from dale.view.data.landscape import ContourData, SliceData, contour_data, slice_data
from dale.view.plot.marks import (
    best_marker,
    colour_bar,
    draw_field,
    finished,
    hollow,
    jittered,
    label_x,
    label_y,
    levels_of,
    plain,
)
from dale.view.run_view import RunView, view_of
from dale.view.style import (
    INK,
    LABEL,
    SMALL,
    TITLE,
    Theme,
    draw_by_source,
    legend_below,
    new_figure,
    style_axes,
    theme_of,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MAX_REGIONS = 12  # closed regions that are drawn, the last ones


def contour(
    run: Any,
    space: Any = None,
    fun: Callable[[Any], float] | None = None,
    *,
    params: Sequence[str] | None = None,
    title: str | None = None,
    objective: str = "objective",
    style: str = "light",
) -> Figure:
    """Plot contours of a surrogate over two parameters, with all trials, local minima and regions.

    The surrogate is a Gaussian process fitted to all values except outliers; all other parameters are at the best
    point. The ring around a local minimum marks where its model has risen by 1 % of the range of the values (around a
    local maximum: dropped), all other parameters fixed; it is dashed if the minimum is not in this section. Trust
    regions are projected onto the section. Where the outcome constraints are probably violated or the input constraints
    are, the plot is hatched.

    Args:
        run: A result, an optimizer, a stored run or the path of a store.
        space: Search space; needed only for a result that does not know it.
        fun: The objective, if it is cheap enough for about 15 000 calls. Its contours are then drawn on the left.
        params: Names of the two parameters; None for the two that matter most.
        title: Title of the figure.
        objective: Label of the objective, with its unit.
        style: ``"light"`` or ``"dark"``.

    Returns:
        A matplotlib figure.

    Examples:
        >>> import dale
        >>> from scipy.optimize import rosen
        >>> result = dale.minimize(rosen, [(-2, 2), (-2, 2)], budget=10, seed=0)
        >>> figure = dale.plot.contour(result)
        >>> figure.savefig("contour.png")  # doctest: +SKIP
    """
    theme, view = theme_of(style), view_of(run, space)
    data = contour_data(view, params=params)
    panels = [("Surrogate", data.mean)]
    if fun is not None:
        panels.insert(0, ("Objective", _true_values(fun, view, data)))
    best, worst = np.sort(data.direction.loss(np.array(data.value_range))).tolist()
    worst = float(np.max(data.direction.loss(data.mean), initial=worst, where=np.isfinite(data.mean)))
    levels = levels_of(data.direction.from_loss(np.array([best, worst])), data.direction)
    figure = new_figure(2.0 + 4.6 * len(panels), 5.3, theme)
    axes = figure.subplots(1, len(panels), sharex=True, sharey=True, squeeze=False)[0]
    for ax, (name, values) in zip(axes, panels, strict=True):
        filled = draw_field(ax, data.x, data.y, values, levels, theme)
        ax.set_title(name, fontsize=TITLE, loc="left")
        label_x(ax, data.x)
    label_y(axes[0], data.y)
    _draw_forbidden(axes[-1], data, theme)
    _draw_trials(axes[-1], data, theme)
    _draw_optima(axes[-1], data, theme)
    axes[-1].plot(*data.best, "*", label="best", zorder=5, **best_marker(theme))
    colour_bar(figure, filled, list(axes), objective, theme, ticks=levels[::2], format="%.6g")
    legend_below(figure, [axes[-1]], columns=6 if fun is not None else 3, theme=theme)
    return finished(figure, theme, title)


def _draw_forbidden(ax: Axes, data: ContourData, theme: Theme) -> None:
    """Hatch what the constraints forbid."""
    forbidden = np.zeros(data.mean.shape, dtype=bool)
    if data.allowed.size:
        forbidden |= ~data.allowed
    if data.feasible.size:
        forbidden |= data.feasible < 0.5
    if not forbidden.any() or data.x.options or data.y.options:
        return
    probability = data.feasible if data.feasible.size else 1.0 - forbidden
    if data.feasible.size and data.allowed.size:
        probability = np.where(data.allowed, probability, 0.0)
    hatched = ax.contourf(data.x.values, data.y.values, probability, [-1.0, 0.5], colors="none", hatches=["///"])
    hatched.set_edgecolor(INK)
    hatched.set_linewidth(0.0)
    ax.contour(data.x.values, data.y.values, probability, [0.5], colors=INK, linewidths=1.0)
    look: dict[str, Any] = {"facecolor": "none", "edgecolor": theme.ink, "hatch": "///", "label": "probably infeasible"}
    ax.fill([np.nan], [np.nan], **look)  # for the legend only


def _draw_trials(ax: Axes, data: ContourData, theme: Theme) -> None:
    points = np.column_stack([jittered(data.x, data.points[:, 0]), jittered(data.y, data.points[:, 1])])
    active = np.all(np.isfinite(points), axis=1)
    complete = np.isfinite(data.value) & active
    draw_by_source(ax, points, data.source, complete & data.feasible_points, theme)
    infeasible, failed = complete & ~data.feasible_points, active & ~np.isfinite(data.value)
    if np.any(infeasible):
        look = hollow("#444444", "infeasible")
        ax.plot(*points[infeasible].T, "o", markersize=5, clip_on=False, zorder=3, **look)
    if np.any(failed):
        ax.plot(*points[failed].T, "x", color=theme.alert, label="failed", clip_on=False, zorder=3)


def _draw_optima(ax: Axes, data: ContourData, theme: Theme) -> None:
    from matplotlib.patheffects import withStroke

    names = {True: "closed region", False: "trust region of the last step"}
    drawn: set[str] = set()
    outline = [withStroke(linewidth=2.2, foreground="#333333")]  # visible on every colour
    for region in data.regions[-MAX_REGIONS:]:
        name = names[region.closed]
        look: dict[str, Any] = {"color": "#ffffff", "linewidth": 1.1, "linestyle": ":" if region.closed else "-"}
        ax.plot(*region.outline.T, label=None if name in drawn else name, path_effects=outline, **look)
        drawn.add(name)
    for k, (curve, in_plane) in enumerate(zip(data.ellipses, data.in_plane, strict=True)):
        look = {"color": theme.alert, "linewidth": 1.4, "linestyle": "-" if in_plane else "--"}
        ring = "+ 1 %" if data.direction is Direction.MINIMIZE else "− 1 %"
        ax.plot(*curve.T, label=f"local {data.direction.optimum} (ring: {ring})" if k == 0 else None, **look)
    if len(data.minima):
        ax.plot(*data.minima.T, "+", color=theme.alert, markersize=9, markeredgewidth=1.6, zorder=4)


def _true_values(fun: Callable[[Any], float], view: RunView, data: ContourData) -> Matrix:
    base = view.trials[data.base].unit_x
    points = cube_points(view, base, [data.y, data.x])
    values = [fun(view.space.decode(point)) for point in points]
    return np.array(values, dtype=float).reshape(data.mean.shape)


def slice(  # noqa: A001 (always called dale.plot.slice)
    run: Any,
    space: Any = None,
    *,
    params: Sequence[str] | None = None,
    title: str | None = None,
    objective: str = "objective",
    style: str = "light",
) -> Figure:
    """Plot a surrogate along each parameter, with all other parameters at the best point.

    The surrogate is a Gaussian process fitted to all values except outliers, drawn with two standard deviations; for a
    choice, one mark for each option. The grey points are the trials, outliers excluded, projected onto the axis: most
    of them lie outside the slice. A conditional parameter that is inactive at the best point is drawn through the best
    trial in which it is active.

    Args:
        run: A result, an optimizer, a stored run or the path of a store.
        space: Search space; needed only for a result that does not know it.
        params: Names of the parameters; None for all that vary.
        title: Title of the figure.
        objective: Label of the objective, with its unit.
        style: ``"light"`` or ``"dark"``.

    Returns:
        A matplotlib figure.

    Examples:
        >>> import dale
        >>> space = dale.Space(rate=dale.Float(1e-4, 1, log=True), momentum=(0, 1))
        >>> result = dale.minimize(lambda p: p["rate"] + p["momentum"] ** 2, space, budget=10, seed=0)
        >>> figure = dale.plot.slice(result, objective="loss")
        >>> figure.savefig("slice.png")  # doctest: +SKIP
    """
    theme, view = theme_of(style), view_of(run, space)
    slices = slice_data(view, params=params)
    columns = min(len(slices), 4)
    rows = -(-len(slices) // columns)
    figure = new_figure(max(7.2, 0.8 + 3.0 * columns), 0.7 + 2.9 * rows, theme)
    axes = figure.subplots(rows, columns, sharey=True, squeeze=False).ravel()
    for ax, data in zip(axes, slices, strict=False):
        _draw_slice(ax, data, theme)
        if view.best is not None and data.base != view.best.id:
            ax.set_title(f"through trial {data.base}", fontsize=SMALL, loc="left")
    for ax in axes[len(slices) :]:
        ax.set_visible(False)
    for ax in axes[::columns]:
        ax.set_ylabel(plain(objective), fontsize=LABEL)
    figure.align_xlabels(list(axes))
    legend_below(figure, list(axes[: len(slices)]), theme=theme)
    return finished(figure, theme, title or "Slices through the best point")


def _draw_slice(ax: Axes, data: SliceData, theme: Theme) -> None:
    style_axes(ax, theme)
    low, high = data.mean - 2 * data.std, data.mean + 2 * data.std
    if data.axis.options:
        bars: dict[str, Any] = {"color": theme.sky, "alpha": 0.35, "linewidth": 9, "label": "± 2 standard deviations"}
        ax.vlines(data.axis.values, low, high, **bars)
        ax.plot(data.axis.values, data.mean, "_", color=theme.sky, markersize=16, mew=2, label="surrogate")
    else:
        _draw_line(ax, data.axis, data, (low, high), theme)
    x = jittered(data.axis, data.points)
    ok = data.feasible_points
    ax.plot(x[ok], data.values[ok], "o", color=theme.faint, markersize=3, alpha=0.7, label="trials (projected)")
    if not np.all(ok):
        ax.plot(x[~ok], data.values[~ok], "o", markersize=4, **hollow(theme.faint, "infeasible"))
    if len(data.failed):
        top, transform = np.full(len(data.failed), 0.98), ax.get_xaxis_transform()
        ax.plot(data.failed, top, "x", color=theme.alert, markersize=4, transform=transform, label="failed")
    ax.plot([data.best], [data.best_value], "*", label="best", **best_marker(theme))
    label_x(ax, data.axis)


def _draw_line(ax: Axes, axis: Axis, data: SliceData, band: tuple[Vector, Vector], theme: Theme) -> None:
    ax.fill_between(axis.values, *band, color=theme.sky, alpha=0.18, linewidth=0, label="± 2 standard deviations")
    ax.plot(axis.values, data.mean, color=theme.sky, linewidth=1.8, label="surrogate")
    if len(data.feasible):
        infeasible = np.where(data.feasible < 0.5, data.mean, np.nan)
        ax.plot(axis.values, infeasible, color=theme.alert, linewidth=2.4, alpha=0.8, label="probably infeasible")
