"""Dask clusters for tests: two shared by all tests of a process, and clusters started by commands."""

import gc
import os
import socket
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from functools import cache
from importlib import import_module
from pathlib import Path

import dask
from distributed import Client, LocalCluster

# By default a LocalCluster gives up a worker that is not back 15 s after it died, also if it died again meanwhile.
dask.config.set({"distributed.deploy.lost-worker-timeout": "1h"})
# Dask's profiler calls sys._current_frames 100 times per second, which can deadlock before Python 3.11.9
# (python/cpython#106883): the event loop stops, and a run waits forever.
dask.config.set({"distributed.worker.profile.enabled": False})

ROOT = Path(__file__).parents[2]
OPEN = ExitStack()


def threads(n, workers=1):
    """A cluster of threads in this process."""
    return LocalCluster(n_workers=workers, threads_per_worker=n, processes=False, dashboard_address="127.0.0.1:0")


def processes(n, **more):
    """A cluster of processes with one thread each; processes that die are restarted."""
    return LocalCluster(n_workers=n, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0", **more)


@cache
def shared(kind):
    """A client of a cluster with two workers; it is closed after all tests."""
    cluster = OPEN.enter_context({"dask threads": threads, "dask cluster": processes}[kind](2))
    client = OPEN.enter_context(Client(cluster, set_as_default=False))
    client.run(import_module, "dale.integrations.dask")  # takes a second or two, which would delay some tests
    return client


@contextmanager
def client_of(cluster):
    """A client of a cluster, both closed at the end of the block."""
    with cluster, Client(cluster, set_as_default=False) as client:
        yield client


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def environment():
    """Environment variables with which a program finds dale and the objectives of the tests."""
    paths = [ROOT / "src", ROOT / "tests" / "evaluate", ROOT / "tests" / "integrations"]
    search = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])  # for the command python
    return os.environ | {"PYTHONPATH": os.pathsep.join(map(str, paths)), "PATH": search, "PYTHONUNBUFFERED": "1"}


@contextmanager
def commands(folder):
    """Yield a function that starts ``dask`` with output to a file; all processes end with the block."""
    started = []

    def start(*arguments):
        with (folder / f"{arguments[0]}-{len(started)}.log").open("w") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "dask", *arguments], stdout=log, stderr=log, cwd=folder, env=environment()
            )
        started.append(process)
        return process

    try:
        yield start
    finally:
        for process in reversed(started):  # workers first: they exit quickly while the scheduler runs
            process.terminate()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def until(condition, seconds=60):
    """Wait until the condition is true, at most this long, and return its last value."""
    end = time.monotonic() + seconds
    while not (said := condition()) and time.monotonic() < end:
        time.sleep(0.05)
    return said


def on_the_scheduler(client):
    """The tasks and metadata of dale on the scheduler."""

    def ours(dask_scheduler):
        metadata = [f"{key}: {value}" for key, value in dask_scheduler.task_metadata.items()]
        return [text for text in map(str, [*dask_scheduler.tasks, *metadata]) if text.startswith("dale")]

    gc.collect()  # the traceback of an expected error keeps references to futures until then
    return client.run_on_scheduler(ours)
