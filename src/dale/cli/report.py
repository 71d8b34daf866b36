"""``dale report``: write an HTML page of a store, also during a run. Nothing in the store is run."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from dale.view.report.page import OBJECTIVE, report


def add_parser(subparsers: Any) -> None:
    """Add the options of ``dale report``."""
    parser = subparsers.add_parser(
        "report",
        help="write an HTML page of a store",
        description="Write one self-contained HTML page of a store, also during a run: a summary, interactive charts "
        "and a table of all trials. The page needs no network and no server.",
    )
    parser.add_argument("store", help="file that the run is stored in")
    parser.add_argument("-o", "--output", metavar="FILE", help="file to write (the name of the store with .html)")
    parser.add_argument("--title", metavar="TEXT", help="title of the page (the name of the store)")
    parser.add_argument("--objective", default=OBJECTIVE, metavar="TEXT", help="label of the objective (%(default)s)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Write the page."""
    output = Path(args.output) if args.output is not None else Path(args.store).with_suffix(".html")
    report(args.store, output, title=args.title, objective=args.objective)
    print(f"wrote {output}")
    return 0
