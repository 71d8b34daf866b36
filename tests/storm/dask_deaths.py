"""Workers of a Dask cluster that die: in an evaluation, between evaluations, or all of them for good.

A worker that dies fails its own evaluation only; every other one runs once; a run without workers ends in time.
"""

import os
import signal
import threading
import time
from collections import Counter

from clusters import client_of, processes
from evaluators import BOX, Counted, Random, bowl, failed, is_hit, kills_its_process

import dale
from dale.history.trial import TrialState
from dale.integrations.dask import executor

UNIT = "deaths"
RUNS = 3  # on one cluster


def case(rng, folder):
    deaths = 0
    with client_of(processes(2)) as client:
        for number in range(RUNS):
            deaths += rng.choice([deaths_inside, deaths_outside])(rng, client, folder / str(number))
        if rng.random() < 0.5:
            deaths += no_worker_is_left(client)
    return deaths


def deaths_inside(rng, client, folder):
    """At about one point in ten the objective kills its worker."""
    fun = counted(folder, kills_its_process)
    result = minimize(fun, client, 20, rng)
    executed = [t for t in result.history if not t.retry]  # Dask drops a task that has lost four workers
    hit = [t for t in executed if is_hit(t.x, 10)]
    assert [t.id for t in executed if t.state is TrialState.FAILED] == [t.id for t in hit]
    assert all("WorkerDied: the worker tcp://127.0.0.1:" in t.error for t in failed(result) if not t.retry)
    assert fun.points() == sorted(t.x.tobytes().hex() for t in executed)
    return len(hit)


def counted(folder, fun):
    folder.mkdir()
    return Counted(folder, fun)


def slow_bowl(x):
    time.sleep(0.1)
    return bowl(x)


def deaths_outside(rng, client, folder):
    """Workers are killed at random moments."""
    fun, over, killed = counted(folder, slow_bowl), threading.Event(), []

    def kill():
        while not over.wait(rng.uniform(0.5, 1.5)):
            pids = list(fun.pids())
            if pids and len(killed) < 3:
                victim = pids[-1]
                try:
                    os.kill(victim, signal.SIGKILL)
                    killed.append(victim)
                except ProcessLookupError:
                    pass  # it was killed before

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        result = minimize(fun, client, 25, rng)
    finally:
        over.set()
        killer.join()
    calls = Counter(fun.points())
    trials = Counter(t.x.tobytes().hex() for t in result.history)
    assert all(calls[point] <= trials[point] for point in calls)
    assert all(calls[t.x.tobytes().hex()] >= 1 for t in result.history if t.state is TrialState.COMPLETE)
    assert len(failed(result)) <= 2 * len(killed) + len([t for t in result.history if t.retry])
    return len(killed)


def no_worker_is_left(client):
    """For good. The time limit ends the run."""
    began = time.monotonic()

    def leave(result):
        client.cluster.scale(0)

    result = dale.minimize(
        slow_bowl, BOX, budget=1000, seed=0, executor=executor(client), time_limit=8, callback=leave, method=Random()
    )
    assert result.status == dale.Status.TIME_LIMIT, result.message
    assert "no workers" in result.message, result.message
    assert time.monotonic() - began < 120
    return 1


def minimize(fun, client, budget, rng):
    seed = rng.randrange(10**6)
    result = dale.minimize(fun, BOX, budget=budget, seed=seed, executor=executor(client), n_parallel=4, method=Random())
    assert result.nfev == len([t for t in result.history if t.state is not TrialState.PENDING])
    assert result.status == dale.Status.BUDGET_SPENT, result.message
    return result
