"""A comparison as text, Markdown or CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from dale_bench.ablation import DEFAULT, contender_name
from dale_bench.comparison import CHECKPOINTS, FAR_BEHIND, SIGNIFICANT, Comparison
from dale_bench.contenders import label

Table = tuple[list[str], list[list[str]]]  # header, rows


class Part(NamedTuple):
    """A table with a title and remarks."""

    title: str
    table: Table
    remarks: list[str]


ABLATION_REMARKS = (
    "positive: the variant is worse, so the part that it lacks is useful; ± bootstrap error over functions and seeds",
    f"p: Wilcoxon over functions; significant: number of functions with p < {SIGNIFICANT} between the runs",
)


def cells_table(
    comparison: Comparison,
    methods: Sequence[str],
    checkpoints: Sequence[float] = CHECKPOINTS,
    label: Callable[[str], str] = label,
) -> Table:
    """One row for each function and method: median ± error at each checkpoint, and the worst run at the end."""
    header = ["function", "method", *(f"{c:.0%}" for c in checkpoints), "worst", "runs"]
    rows = []
    for function in comparison.functions:
        for method in methods:
            if method not in comparison.curves[function]:
                continue
            cells = [comparison.cell(function, method, c) for c in checkpoints]
            note = "" if comparison.takes_part(function, method) else " *"
            rows.append(
                [function, label(method) + note]
                + [f"{_number(cell.median)} ± {_number(cell.error)}" for cell in cells]
                + [_number(cells[-1].worst), str(cells[-1].runs)]
            )
    return header, rows


def _number(value: float) -> str:
    return "∞" if value == np.inf else f"{value:.2f}"


def envelope_table(comparison: Comparison, method: str) -> Table:
    """One row for each function: the method and the best peer at each checkpoint."""
    header = ["function", *(f"{c:.0%}" for c in CHECKPOINTS), *(f"envelope {c:.0%}" for c in CHECKPOINTS)]
    rows = []
    for function in comparison.functions:
        best = [comparison.envelope(function, c, method) for c in CHECKPOINTS]
        if method in comparison.curves[function] and all(best):
            ours = [f"{comparison.median(function, method, c):.2f}" for c in CHECKPOINTS]
            rows.append([function, *ours, *(f"{b[0]:.2f} ({b[1]})" for b in best if b)])
    return header, rows


def envelope_remarks(comparison: Comparison, method: str) -> list[str]:
    """A summary of the envelope table in two sentences."""
    won, cells = comparison.wins(method)
    behind = [f"{function}@{checkpoint:.0%}" for function, checkpoint in comparison.far_behind(method)]
    held, functions = comparison.worst_runs_held(method)
    return [
        f"at or below the envelope in {won} of {cells} cells; more than {FAR_BEHIND} decades behind in {len(behind)}"
        + (f": {', '.join(behind)}" if behind else ""),
        f"worst run at 100 %: no worse than the best peer's worst run on {held} of {functions} functions",
    ]


def summary_table(comparison: Comparison, methods: Sequence[str]) -> Table:
    """One row for each method: cells won against the peers, average rank and targets reached."""
    functions = comparison.common(methods)
    header = ["method", "cells at or below the envelope", *(f"rank {c:.0%}" for c in CHECKPOINTS), "targets reached"]
    ranks = [comparison.average_ranks(c, methods) for c in CHECKPOINTS]
    rows = []
    for method in sorted(methods, key=lambda m: ranks[-1].get(m, np.inf)):
        won, total = comparison.wins(method)
        reached = comparison.targets_reached(method, functions, np.array([1.0]))[0] if functions else np.nan
        rows.append(
            [label(method), f"{won} of {total}"]
            + [f"{r[method]:.2f}" if method in r else "-" for r in ranks]
            + [f"{reached:.3f}" if functions else "-"]
        )
    return header, rows


def significance_table(comparison: Comparison, method: str, others: Sequence[str]) -> Table:
    """One row for each other method: mean difference of the medians, p, and numbers of functions won and lost."""
    header = ["against", "functions", *(f"{c:.0%}: difference (p)" for c in CHECKPOINTS), "better / worse at 100 %"]
    rows = []
    for other in others:
        functions = comparison.common([method, other])
        if not functions:
            continue
        tests = [comparison.paired_test(method, other, c) for c in CHECKPOINTS]
        better, worse = comparison.better_and_worse(method, other, 1.0, SIGNIFICANT)
        rows.append(
            [label(other), str(len(functions))]
            + [f"{difference:+.2f} ({p:.2g})" for difference, p, _ in tests]
            + [f"{better} / {worse}"]
        )
    return header, rows


def ablation_table(comparisons: Mapping[str, Comparison]) -> Table:
    """One row for each variant: mean difference to the default ± error, p, and numbers of functions won and lost.

    Args:
        comparisons: For each variant, its comparison with the default.
    """
    header = ["variant", "functions", *(f"{c:.0%}" for c in CHECKPOINTS), "p at 100 %", "better / worse", "significant"]
    rows = []
    for variant, comparison in comparisons.items():
        pair = contender_name(variant), DEFAULT
        if not comparison.common(pair):
            continue
        tests = [comparison.paired_test(*pair, c) for c in CHECKPOINTS]
        errors = [comparison.paired_error(*pair, c) for c in CHECKPOINTS]
        counts = [comparison.better_and_worse(*pair, 1.0, level) for level in (np.inf, SIGNIFICANT)]
        rows.append(
            [variant, str(tests[-1][2])]
            + [f"{difference:+.2f} ± {error:.2f}" for (difference, _, _), error in zip(tests, errors, strict=True)]
            + [f"{tests[-1][1]:.2g}", *(f"{better} / {worse}" for better, worse in counts)]
        )
    return header, rows


def as_text(table: Table) -> str:
    """Text with aligned columns."""
    header, rows = table
    widths = [max(len(line[i]) for line in [header, *rows]) for i in range(len(header))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in [header, *rows]
    )


def as_markdown(table: Table) -> str:
    """A Markdown table."""
    header, rows = table
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def as_csv(table: Table) -> str:
    """Comma-separated values."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerows([table[0], *table[1]])
    return out.getvalue()
