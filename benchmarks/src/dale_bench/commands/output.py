"""How the sub-commands read lists and print tables."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dale_bench.rows import Row
    from dale_bench.tables import Table


def listed(text: str) -> list[str]:
    """The words between the commas, each once."""
    return list(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))


def counted(text: str, option: str, least: int = 1) -> list[int]:
    """The whole numbers between the commas, each once."""
    words = listed(text)
    if not words or not all(word.isdecimal() and int(word) >= least for word in words):
        raise ValueError(f"{option} takes whole numbers from {least} up, with commas, got {text!r}")
    return list(dict.fromkeys(int(word) for word in words))


def say_what_failed(rows: Sequence[Row]) -> None:
    """Print a line for each run that ended in an error."""
    for row in rows:
        if row.error:
            print(f"failed: {row.method} on {row.function}, seed {row.seed}: {row.error.splitlines()[0]}")


def show(args: argparse.Namespace, title: str, table: Table, remarks: Sequence[str] = ()) -> None:
    """Print a table in the format asked for, if it has rows, with remarks below."""
    from dale_bench import tables

    if not table[1]:
        return
    render = {"text": tables.as_text, "markdown": tables.as_markdown, "csv": tables.as_csv}[args.format]
    print({"text": f"\n{title}\n", "markdown": f"\n### {title}\n", "csv": f"# {title}"}[args.format])
    print(render(table))
    if remarks:
        before, mark = {"text": ("\n", ""), "markdown": ("\n", "- "), "csv": ("", "# ")}[args.format]
        print(before + "\n".join(mark + remark for remark in remarks))
