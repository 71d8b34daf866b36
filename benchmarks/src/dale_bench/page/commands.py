"""The commands that made published rows, derived from the rows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import groupby

from dale_bench.coco.runs import Run as CocoRun
from dale_bench.coco.suites import SUITES
from dale_bench.commands.coco import DEFAULT_BUDGET
from dale_bench.page.published import RESULTS
from dale_bench.real import PROBLEMS
from dale_bench.real.contenders import ENTRIES
from dale_bench.real.scores import Scores


def coco_commands(runs: Iterable[CocoRun], name: str) -> list[str]:
    """The commands that make the runs of a file of `dale bench coco run`."""
    kinds: dict[tuple[str, int, str], list[CocoRun]] = {}
    for run in runs:
        kinds.setdefault((run.suite, run.dimension, run.method), []).append(run)
    methods: dict[tuple[str, int, tuple[str, ...]], list[str]] = {}  # (suite, dimension, options) -> methods
    for (suite, d, method), some in kinds.items():
        methods.setdefault((suite, d, _options(some)), []).append(method)
    dimensions: dict[tuple[str, tuple[str, ...], str], list[int]] = {}
    for (suite, d, options), names in methods.items():
        dimensions.setdefault((suite, options, ",".join(names)), []).append(d)
    return [
        _command(
            "dale bench coco run",
            "" if suite == "bbob" else f"--suite {suite}",
            f"--dimensions {_ranges(ds)}",
            *options,
            "" if names == "default" else f"--methods {names}",
            f"--rows {RESULTS}/{name}",
        )
        for (suite, options, names), ds in dimensions.items()
    ]


def _options(runs: Sequence[CocoRun]) -> tuple[str, ...]:
    """The options of `dale bench coco run` that select all runs of a method in one dimension."""
    functions = sorted({run.function for run in runs})
    budget, seeds = max(run.budget for run in runs), max(run.seed for run in runs) + 1
    return (
        "" if functions == list(SUITES[runs[0].suite].functions) else f"--functions {_ranges(functions)}",
        f"--instances {_ranges({run.instance for run in runs})}",
        "" if budget == DEFAULT_BUDGET else f"--budget {budget}",
        "" if seeds == 1 else f"--seeds {seeds}",
    )


def real_commands(scores: Scores, kind: str) -> list[str]:
    """The commands that make all runs on the real problems of a kind."""
    methods: dict[tuple[int, tuple[str, ...]], list[str]] = {}  # (number of seeds, problems) -> methods
    for method in scores.methods:
        problems: dict[int, list[str]] = {}
        for problem, by in scores.runs.items():
            if method in by:
                problems.setdefault(max(by[method]) + 1, []).append(problem)
        applies = [name for name in scores.runs if not ENTRIES[method].obstacle(PROBLEMS[name])]
        for seeds, names in problems.items():
            methods.setdefault((seeds, () if names == applies else tuple(names)), []).append(method)
    return [
        _command(
            "dale bench real run",
            f"--kind {kind}",
            f"--only {','.join(only)}" if only else "",
            f"--seeds {seeds}",
            f"--methods {','.join(names)}",
            f"--rows {RESULTS}/real/{kind}.jsonl",
        )
        for (seeds, only), names in methods.items()
    ]


def _ranges(numbers: Collection[int]) -> str:
    """Such as 1-3,5 for 1, 2, 3, 5."""
    groups = groupby(enumerate(sorted(numbers)), key=lambda pair: pair[1] - pair[0])
    runs = [[n for _, n in group] for _, group in groups]
    return ",".join(f"{run[0]}-{run[-1]}" if len(run) > 2 else ",".join(map(str, run)) for run in runs)


def _command(*words: str) -> str:
    return " ".join(filter(None, words))
