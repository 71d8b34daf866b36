"""Helpers of the commands: lists in arguments, tables as output."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from typing import Protocol

from dale_bench import tables
from dale_bench.contender import Contender


def split_names(text: str) -> list[str]:
    """The names between the commas, without duplicates."""
    return list(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))


def split_integers(text: str, option: str, least: int = 1) -> list[int]:
    """The integers between the commas, without duplicates."""
    words = split_names(text)
    if not words or not all(word.isdecimal() and int(word) >= least for word in words):
        raise ValueError(f"{option}: expected integers of at least {least}, separated by commas, got {text!r}")
    return list(dict.fromkeys(int(word) for word in words))


def split_ranges(text: str, option: str) -> list[int]:
    """The positive integers of a list of numbers and ranges such as 1-3,7, without duplicates."""
    numbers: list[int] = []
    for word in split_names(text):
        first, dash, last = word.partition("-")
        ends = [first, last if dash else first]
        if not all(end.isdecimal() for end in ends) or not 1 <= int(ends[0]) <= int(ends[1]):
            raise ValueError(f"{option}: expected positive integers or ranges, such as 1-3,7, got {text!r}")
        numbers.extend(range(int(ends[0]), int(ends[1]) + 1))
    if not numbers:
        raise ValueError(f"{option}: expected positive integers or ranges, such as 1-3,7, got {text!r}")
    return list(dict.fromkeys(numbers))


class AnyRun(Protocol):
    """A completed run; ``str(run)`` names it."""

    @property
    def error(self) -> str | None:
        """The exception of the method, if any."""
        ...


def print_failures(runs: Sequence[AnyRun]) -> None:
    """Print a line for each run with an error."""
    for run in runs:
        if run.error:
            print(f"failed: {run}: {run.error.splitlines()[0]}")


def print_contenders(contenders: Iterable[Contender]) -> None:
    """Print a line for each contender."""
    for one in contenders:
        print(f"  {one.name:18s} {one.label}{not_installed(one.missing)}")


def not_installed(missing: Sequence[str]) -> str:
    """What a list says of missing modules; empty if there are none."""
    return f"  (not installed: {', '.join(missing)})" if missing else ""


def show(args: argparse.Namespace, title: str, table: tables.Table, remarks: Sequence[str] = ()) -> None:
    """Print a table in the requested format, if it has rows, followed by remarks."""
    if not table[1]:
        return
    render = {"text": tables.as_text, "markdown": tables.as_markdown, "csv": tables.as_csv}[args.format]
    print({"text": f"\n{title}\n", "markdown": f"\n### {title}\n", "csv": f"# {title}"}[args.format])
    print(render(table))
    if remarks:
        before, mark = {"text": ("\n", ""), "markdown": ("\n", "- "), "csv": ("", "# ")}[args.format]
        print(before + "\n".join(mark + remark for remark in remarks))
