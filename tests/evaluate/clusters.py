"""Dask clusters for tests: those that all tests of a process share, and one of real commands."""

import os
import subprocess
import sys
from functools import cache
from pathlib import Path

from distributed import Client, LocalCluster

ROOT = Path(__file__).parents[2]
OPEN = []


def threads(n):
    """A cluster in this process."""
    return LocalCluster(n_workers=1, threads_per_worker=n, processes=False, dashboard_address="127.0.0.1:0")


def processes(n):
    """A cluster of processes, each with one thread."""
    return LocalCluster(n_workers=n, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0")


@cache
def shared(way):
    """A client of a cluster that runs two evaluations at once."""
    OPEN.append({"dask threads": threads, "dask cluster": processes}[way](2))
    OPEN.append(Client(OPEN[-1], set_as_default=False))
    return OPEN[-1]


def close_shared():
    while OPEN:
        OPEN.pop().close()
    shared.cache_clear()


def environment():
    """For commands that are to find dale and the objectives of the tests."""
    paths = [ROOT / "src", ROOT / "tests", ROOT / "tests" / "evaluate", ROOT / "tests" / "integrations"]
    return os.environ | {"PYTHONPATH": os.pathsep.join(map(str, paths)), "PYTHONUNBUFFERED": "1"}


class Commands:
    """Processes that are ended, whatever happens."""

    def __init__(self, folder):
        self.folder = folder
        self.started = []

    def start(self, *arguments):
        log = (self.folder / f"log-{len(self.started)}").open("w")
        with log:
            process = subprocess.Popen(
                [sys.executable, "-m", "dask", *arguments],
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self.folder,
                env=environment(),
            )
        self.started.append(process)
        return process

    def end(self):
        for process in self.started:
            process.terminate()
        for process in self.started:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
