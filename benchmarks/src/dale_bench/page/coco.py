"""Blocks of COCO's suites: the fraction of targets reached, differences to each peer, and groups of functions."""

from __future__ import annotations

import math

import numpy as np

from dale_bench.coco.report import ALL, fractions, groups_of, number, references_of
from dale_bench.coco.runs import TARGETS
from dale_bench.coco.scores import paired_difference
from dale_bench.contenders import label
from dale_bench.page.markdown import bullets, console, joined, paragraph, table_text
from dale_bench.page.published import DALE, Published, SuiteRuns
from dale_bench.tables import Table

DIFFERENCE_REMARK = "positive: dale is ahead; in parentheses the largest standard error over problems in the cell"
NOISY_TEXT = f"""
`bbob-noisy`: 30 functions with moderate or severe noise, Gaussian, uniform or with outliers (Cauchy). The noise-free
value minus the minimum counts, in the first table that of the point that a method recommends, in the second that of the
best point evaluated, which no user of a noisy function knows. A solver is not told that there is noise, except BADS,
which runs in its noisy mode. There are {len(TARGETS)} targets as for BBOB.
"""
NOISY_COMMANDS = (
    "dale bench coco run --suite bbob-noisy --methods default,bads --rows benchmarks/results/coco/noisy.jsonl",
    "dale bench coco table benchmarks/results/coco/noisy.jsonl --recommended",
)


def bbob(published: Published) -> str:
    """The fraction of targets reached on bbob, and the differences to each peer."""
    found = published.bbob
    return "" if found is None else _suite(found)


def bbob_groups(published: Published) -> str:
    """Groups of functions of bbob, at the end of the budget."""
    found = published.bbob
    if found is None:
        return ""
    what = "dale, best peer, best 2009-16" if len(found.methods) > 1 else "dale, best 2009-16"
    table, behind = group_table(found)
    return table_text(table, [f"{what}, after {found.checkpoints[-1]} evaluations", *_behind(behind)])


def _behind(behind: list[str]) -> list[str]:
    return [f"a peer is ahead of dale on {'; '.join(behind)}"] if behind else []


def noisy(published: Published) -> str:
    """The section on bbob-noisy."""
    best, recommended = published.noisy, published.noisy_recommended
    if best is None or recommended is None:
        return ""
    return joined(
        "### Noisy functions",
        paragraph(NOISY_TEXT),
        console(*NOISY_COMMANDS),
        "The recommended point:",
        _suite(recommended, with_references=False),
        "The best point evaluated:",
        _suite(best),
    )


def mixint(published: Published) -> str:
    """The fraction of targets reached on bbob-mixint."""
    return "" if published.mixint is None else _suite(published.mixint)


def constrained(published: Published) -> str:
    """The fraction of targets reached on bbob-constrained."""
    found = published.constrained
    if found is None:
        return ""
    _, behind = group_table(found)
    return joined(_suite(found), bullets(_behind(behind)))


def _suite(found: SuiteRuns, *, with_references: bool = True) -> str:
    parts = [table_text(overall_table(found, with_references=with_references), overall_remarks(found))]
    if len(found.methods) > 1:
        parts += ["Paired differences, dale minus each peer:", table_text(difference_table(found), [DIFFERENCE_REMARK])]
    return joined(*parts)


def overall_table(found: SuiteRuns, *, with_references: bool = True) -> Table:
    """One row for each method and reference, one column for each dimension, on the functions of dale's runs."""
    columns = {d: {**by, **(references_of(found.suite, d) if with_references else {})} for d, by in found.runs.items()}
    names = dict.fromkeys([*found.methods, *(name for column in columns.values() for name in column)])
    rows = []
    for name in names:
        row = [label(name)]
        for column in columns.values():
            runs, functions = column.get(name), {f for f, _ in column[DALE].hits}
            row.append("-" if runs is None else fractions(runs, runs.problems(functions), found.checkpoints))
        rows.append(row)
    return ["", *(f"d = {d}" for d in found.runs)], rows


def overall_remarks(found: SuiteRuns) -> list[str]:
    """Evaluations and problems of the tables, and who is left out."""
    counts = [f"{len(by[DALE].hits)} in d = {d}" for d, by in found.runs.items()]
    remarks = [
        f"after {'/'.join(map(str, found.checkpoints))} evaluations; problems (function and instance) that all methods "
        f"have: {', '.join(counts)}"
    ]
    absent = [f"{', '.join(map(label, names))} in d = {d}" for d, names in found.left_out.items() if names]
    if absent:
        remarks.append(f"left out, because runs on some functions are missing: {'; '.join(absent)}")
    return remarks


def difference_table(found: SuiteRuns) -> Table:
    """One row for each peer: dale minus the peer, on the problems that both have."""
    rows = []
    for peer in (m for m in found.methods if m != DALE):
        cells = []
        for by in found.runs.values():
            if peer not in by:
                cells.append("-")
                continue
            pair = [paired_difference(by[peer], by[DALE], list(by[DALE].hits), n) for n in found.checkpoints]
            error = max((difference.error for difference in pair), default=math.nan)
            cells.append("/".join(number(difference.mean, "+") for difference in pair) + f" ({number(error)})")
        rows.append([label(peer), *cells])
    return ["dale minus", *(f"d = {d}" for d in found.runs)], rows


def group_table(found: SuiteRuns) -> tuple[Table, list[str]]:
    """Groups of functions at the end, one column for each dimension: dale, the best peer and the last reference.

    Returns:
        The table, and where a peer is ahead.
    """
    at = found.checkpoints[-1]
    rows, behind = [], []
    for title in (t for t in _titles(found) if t != ALL):
        row = [title]
        for d, by in found.runs.items():
            functions = groups_of(found.suite, {f for f, _ in by[DALE].hits}).get(title, [])
            score = {m: runs.mean_fraction(runs.problems(functions), at) for m, runs in by.items()}
            best = max((m for m in score if m != DALE), key=lambda m: np.nan_to_num(score[m], nan=-1), default=None)
            cell = [number(score[DALE])]
            if best is not None:
                cell.append(f"{number(score[best])} ({label(best)})")
                if score[best] > score[DALE]:
                    behind.append(f"{title}, d = {d} ({label(best)})")
            last = list(references_of(found.suite, d).values())[-1:]
            cell += [number(runs.mean_fraction(runs.problems(functions), at)) for runs in last]
            row.append(", ".join(cell))
        rows.append(row)
    return (["functions", *(f"d = {d}" for d in found.runs)], rows), behind


def _titles(found: SuiteRuns) -> list[str]:
    return list(
        dict.fromkeys(t for by in found.runs.values() for t in groups_of(found.suite, {f for f, _ in by[DALE].hits}))
    )
