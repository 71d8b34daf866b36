"""Four benchmarks of what real problems look like: `KINDS` by name, each with its problems, contenders and tables.

mixed         whole numbers, steps, options and switches
noise         values with noise, judged by the true regret of the point that a method recommends
constraints   black-box constraints, judged by the best feasible point
parallel      dale in batches and with workers that do not wait for each other, against one after the other

problem       what a problem is, and how a run on it is counted and judged
mixed, noisy, constrained
              the problems
contenders    who takes part, and how each is asked
report        the tables
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import TypeVar

from dale_bench.contender import Contender
from dale_bench.problems import constrained, contenders, mixed, noisy, report
from dale_bench.problems.problem import Problem, Task
from dale_bench.rows import Row, read
from dale_bench.runner import Job, quantize, record, run_all

__all__ = ["KINDS", "Kind", "rows_of", "run_missing"]

SEQUENTIAL_BUDGETS = 3  # a parallel run may take so many times the evaluations of the function's own budget

T = TypeVar("T")
Build = Callable[[int], Problem]  # of the seed


@dataclass(frozen=True)
class Kind:
    """One of the benchmarks.

    Attributes:
        name: As the command has it.
        words: What it is about, for the help.
        problems: Name -> builder.
        contenders: Who takes part.
        tables: What rows come to.
    """

    name: str
    words: str
    problems: Mapping[str, Build]
    contenders: tuple[Contender, ...]
    tables: report.Tables

    def contender(self, name: str) -> Contender:
        """The contender of this name."""
        return _named(name, {c.name: c for c in self.contenders}, f"contender in {self.name!r}")

    def problem(self, name: str, seed: int) -> Problem:
        """The problem of this name."""
        return _named(name, self.problems, f"problem in {self.name!r}")(seed)

    def jobs(self, problems: Sequence[str], methods: Sequence[str], seeds: Sequence[int]) -> list[Job]:
        """Every contender on every problem with every seed; none given stands for all."""
        budgets = {name: self.problem(name, 0).budget for name in problems or self.problems}
        names = [self.contender(m).name for m in methods or [c.name for c in self.contenders]]
        return [Job(p, m, s, budgets[p]) for s in seeds for p in budgets for m in names]


def run_missing(kind: Kind, jobs: Sequence[Job], path: Path, processes: int = 1) -> list[Row]:
    """Run what is missing in the file and return the rows of all jobs."""
    run_all(jobs, path, processes=processes, make=partial(run, kind.name), find=kind.contender)
    return rows_of(jobs, path)


def rows_of(jobs: Sequence[Job], path: Path) -> list[Row]:
    """What there is of the jobs, in their order."""
    rows = {row.key: row for row in read(path)}
    return [rows[job.key] for job in jobs if job.key in rows]


def run(kind: str, job: Job) -> Row:
    """Make a run."""
    found = KINDS[kind]
    problem = found.problem(job.function, job.seed)
    task = Task(problem, job.budget)
    row = record(job, found.contender(job.method), task)
    observed = quantize(task.observed) if problem.noisy is not None else []
    return replace(row, observed=observed, times=[float(f"{t:.6g}") for t in task.times])


def _named(name: str, known: Mapping[str, T], what: str) -> T:
    if name not in known:
        close = get_close_matches(name, known, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else "."
        raise ValueError(f"unknown {what}: {name!r}{hint} Known ones: {', '.join(known)}")
    return known[name]


def _same(problem: Problem, seed: int) -> Problem:
    """A problem that is the same for each seed."""
    return problem


def _parallel(base: str, seed: int) -> Problem:
    problem = noisy.plain(base, seed)
    return replace(problem, budget=SEQUENTIAL_BUDGETS * problem.budget)


KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind(
            "mixed",
            "whole numbers, steps, options and switches",
            {p.name: partial(_same, p) for p in mixed.PROBLEMS},
            contenders.MIXED,
            report.regret_tables,
        ),
        Kind(
            "noise",
            "noise of 5 and 20 %: true regret of the recommended point",
            noisy.PROBLEMS,
            contenders.NOISY,
            report.noise_tables,
        ),
        Kind(
            "constraints",
            "black-box constraints: regret of the best feasible point",
            {p.name: partial(_same, p) for p in constrained.PROBLEMS},
            contenders.CONSTRAINED,
            report.regret_tables,
        ),
        Kind(
            "parallel",
            "batches and workers against one evaluation after the other",
            {base: partial(_parallel, base) for base in noisy.FUNCTIONS},
            contenders.PARALLEL,
            report.parallel_tables,
        ),
    )
}
