"""``dale bench scale``: simulate many workers, and measure how long they wait for proposals."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from dale_bench.commands.options import add_format, add_rows
from dale_bench.commands.output import show, split_integers

ROWS = Path("bench-output/scale.jsonl")


def add_parser(kinds: Any) -> None:
    """Describe the command's arguments."""
    kind = kinds.add_parser(
        "scale",
        help="measure how long many simulated workers wait for proposals",
        description="Simulate many workers, and measure how long they wait for proposals.",
    )
    kind.add_argument("--workers", default="10,100,1000", help="numbers of workers (default: %(default)s)")
    kind.add_argument("--medians", default="60,600", help="median seconds of an evaluation (default: %(default)s)")
    kind.add_argument("--evaluations", type=int, default=10_000, help="evaluations of each run (default: %(default)s)")
    kind.add_argument(
        "--sigma", type=float, default=0.5, help="standard deviation of the logarithm of the seconds (default: 0.5)"
    )
    kind.add_argument(
        "--batch", type=int, default=0, help="maximum number of trials per ask (default: all idle workers)"
    )
    kind.add_argument(
        "--seed", type=int, default=0, help="seed of the evaluation times and of the optimizer (default: 0)"
    )
    kind.add_argument(
        "--one-worker",
        type=int,
        default=200,
        help="maximum number of evaluations of the run with one worker (default: 200)",
    )
    add_rows(kind, ROWS, "outcomes")
    kind.add_argument("--rerun", action="store_true", help="repeat the runs that are in the file")
    add_format(kind)
    kind.add_argument("--out", type=Path, help="directory for the plot")
    kind.set_defaults(run=scale)


def scale(args: argparse.Namespace) -> int:
    """Make the missing simulations; print table and verdict, write the plot."""
    from dale_bench.scale import report
    from dale_bench.scale.run import run_missing
    from dale_bench.scale.simulation import Farm

    for option, number, least in (
        ("--evaluations", args.evaluations, 1),
        ("--sigma", args.sigma, 0),
        ("--batch", args.batch, 0),
        ("--seed", args.seed, 0),
        ("--one-worker", args.one_worker, 0),
    ):
        if not number >= least:
            raise ValueError(f"{option}: expected at least {least}, got {number}")
    farms = [
        Farm(workers, median, args.evaluations, args.sigma, args.batch, args.seed)
        for median in split_integers(args.medians, "--medians")
        for workers in split_integers(args.workers, "--workers")
    ]
    outcomes = run_missing(farms, args.rows, one_worker_limit=args.one_worker, rerun=args.rerun)
    show(args, "Workers on a simulated clock", report.scale_table(outcomes), report.remarks(outcomes))
    if args.out:
        for path in report.write_figure(outcomes, args.out):
            print(f"wrote {path}")
    return 0
