"""What several plots share: axes of parameters, fields over two of them, scales, panels and titles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dale._arrays import Matrix, Vector
from dale.history.direction import Direction
from dale.view.data.axes import Axis
from dale.view.style import LABEL, SMALL, TITLE, Theme

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text

N_LEVELS = 14  # contour lines
LOWEST_LEVEL = 1e-3  # lowest contour above the best value, relative to the range of the values
FEW_DECADES = 1e3  # a log axis that spans a smaller factor has labels between the powers of ten
LOG_SCALE_RATIO = 20.0  # positive values that span more than this factor are drawn on a logarithmic scale
JITTER = 0.5  # spread of the trials at one option, as a fraction of the distance between options


def best_marker(theme: Theme) -> dict[str, Any]:
    """Look of the star at the best point."""
    return {"color": theme.ink, "markersize": 12, "markeredgecolor": theme.paper, "markeredgewidth": 0.8}


def hollow(colour: str, label: str, fill: str = "none") -> dict[str, Any]:
    """Look of hollow markers."""
    return {"markerfacecolor": fill, "markeredgecolor": colour, "label": label}


def integer_ticks(axis: Any) -> None:
    """Ticks of a matplotlib axis at integers only."""
    axis.get_major_locator().set_params(integer=True)


def label_x(ax: Axes, axis: Axis) -> None:
    """Name, scale and options of a parameter on the x axis."""
    ax.set_xlabel(plain(axis.name), fontsize=LABEL)
    if axis.options:
        ax.set_xticks(axis.values, [plain(o) for o in axis.options], rotation=0 if _is_short(axis) else 45)
        ax.set_xlim(-0.5, len(axis.options) - 0.5)
    elif axis.log:
        ax.set_xscale("log")
        ax.xaxis.set_major_formatter(format_tick)
    elif _is_integer(axis):
        integer_ticks(ax.xaxis)


def label_y(ax: Axes, axis: Axis) -> None:
    """Name, scale and options of a parameter on the y axis."""
    ax.set_ylabel(plain(axis.name), fontsize=LABEL)
    if axis.options:
        ax.set_yticks(axis.values, [plain(o) for o in axis.options])
        ax.set_ylim(-0.5, len(axis.options) - 0.5)
    elif axis.log:
        ax.set_yscale("log")
        ax.yaxis.set_major_formatter(format_tick)
    elif _is_integer(axis):
        integer_ticks(ax.yaxis)


def plain(text: str) -> str:
    """Text that matplotlib prints as it is: no mathematics between dollar signs."""
    return text.replace("$", r"\$")


def jittered(axis: Axis, values: Vector) -> Vector:
    """Values of a parameter on its axis; those at one option are spread evenly, so that none hides another."""
    if not axis.options:
        return values
    golden = 0.6180339887498949
    return values + JITTER * ((np.arange(len(values)) * golden) % 1 - 0.5)


def draw_field(ax: Axes, x: Axis, y: Axis, values: Matrix, levels: Vector, theme: Theme) -> Any:
    """Filled contours of values (len(y), len(x)); coloured cells if one of the parameters is a choice."""
    from matplotlib.colors import BoundaryNorm

    norm = BoundaryNorm(list(levels), 256, extend="both")  # equal colour steps between unequal levels
    ax.set_facecolor(theme.paper)
    ax.tick_params(which="both", labelsize=SMALL, color=theme.faint, labelcolor=theme.ink)
    ax.spines[:].set_color(theme.faint)
    values = np.ma.masked_invalid(values)
    if x.options or y.options:
        edges_x, edges_y = _edges(x), _edges(y)
        return ax.pcolormesh(edges_x, edges_y, values, cmap=theme.cmap, norm=norm)
    filled = ax.contourf(x.values, y.values, values, levels, cmap=theme.cmap, norm=norm, extend="both")
    ax.contour(x.values, y.values, values, levels, colors="white", linewidths=0.4, alpha=0.6)
    return filled


def levels_of(values: Vector, direction: Direction, n: int = N_LEVELS) -> Vector:
    """Contour levels for values, ascending, denser towards the best one, where most trials are."""
    losses = direction.loss(values)
    return np.sort(direction.from_loss(levels_between(float(np.min(losses)), float(np.max(losses)), n)))


def levels_between(lowest: float, highest: float, n: int = N_LEVELS) -> Vector:
    """Contour levels, denser towards the lowest value."""
    above = (highest - lowest or 1.0) * np.geomspace(LOWEST_LEVEL, 1, n)
    digits = 1 - np.floor(np.log10(above)).astype(int)  # two significant digits above the minimum
    rounded = np.array([round(lowest + step, int(k)) for step, k in zip(above, digits, strict=True)])
    return rounded if np.all(np.diff(rounded) > 0) else lowest + above


def use_log_scale(ax: Axes, values: Vector) -> None:
    """A logarithmic y axis for positive values; within a few decades the ticks 2 and 5 are labelled too."""
    from matplotlib.ticker import LogLocator

    ax.set_yscale("log")
    if float(np.max(values) / np.min(values)) < FEW_DECADES:
        ax.yaxis.set_major_formatter(format_tick)
        ax.yaxis.set_minor_locator(LogLocator(subs=(2, 5)))
        ax.yaxis.set_minor_formatter(format_tick)


def spans_decades(values: Vector) -> bool:
    """Whether positive values span more than a linear axis can show."""
    return len(values) > 0 and float(np.min(values)) > 0 and float(np.max(values) / np.min(values)) > LOG_SCALE_RATIO


def format_tick(value: float, _: float) -> str:
    """0.1 instead of 10^-1."""
    return f"{value:.4g}"


def colour_bar(figure: Figure, mappable: Any, axes: Any, label: str, theme: Theme, **options: Any) -> None:
    """A colour bar next to some panels."""
    bar = figure.colorbar(mappable, ax=axes, pad=0.015, aspect=30, **options)
    bar.set_label(label, fontsize=LABEL)
    bar.outline.set_edgecolor(theme.faint)
    bar.ax.tick_params(which="both", labelsize=SMALL, color=theme.faint, labelcolor=theme.ink)


def finished(figure: Figure, theme: Theme, title: str | None = None) -> Figure:
    """The figure with its title, and all its text in the colour of the theme."""
    from matplotlib.text import Text

    if title:
        figure.suptitle(plain(title), fontsize=TITLE, x=0.01, ha="left")
    texts: list[Text] = figure.findobj(Text)
    for text in texts:
        if isinstance(text.get_color(), str) and text.get_color() == "black":
            text.set_color(theme.ink)
    return figure


def matrix_panel(ax: Axes, values: Matrix, rows: list[str], columns: list[str], theme: Theme, **options: Any) -> Any:
    """A matrix as coloured cells with its numbers."""
    image = ax.imshow(values, aspect="auto", **options)
    ax.set_facecolor(theme.paper)
    ax.set_xticks(range(len(columns)), [plain(c) for c in columns], rotation=45 if max(map(len, columns)) > 5 else 0)
    ax.set_yticks(range(len(rows)), [plain(r) for r in rows])
    ax.tick_params(labelsize=SMALL, color=theme.faint, labelcolor=theme.ink, length=0)
    ax.spines[:].set_visible(False)
    if values.size <= 144:
        for (i, j), value in np.ndenumerate(values):
            if np.isfinite(value):
                red, green, blue, _ = image.to_rgba(np.array(value))
                dark = 0.299 * red + 0.587 * green + 0.114 * blue < 0.5
                colour = "#ffffff" if dark else "#111111"
                ax.text(
                    j,
                    i,
                    f"{value:.2f}".replace("-0.00", "0.00"),
                    ha="center",
                    va="center",
                    fontsize=SMALL - 1,
                    color=colour,
                )
    return image


def _is_integer(axis: Axis) -> bool:
    return bool(np.all(axis.values == np.round(axis.values)))


def _is_short(axis: Axis) -> bool:
    return sum(map(len, axis.options)) <= 24


def _edges(axis: Axis) -> Vector:
    """Edges of the cells around the values of an axis."""
    values = np.log(axis.values) if axis.log else axis.values
    middle = (values[1:] + values[:-1]) / 2
    step = (values[1] - values[0], values[-1] - values[-2]) if len(values) > 1 else (1.0, 1.0)
    edges = np.concatenate([[values[0] - step[0] / 2], middle, [values[-1] + step[1] / 2]])
    if not axis.options:
        edges[0], edges[-1] = values[0], values[-1]
    return np.exp(edges) if axis.log else edges
