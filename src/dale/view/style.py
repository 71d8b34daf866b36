"""Appearance of the plots. The only module that creates matplotlib figures.

Figures are created without pyplot, which keeps every figure alive in a global list and may need a display.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dale._arrays import Matrix
from dale.history.reason import Source

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DPI = 160
INK, FAINT = "#222222", "#9a9a9a"
SKY, ALERT = "#0072B2", "#D55E00"
TITLE, LABEL, SMALL = 11, 10, 8.5  # font sizes in points


@dataclass(frozen=True)
class SourceStyle:
    """Legend label, colour and marker of the trials from one source."""

    label: str
    colour: str
    marker: str


# Colours of Okabe & Ito (2008), distinguishable with every type of colour vision; the markers differ too.
SOURCE_STYLES = {
    Source.ADDED: SourceStyle("added", "#CC79A7", "P"),
    Source.USER: SourceStyle("user", "#CC79A7", "p"),
    Source.INITIAL_DESIGN: SourceStyle("initial design", "#555555", "s"),
    Source.GLOBAL: SourceStyle("global model", SKY, "o"),
    Source.LOCAL: SourceStyle("local model", "#E69F00", "D"),
    Source.REPLICATE: SourceStyle("replicate", "#D55E00", "X"),
    Source.SPACE_FILLING: SourceStyle("space-filling", "#009E73", "^"),
}


class MatplotlibMissing(ImportError):
    """A plot was requested, but matplotlib is not installed."""


def new_figure(width: float, height: float) -> Figure:
    """An empty figure of ``width`` by ``height`` inches that renders into memory."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MatplotlibMissing("plots need matplotlib: pip install 'dale[plot]'") from error
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def save(figure: Figure, path: Path | str) -> Path:
    """Write a figure to a file and create its directory. The suffix (png, pdf, svg) sets the format."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=DPI)
    return path


def style_axes(ax: Axes) -> None:
    """Remove the top and right spines and draw a light grid behind the data."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(FAINT)
    ax.tick_params(which="both", labelsize=SMALL, color=FAINT)
    ax.grid(True, color="#e6e6e6", linewidth=0.6)
    ax.set_axisbelow(True)


def draw_by_source(ax: Axes, points: Matrix, sources: Sequence[Source], shown: np.ndarray) -> None:
    """Draw the points (n, 2) selected by the mask ``shown`` (n,), with one legend entry for each source."""
    for source, style in SOURCE_STYLES.items():
        selected = shown & np.array([s is source for s in sources], dtype=bool)
        if not np.any(selected):
            continue
        ax.plot(
            *points[selected].T,
            style.marker,
            color=style.colour,
            markersize=5.5,
            markeredgecolor="white",
            markeredgewidth=0.6,
            label=style.label,
            zorder=3,
            clip_on=False,  # do not cut markers on the boundary
        )


def legend_below(figure: Figure, panels: Sequence[Axes], columns: int = 5) -> None:
    """One legend for several panels, below the figure, where it covers no data."""
    entries = {label: handle for ax in panels for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    rows = max(1, -(-len(entries) // columns))
    figure.legend(
        list(entries.values()),
        list(entries),
        loc="outside lower center",
        ncols=max(1, -(-len(entries) // rows)),  # equally long rows, as far as possible
        fontsize=SMALL,
        frameon=False,
    )
