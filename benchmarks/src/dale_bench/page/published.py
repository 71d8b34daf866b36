"""The published rows, each file read once. A file that does not exist has no rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from dale_bench import jsonl
from dale_bench.coco.runs import Run as CocoRun
from dale_bench.coco.runs import read as read_coco
from dale_bench.coco.scores import Results, Runs, results_of
from dale_bench.comparison import Comparison
from dale_bench.contenders import is_ours
from dale_bench.cutest.profiles import Study, problems_of, study_of
from dale_bench.cutest.runs import Run as CutestRun
from dale_bench.real.runs import Run as RealRun
from dale_bench.real.scores import Scores
from dale_bench.rows import Row, curves_of, read

RESULTS = "benchmarks/results"  # in the repository
DALE, RANDOM = "default", "random"
CHECKPOINTS = (25, 50, 100, 200, 500, 1000)  # evaluations; the last three within the budget are shown
MULTIPLES = (2, 5, 10, 20, 50, 100, 200)  # the same for budgets in proportion to the dimension d: evaluations / d
BBOB = ("coco/bbob.jsonl", "coco/bbob-peers.jsonl")
LONG = "coco/bbob-long.jsonl"
SLOW = "coco/bbob-slow-peers.jsonl"
ROTATED = ":moved:rotated"


@dataclass(frozen=True, eq=False)
class SuiteRuns:
    """The runs in a suite of COCO, on the problems that all methods have.

    Attributes:
        suite: COCO's name of the suite.
        runs: For each dimension in which dale has runs, the methods that have all of its functions, restricted to the
            problems (function and instance) that all of them have.
        left_out: For each dimension, the methods that do not have all functions.
        milliseconds: For each dimension and method, the median over runs of the time for a proposal.
        scaled: Whether the budgets are in proportion to the dimension.
    """

    suite: str
    runs: Mapping[int, Mapping[str, Runs]]
    left_out: Mapping[int, Sequence[str]]
    milliseconds: Mapping[int, Mapping[str, float]]
    scaled: bool = False

    @property
    def methods(self) -> list[str]:
        """All methods, in the order of the tables."""
        return list(dict.fromkeys(method for by in self.runs.values() for method in by))

    @property
    def peers(self) -> list[str]:
        """The methods that dale is compared with."""
        return [method for method in self.methods if method not in (DALE, RANDOM)]

    def checkpoints(self, d: int) -> list[int]:
        """Numbers of evaluations: within dale's budget in all dimensions; if scaled, within all budgets in this one."""
        if self.scaled:
            budget = min(runs.budget for runs in self.runs[d].values())
            return [k * d for k in MULTIPLES if k * d <= budget][-3:]
        budget = min(by[DALE].budget for by in self.runs.values())
        return [n for n in CHECKPOINTS if n <= budget][-3:]

    def evaluations(self, d: int) -> list[str]:
        """`checkpoints` as text; if scaled, as multiples of d."""
        return [f"{n // d} d" if self.scaled else str(n) for n in self.checkpoints(d)]


def suite_runs(runs: Sequence[CocoRun], *, recommended: bool = False, scaled: bool = False) -> SuiteRuns | None:
    """The runs on the problems that all methods have; None without runs of dale."""
    kept: dict[int, dict[str, Runs]] = {}
    left_out: dict[int, list[str]] = {}
    results: Results = results_of(runs, recommended=recommended)
    for (_, d), by in results.items():
        if DALE not in by:
            continue
        functions = {function for function, _ in by[DALE].hits}
        complete = {m: r for m, r in by.items() if functions <= {function for function, _ in r.hits}}
        common = set.intersection(*(set(r.hits) for r in complete.values()))
        if {function for function, _ in common} == functions:
            kept[d] = {m: r.restricted(common) for m, r in complete.items()}
            left_out[d] = [m for m in by if m not in complete]
    if not kept:
        return None
    return SuiteRuns(next(iter(results))[0], kept, left_out, {d: _milliseconds(runs, d) for d in kept}, scaled)


def on_common_problems(runs: Sequence[CocoRun], of: Sequence[CocoRun]) -> list[CocoRun]:
    """Those of some runs that are on the problems that all methods of others have."""
    problems: dict[int, dict[str, set[str]]] = {}
    for run in of:
        if run.error is None:
            problems.setdefault(run.dimension, {}).setdefault(run.method, set()).add(run.problem)
    common = {problem for by in problems.values() for problem in set.intersection(*by.values())}
    return [run for run in runs if run.problem in common]


