"""``dale bench forecasts``: expected gains of the next evaluations, compared with what came."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from dale_bench.commands.options import add_format, add_run_options
from dale_bench.commands.output import show, split_names

ROWS = Path("bench-output/forecasts.jsonl")
MOVED = (
    "quad2,rosen2,branin,hart3,hart6,exp5,camel6,goldstein,stybtang3,levy4,shekel10,ackley5,rosen4,michalewicz5,"
    "griewank4,rastrigin2,schwefel2,ridge5"
)
FUNCTIONS = ",".join([*(f"{name}:moved:rotated" for name in MOVED.split(",")), "ellipsoid5", "gp_l01"])


def add_parser(kinds: Any) -> None:
    """Describe the command's arguments."""
    kind = kinds.add_parser(
        "forecasts",
        help="compare forecasts of the next evaluations with what came",
        description="Compare the expected gains of the next 10 and 50 evaluations with what came.",
    )
    kind.add_argument("--functions", default=FUNCTIONS, help="names, separated by commas (default: %(default)s)")
    add_run_options(kind, 16, ROWS)
    add_format(kind)
    kind.set_defaults(run=show_forecasts)


def show_forecasts(args: argparse.Namespace) -> int:
    """Make the missing runs and print the tables."""
    from dale_bench.forecasts import bins_table, parts_table, run_missing

    outcomes = run_missing(split_names(args.functions), args.seeds, args.rows, args.jobs)
    unit = "gains in units of the range of the better three quarters of the values"
    show(args, "Expected gains", bins_table(outcomes), [unit])
    show(args, "Parts of the forecasts", parts_table(outcomes))
    return 0
