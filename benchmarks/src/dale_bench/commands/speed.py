"""``dale bench speed``: the cost of a proposal, compared with peers and with the minimum of linear algebra."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from dale_bench.commands.options import add_format, add_rows, check_positive
from dale_bench.commands.output import show, split_integers, split_names

ROWS = Path("bench-output/speed.jsonl")
SIZES, DIMENSIONS = "25,50,99,101,200,500,1000,2000", "2,6,20"
MIN_SIZE = 12  # observations; Optuna's sampler draws random points before it has ten
IMPORTS = 9  # new interpreters for each import; the fastest counts


def add_parser(kinds: Any) -> None:
    """Describe the command's arguments."""
    kind = kinds.add_parser(
        "speed",
        help="measure time and memory of a proposal",
        description="Measure the cost of a proposal, compared with peers and with the minimum of linear algebra.",
    )
    kind.add_argument("--sizes", default=SIZES, help="numbers of observations (default: %(default)s)")
    kind.add_argument("--dimensions", default=DIMENSIONS, help="numbers of parameters (default: %(default)s)")
    kind.add_argument("--repeats", type=int, default=3, help="runs of each; the median counts (default: %(default)s)")
    kind.add_argument(
        "--peers", action=argparse.BooleanOptionalAction, default=True, help="measure Optuna and BoTorch too"
    )
    kind.add_argument(
        "--peers-to",
        type=int,
        default=200,
        help="maximum number of observations for peers, which are slow (default: %(default)s)",
    )
    add_rows(kind, ROWS, "measurements")
    kind.add_argument(
        "--rerun",
        default="floor,default,global,noisy",
        help="contenders that are measured again though they are in the file (default: %(default)s)",
    )
    add_format(kind)
    kind.add_argument("--out", type=Path, help="directory for the plot")
    kind.set_defaults(run=speed)


def speed(args: argparse.Namespace) -> int:
    """Make the missing measurements; print table and verdicts, write the plot."""
    from dale_bench.speed import plan, report
    from dale_bench.speed.measure import time_imports

    check_positive(args, "repeats")
    rerun = split_names(args.rerun)
    unknown = [name for name in rerun if name not in (*plan.OURS, *plan.PEERS)]
    if unknown:
        raise ValueError(f"--rerun: expected names of {', '.join((*plan.OURS, *plan.PEERS))}, got {args.rerun!r}")
    requested = plan.cells(
        split_integers(args.sizes, "--sizes", MIN_SIZE),
        split_integers(args.dimensions, "--dimensions"),
        plan.PEERS if args.peers else (),
        args.peers_to,
    )
    timings = plan.measure(requested, args.rows, repeats=args.repeats, rerun=rerun)
    if not timings:
        raise ValueError("no measurement succeeded; the errors are printed above")
    remarks = [report.SLOWER, *map(str, report.verdicts(timings, time_imports(IMPORTS)))]
    show(args, "A proposal: CPU time and peak memory", report.speed_table(timings), remarks)
    if args.out:
        for path in report.write_figure(timings, args.out):
            print(f"wrote {path}")
    return 0
