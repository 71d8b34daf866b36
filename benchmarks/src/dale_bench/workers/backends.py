"""Backends that evaluate: threads, a process for each evaluation, Dask."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from typing import Any

THREADS, PROCESSES, DASK = "threads", "processes", "dask"
OBJECTIVE = "dale_bench.workers.objective"  # the module that workers import
NEEDED = {THREADS: (), PROCESSES: (), DASK: ("dask.distributed", "dale.integrations.dask")}
DASK_PROCESSES = 2  # the workers are threads of these processes, because evaluations only sleep


@contextmanager
def in_threads(workers: int) -> Iterator[dict[str, Any]]:
    """A thread pool of the standard library."""
    with ThreadPoolExecutor(workers) as executor:
        yield {"executor": executor}


@contextmanager
def in_processes(workers: int) -> Iterator[dict[str, Any]]:
    """A new process for each evaluation. The forkserver imports the objective once, as docs/parallel.md recommends."""
    multiprocessing.set_forkserver_preload(["__main__", OBJECTIVE])
    yield {"n_parallel": workers}


@contextmanager
def in_dask(workers: int) -> Iterator[dict[str, Any]]:
    """A Dask cluster on this machine. Its workers import the objective before the run."""
    distributed, ours = (import_module(name) for name in NEEDED[DASK])
    processes = min(DASK_PROCESSES, workers)
    with (
        distributed.LocalCluster(
            n_workers=processes, threads_per_worker=-(-workers // processes), dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        client.run(import_module, OBJECTIVE)
        yield {"executor": ours.executor(client), "n_parallel": workers}


BACKENDS: dict[str, Callable[[int], AbstractContextManager[dict[str, Any]]]] = {
    THREADS: in_threads,
    PROCESSES: in_processes,
    DASK: in_dask,
}


def missing(backend: str) -> list[str]:
    """The modules that a backend needs and that are not installed."""
    return [name for name in NEEDED[backend] if not _is_installed(name)]


def _is_installed(name: str) -> bool:
    try:
        import_module(name)
    except ModuleNotFoundError:
        return False
    return True
