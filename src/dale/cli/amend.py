"""``dale amend``: correct the outcome of a trial in a store, also during a run."""

from __future__ import annotations

import argparse
import json
from typing import Any

from dale.cli.main import escape_control_characters
from dale.history.evaluation import Evaluation
from dale.store.corrections import amend_stored


def add_parser(subparsers: Any) -> None:
    """Add the options of ``dale amend``."""
    parser = subparsers.add_parser(
        "amend",
        help="correct the outcome of a trial",
        description="Correct the outcome of a trial: one that was recorded wrongly, or a failed or discarded one that "
        "has a value. Later proposals use the new numbers; earlier ones stay as they are. The store keeps who changed "
        "what, when and why. Write a negative number with an equals sign: --value=-1e-3.",
    )
    add_trial(parser)
    parser.add_argument("--value", type=float, metavar="VALUE", help="the correct value")
    parser.add_argument("--noise", type=float, metavar="STD", help="standard deviation of the noise in the value")
    parser.add_argument("--constraints", metavar="A,B", help="all outcome constraints, feasible where at most 0")
    parser.add_argument("--extra", metavar="JSON", help="all extra values, as a JSON object")
    add_note(parser)
    parser.set_defaults(run=run)


def add_trial(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that name a trial."""
    parser.add_argument("store", help="file that the run is stored in")
    parser.add_argument("trial", type=int, help="id of the trial, as dale show --trials lists it")


def add_note(parser: argparse.ArgumentParser) -> None:
    """Add the options that describe a correction."""
    parser.add_argument("--why", default="", metavar="TEXT", help="the reason")
    parser.add_argument("--who", metavar="NAME", help="who makes the correction (the user)")


def run(args: argparse.Namespace) -> int:
    """Correct the trial."""
    constraints = None if args.constraints is None else _numbers(args.constraints)
    changes = Evaluation(args.value, args.noise, constraints, None if args.extra is None else _object(args.extra))
    trial = amend_stored(args.store, args.trial, changes, why=args.why, who=args.who)
    if trial is None:
        print(f"trial {args.trial} has this outcome already; nothing was changed")
    else:
        print(escape_control_characters(f"trial {trial.id}: {trial.corrections[-1]}"))
    return 0


def _numbers(text: str) -> list[float]:
    try:
        return [float(number) for number in text.split(",")]
    except ValueError:
        raise ValueError(f"--constraints: expected numbers with commas between them, got {text!r}") from None


def _object(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise ValueError(
            f"""--extra: expected a JSON object, such as '{{"rmse": 0.3}}', got {text!r} ({error})"""
        ) from None