def _milliseconds(runs: Sequence[CocoRun], dimension: int) -> dict[str, float]:
    times: dict[str, list[float]] = {}
    for run in runs:
        if run.dimension == dimension and run.error is None:
            times.setdefault(run.method, []).append(1e3 * run.seconds / run.budget)
    return {method: sorted(some)[len(some) // 2] for method, some in times.items()}


@dataclass(frozen=True, eq=False)
class Published:
    """The rows in a directory of results.

    Attributes:
        directory: The directory, such as benchmarks/results.
    """

    directory: Path

    def path(self, name: str) -> Path:
        """A file of rows."""
        return self.directory / name

    def rows(self, name: str) -> list[Row]:
        """The rows of a file of `dale bench run` or `problems`."""
        return read(self.path(name))

    def coco_rows(self, *names: str) -> list[CocoRun]:
        """The rows of some files of `dale bench coco run`."""
        return [run for name in names if self.path(name).exists() for run in read_coco(self.path(name))]

    def coco(self, *names: str, recommended: bool = False) -> SuiteRuns | None:
        """The runs of some files of `dale bench coco run`."""
        return suite_runs(self.coco_rows(*names), recommended=recommended)

    @cached_property
    def bbob(self) -> SuiteRuns | None:
        """The runs on bbob with the same budget in all dimensions."""
        return self.coco(*BBOB)

    @cached_property
    def bbob_long(self) -> SuiteRuns | None:
        """The runs on bbob with a budget in proportion to the dimension."""
        return suite_runs(self.coco_rows(LONG), scaled=True)

    @cached_property
    def bbob_slow(self) -> SuiteRuns | None:
        """The runs of slow peers on some problems of bbob, and those of the others on the same problems."""
        slow = self.coco_rows(SLOW)
        return suite_runs(on_common_problems([*self.coco_rows(*BBOB), *slow], slow), scaled=True)

    @cached_property
    def noisy(self) -> SuiteRuns | None:
        """The runs on bbob-noisy, scored by the best points evaluated."""
        return self.coco("coco/noisy.jsonl")

    @cached_property
    def noisy_recommended(self) -> SuiteRuns | None:
        """The runs on bbob-noisy, scored by the recommended points."""
        return self.coco("coco/noisy.jsonl", recommended=True)

    @cached_property
    def mixint(self) -> SuiteRuns | None:
        """The runs on bbob-mixint."""
        return self.coco("coco/mixint.jsonl")

    @cached_property
    def constrained(self) -> SuiteRuns | None:
        """The runs on bbob-constrained."""
        return self.coco("coco/constrained.jsonl")

    @cached_property
    def cutest_bounds(self) -> Study | None:
        """The runs on CUTEst problems without constraints or with bounds."""
        return self._cutest("cutest/bounds.jsonl")

    @cached_property
    def cutest_constrained(self) -> Study | None:
        """The runs on CUTEst problems with constraints."""
        return self._cutest("cutest/constrained.jsonl")

    def _cutest(self, name: str) -> Study | None:
        problems = problems_of(jsonl.read(self.path(name), CutestRun))
        return study_of(problems) if problems else None

    @cached_property
    def real(self) -> dict[str, Scores]:
        """The runs on real problems, exact and noisy."""
        scores = {kind: Scores.of(jsonl.read(self.path(f"real/{kind}.jsonl"), RealRun)) for kind in ("exact", "noisy")}
        return {kind: some for kind, some in scores.items() if some.runs}

    @cached_property
    def _classical(self) -> list[Row]:
        return self.rows("default/rows.jsonl")

    def classical(self, functions: Sequence[str], methods: Sequence[str]) -> Comparison | None:
        """The runs on classical functions; None unless all of the functions have runs of dale."""
        curves = curves_of(row for row in self._classical if row.function in functions and row.method in methods)
        if any(DALE not in curves.get(name, {}) for name in functions):
            return None
        ordered = {name: {m: curves[name][m] for m in methods if m in curves[name]} for name in functions}
        return Comparison(ordered, envelope_of=tuple(m for m in methods if not is_ours(m)))
