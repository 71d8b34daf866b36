"""Table, verdict and plot of outcomes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dale.view.style import INK, LABEL, SMALL, new_figure, save, style_axes
from dale_bench.figures import COLOURS, set_log_ticks
from dale_bench.scale.run import Outcome
from dale_bench.tables import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GOAL, GOAL_WORKERS, GOAL_MEDIAN = 0.05, 1000, 60.0


def scale_table(outcomes: Sequence[Outcome]) -> Table:
    """One row for each outcome."""
    header = ["workers", "median, s", "evaluations", "idle", "server busy", "proposal, ms", "95 %, ms", "tell, ms"]
    header += ["largest ask", "peak n", "regret", "reached after", "one worker"]
    return header, [_row(o) for o in outcomes]


def remarks(outcomes: Sequence[Outcome]) -> list[str]:
    """Whether the goal is reached, and which costs count."""
    claim = f"{GOAL_WORKERS} workers at {GOAL_MEDIAN:g} s wait less than {GOAL:.0%} of their time"
    return [
        *([verdict(o, claim) for o in outcomes if _is_the_goal(o)] or [f"not measured: {claim}"]),
        "the cost is the CPU time of every ask and tell, in a process with one thread",
    ]


def verdict(outcome: Outcome, claim: str) -> str:
    """The claim and the measurement."""
    holds = "holds" if outcome.idle < GOAL else "does not hold"
    return f"{holds}: {claim}; it is {outcome.idle:.2%} over {outcome.evaluations} evaluations"


def scale_figure(outcomes: Sequence[Outcome]) -> Figure:
    """Idle share over the number of workers, and cost of a proposal over the number of observations."""
    figure = new_figure(8.4, 3.8)
    idle, costs = figure.subplots(1, 2)
    for i, median in enumerate(dict.fromkeys(o.median for o in outcomes)):
        points = sorted((o.workers, o.idle) for o in outcomes if o.median == median)
        colour = COLOURS[i % len(COLOURS)]
        idle.loglog(*zip(*points, strict=True), marker="o", color=colour, label=f"evaluations of {median:g} s")
    idle.axhline(GOAL, color=INK, linestyle=":", linewidth=1.2, label="goal")
    set_log_ticks(idle.xaxis, [o.workers for o in outcomes])
    idle.set_xlabel("workers", fontsize=LABEL)
    idle.set_ylabel("idle share of the workers' time", fontsize=LABEL)
    for i, o in enumerate(outcomes):
        observations, seconds = zip(*o.growth, strict=True)
        name = f"{o.workers} workers, {o.median:g} s"
        costs.plot(observations, [1e3 * s for s in seconds], linewidth=1.4, color=COLOURS[i % len(COLOURS)], label=name)
    costs.set_ylim(bottom=0)
    costs.set_xlabel("observations", fontsize=LABEL)
    costs.set_ylabel("CPU milliseconds of a proposal", fontsize=LABEL)
    for ax in (idle, costs):
        ax.legend(fontsize=SMALL, frameon=False)
        style_axes(ax)
    return figure


def write_figure(outcomes: Sequence[Outcome], directory: Path) -> list[Path]:
    """Write the plot as PNG and SVG."""
    figure = scale_figure(outcomes)
    return [save(figure, directory / f"scale.{kind}") for kind in ("png", "svg")]


def _is_the_goal(outcome: Outcome) -> bool:
    return (outcome.workers, outcome.median) == (GOAL_WORKERS, GOAL_MEDIAN)


def _row(o: Outcome) -> list[str]:
    return [
        str(o.workers),
        f"{o.median:g}",
        str(o.evaluations),
        f"{o.idle:.2%}",
        f"{o.server_busy:.1%}",
        f"{1e3 * o.proposal:.3g}",
        f"{1e3 * o.proposal_95:.3g}",
        f"{1e3 * o.tell:.2g}",
        str(o.largest_ask),
        str(o.max_observations),
        f"{o.regret:.1e}",
        str(o.reached),
        "-" if o.one_worker is None else str(o.one_worker),
    ]
