"""``dale show``: print the content of a store, also during a run. The store is only read, and nothing in it is run."""

from __future__ import annotations

import argparse
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import Any

import dale
from dale.cli.export import add_text_formats, write_text_formats
from dale.cli.main import escape_control_characters
from dale.evaluate.command import logs_of
from dale.history.direction import Direction
from dale.history.failures import exception_line
from dale.history.result import with_std
from dale.history.trial import Trial, TrialState
from dale.space.point import format_point, short_repr
from dale.view.run_view import RunView, view_of

N_BEST, N_FAILURES = 5, 5  # listed trials
MAX_WIDTH = 160  # characters of a line; longer ones are truncated


def add_parser(subparsers: Any) -> None:
    """Add the options of ``dale show``."""
    parser = subparsers.add_parser(
        "show",
        help="print the content of a store",
        description="Print the content of a store, also during a run: the problem, the result so far, the best trials, "
        "failures, corrections and times.",
    )
    parser.add_argument("store", help="file that the run is stored in")
    parser.add_argument(
        "--best", type=int, default=N_BEST, metavar="N", help="number of best trials to list (%(default)s)"
    )
    parser.add_argument("--trials", action="store_true", help="list every trial with the reason for its proposal")
    add_text_formats(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the store, and write the requested files."""
    opened = dale.open(args.store)
    for paragraph in _paragraphs(opened, args.best, all_trials=args.trials):
        print("\n".join(map(_safe_line, paragraph)) + "\n")
    write_text_formats(opened, args)
    return 0


def _safe_line(line: str) -> str:
    safe = escape_control_characters(line.replace("\n", "\\n"))
    return safe if len(safe) <= MAX_WIDTH else f"{safe[: MAX_WIDTH - 3]}..."


def _paragraphs(opened: dale.Run, n_best: int, *, all_trials: bool) -> Iterator[list[str]]:
    yield _problem(opened)
    yield str(opened.result()).splitlines()
    view = view_of(opened)
    best = _best(view)[: max(n_best, 0)]
    if best:
        by = ", by posterior mean" if view.is_noisy else ""
        listed = [(str(t.id), *_values(view, t), format_point(t.params), *_more(t)) for t in best]
        yield [f"best trials{by}", *_table(listed)]
    failed = [t for t in opened.history if t.state is TrialState.FAILED]
    if failed:
        rows = [(str(t.id), exception_line(t.error or "") + (" (retried)" if t.retry else "")) for t in failed]
        some = f", the last {N_FAILURES}" if len(failed) > N_FAILURES else ""
        yield [f"{len(failed)} failed{some}", *_table(rows[-N_FAILURES:])]
    corrections = [(str(t.id), str(c)) for t in opened.history for c in t.corrections]
    if corrections:
        yield ["corrections", *_table(corrections)]
    yield _times(opened)
    if all_trials:
        yield ["all trials", *_table([_row(t) for t in opened.history])]


def _best(view: RunView) -> list[Trial]:
    """The feasible trials, best first; under noise, one of each point, by posterior mean, the recommended one first."""
    feasible, means = [t for t in view.trials if t.feasible], view.posterior_means
    if not view.is_noisy:
        return sorted(feasible, key=lambda t: (t.loss, t.id))
    known = [t for t in feasible if t.id in means]
    ordered = sorted(known, key=lambda t: (t is not view.best, view.direction.loss(means[t.id]), t.id))
    first = {t.unit_x.tobytes(): t for t in reversed(ordered)}
    return [t for t in ordered if first[t.unit_x.tobytes()] is t]


def _values(view: RunView, trial: Trial) -> tuple[str, ...]:
    """The value of a trial; under noise, the posterior mean and its standard deviation before it."""
    value = f"{trial.value:.10g}"
    if not view.is_noisy:
        return (value,)
    return with_std(view.posterior_means[trial.id], view.posterior_std(trial)), f"value {value}"


def _problem(opened: dale.Run) -> list[str]:
    states = Counter(str(trial.state) for trial in opened.history)
    count = ", ".join(f"{n} {state}" for state, n in states.items()) or "none yet"
    lines = [f"{opened.path}", f"  trials      {count}"]
    objective = dict(opened.problem.get("objective", {}))  # of a Command, or given to the Optimizer by the user
    if args := objective.pop("args", None):
        lines.append(f"  command     {shlex.join(map(str, args)) if isinstance(args, list) else args}")
    lines += [f"  {key:<11} {value}" for key, value in objective.items() if value is not None]
    if args:
        logs = Path(logs_of(opened.path))
        lines += [f"  logs        {logs}"] if logs.is_dir() else []
    if isinstance(fork := opened.problem.get("fork"), Mapping):
        lines.append(f"  fork of     the first {fork.get('trials')} trials of {fork.get('of') or 'a run in memory'}")
    if opened.direction is Direction.MAXIMIZE:
        lines.append(f"  direction   {opened.direction}")
    lines.append(f"  seed        {opened.seed}")
    for i, name in enumerate(opened.space.names):
        lines.append(f"  {'parameters' if i == 0 else '':<11} {name}: {opened.space.declared(name)!r}")
    return lines


def _times(opened: dale.Run) -> list[str]:
    """First and last event, and the duration of evaluations."""
    events = opened.events
    took = sorted(
        (datetime.fromisoformat(times["ended"]) - datetime.fromisoformat(times["asked"])).total_seconds()
        for trial, times in zip(opened.history, opened.times(), strict=True)
        if times["ended"] is not None and times["ended"] != times["asked"]
    )
    lines = (
        [f"started     {_format_time(events[0].time)}", f"last event  {_format_time(events[-1].time)}"]
        if events
        else []
    )
    if took:
        lines.append(
            f"duration    {took[0]:.3g} to {took[-1]:.3g} s from proposal to result, median {median(took):.3g} s"
        )
    return lines


def _format_time(time: str) -> str:
    return f"{datetime.fromisoformat(time):%Y-%m-%d %H:%M:%S} UTC"


def _row(trial: Trial) -> tuple[str, ...]:
    value = (
        str(trial.state) if trial.value is None else f"{trial.value:.10g}" + ("" if trial.feasible else " infeasible")
    )
    return str(trial.id), value, format_point(trial.params), *_more(trial), str(trial.reason)


def _more(trial: Trial) -> tuple[str, str]:
    """Outcome constraints and extra values; empty if there are none."""
    constraints = ", ".join(f"{c:.4g}" for c in trial.constraints)
    extra = ", ".join(f"{key}={_cell(value)}" for key, value in trial.extra.items())
    return f"constraints {constraints}" if constraints else "", extra


def _cell(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else short_repr(value)


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    columns = [column for column in zip(*rows, strict=True) if any(column)]
    rows, widths = list(zip(*columns, strict=True)), [max(map(len, column)) for column in columns]
    return ["  " + "  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in rows]
