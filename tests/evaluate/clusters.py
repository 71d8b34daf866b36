"""Dask clusters for tests: two that all tests of a process share, and those made of commands."""

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

# Else a LocalCluster gives up a worker that, 15 s after it died, happens to have died again and not to be back.
dask.config.set({"distributed.deploy.lost-worker-timeout": "1h"})

ROOT = Path(__file__).parents[2]
OPEN = ExitStack()


def threads(n, workers=1):
    """A cluster in this process."""
    return LocalCluster(n_workers=workers, threads_per_worker=n, processes=False, dashboard_address="127.0.0.1:0")


def processes(n, **more):
    """A cluster of processes, each with one thread; those that die are started again."""
    return LocalCluster(n_workers=n, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0", **more)


@cache
def shared(way):
    """A client of a cluster that runs two evaluations at once; closed at the end of all tests."""
    cluster = OPEN.enter_context({"dask threads": threads, "dask cluster": processes}[way](2))
    client = OPEN.enter_context(Client(cluster, set_as_default=False))
    client.run(import_module, "dale.integrations.dask")  # which takes a second or two, and some tests have no more
    return client


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def environment():
    """In which a program finds dale and the objectives of the tests."""
    paths = [ROOT / "src", ROOT / "tests" / "evaluate", ROOT / "tests" / "integrations"]
    search = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])  # for python itself
    return os.environ | {"PYTHONPATH": os.pathsep.join(map(str, paths)), "PATH": search, "PYTHONUNBUFFERED": "1"}


@contextmanager
def commands(folder):
    """Starts ``dask`` with some arguments, its output in a file of the folder; all are ended at the end."""
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
        for process in reversed(started):  # workers that say goodbye to a scheduler end at once
            process.terminate()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def until(condition, seconds=60):
    """What the condition says as soon as it says something, or at the end of the time."""
    end = time.monotonic() + seconds
    while not (said := condition()) and time.monotonic() < end:
        time.sleep(0.05)
    return said


def on_the_scheduler(client):
    """The tasks of dale's that the scheduler knows, and the keys of the metadata that it has of them."""

    def ours(dask_scheduler):
        metadata = [f"{key}: {value}" for key, value in dask_scheduler.task_metadata.items()]
        return [text for text in map(str, [*dask_scheduler.tasks, *metadata]) if text.startswith("dale")]

    gc.collect()  # the traceback of an error that was expected keeps all that it saw, until then
    return client.run_on_scheduler(ours)
