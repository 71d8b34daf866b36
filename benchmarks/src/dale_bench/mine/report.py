"""The best value so far of each method: a table and a figure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dale._arrays import Matrix
from dale.view.style import LABEL, TITLE, legend_below, new_figure, style_axes
from dale_bench.figures import line_style
from dale_bench.mine.contenders import gets_penalties, own_contender
from dale_bench.mine.runs import Run
from dale_bench.tables import Part

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CHECKPOINTS = (0.25, 0.5, 0.75, 1.0)  # of the budget
LOG_RANGE = 100.0  # ratio of positive values from which on the axis is logarithmic


def curves(runs: Sequence[Run]) -> dict[str, Matrix]:
    """The best value so far (runs, budget) of each method, infinite or minus infinite before the first value.

    A run that ended early keeps its last value. Runs with an error are left out.
    """
    found: dict[str, list[list[float]]] = {}
    for run in runs:
        if run.error is None:
            none = -np.inf if run.maximize else np.inf
            values = [none if value is None else value for value in run.best]
            found.setdefault(run.method, []).append(values + values[-1:] * (run.budget - len(values)))
    return {method: np.array(values) for method, values in found.items()}


def best_values(runs: Sequence[Run]) -> Part:
    """A line for each method: median and worst best value at some numbers of evaluations, failures, time."""
    budget, worst = runs[0].budget, np.min if runs[0].maximize else np.max
    after = [max(round(fraction * budget), 1) for fraction in CHECKPOINTS]
    header = ["method", *map(str, after), "failed", "seconds per proposal", "runs"]
    lines = []
    for method, values in curves(runs).items():
        mine = [run for run in runs if run.method == method and run.error is None]
        made = sum(len(run.best) for run in mine)
        lines.append(
            [_label(method)]
            + [f"{_number(np.median(values[:, n - 1]))} ({_number(worst(values[:, n - 1]))})" for n in after]
            + [f"{sum(run.failed for run in mine)} of {made}"]
            + [f"{np.median([run.seconds / len(run.best) for run in mine]):.2g}", str(len(mine))]
        )
    goal = "highest" if runs[0].maximize else "lowest"
    title = f"{runs[0].function}: median (worst) of the {goal} value after so many evaluations"
    return Part(title, (header, lines), _remarks(runs))


def figure(runs: Sequence[Run]) -> Figure:
    """The median of the best value over evaluations, and the range of all runs."""
    found = curves(runs)
    drawn = new_figure(6.4, 4.4)
    ax = drawn.subplots()
    for method, values in found.items():
        style = line_style(method, list(found))
        n = np.arange(1, values.shape[1] + 1)
        complete = np.isfinite(values).all(axis=0)  # the median of fewer runs would not be comparable
        shown = np.where(complete, values, np.nan)
        ax.plot(n, np.median(shown, axis=0), linewidth=1.6, drawstyle="steps-post", label=_label(method), **style)
        low, high = shown.min(axis=0), shown.max(axis=0)
        ax.fill_between(n, low, high, step="post", color=style["color"], alpha=0.12, linewidth=0)
    everything = np.concatenate([values[np.isfinite(values)] for values in found.values()])
    if len(everything) and everything.min() > 0 and everything.max() > LOG_RANGE * everything.min():
        ax.set_yscale("log")
    ax.set_xlabel("evaluations", fontsize=LABEL)
    ax.set_ylabel("best value: median, range of the runs", fontsize=LABEL)
    ax.set_title(runs[0].function, fontsize=TITLE)
    style_axes(ax)
    legend_below(drawn, [ax])
    return drawn


def _remarks(runs: Sequence[Run]) -> list[str]:
    found = ["seconds per proposal: time outside the function, median of the runs"]
    failures = [run for run in runs if run.failure is not None]
    if failures:
        found.append(f"failed: evaluations that raised or returned no finite number; the first: {failures[0].failure}")
        penalized = list(dict.fromkeys(_label(run.method) for run in failures if gets_penalties(run.method)))
        if penalized:
            found.append(
                f"{', '.join(penalized)} cannot handle failures and got a penalty as the value: as much worse than the "
                "worst value so far as that is worse than the best"
            )
    return found


def _label(method: str) -> str:
    return own_contender(method).label or method


def _number(value: float) -> str:
    return f"{value:.6g}" if np.isfinite(value) else "-"
