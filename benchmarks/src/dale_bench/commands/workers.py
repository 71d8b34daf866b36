"""``dale bench workers``: measure how long workers are idle between evaluations in real runs."""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

from dale_bench.commands.options import add_format, add_rows
from dale_bench.commands.output import show, split_integers, split_names

ROWS = Path("bench-output/workers.jsonl")
RUNS = "0.1:150:3,1:40:2"  # about nine minutes with all backends


def add_parser(kinds: Any) -> None:
    """Describe the command's arguments."""
    kind = kinds.add_parser(
        "workers",
        help="measure how long workers are idle in real runs",
        description="Measure how long workers are idle between evaluations in real runs.",
    )
    kind.add_argument(
        "--runs",
        default=RUNS,
        help="SECONDS:EVALUATIONS:SEEDS, separated by commas: median time of an evaluation, evaluations of a run, and "
        "number of runs of each kind, with seeds 0, 1, ... (default: %(default)s)",
    )
    kind.add_argument(
        "--backends",
        default="all",
        help="threads, processes, dask, separated by commas (default: all that are installed)",
    )
    kind.add_argument("--dimensions", default="2,6", help="dimensions of the function (default: %(default)s)")
    kind.add_argument("--workers", type=int, default=8, help="number of workers (default: %(default)s)")
    kind.add_argument(
        "--sigma", type=float, default=0.5, help="standard deviation of the logarithm of the seconds (default: 0.5)"
    )
    add_rows(kind, ROWS, "outcomes")
    kind.add_argument("--rerun", action="store_true", help="repeat the runs that are in the file")
    add_format(kind)
    kind.set_defaults(run=workers)


def workers(args: argparse.Namespace) -> int:
    """Make the missing runs and print the tables."""
    from dale_bench.workers import report
    from dale_bench.workers.backends import BACKENDS, missing
    from dale_bench.workers.run import cases, run_missing

    for option, number, least in (("--workers", args.workers, 2), ("--sigma", args.sigma, 0)):
        if not least <= number < math.inf:
            raise ValueError(f"{option}: expected a number of at least {least}, got {number}")
    backends = list(BACKENDS) if args.backends == "all" else split_names(args.backends)
    unknown = [backend for backend in backends if backend not in BACKENDS]
    if unknown or not backends:
        raise ValueError(
            f"--backends: expected names of {', '.join(BACKENDS)}, separated by commas, got {args.backends!r}"
        )
    absent = {backend: modules for backend in backends if (modules := missing(backend))}
    present = [backend for backend in backends if backend not in absent]
    if not present:
        raise ValueError(f"no backend is installed; missing: {', '.join(m for ms in absent.values() for m in ms)}")
    requested = cases(
        _runs(args.runs), present, split_integers(args.dimensions, "--dimensions"), args.workers, args.sigma
    )
    few = [case for case in requested if case.evaluations <= case.workers]
    if few:
        raise ValueError(f"expected more evaluations in a run than workers ({args.workers}), got {few[0].evaluations}")
    outcomes = run_missing(requested, args.rows, rerun=args.rerun)
    title = f"{args.workers} workers"
    show(args, title, report.idle_table(outcomes), report.remarks(outcomes, absent))
    show(args, "Proposals with and without pending trials", report.replay_table(outcomes), report.REPLAY_REMARKS)
    return 0


def _runs(text: str) -> list[tuple[float, int, int]]:
    try:
        runs = [(float(s), int(n), int(k)) for s, n, k in (word.split(":") for word in split_names(text))]
        if not runs or not all(0 < s < math.inf and n > 0 and k > 0 for s, n, k in runs):
            raise ValueError
    except ValueError:
        raise ValueError(
            f"--runs: expected positive SECONDS:EVALUATIONS:SEEDS, separated by commas, such as {RUNS}, got {text!r}"
        ) from None
    return runs
