"""``dale show``: what a run on disk holds, also while it goes on. Nothing is written to it, nothing of it is run."""

from __future__ import annotations

import argparse
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import Any

import dale
from dale.cli.main import printable
from dale.evaluate.command import logs_of
from dale.history.trial import Trial, TrialState
from dale.space.point import format_point
from dale.view.summary import short_error

BEST, FAILURES = 5, 5  # how many are listed
WIDTH = 160  # characters of a line, so that one long option does not hide the rest


def add_parser(subparsers: Any) -> None:
    """The options of ``dale show``."""
    parser = subparsers.add_parser(
        "show",
        help="tell what a run on disk holds",
        description="Tell what a run holds: the problem, the result so far, the best trials, what failed, and times. "
        "It may be going on meanwhile.",
    )
    parser.add_argument("store", help="the file that keeps the run")
    parser.add_argument("--best", type=int, default=BEST, metavar="N", help="how many of the best trials (%(default)s)")
    parser.add_argument("--trials", action="store_true", help="list every trial, with the reason it was chosen for")
    parser.add_argument("--csv", metavar="FILE", help="write the trials that have ended to a table")
    parser.add_argument("--json", metavar="FILE", help="write all of the run to a JSON file")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print it, and write the files that were asked for."""
    opened = dale.open(args.store)
    for paragraph in _paragraphs(opened, args.best, every=args.trials):
        print("\n".join(map(_cut, paragraph)) + "\n")
    for path, write in ((args.csv, opened.to_csv), (args.json, opened.to_json)):
        if path is not None:
            write(path)
            print(f"wrote {path}")
    return 0


def _cut(line: str) -> str:
    safe = printable(line.replace("\n", "\\n"))
    return safe if len(safe) <= WIDTH else f"{safe[: WIDTH - 3]}..."


def _paragraphs(opened: dale.Run, best: int, *, every: bool) -> Iterator[list[str]]:
    yield _problem(opened)
    yield str(opened.result()).splitlines()
    told = sorted((t for t in opened.history if t.feasible), key=lambda t: (t.value, t.id))[: max(best, 0)]
    if told:
        yield ["best trials", *_table([(str(t.id), f"{t.value:.10g}", format_point(t.params)) for t in told])]
    failed = [t for t in opened.history if t.state is TrialState.FAILED]
    if failed:
        rows = [(str(t.id), short_error(t.error or "") + (" (asked again)" if t.retry else "")) for t in failed]
        some = f", the last {FAILURES}" if len(failed) > FAILURES else ""
        yield [f"{len(failed)} failed{some}", *_table(rows[-FAILURES:])]
    yield _times(opened)
    if every:
        yield ["all trials", *_table([_row(t) for t in opened.history])]


def _problem(opened: dale.Run) -> list[str]:
    states = Counter(str(trial.state) for trial in opened.history)
    count = ", ".join(f"{n} {state}" for state, n in states.items()) or "none yet"
    lines = [f"{opened.path}", f"  trials      {count}"]
    objective = dict(opened.problem.get("objective", {}))  # of a command, or whatever the user has told
    if args := objective.pop("args", None):
        lines.append(f"  command     {shlex.join(map(str, args)) if isinstance(args, list) else args}")
    lines += [f"  {key:<11} {value}" for key, value in objective.items() if value is not None]
    if args:
        logs = Path(logs_of(opened.path))
        lines += [f"  logs        {logs}"] if logs.is_dir() else []
    lines.append(f"  seed        {opened.seed}")
    for i, name in enumerate(opened.space.names):
        lines.append(f"  {'parameters' if i == 0 else '':<11} {name}: {opened.space.written(name)!r}")
    return lines


def _times(opened: dale.Run) -> list[str]:
    """When it began and when something last happened, and how long evaluations take."""
    events = opened.events
    took = sorted(
        (datetime.fromisoformat(times["ended"]) - datetime.fromisoformat(times["asked"])).total_seconds()
        for trial, times in zip(opened.history, opened.times(), strict=True)
        if times["ended"] is not None and times["ended"] != times["asked"]
    )
    lines = [f"begun       {_moment(events[0].time)}", f"last event  {_moment(events[-1].time)}"] if events else []
    if took:
        lines.append(f"from asked to told: {took[0]:.3g} to {took[-1]:.3g} s, half of them within {median(took):.3g} s")
    return lines


def _moment(time: str) -> str:
    return f"{datetime.fromisoformat(time):%Y-%m-%d %H:%M:%S} UTC"


def _row(trial: Trial) -> tuple[str, ...]:
    value = (
        str(trial.state) if trial.value is None else f"{trial.value:.10g}" + ("" if trial.feasible else " infeasible")
    )
    return str(trial.id), value, format_point(trial.params), str(trial.reason)


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  " + "  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in rows]
