"""Outcomes as a table, as a verdict and as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dale.view.style import INK, LABEL, SMALL, new_figure, save, style_axes
from dale_bench.figures import COLOURS, name_numbers
from dale_bench.scale.run import Outcome
from dale_bench.tables import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GOAL, GOAL_WORKERS, GOAL_MEDIAN = 0.05, 1000, 60.0


def scale_table(outcomes: Sequence[Outcome]) -> Table:
    """One row for each."""
    header = ["workers", "median, s", "evaluations", "waiting", "server busy", "proposal, ms", "95 %, ms", "tell, ms"]
    header += ["largest ask", "peak n", "regret", "reached after", "one worker"]
    return header, [_row(o) for o in outcomes]


def remarks(outcomes: Sequence[Outcome]) -> list[str]:
    """Whether the goal is reached, and what is charged."""
    claim = f"{GOAL_WORKERS} workers at {GOAL_MEDIAN:g} s wait less than {GOAL:.0%} of their time"
    return [
        *([verdict(o, claim) for o in outcomes if _is_the_goal(o)] or [f"not measured: {claim}"]),
        "charged are the processor's seconds of every ask and tell, in a process with one thread",
    ]


def verdict(outcome: Outcome, claim: str) -> str:
    """The claim beside what was measured."""
    holds = "holds" if outcome.waiting < GOAL else "does not hold"
    return f"{holds}: {claim}; it is {outcome.waiting:.2%} over {outcome.evaluations} evaluations"


def scale_figure(outcomes: Sequence[Outcome]) -> Figure:
    """The share that workers wait, over their number; and what a proposal costs as observations come in."""
    figure = new_figure(8.4, 3.8)
    waiting, costs = figure.subplots(1, 2)
    for i, median in enumerate(dict.fromkeys(o.median for o in outcomes)):
        points = sorted((o.workers, o.waiting) for o in outcomes if o.median == median)
        colour = COLOURS[i % len(COLOURS)]
        waiting.loglog(*zip(*points, strict=True), marker="o", color=colour, label=f"evaluations of {median:g} s")
    waiting.axhline(GOAL, color=INK, linestyle=":", linewidth=1.2, label="goal")
    name_numbers(waiting.xaxis, [o.workers for o in outcomes])
    waiting.set_xlabel("workers", fontsize=LABEL)
    waiting.set_ylabel("share of time that workers wait", fontsize=LABEL)
    for i, o in enumerate(outcomes):
        told, seconds = zip(*o.growth, strict=True)
        name = f"{o.workers} workers, {o.median:g} s"
        costs.plot(told, [1e3 * s for s in seconds], linewidth=1.4, color=COLOURS[i % len(COLOURS)], label=name)
    costs.set_ylim(bottom=0)
    costs.set_xlabel("observations", fontsize=LABEL)
    costs.set_ylabel("processor milliseconds of a proposal", fontsize=LABEL)
    for ax in (waiting, costs):
        ax.legend(fontsize=SMALL, frameon=False)
        style_axes(ax)
    return figure


def write_figure(outcomes: Sequence[Outcome], folder: Path) -> list[Path]:
    """Write the picture as PNG and SVG."""
    figure = scale_figure(outcomes)
    return [save(figure, folder / f"scale.{kind}") for kind in ("png", "svg")]


def _is_the_goal(outcome: Outcome) -> bool:
    return (outcome.workers, outcome.median) == (GOAL_WORKERS, GOAL_MEDIAN)


def _row(o: Outcome) -> list[str]:
    return [
        str(o.workers),
        f"{o.median:g}",
        str(o.evaluations),
        f"{o.waiting:.2%}",
        f"{o.serving:.1%}",
        f"{1e3 * o.proposal:.3g}",
        f"{1e3 * o.proposal_95:.3g}",
        f"{1e3 * o.telling:.2g}",
        str(o.largest),
        str(o.told),
        f"{o.regret:.1e}",
        str(o.reached),
        "-" if o.one_worker is None else str(o.one_worker),
    ]
