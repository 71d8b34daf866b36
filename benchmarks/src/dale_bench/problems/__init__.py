"""Seven benchmarks of practical problems, `KINDS` by name, each with its problems, contenders and tables.

mixed         integers, steps, options and boolean parameters
noise         noisy values; the true regret of the recommended point counts
rough         exact values that scatter from point to point; the trend at the best point counts
constraints   outcome constraints; the best feasible point counts
failures      evaluations that fail, by a hidden constraint or at random, compared with told constraints
equalities    linear equalities, compared with parameters eliminated by hand
parallel      dale in batches and with asynchronous workers, compared with sequential runs

The modules:

problem       a problem, and a task that counts the evaluations of a run
mixed, noisy, rough, constrained, failing, equal
              the problems
on_cube       a task as an objective on the unit cube
contenders    the contenders of each kind
report        the tables
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from dale_bench.contender import Contender
from dale_bench.names import unknown
from dale_bench.problems import constrained, contenders, equal, failing, mixed, noisy, report, rough
from dale_bench.problems.problem import Problem, Task
from dale_bench.rows import Row, read
from dale_bench.runner import Job, quantize, record, run_all

__all__ = ["KINDS", "Kind", "rows_of", "run_missing"]

SEQUENTIAL_BUDGETS = 3  # budget of a parallel run, as a multiple of the function's budget

T = TypeVar("T")
Build = Callable[[int], Problem]  # (seed) -> problem


@dataclass(frozen=True)
class Kind:
    """One of the benchmarks.

    Attributes:
        name: The name in the command.
        description: One line for the help.
        problems: Builders by name.
        contenders: The contenders.
        tables: Makes tables from rows.
    """

    name: str
    description: str
    problems: Mapping[str, Build]
    contenders: tuple[Contender, ...]
    tables: report.Tables

    def contender(self, name: str) -> Contender:
        """The contender with this name."""
        return _named(name, {c.name: c for c in self.contenders}, f"contender in {self.name!r}")

    def problem(self, name: str, seed: int) -> Problem:
        """The problem with this name."""
        return _named(name, self.problems, f"problem in {self.name!r}")(seed)

    def jobs(self, problems: Sequence[str], methods: Sequence[str], seeds: Sequence[int]) -> list[Job]:
        """All combinations of problems, contenders and seeds; an empty sequence stands for all."""
        budgets = {name: self.problem(name, 0).budget for name in problems or self.problems}
        names = [self.contender(m).name for m in methods or [c.name for c in self.contenders]]
        return [Job(p, m, s, budgets[p]) for s in seeds for p in budgets for m in names]


def run_missing(kind: Kind, jobs: Sequence[Job], path: Path, processes: int = 1) -> list[Row]:
    """Make the runs that are missing in the file and return the rows of all jobs."""
    run_all(jobs, path, processes=processes, make=partial(run, kind.name), find=kind.contender)
    return rows_of(jobs, path)


def rows_of(jobs: Sequence[Job], path: Path) -> list[Row]:
    """The rows of the jobs that are in the file, in the order of the jobs."""
    rows = {row.key: row for row in read(path)}
    return [rows[job.key] for job in jobs if job.key in rows]


def run(kind: str, job: Job) -> Row:
    """Make a run."""
    found = KINDS[kind]
    problem = found.problem(job.function, job.seed)
    task = Task(problem, job.budget)
    row = record(job, found.contender(job.method), task)
    observed = quantize(task.observed) if problem.noisy is not None else []
    notes = row.notes if problem.fails is None else {**row.notes, report.FAILED: task.n_failed}
    return replace(row, observed=observed, notes=notes, times=[float(f"{t:.6g}") for t in task.times])


def _named(name: str, known: Mapping[str, T], what: str) -> T:
    if name not in known:
        raise unknown(f"{what}: {name!r}", name, known)
    return known[name]


def _same(problem: Problem, seed: int) -> Problem:
    """A problem that does not depend on the seed."""
    return problem


def _parallel(base: str, seed: int) -> Problem:
    problem = noisy.plain(base, seed)
    return replace(problem, budget=SEQUENTIAL_BUDGETS * problem.budget)


KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind(
            "mixed",
            "integers, steps, options and boolean parameters",
            {p.name: partial(_same, p) for p in mixed.PROBLEMS},
            contenders.MIXED,
            report.regret_tables,
        ),
        Kind(
            "noise",
            "noise of 5 and 20 %; true regret of the recommended point",
            noisy.PROBLEMS,
            contenders.NOISY,
            report.noise_tables,
        ),
        Kind(
            "rough",
            "exact values with scatter of 1 and 10 %; regret of the trend at the best point",
            rough.PROBLEMS,
            contenders.ROUGH,
            report.regret_tables,
        ),
        Kind(
            "constraints",
            "outcome constraints; regret of the best feasible point",
            {p.name: partial(_same, p) for p in constrained.PROBLEMS},
            contenders.CONSTRAINED,
            report.regret_tables,
        ),
        Kind(
            "failures",
            "evaluations that fail; regret of the best completed point",
            {**{p.name: partial(_same, p) for p in failing.HIDDEN}, **failing.RANDOM},
            contenders.FAILING,
            report.failure_tables,
        ),
        Kind(
            "equalities",
            "linear equalities, compared with parameters eliminated by hand",
            {p.name: partial(_same, p) for p in equal.PROBLEMS},
            contenders.EQUAL,
            report.regret_tables,
        ),
        Kind(
            "parallel",
            "batches and asynchronous workers, compared with sequential runs",
            {base: partial(_parallel, base) for base in noisy.FUNCTIONS},
            contenders.PARALLEL,
            report.parallel_tables,
        ),
    )
}
