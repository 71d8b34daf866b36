"""Appearance of the plots. The only module that creates matplotlib figures.

Figures are created without pyplot, which keeps every figure alive in a global list and may need a display. A notebook
shows them as it shows any object with a ``_repr_png_``, without a magic line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
    Source.PROBE: SourceStyle("probe", "#D55E00", "+"),
    Source.FAILED_OPTION: SourceStyle("failed option", "#CC79A7", "v"),
    Source.SPACE_FILLING: SourceStyle("space-filling", "#009E73", "^"),
}


@dataclass(frozen=True)
class Theme:
    """The colours of a figure.

    Attributes:
        paper: Background.
        ink: Text and the main line.
        faint: Axes, and what matters least.
        grid: Grid lines.
        sky: The model.
        alert: What needs attention: failures, minima.
        sources: Colours of sources that differ from those of ``SOURCE_STYLES``.
        cmap: Colour map of values, dark where they are low.
        signed: Colour map of values around 0.
        share: Colour map of fractions from 0 to 1.
    """

    paper: str = "white"
    ink: str = INK
    faint: str = FAINT
    grid: str = "#e6e6e6"
    sky: str = SKY
    alert: str = ALERT
    sources: Mapping[Source, str] = field(default_factory=dict)
    cmap: str = "YlGnBu_r"
    signed: str = "PuOr_r"
    share: str = "Blues"

    def colour_of(self, source: Source) -> str:
        """Colour of the trials from a source."""
        return self.sources.get(source, SOURCE_STYLES[source].colour)

    @property
    def colour_of_local(self) -> str:
        """Colour of what local models say."""
        return self.colour_of(Source.LOCAL)


THEMES = {
    "light": Theme(),
    "dark": Theme(
        paper="#15181d",
        ink="#e9e9e9",
        faint="#7d838c",
        grid="#2c3139",
        sky="#56B4E9",
        alert="#FF8C42",
        sources={Source.INITIAL_DESIGN: "#c4c4c4", Source.GLOBAL: "#56B4E9", Source.REPLICATE: "#FF8C42"},
        share="Blues_r",
    ),
}
LIGHT = THEMES["light"]


def theme_of(style: str | Theme) -> Theme:
    """The theme with a name: ``"light"`` or ``"dark"``."""
    if isinstance(style, Theme):
        return style
    if style not in THEMES:
        raise ValueError(f"style: expected {' or '.join(map(repr, THEMES))}, got {style!r}")
    return THEMES[style]


class MatplotlibMissing(ImportError):
    """A plot was requested, but matplotlib is not installed."""


def new_figure(width: float, height: float, theme: Theme = LIGHT) -> Figure:
    """An empty figure of ``width`` by ``height`` inches that renders into memory, and shows itself in a notebook."""
    try:
        import matplotlib.figure  # noqa: F401 (raises if it is not installed)
    except ImportError as error:
        raise MatplotlibMissing("plots need matplotlib: pip install 'dale[plot]'") from error
    from dale.view.notebook_figure import NotebookFigure

    return NotebookFigure(figsize=(width, height), layout="constrained", facecolor=theme.paper)


def save(figure: Figure, path: Path | str) -> Path:
    """Write a figure to a file and create its directory. The suffix (png, pdf, svg) sets the format."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=DPI)
    return path


def style_axes(ax: Axes, theme: Theme = LIGHT, *, grid: bool = True) -> None:
    """Remove the top and right spines and draw a light grid behind the data."""
    ax.set_facecolor(theme.paper)
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(theme.faint)
    ax.tick_params(which="both", labelsize=SMALL, color=theme.faint, labelcolor=theme.ink)
    if grid:
        ax.grid(True, color=theme.grid, linewidth=0.6)
    ax.set_axisbelow(True)


def draw_by_source(
    ax: Axes, points: Matrix, sources: Sequence[Source], shown: np.ndarray, theme: Theme = LIGHT, **options: Any
) -> None:
    """Draw the points (n, 2) selected by the mask ``shown`` (n,), with one legend entry for each source."""
    for source, style in SOURCE_STYLES.items():
        selected = shown & np.array([s is source for s in sources], dtype=bool)
        if not np.any(selected):
            continue
        look: dict[str, Any] = {
            "color": theme.colour_of(source),
            "markersize": 5.5,
            "markeredgecolor": theme.paper,
            "markeredgewidth": 0.6,
            "label": style.label,
            "zorder": 3,
            "clip_on": False,  # do not cut markers on the boundary
        }
        ax.plot(*points[selected].T, style.marker, **{**look, **options})


def legend_below(figure: Figure, panels: Sequence[Axes], columns: int = 5, theme: Theme = LIGHT) -> None:
    """One legend for several panels, below the figure, where it covers no data."""
    entries = {label: handle for ax in panels for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    if not entries:
        return
    rows = max(1, -(-len(entries) // columns))
    figure.legend(
        list(entries.values()),
        list(entries),
        loc="outside lower center",
        ncols=max(1, -(-len(entries) // rows)),  # equally long rows, as far as possible
        fontsize=SMALL,
        frameon=False,
        labelcolor=theme.ink,
    )
