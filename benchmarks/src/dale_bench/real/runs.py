"""Runs on real problems: jobs, rows and how to make the missing ones.

A row: ``{"problem", "kind", "method", "seed", "budget", "at": [...], "values": [...], "errors": [...], "points": [...],
"curve": [...], "failed", "seconds", "evaluation_seconds", "versions", "error"}``. ``at`` has half of the budget and all
of it. ``values`` are the best feasible values so far, null if there are none; with noise, true means of the recommended
``points``, estimated after the run, with standard ``errors``. ``curve`` has the best value so far after each
evaluation, with noise the observed values.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dale.space.point import Params
from dale_bench.contender import Contender
from dale_bench.names import unknown
from dale_bench.real import PROBLEMS
from dale_bench.real.contenders import ENTRIES
from dale_bench.real.problem import EXACT, NOISY, Mean, NoisyTask, Real
from dale_bench.runner import ProblemJob, attempt, run_jobs

KINDS = (EXACT, NOISY)
DIGITS = 10  # of stored values


@dataclass(frozen=True)
class Run(ProblemJob):
    """A completed run.

    Attributes:
        problem: The name of the problem.
        kind: Exact or noisy.
        method: The name of the contender.
        seed: The seed of the method and of the noise.
        budget: Number of evaluations.
        at: Checkpoints: numbers of evaluations.
        values: At each checkpoint, the best feasible value or the true mean of the recommended point; None without.
        errors: With noise, the standard errors of the true means.
        points: With noise, the recommended points.
        curve: The best value so far after each evaluation; with noise, the observed values.
        failed: Number of evaluations that failed or violated a constraint.
        seconds: Time outside the objective.
        evaluation_seconds: Time inside the objective.
        truth_seconds: Time for the true means.
        versions: Versions of the packages.
        error: The exception of the method, if any.
    """

    kind: str
    at: Sequence[int]
    values: Sequence[float | None]
    errors: Sequence[float] = field(default_factory=list)
    points: Sequence[dict[str, Any]] = field(default_factory=list)
    curve: Sequence[float | None] = field(default_factory=list)
    failed: int = 0
    seconds: float = 0.0
    evaluation_seconds: float = 0.0
    truth_seconds: float = 0.0
    versions: dict[str, str] = field(default_factory=dict)
    error: str | None = None


def checkpoints(budget: int) -> list[int]:
    """Half of the budget, and all of it."""
    return [max(budget // 2, 1), budget]


def jobs_for(
    kinds: Sequence[str], problems: Sequence[str], methods: Sequence[str], seeds: Sequence[int], budget: int | None
) -> list[ProblemJob]:
    """All combinations in which the method applies; an empty sequence of problems or methods stands for all.

    Problems whose packages are not installed are skipped with a message.
    """
    chosen = [find(name) for name in problems or PROBLEMS]
    known = [contender(name).name for name in methods or ENTRIES]
    jobs = []
    for real in (p for p in chosen if p.kind in kinds):
        if real.missing:
            print(f"skipped: {real.name} (not installed: {', '.join(real.missing)})", file=sys.stderr)
            continue
        names = [name for name in known if not ENTRIES[name].obstacle(real)]
        jobs += [ProblemJob(real.name, name, seed, budget or real.budget) for seed in seeds for name in names]
    return jobs


def run_missing(jobs: Sequence[ProblemJob], path: Path, processes: int = 1) -> list[Run]:
    """Make the runs that are missing in the file and return the rows of all jobs."""
    return run_jobs(jobs, path, run, Run, contender, processes=processes)


def run(job: ProblemJob) -> Run:
    """Make a run; with noise, estimate the true means of the recommended points afterwards."""
    real, method = find(job.problem), contender(job.method)
    task = real.task(job.seed, job.budget)
    seconds, error = attempt(method, task, job.seed)
    at = checkpoints(job.budget)
    begun = time.perf_counter()
    points, means = [], []
    if isinstance(task, NoisyTask) and task.recommended:
        points = [_jsonable(real, task.recommended[min(n, len(task.recommended)) - 1]) for n in at]
        means = _true_means(real, points)
        values: list[float | None] = [_rounded(mean.value) for mean in means]
    else:
        values = [_rounded(task.regrets[min(n, len(task.regrets)) - 1]) if task.regrets else None for n in at]
    return Run(
        problem=job.problem,
        kind=real.kind,
        method=job.method,
        seed=job.seed,
        budget=job.budget,
        at=at,
        values=values,
        errors=[float(f"{mean.error:.3g}") for mean in means],
        points=points,
        curve=[_rounded(value) for value in task.regrets],
        failed=task.n_failed,
        seconds=seconds,
        evaluation_seconds=round(task.seconds_inside, 4),
        truth_seconds=round(time.perf_counter() - begun, 4),
        versions=method.versions,
        error=error,
    )


def _true_means(real: Real, points: Sequence[dict[str, Any]]) -> list[Mean]:
    """The true means of points; of equal ones, once."""
    found: list[Mean] = []
    for i, point in enumerate(points):
        first = points.index(point)
        found.append(found[first] if first < i else real.true_mean(real.space.check(point)))
    return found


def _jsonable(real: Real, params: Params) -> dict[str, Any]:
    return dict(real.space.by_name(params))


def _rounded(value: float) -> float | None:
    return float(f"{value:.{DIGITS}g}") if np.isfinite(value) else None


def find(name: str) -> Real:
    """The problem with this name."""
    _check(name, PROBLEMS, "real problem")
    return PROBLEMS[name]


def contender(name: str) -> Contender:
    """The contender with this name."""
    _check(name, ENTRIES, "contender")
    return ENTRIES[name].contender


def _check(name: str, known: Any, what: str) -> None:
    if name not in known:
        raise unknown(f"{what}: {name!r}", name, known)
