"""Plot of predicted against actual values: whether the models were calibrated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dale.history.reason import Source
from dale.view.data.predictions import CalibrationData, calibration_data
from dale.view.plot.marks import finished, hollow, integer_ticks, plain, spans_decades
from dale.view.style import (
    LABEL,
    SMALL,
    SOURCE_STYLES,
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

MAX_ERROR = 5.0  # standard deviations; larger errors are drawn at the edge


def calibration(
    run: Any,
    *,
    space: Any = None,
    title: str | None = None,
    objective: str = "objective",
    style: str = "light",
) -> Figure:
    """Plot what the models predicted for their proposals against what came.

    Left: predicted against actual values, with two standard deviations. Middle: the errors in standard deviations, over
    the run; of a calibrated model, 95 % are within 2. Right: the fraction of values within intervals of probability 50,
    80 and 95 %; points below the diagonal mean that the model was too sure.

    Args:
        run: A result, an optimizer, a stored run or the path of a store.
        space: Search space; needed only for a result that does not know it.
        title: Title of the figure.
        objective: Label of the objective, with its unit.
        style: ``"light"`` or ``"dark"``.

    Examples:
        >>> import dale
        >>> result = dale.minimize(lambda x: x[0] ** 2, [(-1, 1)], budget=12, seed=0)
        >>> figure = dale.plot.calibration(result)
    """
    theme, data = theme_of(style), calibration_data(run, space)
    figure = new_figure(11.0, 4.2, theme)
    left, middle, right = figure.subplots(1, 3, width_ratios=[1.15, 1.15, 0.9])
    _draw_values(left, data, theme)
    left.set_xlabel(f"predicted {plain(objective)}", fontsize=LABEL)
    left.set_ylabel(f"actual {plain(objective)}", fontsize=LABEL)
    _draw_errors(middle, data, theme)
    _draw_coverage(right, data, theme)
    legend_below(figure, [left, middle, right], theme=theme)
    return finished(figure, theme, title or "Predicted against actual values")


def _draw_values(ax: Axes, data: CalibrationData, theme: Theme) -> None:
    style_axes(ax, theme)
    points = np.column_stack([data.predicted, data.actual])
    if len(points) == 0:
        ax.text(0.5, 0.5, "no model has made a prediction", transform=ax.transAxes, ha="center", fontsize=SMALL)
        return
    if spans_decades(points.ravel()):
        ax.set_xscale("log")
        ax.set_yscale("log")
    bars: dict[str, Any] = {"fmt": "none", "ecolor": theme.faint, "elinewidth": 0.8, "alpha": 0.6, "zorder": 2}
    ax.errorbar(data.predicted, data.actual, xerr=2 * data.std, **bars)
    draw_by_source(ax, points, data.source, np.ones(len(points), dtype=bool), theme)
    ends = np.array([np.min(points), np.max(points)])
    ax.plot(ends, ends, color=theme.ink, linewidth=1.0, linestyle="--", label="as predicted", zorder=1)


def _draw_errors(ax: Axes, data: CalibrationData, theme: Theme) -> None:
    style_axes(ax, theme)
    ax.axhspan(-2, 2, color=theme.sky, alpha=0.12, linewidth=0)
    ax.axhspan(-1, 1, color=theme.sky, alpha=0.12, linewidth=0)
    ax.axhline(0, color=theme.ink, linewidth=0.8)
    clipped = np.clip(data.error, -MAX_ERROR, MAX_ERROR)
    draw_by_source(ax, np.column_stack([data.trial, clipped]), data.source, np.ones(len(clipped), dtype=bool), theme)
    outside = np.abs(data.error) > MAX_ERROR
    if np.any(outside):
        look = hollow(theme.alert, f"beyond {MAX_ERROR:g}")
        ax.plot(data.trial[outside], clipped[outside], "o", markersize=10, zorder=4, clip_on=False, **look)
    ax.set_ylim(-MAX_ERROR, MAX_ERROR)
    ax.set_xlabel("trial", fontsize=LABEL)
    integer_ticks(ax.xaxis)
    ax.set_title("error in standard deviations", fontsize=TITLE, loc="left")


def _draw_coverage(ax: Axes, data: CalibrationData, theme: Theme) -> None:
    style_axes(ax, theme)
    ax.plot([0, 1], [0, 1], color=theme.ink, linewidth=1.0, linestyle="--")
    for name, (n, coverage) in data.coverage_by_source.items():
        source = Source(name)
        look: dict[str, Any] = {"color": theme.colour_of(source), "marker": SOURCE_STYLES[source].marker}
        ax.plot(data.nominal, coverage, linewidth=1.4, markersize=5.5, clip_on=False, **look)
        ax.text(data.nominal[-1] + 0.02, coverage[-1], f"n={n}", fontsize=SMALL - 1, va="center")
    ax.set_xlim(0, 1.2)
    ax.set_xticks([0, 0.5, 0.8, 0.95])
    ax.set_ylim(0, 1)
    ax.set_xlabel("probability of the interval", fontsize=LABEL)
    ax.set_title("values within it", fontsize=TITLE, loc="left")
