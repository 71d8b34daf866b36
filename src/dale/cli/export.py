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
    add_text_formats(parser)
    parser.set_defaults(run=run)


def add_text_formats(parser: argparse.ArgumentParser) -> None:
    """Add the options for files in other formats."""
    parser.add_argument("--csv", metavar="FILE", help="write the finished trials to a CSV file")
    parser.add_argument("--json", metavar="FILE", help="write the whole run to a JSON file")


def run(args: argparse.Namespace) -> int:
    """Write the requested files."""
    opened = dale.open(args.store)
    if args.db is None and args.csv is None and args.json is None:
        raise ValueError("expected at least one of --db, --csv and --json")
    if args.db is not None:
        opened.to_db(args.db)
        print(f"wrote {args.db}")
    write_text_formats(opened, args)
    return 0


def write_text_formats(opened: dale.Run, args: argparse.Namespace) -> None:
    """Write the files that the options of ``add_text_formats`` request."""
    for path, write in ((args.csv, opened.to_csv), (args.json, opened.to_json)):
        if path is not None:
            write(path)
            print(f"wrote {path}")
