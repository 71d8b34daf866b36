"""Tables and remarks as the text of a block."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill

from dale_bench.tables import Table, as_markdown

WIDTH = 120


def joined(*parts: str) -> str:
    """The parts that are not empty, with an empty line between them."""
    return "\n\n".join(part.strip("\n") for part in parts if part.strip())


def table_text(table: Table, remarks: Sequence[str] = (), commands: Sequence[str] = ()) -> str:
    """A table, if it has rows, and its remarks and the commands that made it as a list."""
    made_by = [f"- `{command}`" for command in commands]
    return joined(as_markdown(table), "\n".join([bullets(remarks), *made_by])) if table[1] else ""


def bullets(remarks: Sequence[str]) -> str:
    """Remarks as a list."""
    return "\n".join(
        fill(remark, WIDTH, initial_indent="- ", subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
        for remark in remarks
    )


def columns(table: Table, names: Sequence[str]) -> Table:
    """Some columns of a table, by their headers."""
    header, rows = table
    kept = [header.index(name) for name in names]
    return list(names), [[row[i] for i in kept] for row in rows]
