"""A small run for the tests of the store; also a program that the tests kill and start again."""

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

import dale
from dale.history.reason import Source
from dale.history.trial import TrialState
from dale.methods.base import Proposal
from user_method import UserMethod

BOUNDS = [(-1.0, 2.0), (0.0, 3.0)]
FULL = os.environ.get("DALE_FULL") == "1"  # more repetitions than CI has time for


def start(*arguments):
    """Start this program, or another one with -c, in a new process with the same import path."""
    directories = [str(Path(dale.__file__).parents[1]), str(Path(__file__).parent), str(Path(__file__).parents[1])]
    program = [] if arguments[0] == "-c" else [__file__]
    return subprocess.Popen(
        [sys.executable, *program, *map(str, arguments)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(directories)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def valley(x):
    return float((x[0] - 0.3) ** 2 + 2 * (x[1] - 1.1) ** 2 + 0.3 * np.sin(5 * x[0]))


def same(a, b):
    """Whether two trials are equal to the last bit."""
    return (
        a.id == b.id
        and a.unit_x.tobytes() == b.unit_x.tobytes()
        and str(a.params) == str(b.params)
        and a.x.tolist() == b.x.tolist()
        and (a.reason, a.state, a.value, a.error) == (b.reason, b.state, b.value, b.error)
        and (a.noise, a.constraints, a.retry, a.allowed) == (b.noise, b.constraints, b.retry, b.allowed)
        and a.corrections == b.corrections
    )


def same_runs(a, b):
    return len(a) == len(b) and all(map(same, a, b))


class Uniform(UserMethod):
    """Random points."""

    def propose(self, snapshot, rng):
        points = np.random.default_rng([rng.seed, len(snapshot.history.trials)])
        return Proposal(points.random(snapshot.history.dimension), dale.Reason(Source.SPACE_FILLING))


def without_store(budget):
    """The same run in memory."""
    optimizer = dale.Optimizer(BOUNDS, seed=0, method=Uniform())
    while optimizer.n_evaluated < budget:
        trial = optimizer.ask()
        optimizer.tell(trial, valley(trial.x))
    return optimizer.history


def step(optimizer, objective, n, error="it broke\nhere"):
    """Bring a run to n finished trials, some of them failed or to be retried."""
    while (k := len([t for t in optimizer.history if t.state is not TrialState.PENDING])) < n:
        trial = optimizer.ask()
        if k % 7 == 5:
            optimizer.fail(trial, error, retry=k % 2 == 0)
        else:
            optimizer.tell(trial, objective(trial.params), noise=0.0 if k % 3 else None)


def stepped(n):
    """The history of such a run in memory."""
    optimizer = dale.Optimizer(BOUNDS, seed=0, method=Uniform())
    step(optimizer, valley, n)
    return optimizer.history


LIMITED = """
import resource, sys
import dale
from store_runs import BOUNDS, Uniform, same_runs
store = sys.argv[1]
optimizer = dale.Optimizer(BOUNDS, seed=0, method=Uniform(), store=store)
while True:
    trial = optimizer.ask()
    optimizer.tell(trial, trial.x[0])
    if trial.id == 5:
        break
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
try:
    for k in range(10000):
        before = optimizer.history
        trial = optimizer.ask()
        before = optimizer.history
        optimizer.tell(trial, 0.25 + k)
except dale.StoreError as error:
    assert same_runs(optimizer.history, before), "the state in memory has changed"
    assert "is the disk full?" in str(error), str(error)
    print(error)
else:
    raise SystemExit("the limit was never reached")
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
assert same_runs(dale.open(store).history, before), "the state on disk has changed"
again = optimizer.ask()  # there is space again: the run continues
optimizer.tell(again, 1.5)
assert dale.open(store).history[again.id].value == 1.5
"""


def limited(store, limit):
    """A run that fails where no file may grow beyond this size, and continues without the limit; returns the error."""
    program = start("-c", LIMITED, store, limit)
    said, errors = program.communicate()
    assert program.returncode == 0, said + errors
    return said


def main(what, store, *rest):
    if what == "evaluate":  # until the budget is spent; log the start and the end of each evaluation
        budget, begun, told = int(rest[0]), Path(rest[1]), Path(rest[2])
        with dale.Optimizer(BOUNDS, seed=0, method=Uniform(), store=store) as optimizer:
            while optimizer.n_evaluated < budget:
                trial = optimizer.ask()
                with begun.open("a") as file:
                    file.write(f"{trial.id}\n")
                time.sleep(0.005)
                optimizer.tell(trial, valley(trial.x))
                with told.open("a") as file:
                    file.write(f"{trial.id} {valley(trial.x).hex()}\n")
    if what == "add":  # the given number of values
        optimizer = dale.Optimizer(BOUNDS, seed=0, method=Uniform(), store=store)
        for i in range(int(rest[0])):
            optimizer.add([0.5, 0.5], float(rest[1]) + i)
    if what == "ask":  # one trial, then wait until stdin is closed
        optimizer = dale.Optimizer(BOUNDS, seed=0, method=Uniform(), store=store)
        print(optimizer.ask().id, flush=True)
        sys.stdin.read()
    if what == "minimize":
        print(dale.minimize(valley, BOUNDS, budget=int(rest[0]), seed=0, store=store).nfev)


if __name__ == "__main__":
    main(*sys.argv[1:])
