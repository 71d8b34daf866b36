"""Options that several commands have, and checks of them."""

from __future__ import annotations

import argparse
import os
from pathlib import Path


def add_run_options(kind: argparse.ArgumentParser, seeds: int, rows: Path) -> None:
    """Add the options of a command that makes runs: ``--seeds``, ``--rows`` and ``--jobs``, with their defaults."""
    add_seeds(kind, seeds)
    add_rows(kind, rows)
    add_jobs(kind)


def add_seeds(kind: argparse.ArgumentParser, seeds: int) -> None:
    """Add ``--seeds``, the number of runs of each."""
    help_text = "number of runs of each, with seeds 0, 1, ... (default: %(default)s)"
    kind.add_argument("--seeds", type=int, default=seeds, help=help_text)


def add_rows(kind: argparse.ArgumentParser, rows: Path, what: str = "runs") -> None:
    """Add ``--rows``, the file of what the command makes."""
    kind.add_argument("--rows", type=Path, default=rows, help=f"file of the {what} (default: %(default)s)")


def add_jobs(kind: argparse.ArgumentParser, *aliases: str) -> None:
    """Add ``--jobs``, the number of processes."""
    help_text = "number of processes (default: one per core)"
    kind.add_argument("--jobs", *aliases, type=int, default=os.cpu_count() or 1, help=help_text)


def add_listed_methods(kind: argparse.ArgumentParser, command: str, methods: str) -> None:
    """Add ``--methods``, some of those that ``dale bench COMMAND list`` prints."""
    kind.add_argument(
        "--methods",
        default=methods,
        help=f"names, separated by commas; `dale bench {command} list` has them (default: %(default)s, which is dale)",
    )


def add_format(kind: argparse.ArgumentParser) -> None:
    """Add ``--format``, the format of the tables."""
    kind.add_argument("--format", choices=["text", "markdown", "csv"], default="text")


def check_positive(args: argparse.Namespace, *options: str) -> None:
    """Raise an error if one of these options is below 1."""
    for option in options:
        value = getattr(args, option.replace("-", "_"))
        if value < 1:
            raise ValueError(f"--{option}: expected at least 1, got {value}")
