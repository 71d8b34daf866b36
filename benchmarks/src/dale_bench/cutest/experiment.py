"""Make runs on CUTEst problems, in parallel processes if requested."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from dale_bench.coco.suites import KNOWS_FUNCTIONS_BY_NAME
from dale_bench.contender import Contender
from dale_bench.contenders import CONTENDERS, contender
from dale_bench.cutest.collection import CONSTRAINED_KIND, Entry
from dale_bench.cutest.objectives import load, objective_of, reference_value
from dale_bench.cutest.runs import Job, Run, improvements
from dale_bench.names import unknown
from dale_bench.problems.contenders import CONSTRAINED
from dale_bench.runner import attempt, run_jobs


def contenders_of(kind: str) -> tuple[Contender, ...]:
    """The methods that support a kind of problem."""
    if kind == CONSTRAINED_KIND:
        return CONSTRAINED
    return tuple(c for c in CONTENDERS.values() if c.name not in KNOWS_FUNCTIONS_BY_NAME)


def contender_of(kind: str, name: str) -> Contender:
    """The contender with this name, or with this label in the tables, for a kind of problem."""
    known = contenders_of(kind)
    for found in known:
        if name in (found.name, found.label):
            return found
    raise unknown(f"method {name!r} for {kind} problems", name, (c.name for c in known))


def jobs_for(entries: Sequence[Entry], methods: Sequence[str], seeds: Sequence[int], factor: int) -> list[Job]:
    """All combinations, each with factor (d + 1) evaluations. Unknown methods raise an error before any run starts."""
    kinds = {entry.kind for entry in entries}
    names = {kind: [contender_of(kind, method).name for method in methods] for kind in kinds}
    return [
        Job(entry.name, method, seed, factor * (entry.dimension + 1), entry.kind, entry.dimension)
        for seed in seeds
        for entry in entries
        for method in names[entry.kind]
    ]


def run_missing(jobs: Sequence[Job], path: Path, processes: int = 1) -> list[Run]:
    """Make the runs that are missing in the file and return the rows of all jobs."""
    return run_jobs(jobs, path, run, Run, contender, processes=processes)


def run(job: Job) -> Run:
    """Make a run."""
    method = contender_of(job.kind, job.method)
    objective = objective_of(load(job.problem), job.budget)
    seconds, error = attempt(method, objective, job.seed)
    return Run(
        **asdict(job),
        history=improvements(objective.curve),
        reference=None if job.kind == CONSTRAINED_KIND else reference_value(job.problem),
        seconds=seconds,
        versions=method.versions,
        error=error,
    )
