"""``dale export``: write a store to other files, also during a run."""

from __future__ import annotations

import argparse
from typing import Any

import dale


def add_parser(subparsers: Any) -> None:
    """Add the options of ``dale export``."""
    parser = subparsers.add_parser(
        "export",
        help="copy a store, or write it as CSV or JSON",
        description="Write a store to other files, also during a run.",
    )
    parser.add_argument("store", help="file that the run is stored in")
    parser.add_argument("--db", metavar="FILE", help="copy the store to a new file, which can be resumed")
    parser.add_argument("--csv", metavar="FILE", help="write the finished trials to a CSV file")
    parser.add_argument("--json", metavar="FILE", help="write the whole run to a JSON file")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Write the requested files."""
    opened = dale.open(args.store)
    requested = [(args.db, opened.to_db), (args.csv, opened.to_csv), (args.json, opened.to_json)]
    if all(path is None for path, _ in requested):
        raise ValueError("expected at least one of --db, --csv and --json")
    for path, write in requested:
        if path is not None:
            write(path)
            print(f"wrote {path}")
    return 0
