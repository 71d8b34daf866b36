"""All kinds of evaluators, for tests that apply to each of them; and objectives that can be pickled."""

import multiprocessing
import os
import signal
import time
import uuid
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dale.history.trial import TrialState
from dale_bench.workers.methods import RandomPoints

Random = RandomPoints  # a method without a model, for tests of everything else
BOX = [(-2, 2), (-2, 2)]
EVALUATORS = ["serial", "threads", "pool", "processes", "timeout", "dask threads", "dask cluster"]
FORK_WARNING = "ignore:.*multi-threaded, use of fork:DeprecationWarning"  # because of the thread of pytest-xdist


def bowl(x):
    return float((x[0] - 1) ** 2 + 2 * (x[1] + 0.5) ** 2)


@contextmanager
def arguments(kind, n=3):
    """The arguments of ``minimize`` that select an evaluator."""
    if kind == "threads":
        with ThreadPoolExecutor(n) as executor:
            yield {"executor": executor}
    elif kind == "pool":
        with ProcessPoolExecutor(n) as executor:
            yield {"executor": executor}
    elif kind.startswith("dask"):
        from clusters import shared  # these imports are slow

        from dale.integrations.dask import executor

        yield {"executor": executor(shared(kind))}  # runs two evaluations at once
    else:
        yield {"serial": {}, "processes": {"n_parallel": n}, "timeout": {"n_parallel": n, "timeout": 60}}[kind]


@dataclass(frozen=True)
class Counted:
    """An objective that creates a file per call, named by process and point, so that concurrent calls are counted."""

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
    """Whether a process runs; a zombie does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] != "Z"


def wait_until_gone(pids):
    """Whether all of them end within a minute."""
    for _ in range(600):
        if not any(map(is_alive, pids)):
            return True
        time.sleep(0.1)
    return False


def failed(result):
    return [t for t in result.history if t.state is TrialState.FAILED]


def evaluation_processes():
    """The children of this process that evaluate trials; workers of a shared Dask cluster are not among them."""
    return [child for child in multiprocessing.active_children() if child.name.startswith("dale-trial-")]


def is_hit(x, n):
    """True at about one point in n."""
    return int(abs(x[0]) * 1e9) % n == 0


def one_in(n, harm):
    """An objective that calls ``harm`` at about one point in n."""

    def fun(x):
        if is_hit(x, n):
            harm()
        return bowl(x)

    return fun


def kills_its_process(x):
    """At about one point in ten."""
    if is_hit(x, 10):
        os.kill(os.getpid(), signal.SIGKILL)
    return bowl(x)


def nothing(x):
    return np.nan
