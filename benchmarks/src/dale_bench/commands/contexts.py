"""``dale bench contexts``: held parameters, compared with independent runs for each of their values."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from dale_bench.commands.options import add_format, add_run_options
from dale_bench.commands.output import show, split_names

ROWS = Path("bench-output/contexts.jsonl")
FUNCTIONS = "branin:rotated,goldstein:rotated,hart3:rotated,rosen4:rotated,hart6:rotated"


def add_parser(kinds: Any) -> None:
    """Describe the command's arguments."""
    kind = kinds.add_parser(
        "contexts",
        help="compare held parameters with independent runs",
        description="Compare one optimizer with a held parameter with independent runs for each of its values.",
    )
    kind.add_argument("--functions", default=FUNCTIONS, help="names, separated by commas (default: %(default)s)")
    add_run_options(kind, 16, ROWS)
    add_format(kind)
    kind.set_defaults(run=show_contexts)


def show_contexts(args: argparse.Namespace) -> int:
    """Make the missing runs and print the table."""
    from dale_bench.contexts import contexts_table, run_missing

    runs = run_missing(split_names(args.functions), args.seeds, args.rows, args.jobs)
    show(args, "Median log10 regret in the slice", contexts_table(runs))
    return 0
