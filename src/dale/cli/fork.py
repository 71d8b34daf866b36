"""``dale fork``: start a new run from the trials of another one."""

from __future__ import annotations

import argparse
from typing import Any

import dale
from dale.cli.assignments import read_assignments
from dale.space.space import Space
from dale.store.fork import fork_store


def add_parser(subparsers: Any) -> None:
    """Add the options of ``dale fork``."""
    parser = subparsers.add_parser(
        "fork",
        help="start a new run from the trials of another one",
        description="Write a new store that begins with the trials of another one. In the same space, the new run "
        "continues exactly as the other one would have. With --space, all trials that fit become data of a new run: "
        "bounds may grow or shrink, and parameters may be added or fixed. The other store is not changed.",
    )
    parser.add_argument("source", help="file that the run is stored in")
    parser.add_argument("store", help="new file for the fork")
    parser.add_argument("--at", type=int, metavar="N", help="take the first N trials only")
    parser.add_argument("--space", metavar="FILE", help="TOML file with the new space")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        dest="fill",
        help="value that the trials had for a parameter that is new; for each such parameter",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Write the fork."""
    source = dale.open(args.source)
    space = None if args.space is None else Space.from_toml(args.space)
    if space is None and args.fill:
        raise ValueError(f"--set: expected only with --space, got {' '.join(args.fill)}")
    fill = None if space is None else read_assignments("--set", args.fill, space)
    n_outside = fork_store(source, args.store, at=args.at, space=space, fill=fill)
    left_out = f"; {n_outside} are outside of the new space and were left out" if n_outside else ""
    print(f"wrote {args.store} with {len(dale.open(args.store).history)} trials of {args.source}{left_out}")
    return 0
