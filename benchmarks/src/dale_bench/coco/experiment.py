"""Make runs on COCO's problems, in parallel processes if requested, with COCO's logger if requested."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from dale_bench.coco import noisy
from dale_bench.coco.runs import Job, Run, hits_of, recommended_of
from dale_bench.coco.suites import SUITES, Suite, best_known, objective_of, opened
from dale_bench.runner import attempt, run_jobs


def jobs_for(
    suite: Suite,
    dimensions: Sequence[int],
    functions: Sequence[int],
    instances: Sequence[int],
    methods: Sequence[str],
    seeds: Sequence[int],
    budget: int,
) -> list[Job]:
    """All combinations. Unknown methods raise an error before any run starts."""
    names = [suite.contender(method).name for method in methods]
    return [
        Job(suite.name, f, i, d, m, s, budget)
        for s, d, i, f, m in product(seeds, dimensions, instances, functions, names)
    ]


def run_missing(jobs: Sequence[Job], path: Path, processes: int = 1, logger: Path | None = None) -> list[Run]:
    """Make the runs that are missing in the file and return the rows of all jobs.

    Args:
        jobs: Runs in one suite.
        path: The file of the rows.
        processes: The number of processes.
        logger: A directory for the data of COCO's logger; None for no logger.
    """
    if logger is not None and any(character.isspace() for character in str(logger.resolve())):
        raise ValueError(
            f"--logger: expected a path without spaces, where COCO would cut it, got {str(logger.resolve())!r}; choose "
            "another directory"
        )
    find = SUITES[jobs[0].suite].contender
    return run_jobs(jobs, path, partial(run, logger=logger), Run, find, processes=processes)


def run(job: Job, logger: Path | None = None) -> Run:
    """Make a run."""
    contender = SUITES[job.suite].contender(job.method)
    where = job.suite, job.function, job.dimension, job.instance
    best = best_known(*where)
    with opened(*where) as problem:
        if logger is not None:
            problem.observe_with(_observer(job, logger))
        objective = objective_of(problem, best, job.budget)
        seconds, error = attempt(contender, objective, job.seed)
        if isinstance(objective, noisy.NoisyObjective):
            objective.settle()
    return Run(
        **asdict(job),
        hits=hits_of(objective.curve),
        seconds=seconds,
        versions=contender.versions,
        error=error,
        recommended=recommended_of(getattr(objective, "recommended", ())),
    )


def _observer(job: Job, directory: Path) -> Any:
    """COCO's logger, with a directory for each run, so that parallel processes do not share files.

    A directory that exists is left over from an interrupted run.
    """
    import cocoex

    cocoex.log_level("warning")  # it announces each directory otherwise
    outer = directory.resolve() / job.suite / job.method
    inner = f"{job.problem}_seed{job.seed}"
    shutil.rmtree(outer / inner, ignore_errors=True)
    outer.mkdir(parents=True, exist_ok=True)
    options = {"outer_folder": str(outer), "result_folder": inner, "algorithm_name": job.method}
    return cocoex.Observer(job.suite, options)
