"""Tables: the fraction of targets reached by each method, and the paired differences of two."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

from dale_bench.coco import reference
from dale_bench.coco.runs import TARGETS
from dale_bench.coco.scores import ProblemKey, Results, Runs, paired_difference
from dale_bench.coco.suites import SUITES
from dale_bench.contenders import label
from dale_bench.tables import Part

ALL = "all"
REFERENCE_REMARK = (
    "best2009, best 2009-16: for each target, the best of the algorithms of these BBOB workshops; independent of the "
    "instances"
)
NO_REFERENCE_REMARK = (
    "best2009 and best 2009-16 are not shown: cocopp is not installed; run: pip install './benchmarks[coco]'"
)
INCOMPLETE_REMARK = (
    "methods with different problems are not comparable: select problems that all have, or use dale bench coco compare"
)
DIFFERENCE_REMARK = (
    "difference: second minus first on the problems that both have, positive if the second is better; in parentheses "
    "its standard error over these problems (function and instance; a problem is the mean over its runs)"
)


def groups_of(suite: str, functions: Collection[int]) -> dict[str, list[int]]:
    """Those of some functions that are in each group of a suite, by title; the first group has all of them.

    Groups without any of them are left out.
    """
    titles = {f"{group[0]}-{group[-1]} {name}": group for name, group in SUITES[suite].groups.items()}
    groups = {title: [f for f in group if f in functions] for title, group in titles.items()}
    return {ALL: sorted(functions), **{title: group for title, group in groups.items() if group}}


def references_of(suite: str, dimension: int) -> dict[str, Runs]:
    """The references that exist for a suite and dimension, by name."""
    return reference.reference_runs(suite, dimension)


def fraction_tables(results: Results, checkpoints: Sequence[int]) -> list[Part]:
    """For each suite and dimension, the fraction of targets that each method reaches, overall and for each group."""
    return [_fraction_table(suite, d, methods, checkpoints) for (suite, d), methods in results.items()]


def _fraction_table(suite: str, dimension: int, methods: Mapping[str, Runs], checkpoints: Sequence[int]) -> Part:
    everything = {problem for runs in methods.values() for problem in runs.hits}
    groups = groups_of(suite, {function for function, _ in everything})
    references = references_of(suite, dimension)
    lines = []
    for name, runs in [*methods.items(), *references.items()]:
        cells = [fractions(runs, runs.problems(functions), checkpoints) for functions in groups.values()]
        counts = [f"{len(runs.hits)} of {len(everything)}", str(runs.n_runs)] if name in methods else ["-", "-"]
        lines.append([label(name), *cells, *counts])
    remarks = [f"after {'/'.join(map(str, checkpoints))} evaluations; means over problems (function and instance)"]
    if any(len(runs.hits) < len(everything) for runs in methods.values()):
        remarks.append(INCOMPLETE_REMARK)
    if suite in reference.SUITES:
        remarks.append(REFERENCE_REMARK if references else NO_REFERENCE_REMARK)
    title = f"{suite}, d = {dimension}: fraction of the {len(TARGETS)} targets reached"
    return Part(title, (["method", *groups, "problems", "runs"], lines), remarks)


def comparison_table(
    where: tuple[str, int], pair: tuple[Runs, Runs], names: tuple[str, str], checkpoints: Sequence[int]
) -> Part:
    """The paired differences of two methods in one suite and dimension, overall and for each group.

    Args:
        where: The suite and the dimension.
        pair: The runs of both.
        names: What to call them.
        checkpoints: Numbers of evaluations.
    """
    suite, dimension = where
    first, second = (runs.restricted(pair[0].hits.keys() & pair[1].hits.keys()) for runs in pair)
    lines = []
    for group, functions in groups_of(suite, {function for function, _ in first.hits}).items():
        problems = first.problems(functions)
        differences = [paired_difference(first, second, problems, checkpoint) for checkpoint in checkpoints]
        lines.append(
            [group, str(len(problems))]
            + [fractions(runs, problems, checkpoints) for runs in (first, second)]
            + [f"{number(mean, '+')} ({number(error)})" for mean, error in differences]
        )
    header = ["functions", "problems", "first", "second", *(f"difference at {c}" for c in checkpoints)]
    remarks = [f"first: {names[0]}, {first.n_runs} runs; second: {names[1]}, {second.n_runs} runs", DIFFERENCE_REMARK]
    return Part(f"{suite}, d = {dimension}: paired differences of the fraction of targets", (header, lines), remarks)


def fractions(runs: Runs, problems: Sequence[ProblemKey], checkpoints: Sequence[int]) -> str:
    """The mean fractions on some problems after some numbers of evaluations, such as .410/.520."""
    return "/".join(number(runs.mean_fraction(problems, checkpoint)) for checkpoint in checkpoints)


def number(value: float, sign: str = "") -> str:
    """A fraction with three digits and without the leading zero."""
    return "-" if math.isnan(value) else f"{value:{sign}.3f}".replace("0.", ".", 1)
