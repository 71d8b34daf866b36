"""How the pictures look, and the one door to matplotlib.

Figures are made without pyplot: it keeps every figure alive in a global list and may want a display.
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
TITLE, LABEL, SMALL = 11, 10, 8.5  # points


@dataclass(frozen=True)
class Look:
    """How the points of one source are drawn."""

    label: str
    colour: str
    marker: str


# Colours of Okabe & Ito (2008), which people with any kind of colour vision tell apart; the markers differ too.
LOOKS = {
    Source.ADDED: Look("known before", "#CC79A7", "P"),
    Source.USER: Look("given", "#CC79A7", "p"),
    Source.INITIAL_DESIGN: Look("initial design", "#555555", "s"),
    Source.GLOBAL: Look("global model", SKY, "o"),
    Source.LOCAL: Look("local model", "#E69F00", "D"),
    Source.REPLICATE: Look("repeat", "#D55E00", "X"),
    Source.SPACE_FILLING: Look("explore", "#009E73", "^"),
}


class MatplotlibMissing(ImportError):
    """Pictures were asked for and matplotlib is not there."""


def new_figure(width: float, height: float) -> Figure:
    """An empty figure, in inches, that draws into memory."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MatplotlibMissing("pictures need matplotlib: pip install 'dale[plot]'") from error
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def save(figure: Figure, path: Path | str) -> Path:
    """Write a figure; the ending of the name (png, pdf, svg) says how."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=DPI)
    return path


def plain(axes: Axes) -> None:
    """Only the lines that carry information."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(FAINT)
    axes.tick_params(labelsize=SMALL, color=FAINT)
    axes.grid(True, color="#e6e6e6", linewidth=0.6)
    axes.set_axisbelow(True)


def draw_by_source(ax: Axes, points: Matrix, sources: Sequence[Source], shown: np.ndarray) -> None:
    """Those of the points (n, 2) that are ``shown``, each source in its own look and with its entry in the legend."""
    for source, look in LOOKS.items():
        chosen = shown & np.array([s is source for s in sources], dtype=bool)
        if not np.any(chosen):
            continue
        ax.plot(
            *points[chosen].T,
            look.marker,
            color=look.colour,
            markersize=5.5,
            markeredgecolor="white",
            markeredgewidth=0.6,
            label=look.label,
            zorder=3,
            clip_on=False,  # points on the border are drawn whole
        )


def legend_below(figure: Figure, panels: Sequence[Axes], columns: int = 5) -> None:
    """One legend for some panels, below the picture, where it hides no data."""
    entries = {label: handle for ax in panels for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    rows = max(1, -(-len(entries) // columns))
    figure.legend(
        list(entries.values()),
        list(entries),
        loc="outside lower center",
        ncols=max(1, -(-len(entries) // rows)),  # the rows as even as they can be
        fontsize=SMALL,
        frameon=False,
    )
