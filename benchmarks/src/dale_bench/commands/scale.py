"""``dale bench scale``: many workers on a simulated clock, and how long they wait for a proposal."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from dale_bench.commands.output import counted, show

ROWS = Path("bench-output/scale.jsonl")


def add_parser(kinds: Any) -> None:
    """Describe the command's arguments."""
    kind = kinds.add_parser("scale", help="how long many workers wait for a proposal", description=__doc__)
    kind.add_argument("--workers", default="10,100,1000", help="numbers of workers (default: %(default)s)")
    kind.add_argument("--medians", default="60,600", help="seconds of an evaluation, the median (default: %(default)s)")
    kind.add_argument("--evaluations", type=int, default=10_000, help="of each run (default: %(default)s)")
    kind.add_argument("--sigma", type=float, default=0.5, help="spread of the logarithm of the seconds (default: 0.5)")
    kind.add_argument(
        "--batch", type=int, default=0, help="trials asked for at once, at most (default: all idle workers)"
    )
    kind.add_argument("--seed", type=int, default=0, help="of the seconds and of the optimizer (default: 0)")
    kind.add_argument(
        "--one-worker", type=int, default=200, help="evaluations to compare with one worker, at most (default: 200)"
    )
    kind.add_argument("--rows", type=Path, default=ROWS, help="where outcomes are kept (default: %(default)s)")
    kind.add_argument("--again", action="store_true", help="run what is in the rows, too")
    kind.add_argument("--format", choices=["text", "markdown", "csv"], default="text")
    kind.add_argument("--out", type=Path, help="a folder for the picture")
    kind.set_defaults(run=scale)


def scale(args: argparse.Namespace) -> int:
    """Simulate what is missing; print table and verdict, write the picture."""
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
            raise ValueError(f"{option} must be at least {least}, got {number}")
    farms = [
        Farm(workers, median, args.evaluations, args.sigma, args.batch, args.seed)
        for median in counted(args.medians, "--medians")
        for workers in counted(args.workers, "--workers")
    ]
    outcomes = run_missing(farms, args.rows, one_worker_limit=args.one_worker, again=args.again)
    show(args, "Workers on a simulated clock", report.scale_table(outcomes), report.remarks(outcomes))
    if args.out:
        for path in report.write_figure(outcomes, args.out):
            print(f"wrote {path}")
    return 0
