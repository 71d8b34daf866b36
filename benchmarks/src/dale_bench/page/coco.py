"""Blocks of COCO's suites: the fraction of targets reached, margins to the best peer, and where a peer is ahead."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dale_bench.coco.report import fractions, groups_of, number, references_of
from dale_bench.coco.scores import ProblemKey, paired_difference
from dale_bench.contenders import label
from dale_bench.page.commands import coco_commands
from dale_bench.page.markdown import joined, table_text
from dale_bench.page.published import BBOB, DALE, LONG, SLOW, Published, SuiteRuns
from dale_bench.tables import Table

LONG_TEXT = """
### Longer runs

![Fraction of the BBOB targets reached in longer runs](images/benchmarks/bbob-long.png)
"""
SLOW_TEXT = """
### Slow peers

Optuna's GP sampler and BoTorch take so long for a proposal that they have runs on few problems. All solvers on these:
"""


def bbob(published: Published) -> str:
    """The fraction of targets reached on bbob."""
    return _suite(published, published.bbob, *BBOB)


def bbob_long(published: Published) -> str:
    """The section on runs on bbob with budgets in proportion to the dimension."""
    text = _suite(published, published.bbob_long, LONG)
    return joined(LONG_TEXT, text) if text else ""


def bbob_slow(published: Published) -> str:
    """The section on slow peers, on few problems of bbob."""
    text = _suite(published, published.bbob_slow, SLOW)
    return joined(SLOW_TEXT, text) if text else ""


def noisy(published: Published) -> str:
    """The fraction of targets that the recommended points reach on bbob-noisy."""
    return _suite(published, published.noisy_recommended, "coco/noisy.jsonl", with_references=False)


def mixint(published: Published) -> str:
    """The fraction of targets reached on bbob-mixint."""
    return _suite(published, published.mixint, "coco/mixint.jsonl")


def constrained(published: Published) -> str:
    """The fraction of targets reached on bbob-constrained."""
    return _suite(published, published.constrained, "coco/constrained.jsonl")


def _suite(published: Published, found: SuiteRuns | None, *names: str, with_references: bool = True) -> str:
    """A table of the targets reached, remarks, and the commands that made the files."""
    if found is None:
        return ""
    commands = [line for name in names for line in coco_commands(published.coco_rows(name), name)]
    table = overall_table(found, with_references=with_references)
    return table_text(table, remarks(found), commands)


def overall_table(found: SuiteRuns, *, with_references: bool = True) -> Table:
    """One row for each method and reference, one column for each dimension, on the functions of dale's runs."""
    columns = {d: {**by, **(references_of(found.suite, d) if with_references else {})} for d, by in found.runs.items()}
    names = dict.fromkeys([*found.methods, *(name for column in columns.values() for name in column)])
    rows = []
    for name in names:
        row = [label(name)]
        for d, column in columns.items():
            runs, functions = column.get(name), {f for f, _ in column[DALE].hits}
            row.append("-" if runs is None else fractions(runs, runs.problems(functions), found.checkpoints(d)))
        rows.append(row)
    return ["", *(f"d = {d}" for d in found.runs)], rows


def remarks(found: SuiteRuns) -> list[str]:
    """Evaluations and problems of the table, margins, where a peer is ahead, and who is left out."""
    after: dict[str, list[str]] = {}
    for d in found.runs:
        after.setdefault("/".join(found.evaluations(d)), []).append(str(d))
    evaluations = [n + (f" (d = {', '.join(ds)})" if len(after) > 1 else "") for n, ds in after.items()]
    counts = ", ".join(str(len(by[DALE].hits)) for by in found.runs.values())
    texts = [
        f"after {' or '.join(evaluations)} evaluations; {counts} problems (function and instance) that all methods have"
    ]
    if found.peers:
        texts.append(f"dale minus the best peer at the end, ± standard error: {', '.join(margins(found))}")
    behind = groups_behind(found)
    if behind:
        texts.append(f"a peer is ahead of dale at the end on {'; '.join(behind)}")
    absent = [f"{', '.join(map(label, names))} in d = {d}" for d, names in found.left_out.items() if names]
    if absent:
        texts.append(f"left out, because runs on some functions are missing: {'; '.join(absent)}")
    return texts


def margins(found: SuiteRuns) -> list[str]:
    """For each dimension, dale minus the best peer at the end."""
    texts = []
    for d, by in found.runs.items():
        at, problems = found.checkpoints(d)[-1], list(by[DALE].hits)
        best = _best_peer(found, d, problems)
        if best is None:
            texts.append("-")
        else:
            difference = paired_difference(by[best], by[DALE], problems, at)
            texts.append(f"{number(difference.mean, '+')} ± {number(difference.error)} ({label(best)})")
    return texts


def groups_behind(found: SuiteRuns) -> list[str]:
    """The groups of functions on which a peer is ahead of dale at the end, with the scores."""
    texts: dict[str, list[str]] = {}
    for d, by in found.runs.items():
        at = found.checkpoints(d)[-1]
        for title, functions in groups_of(found.suite, {f for f, _ in by[DALE].hits}).items():
            best = _best_peer(found, d, by[DALE].problems(functions))
            if best is not None:
                ours, theirs = (by[m].mean_fraction(by[m].problems(functions), at) for m in (DALE, best))
                if theirs > ours:
                    texts.setdefault(title, []).append(f"d = {d} ({label(best)} {number(theirs)}, dale {number(ours)})")
    return [f"{title} in {', '.join(where)}" for title, where in texts.items()]


def _best_peer(found: SuiteRuns, d: int, problems: Sequence[ProblemKey]) -> str | None:
    """The peer that has reached the most targets on some problems at the end; None without peers."""
    by, at = found.runs[d], found.checkpoints(d)[-1]
    peers = [m for m in found.peers if m in by]
    return max(peers, key=lambda m: np.nan_to_num(by[m].mean_fraction(problems, at), nan=-1), default=None)
