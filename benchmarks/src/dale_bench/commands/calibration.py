"""``dale bench calibration``: a histogram of the standardised errors of local steps."""

from __future__ import annotations

import argparse
from typing import Any

from dale_bench.ablation import VARIANTS
from dale_bench.calibration import errors_of_runs, histogram
from dale_bench.commands.options import add_jobs, add_seeds
from dale_bench.commands.output import split_names

FUNCTIONS = "rosen2,branin,hart3,hart6,exp5,ackley5,levy4,stybtang3,rosen4,griewank4"  # of many kinds


def add_parser(kinds: Any) -> None:
    """Describe the command's arguments."""
    kind = kinds.add_parser(
        "calibration",
        help="a histogram of the standardised errors of local steps",
        description="Print a histogram of (value - mean) / std of local steps, on moved and rotated functions.",
    )
    kind.add_argument(
        "--functions", default=FUNCTIONS, help="names, separated by commas (default: ten functions of many kinds)"
    )
    add_seeds(kind, 8)
    kind.add_argument("--variant", choices=sorted(VARIANTS), help="a variant of `dale bench ablation` instead")
    add_jobs(kind)
    kind.set_defaults(run=show_histogram)


def show_histogram(args: argparse.Namespace) -> int:
    """Make the runs and print the histogram."""
    functions = [f"{name}:moved:rotated" for name in split_names(args.functions)]
    method = VARIANTS[args.variant]() if args.variant else None
    print(histogram(errors_of_runs(functions, args.seeds, method, args.jobs)))
    return 0
