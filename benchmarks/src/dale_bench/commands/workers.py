"""``dale bench workers``: real evaluations that sleep, and how long workers wait between them."""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

from dale_bench.commands.output import counted, listed, show

ROWS = Path("bench-output/workers.jsonl")
RUNS = "0.1:150:3,1:40:2"  # with all ways some nine minutes


def add_parser(kinds: Any) -> None:
    """Describe the command's arguments."""
    kind = kinds.add_parser(
        "workers", help="how long workers wait between evaluations that really take time", description=__doc__
    )
    kind.add_argument(
        "--runs",
        default=RUNS,
        help="SECONDS:EVALUATIONS:SEEDS with commas: how long an evaluation takes, how many a run makes, and how many "
        "runs of each kind, with seeds 0, 1, ... (default: %(default)s)",
    )
    kind.add_argument("--ways", default="all", help="who evaluates: threads, processes, dask (default: all there are)")
    kind.add_argument("--dimensions", default="2,6", help="of the function (default: %(default)s)")
    kind.add_argument("--workers", type=int, default=8, help="evaluations at once (default: %(default)s)")
    kind.add_argument("--sigma", type=float, default=0.5, help="spread of the logarithm of the seconds (default: 0.5)")
    kind.add_argument("--rows", type=Path, default=ROWS, help="where outcomes are kept (default: %(default)s)")
    kind.add_argument("--again", action="store_true", help="run what is in the rows, too")
    kind.add_argument("--format", choices=["text", "markdown", "csv"], default="text")
    kind.set_defaults(run=workers)


def workers(args: argparse.Namespace) -> int:
    """Run what is missing and print the tables."""
    from dale_bench.workers import report
    from dale_bench.workers.run import cases, run_missing
    from dale_bench.workers.ways import WAYS, missing

    for option, number, least in (("--workers", args.workers, 2), ("--sigma", args.sigma, 0)):
        if not least <= number < math.inf:
            raise ValueError(f"{option} must be at least {least}, got {number}")
    ways = list(WAYS) if args.ways == "all" else listed(args.ways)
    unknown = [way for way in ways if way not in WAYS]
    if unknown or not ways:
        raise ValueError(f"--ways takes names with commas, got {args.ways!r}; there are: {', '.join(WAYS)}")
    absent = {way: modules for way in ways if (modules := missing(way))}
    present = [way for way in ways if way not in absent]
    if not present:
        raise ValueError(f"nothing can be measured: there is no {', '.join(m for ms in absent.values() for m in ms)}")
    wanted = cases(_runs(args.runs), present, counted(args.dimensions, "--dimensions"), args.workers, args.sigma)
    few = [case for case in wanted if case.evaluations <= case.workers]
    if few:
        raise ValueError(f"a run must make more evaluations than the {args.workers} workers, got {few[0].evaluations}")
    outcomes = run_missing(wanted, args.rows, again=args.again)
    title = f"{args.workers} workers at work"
    show(args, title, report.waiting_table(outcomes), report.remarks(outcomes, absent))
    show(args, "Proposals among workers and alone", report.replay_table(outcomes), report.REPLAY_REMARKS)
    return 0


def _runs(text: str) -> list[tuple[float, int, int]]:
    try:
        runs = [(float(s), int(n), int(k)) for s, n, k in (word.split(":") for word in listed(text))]
        if not runs or not all(0 < s < math.inf and n > 0 and k > 0 for s, n, k in runs):
            raise ValueError
    except ValueError:
        raise ValueError(
            f"--runs takes SECONDS:EVALUATIONS:SEEDS, positive numbers, with commas, got {text!r}; such as {RUNS}"
        ) from None
    return runs
