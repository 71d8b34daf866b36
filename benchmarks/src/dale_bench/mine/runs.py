"""Runs on a function of the user, on disk as JSON lines."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from dale_bench import jsonl
from dale_bench.mine.contenders import own_contender
from dale_bench.mine.objective import OwnTask, own_problem
from dale_bench.runner import attempt, run_jobs


@dataclass(frozen=True)
class Job:
    """A run to make.

    Attributes:
        function: The function, ``module:name``.
        space: The path of the TOML file of the space.
        fingerprint: Of the content of the module and of the file.
        maximize: Whether the function is maximised.
        method: The name of the contender.
        seed: The seed of the contender.
        budget: The number of evaluations.
    """

    function: str
    space: str
    fingerprint: str
    maximize: bool
    method: str
    seed: int
    budget: int

    @property
    def key(self) -> tuple[str, str, bool, str, int, int]:
        """Identifies the run."""
        return self.function, self.fingerprint, self.maximize, self.method, self.seed, self.budget

    def __str__(self) -> str:
        return f"{self.method} on {self.function}, seed {self.seed}"


@dataclass(frozen=True)
class Run(Job):
    """A completed run.

    Attributes:
        best: The best value so far after each evaluation; None as long as all evaluations have failed.
        failed: The number of evaluations that failed.
        failure: The first of their errors, one line.
        seconds: Time outside the function.
        seconds_inside: Time inside the function.
        versions: Versions of the packages.
        error: The exception of the method, if any.
    """

    best: Sequence[float | None] = ()
    failed: int = 0
    failure: str | None = None
    seconds: float = 0.0
    seconds_inside: float = 0.0
    versions: dict[str, str] = field(default_factory=dict)
    error: str | None = None


def run(job: Job) -> Run:
    """Make a run."""
    contender = own_contender(job.method)
    problem = own_problem(job.function, job.space, job.budget, maximize=job.maximize)
    task = OwnTask(problem, job.budget)
    seconds, error = attempt(contender, task, job.seed)
    return Run(
        **asdict(job),
        best=[problem.sign * value if math.isfinite(value) else None for value in task.curve],
        failed=task.n_failed,
        failure=task.first_failure,
        seconds=seconds,
        seconds_inside=round(task.seconds_inside, 4),
        versions=contender.versions,
        error=error,
    )


def run_missing(jobs: Sequence[Job], path: Path, processes: int = 1) -> list[Run]:
    """Make the runs that are missing in the file and return the rows of all jobs, in the order of the jobs."""
    rows = {row.key: row for row in run_jobs(jobs, path, run, Run, own_contender, processes=processes)}
    return [rows[job.key] for job in jobs if job.key in rows]


def n_outdated(jobs: Sequence[Job], path: Path) -> int:
    """The number of runs in the file on another version of the function or of the space."""
    now = {job.fingerprint for job in jobs}
    functions = {job.function for job in jobs}
    return sum(row.function in functions and row.fingerprint not in now for row in jsonl.read(path, Run))
