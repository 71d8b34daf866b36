"""The ways to evaluate, for tests that hold all of them to the same promises; and objectives that can travel."""

import os
import time
import uuid
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dale_bench.workers.methods import RandomPoints

Random = RandomPoints  # a method that thinks of nothing, for tests of what is around it
BOX = [(-2, 2), (-2, 2)]
WAYS = ["here", "threads", "pool", "processes", "timeout", "dask threads", "dask cluster"]
FORK_WARNING = "ignore:.*multi-threaded, use of fork:DeprecationWarning"  # pytest-xdist has a thread


def bowl(x):
    return float((x[0] - 1) ** 2 + 2 * (x[1] + 0.5) ** 2)


@contextmanager
def arguments(way, n=3):
    """What to give to ``minimize``."""
    if way == "threads":
        with ThreadPoolExecutor(n) as executor:
            yield {"executor": executor}
    elif way == "pool":
        with ProcessPoolExecutor(n) as executor:
            yield {"executor": executor}
    elif way.startswith("dask"):
        from clusters import shared  # these imports are slow

        from dale.integrations.dask import executor

        yield {"executor": executor(shared(way))}  # two at once
    else:
        yield {"here": {}, "processes": {"n_parallel": n}, "timeout": {"n_parallel": n, "timeout": 60}}[way]


@dataclass(frozen=True)
class Counted:
    """An objective that leaves a file for each time that it runs, named by its process and point: at once or not."""

    folder: Path
    fun: object = bowl

    def __call__(self, x):
        (self.folder / f"{uuid.uuid4().hex}-{os.getpid()}-{x.tobytes().hex()}").touch()
        return self.fun(x)

    def lines(self):
        return [path.name.split("-")[1:] for path in self.folder.iterdir()]

    def pids(self):
        return [int(pid) for pid, _ in self.lines()]

    def points(self):
        return sorted(point for _, point in self.lines())


def points_of(result):
    return sorted(t.x.tobytes().hex() for t in result.history)


def is_alive(pid):
    """Whether a process runs; one that has ended and that nobody has asked for does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] != "Z"


def wait_until_gone(pids):
    """Whether none of them is left; a kill takes a moment."""
    for _ in range(600):
        if not any(map(is_alive, pids)):
            return True
        time.sleep(0.1)
    return False


def nothing(x):
    return np.nan
