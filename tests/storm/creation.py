"""kill -9 while a store is created: at a random moment, at a line of Python, or inside SQLite between two operations.

The next process creates the store, or finds it whole, and removes what the killed one has left.
"""

import os
import signal
import sys
import time
from contextlib import nullcontext

from store_runs import BOUNDS, Uniform, same_runs, step, stepped, valley

import dale
from storm import disk

UNIT = "kills"
PROCESSES = 6  # one after the other, in each case


def case(rng, folder):
    store, killed = folder / "run.db", 0
    for _ in range(PROCESSES):
        moment = rng.choice(["time", "line", *(["operation"] if disk.AVAILABLE else [])])
        at = {"time": 0.03 * rng.random(), "line": rng.randint(1, 700), "operation": rng.randint(1, 80)}[moment]
        killed += kill_creator(store, moment, at)
        if rng.random() < 0.6 and store.exists():
            dale.open(store)
            store.unlink()  # so that the next process creates it again
            (folder / "run.db-wal").unlink(missing_ok=True)
    with dale.Optimizer(BOUNDS, seed=0, method=Uniform(), store=store) as optimizer:
        step(optimizer, valley, max(4, optimizer.n_evaluated))
    assert same_runs(optimizer.history, stepped(len(optimizer.history)))
    assert [p.name for p in folder.iterdir()] == ["run.db"]
    return killed


def kill_creator(store, moment, at):
    """Let a process create the store and make three trials; kill it at some moment. Returns whether that happened."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            with at_line(at) if moment == "line" else at_operation(at) if moment == "operation" else nullcontext():
                os.write(writer, b"x")
                with dale.Optimizer(BOUNDS, seed=0, method=Uniform(), store=store) as optimizer:
                    step(optimizer, valley, 3)
        except BaseException:
            sys.excepthook(*sys.exc_info())
            os._exit(1)
        os._exit(0)
    os.close(writer)
    os.read(reader, 1)
    os.close(reader)
    if moment == "time":
        time.sleep(at)
        os.kill(child, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status in (0, -signal.SIGKILL), f"the process ended with status {status}"
    return status != 0


class at_line:
    """Kill this process at the k-th line of the code that handles the store."""

    def __init__(self, k):
        self.left = k

    def __enter__(self):
        sys.settrace(self.trace)

    def __exit__(self, *_):
        sys.settrace(None)

    def trace(self, frame, event, _):
        if f"{os.sep}dale{os.sep}store{os.sep}" not in frame.f_code.co_filename:
            return None
        self.left -= event == "line"
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return self.trace


def at_operation(k):
    """Kill this process before the k-th change that SQLite makes to a file."""
    left = [k]

    def observer(_):
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return disk.OK

    return disk.observed(observer)
