"""``dale why``: explain a trial of a store. The store is only read, and nothing in it is run."""

from __future__ import annotations

import argparse
from typing import Any

from dale.cli.main import escape_control_characters
from dale.view.why import why


def add_parser(subparsers: Any) -> None:
    """Add the options of ``dale why``."""
    parser = subparsers.add_parser(
        "why",
        help="explain why a trial was proposed",
        description="Explain why a trial was proposed: which model proposed it, what it predicted and what came, what "
        "the alternatives were, and how often such predictions were kept in this run.",
    )
    parser.add_argument("store", help="file that the run is stored in")
    parser.add_argument("trial", type=int, help="id of the trial, as dale show --trials lists it")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the explanation."""
    lines = str(why(args.store, args.trial)).splitlines()
    print("\n".join(map(escape_control_characters, lines)))
    return 0
