"""Run methods on functions with several seeds in parallel processes. Runs that are on disk are not repeated."""

from __future__ import annotations

import math
import sys
import time
import traceback
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar

from dale._progress import Progress
from dale_bench import jsonl
from dale_bench.contender import Contender, Counted, Objective, Spent
from dale_bench.contenders import contender
from dale_bench.fresh_process import one_blas_thread
from dale_bench.functions import get
from dale_bench.rows import Row


class AnyJob(Protocol):
    """A run to make: the method, and the key of its row. ``str(job)`` is shown with the progress."""

    @property
    def method(self) -> str:
        """The name of the method."""
        ...

    @property
    def key(self) -> Hashable:
        """Identifies the run."""
        ...


class AnyRow(Protocol):
    """A completed run: a dataclass whose fields are JSON."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def key(self) -> Hashable:
        """Identifies the run."""
        ...


JobT = TypeVar("JobT", bound=AnyJob)
RowT = TypeVar("RowT", bound=AnyRow)


@dataclass(frozen=True)
class Job:
    """One run."""

    function: str
    method: str
    seed: int
    budget: int

    @property
    def key(self) -> tuple[str, str, int, int]:
        """Identifies the run, as the key of its row does."""
        return self.function, self.method, self.seed, self.budget

    def __str__(self) -> str:
        return f"{self.method} on {self.function}, seed {self.seed}"


@dataclass(frozen=True)
class ProblemJob:
    """One run on a problem that is not a function of this package: a real one, or one of CUTEst."""

    problem: str
    method: str
    seed: int
    budget: int

    @property
    def key(self) -> tuple[str, str, int, int]:
        """Identifies the run."""
        return self.problem, self.method, self.seed, self.budget

    def __str__(self) -> str:
        return f"{self.method} on {self.problem}, seed {self.seed}"


def run(job: Job) -> Row:
    """Run a method on a function."""
    return record(job, contender(job.method), Objective(get(job.function, job.seed), job.budget))


def record(job: Job, method: Contender, objective: Counted) -> Row:
    """Run a method on an objective that counts its evaluations. The row records an exception of the method."""
    seconds, error = attempt(method, objective, job.seed)
    return Row(
        function=job.function,
        method=job.method,
        seed=job.seed,
        budget=job.budget,
        dimension=objective.dimension,
        regret=quantize(objective.curve),
        seconds=seconds,
        versions=method.versions,
        error=error,
        notes=objective.notes,
    )


def attempt(method: Contender, objective: Counted, seed: int) -> tuple[float, str | None]:
    """Run a method until the budget is spent: the seconds outside the objective, and the error if there was one."""
    error = None
    begun = time.perf_counter()
    try:
        method.run(objective, seed)
    except Spent:
        pass
    except Exception as problem:
        error = f"{type(problem).__name__}: {problem}\n{traceback.format_exc(limit=-3)}"
    seconds = time.perf_counter() - begun - objective.seconds_inside
    if error is None and not objective.regrets:
        error = "the method made no evaluation"
    return round(seconds, 4), error


def quantize(regrets: Sequence[float]) -> list[float | None]:
    """Regrets as they are stored: with four digits, and None if infinite."""
    return [float(f"{r:.4g}") if math.isfinite(r) else None for r in regrets]


def jobs_for(
    functions: Sequence[str], methods: Sequence[str], seeds: Sequence[int], budget: int | None = None
) -> list[Job]:
    """All combinations of methods, functions and seeds. Unknown names raise an error before any run starts."""
    for method in methods:
        contender(method)
    budgets = {name: budget or get(name, 0).budget for name in functions}
    return [Job(f, m, s, budgets[f]) for s in seeds for f in functions for m in methods]


def run_all(
    jobs: Sequence[Job],
    path: Path,
    *,
    processes: int = 1,
    progress: bool | None = None,
    make: Callable[[Job], Row] | None = None,
    find: Callable[[str], Contender] = contender,
) -> list[Row]:
    """Run the jobs that are missing in the file, append each row as it completes, and return the rows of all jobs.

    If it is interrupted, completed runs are kept, and the next call continues. Methods whose packages are not installed
    are skipped with a message.

    Args:
        jobs: The requested runs.
        path: The file of the rows.
        processes: The number of processes.
        progress: Whether to show a progress bar; None shows it if standard error is a terminal.
        make: Makes a run; must be picklable. None for `run`.
        find: Returns the contender with a name.
    """
    return run_jobs(jobs, path, make or run, Row, find, processes=processes, progress=progress)


def run_jobs(
    jobs: Sequence[JobT],
    path: Path,
    make: Callable[[JobT], RowT],
    row_type: Callable[..., RowT],
    find: Callable[[str], Contender],
    *,
    processes: int = 1,
    progress: bool | None = None,
) -> list[RowT]:
    """`run_all` for jobs and rows of any type; `row_type` makes a row from the fields of a line of the file."""
    known = {row.key for row in jsonl.read(path, row_type)}
    jobs_left = [job for job in jobs if job.key not in known]
    missing = {m: find(m).missing for m in {job.method for job in jobs_left}}
    for method, modules in sorted(missing.items()):
        if modules:
            print(f"skipped: {method} (not installed: {', '.join(modules)})", file=sys.stderr)
    todo = [job for job in jobs_left if not missing[job.method]]
    with Progress(max(len(todo), 1), progress) as line:
        if processes == 1:
            for done, job in enumerate(todo, 1):
                jsonl.append(path, make(job))
                line.write(done, str(job))
        else:
            with one_blas_thread():  # the processes already share the cores
                _run_in_processes(todo, path, processes, line, make)
    requested = {job.key for job in jobs}
    return [row for row in jsonl.read(path, row_type) if row.key in requested]


def _run_in_processes(
    todo: Sequence[JobT], path: Path, processes: int, line: Progress, make: Callable[[JobT], RowT]
) -> None:
    pool = ProcessPoolExecutor(processes, mp_context=get_context("spawn"))
    try:
        running: dict[Future[RowT], JobT] = {}
        queue = list(todo)
        done = 0
        while queue or running:
            while queue and len(running) < 2 * processes:
                job = queue.pop(0)
                running[pool.submit(make, job)] = job
            finished, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                job = running.pop(future)
                jsonl.append(path, future.result())
                done += 1
                line.write(done, str(job))
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
