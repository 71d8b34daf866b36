"""Figures: a data profile and a performance profile for each tolerance."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dale.view.style import LABEL, TITLE, legend_below, new_figure, save, style_axes
from dale_bench.contenders import label
from dale_bench.cutest.profiles import Study
from dale_bench.figures import line_style, set_log_ticks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH, HEIGHT = 3.4, 2.9  # of a panel in inches
STEPS = 201  # points of a profile
LARGEST_RATIO = 32.0
RATIOS = (1, 2, 4, 8, 16, 32)


def write_profiles(study: Study, name: str, tolerances: Sequence[float], directory: Path) -> list[Path]:
    """Write the figure of a study as PNG and SVG."""
    figure = profile_figure(study, tolerances)
    return [save(figure, directory / f"{name}.{kind}") for kind in ("png", "svg")]


def profile_figure(study: Study, tolerances: Sequence[float]) -> Figure:
    """Data profiles in the first row and performance profiles in the second, with a column for each tolerance."""
    figure = new_figure(WIDTH * len(tolerances), 2 * HEIGHT + 0.5)
    axes = figure.subplots(2, len(tolerances), squeeze=False)
    for column, tau in enumerate(tolerances):
        draw_data_profiles(axes[0, column], study, tau)
        draw_performance_profiles(axes[1, column], study, tau)
        axes[0, column].set_title(f"tau = {tau:.0e}", fontsize=TITLE)
    for row in axes:
        row[0].set_ylabel("fraction of problems solved", fontsize=LABEL)
    legend_below(figure, list(axes.ravel()))
    return figure


def draw_data_profiles(ax: Axes, study: Study, tau: float) -> None:
    """The fraction of problems solved over evaluations in multiples of d + 1."""
    k = np.linspace(0.0, study.factor, STEPS)
    for method in study.methods:
        y = study.data_profile(method, tau, k)
        ax.step(k, y, where="post", linewidth=1.6, label=label(method), **line_style(method, study.methods))
    ax.set_xlim(0, study.factor)
    ax.set_ylim(0, 1)
    ax.set_xlabel("evaluations / (d + 1)", fontsize=LABEL)
    style_axes(ax)


def draw_performance_profiles(ax: Axes, study: Study, tau: float) -> None:
    """The fraction of problems solved over evaluations relative to the best method of each problem."""
    ratios = np.geomspace(1.0, LARGEST_RATIO, STEPS)
    for method, y in study.performance_profiles(tau, ratios).items():
        ax.step(ratios, y, where="post", linewidth=1.6, label=label(method), **line_style(method, study.methods))
    ax.set_xscale("log")
    ax.set_xlim(1, LARGEST_RATIO)
    ax.set_ylim(0, 1)
    set_log_ticks(ax.xaxis, RATIOS)
    ax.set_xlabel("evaluations / those of the best method", fontsize=LABEL)
    style_axes(ax)
