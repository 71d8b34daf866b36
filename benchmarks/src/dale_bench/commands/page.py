"""``dale bench page``: write docs/benchmarks.md and the results in README.md from the published rows."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any


def add_parser(kinds: Any) -> None:
    """Describe the command's arguments."""
    kind = kinds.add_parser(
        "page",
        help="write the page of the results from the published rows",
        description="Draw the figures of docs/benchmarks.md, and rewrite its tables and that of README.md, from the "
        "rows in benchmarks/results.",
    )
    kind.add_argument("--check", action="store_true", help="write nothing; fail if a table differs from the rows")
    kind.add_argument("--no-figures", action="store_true", help="write the tables only")
    kind.add_argument("--root", type=Path, default=Path(), help="clone of the repository (default: this directory)")
    kind.set_defaults(run=page)


def page(args: argparse.Namespace) -> int:
    """Write the pages and figures, or check the pages."""
    from dale_bench.page.contents import stale_blocks, write_figures, write_pages

    if args.check:
        found = stale_blocks(args.root)
        for name in found:
            print(f"differs from the rows: {name}; run: dale bench page")
        return 1 if found else 0
    written = write_pages(args.root)
    if not args.no_figures:
        written += write_figures(args.root)
    for path in written:
        print(f"wrote {path}")
    return 0
