"""``dale bench speed``: what a proposal costs, beside peers and beside what linear algebra takes at the least."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from dale_bench.commands.output import counted, listed, show

ROWS = Path("bench-output/speed.jsonl")
SIZES, DIMENSIONS = "25,50,99,101,200,500,1000,2000", "2,6,20"
LEAST = 12  # observations: Optuna's sampler draws at random before it has ten
IMPORTS = 9  # fresh interpreters of each kind, of which the fastest counts


def add_parser(kinds: Any) -> None:
    """Describe the command's arguments."""
    kind = kinds.add_parser("speed", help="seconds and memory of a proposal, beside peers", description=__doc__)
    kind.add_argument("--sizes", default=SIZES, help="numbers of observations (default: %(default)s)")
    kind.add_argument("--dimensions", default=DIMENSIONS, help="numbers of parameters (default: %(default)s)")
    kind.add_argument("--repeats", type=int, default=3, help="runs, of which the median counts (default: %(default)s)")
    kind.add_argument("--peers", action=argparse.BooleanOptionalAction, default=True, help="with Optuna and BoTorch")
    kind.add_argument(
        "--peers-to", type=int, default=200, help="observations that peers get at most, for they are slow"
    )
    kind.add_argument("--rows", type=Path, default=ROWS, help="where measurements are kept (default: %(default)s)")
    kind.add_argument(
        "--again",
        default="floor,default,global",
        help="what is measured though it is in the rows (default: %(default)s)",
    )
    kind.add_argument("--format", choices=["text", "markdown", "csv"], default="text")
    kind.add_argument("--out", type=Path, help="a folder for the picture")
    kind.set_defaults(run=speed)


def speed(args: argparse.Namespace) -> int:
    """Measure what is missing; print table and verdicts, write the picture."""
    from dale_bench.speed import plan, report
    from dale_bench.speed.measure import time_imports

    if args.repeats < 1:
        raise ValueError(f"--repeats must be at least 1, got {args.repeats}")
    again = listed(args.again)
    unknown = [name for name in again if name not in (*plan.OURS, *plan.PEERS)]
    if unknown:
        raise ValueError(f"--again takes any of {', '.join((*plan.OURS, *plan.PEERS))}, got {args.again!r}")
    wanted = plan.cells(
        counted(args.sizes, "--sizes", LEAST),
        counted(args.dimensions, "--dimensions"),
        plan.PEERS if args.peers else (),
        args.peers_to,
    )
    timings = plan.measure(wanted, args.rows, repeats=args.repeats, again=again)
    if not timings:
        raise ValueError("nothing could be measured; what went wrong stands above")
    remarks = [report.DEARER, *map(str, report.verdicts(timings, time_imports(IMPORTS)))]
    show(args, "A proposal: processor time, and memory at the peak", report.speed_table(timings), remarks)
    if args.out:
        for path in report.write_figure(timings, args.out):
            print(f"wrote {path}")
    return 0
