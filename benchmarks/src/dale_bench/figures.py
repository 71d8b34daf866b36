"""Figures of a comparison: regret curves with error bars, and the fraction of targets reached."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dale._arrays import Matrix
from dale.view.style import LABEL, SMALL, TITLE, legend_below, new_figure, save, style_axes
from dale_bench.comparison import Comparison, bootstrap_error, log_regret
from dale_bench.contenders import CONTENDERS, label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

# The colours of Okabe & Ito. If there are more methods than colours, the dashes change.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
DASHES = ("-", "--", ":", "-.")
ERROR_BARS = 12  # along a curve
MIN_TICK_RATIO = 1.9  # of neighbouring ticks on a logarithmic axis


def line_style(method: str, methods: Sequence[str]) -> dict[str, Any]:
    """Colour and dashes of a method, the same in all figures with the same methods."""
    order = [m for m in CONTENDERS if m in methods] + [m for m in methods if m not in CONTENDERS]
    i = order.index(method)
    return {"color": COLOURS[i % len(COLOURS)], "linestyle": DASHES[i // len(COLOURS) % len(DASHES)]}


def draw_regret(ax: Axes, curves: dict[str, Matrix], methods: Sequence[str]) -> None:
    """Median log10 regret of each method over evaluations; error bars are one bootstrap standard deviation."""
    for number, method in enumerate(m for m in methods if m in curves):
        runs = log_regret(curves[method])
        n = np.arange(1, runs.shape[1] + 1)
        style = line_style(method, methods)
        ax.plot(n, np.median(runs, axis=0), linewidth=1.6, label=label(method), **style)
        step = max(len(n) // ERROR_BARS, 1)
        at = np.arange(
            step - 1 + number % max(step, 1), len(n), step
        )  # so that the bars of several methods do not overlap
        errors = [bootstrap_error(runs[:, i], 200) for i in at]
        ax.errorbar(
            n[at], np.median(runs[:, at], axis=0), errors, fmt="none", ecolor=style["color"], elinewidth=1, capsize=2
        )
    ax.set_xlabel("evaluations", fontsize=LABEL)
    ax.set_ylabel("median log10 regret", fontsize=LABEL)
    style_axes(ax)


def regret_figure(comparison: Comparison, functions: Sequence[str], methods: Sequence[str], columns: int = 3) -> Figure:
    """A panel for each function."""
    columns = min(columns, len(functions))
    rows = -(-len(functions) // columns)
    figure = new_figure(4.2 * columns, 3.1 * rows + 0.5)
    panels = list(figure.subplots(rows, columns, squeeze=False).ravel())
    for ax in panels[len(functions) :]:
        ax.set_axis_off()
    for ax, function in zip(panels, functions, strict=False):
        draw_regret(ax, comparison.curves[function], methods)
        ax.set_title(function, fontsize=TITLE)
    legend_below(figure, panels[: len(functions)])
    return figure


def targets_figure(comparison: Comparison, methods: Sequence[str]) -> Figure | None:
    """Fraction of all targets reached over the fraction of the budget; None if no function has all methods."""
    functions = comparison.common(methods)
    if not functions:
        return None
    figure = new_figure(6.4, 4.4)
    ax = figure.subplots()
    fractions = np.linspace(0.0, 1.0, 101)
    for method in methods:
        reached = comparison.targets_reached(method, functions, fractions)
        ax.plot(100 * fractions, reached, linewidth=1.6, label=label(method), **line_style(method, methods))
    ax.set_xlabel("evaluations, % of the budget", fontsize=LABEL)
    ax.set_ylabel("fraction of targets reached", fontsize=LABEL)
    ax.set_title(f"{len(functions)} functions", fontsize=TITLE)
    ax.legend(fontsize=SMALL, frameon=False)
    style_axes(ax)
    return figure


def set_log_ticks(axis: Axis, numbers: Sequence[float]) -> None:
    """Put labelled ticks of a logarithmic axis at these numbers, except those too close to the previous one."""
    kept: list[float] = []
    for number in sorted(set(numbers)):
        if not kept or number >= MIN_TICK_RATIO * kept[-1]:
            kept.append(number)
    axis.set_ticks(kept, labels=[f"{number:g}" for number in kept])
    axis.set_ticks([], minor=True)


def write_comparison(comparison: Comparison, directory: Path) -> list[Path]:
    """Write all figures of a comparison as PNG and SVG."""
    figures = {"regret": regret_figure(comparison, comparison.functions, comparison.methods)}
    targets = targets_figure(comparison, comparison.methods)
    if targets is not None:
        figures["targets"] = targets
    return [save(figure, directory / f"{name}.{kind}") for name, figure in figures.items() for kind in ("png", "svg")]
