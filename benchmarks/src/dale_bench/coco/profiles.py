"""Runtime profiles: the fraction of targets reached over the number of evaluations, on a logarithmic axis."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dale.view.style import FAINT, INK, LABEL, TITLE, legend_below, new_figure, save, style_axes
from dale_bench.coco.report import groups_of, references_of
from dale_bench.coco.scores import Results, Runs
from dale_bench.contenders import label
from dale_bench.figures import line_style, set_log_ticks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TICKS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000)
REFERENCE_STYLES: tuple[Mapping[str, Any], ...] = (
    {"color": FAINT, "linestyle": "--"},
    {"color": INK, "linestyle": ":"},
)
WIDTH, HEIGHT, COLUMNS = 4.2, 3.1, 3  # of a panel in inches; panels in a row


class Panel(NamedTuple):
    """The profiles on some functions in one suite and dimension."""

    title: str
    methods: Mapping[str, Runs]
    references: Mapping[str, Runs]
    functions: Collection[int]
    unit: int = 1  # evaluations for 1 on the horizontal axis


def write_profiles(results: Results, directory: Path) -> list[Path]:
    """Write a figure for each suite with a panel for each dimension, and one for each dimension with its groups."""
    by_suite: dict[str, list[Panel]] = {}
    figures = {}
    for (suite, d), methods in results.items():
        references = references_of(suite, d)
        functions = {function for runs in methods.values() for function, _ in runs.hits}
        by_suite.setdefault(suite, []).append(Panel(f"d = {d}", methods, references, functions))
        groups = groups_of(suite, functions).items()
        figures[f"{suite}-d{d}"] = profile_figure([Panel(name, methods, references, group) for name, group in groups])
    figures |= {suite: profile_figure(panels) for suite, panels in by_suite.items()}
    return [save(figure, directory / f"{name}.{kind}") for name, figure in figures.items() for kind in ("png", "svg")]


def profile_figure(panels: Sequence[Panel], columns: int = COLUMNS, *, styled: Iterable[str] = ()) -> Figure:
    """A figure with these panels; a method has the same line style in all of them.

    Args:
        panels: What to draw.
        columns: Maximum number of panels in a row.
        styled: Methods that get a line style, drawn or not: figures with the same ones have the same styles.
    """
    columns = min(columns, len(panels))
    rows = -(-len(panels) // columns)
    figure = new_figure(WIDTH * columns, HEIGHT * rows + 0.5)
    axes = list(figure.subplots(rows, columns, squeeze=False).ravel())
    for ax in axes[len(panels) :]:
        ax.set_axis_off()
    names = list(dict.fromkeys([*styled, *(name for panel in panels for name in panel.methods)]))
    styles = {name: line_style(name, names) for name in names}
    for ax, panel in zip(axes, panels, strict=False):
        draw_profiles(ax, panel, styles)
    legend_below(figure, axes[: len(panels)])
    return figure


def draw_profiles(ax: Axes, panel: Panel, styles: Mapping[str, Mapping[str, Any]]) -> None:
    """Draw the profile of each method up to its budget, and those of the references up to the largest budget."""
    longest = int(max(runs.budget for runs in panel.methods.values()))
    references = zip(panel.references.items(), REFERENCE_STYLES, strict=False)
    for name, runs, budget, style in (
        *((name, runs, int(runs.budget), styles[name]) for name, runs in panel.methods.items()),
        *((name, runs, longest, style) for (name, runs), style in references),
    ):
        problems = runs.problems(panel.functions)
        if problems:
            n = np.arange(1, budget + 1) / panel.unit
            ax.step(n, runs.profile(problems, budget), where="post", linewidth=1.6, label=label(name), **style)
    ax.set_xscale("log")
    ax.set_xlim(1, longest / panel.unit)
    ax.set_ylim(0, 1)
    set_log_ticks(ax.xaxis, [tick for tick in TICKS if tick <= longest / panel.unit])
    ax.set_xlabel("evaluations" if panel.unit == 1 else "evaluations / dimension", fontsize=LABEL)
    ax.set_ylabel("fraction of targets reached", fontsize=LABEL)
    ax.set_title(panel.title, fontsize=TITLE)
    style_axes(ax)
