"""Tables and remarks as the text of a block."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from textwrap import fill

from dale_bench.comparison import Comparison
from dale_bench.tables import Table, as_markdown

WIDTH = 120


def joined(*parts: str) -> str:
    """The parts that are not empty, with an empty line between them."""
    return "\n\n".join(part.strip("\n") for part in parts if part.strip())


def table_text(table: Table, remarks: Sequence[str] = ()) -> str:
    """A table, if it has rows, and its remarks as a list."""
    return joined(as_markdown(table), bullets(remarks)) if table[1] else ""


def bullets(remarks: Sequence[str]) -> str:
    """Remarks as a list."""
    return "\n".join(
        fill(remark, WIDTH, initial_indent="- ", subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
        for remark in remarks
    )


def paragraph(text: str) -> str:
    """A text in lines of the width of a page."""
    return fill(" ".join(text.split()), WIDTH, break_long_words=False, break_on_hyphens=False)


def console(*commands: str) -> str:
    """Commands as a block of code."""
    return "\n".join(["```console", *commands, "```"])


def final_medians(comparison: Comparison, label: Callable[[str], str]) -> Table:
    """One row for each function, one column for each method: median log10 regret at the end ± bootstrap error."""
    header = ["problem", *(label(method) for method in comparison.methods)]
    rows = []
    for function in comparison.functions:
        cells = []
        for method in comparison.methods:
            if method not in comparison.curves[function]:
                cells.append("-")
                continue
            cell = comparison.cell(function, method, 1.0)
            cells.append(f"{_decades(cell.median)} ± {_decades(cell.error)}")
        rows.append([function, *cells])
    return header, rows


def _decades(value: float) -> str:
    return "∞" if value == float("inf") else f"{value:.2f}"
