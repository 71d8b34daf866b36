"""``dale discard``: ignore the outcome of a trial in a store from now on, also during a run."""

from __future__ import annotations

import argparse
from typing import Any

from dale.cli.amend import add_note, add_trial
from dale.cli.main import escape_control_characters
from dale.store.corrections import discard_stored


def add_parser(subparsers: Any) -> None:
    """Add the options of ``dale discard``."""
    parser = subparsers.add_parser(
        "discard",
        help="ignore the outcome of a trial",
        description="Ignore the outcome of a trial from now on. The trial stays in the store and counts as an "
        "evaluation, but no model and no result uses it. The store keeps who discarded it, when and why. dale amend "
        "gives it a value again.",
    )
    add_trial(parser)
    add_note(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Discard the trial."""
    trial = discard_stored(args.store, args.trial, why=args.why, who=args.who)
    print(escape_control_characters(f"trial {trial.id}: {trial.corrections[-1]}"))
    return 0
