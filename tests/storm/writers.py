"""Several processes on one store, some of them killed, while others read it and copy its files.

No acknowledged value is lost, and no trial is evaluated twice unless the process that evaluated it was killed.
"""

import time
from collections import Counter

from store_runs import BOUNDS, Uniform, start, valley

import dale
from dale.history.trial import TrialState

UNIT = "processes"


def case(rng, folder):
    check = rng.choice([adding, minimizing, evaluating, evaluating])
    return check(rng, folder / "run.db", rng.randint(2, 3))


def adding(rng, store, n):
    """Each adds its own values; the fastest creates the file."""
    each = rng.randint(20, 60)
    watch(rng, store, [start("add", store, each, 1000 * i) for i in range(n)])
    history = dale.open(store).history
    assert sorted(t.value for t in history) == sorted(1000.0 * i + k for i in range(n) for k in range(each))
    assert [t.id for t in history] == list(range(n * each))
    return n


def minimizing(rng, store, n):
    """Runs that share a budget."""
    budget = rng.randint(12, 20)
    watch(rng, store, [start("minimize", store, budget) for _ in range(n)])
    history = dale.open(store).history
    assert budget <= len(history) < budget + n
    assert all(t.state is TrialState.COMPLETE and t.value == valley(t.x) for t in history)
    assert len({t.unit_x.tobytes() for t in history}) == len(history)
    assert [p.name for p in store.parent.iterdir()] == ["run.db"]
    return n


def evaluating(rng, store, n):
    """Ask and tell; some of the processes are killed, and the others take over their trials."""
    begun, told, budget = store.with_name("begun"), store.with_name("told"), rng.randint(30, 60)
    programs = [start("evaluate", store, budget, begun, told) for _ in range(n)]
    killed = watch(rng, store, programs, begun, rng.randint(0, n - 1))
    history = dale.open(store).history
    values = {t.id: t.value for t in history if t.state is TrialState.COMPLETE}
    assert len(values) >= budget
    assert all(t.value == valley(t.x) for t in history if t.id in values)
    acknowledged = [line.split() for line in told.read_text().splitlines()]
    assert [line for line in acknowledged if values[int(line[0])].hex() != line[1]] == []
    evaluations = Counter(begun.read_text().split())
    assert len({number for number, _ in acknowledged}) == len(acknowledged)
    assert sum(evaluations.values()) - len(evaluations) <= killed
    with dale.Optimizer(BOUNDS, store=store, method=Uniform()) as optimizer:
        assert len(optimizer.history) == len(history)
    assert sorted(p.name for p in store.parent.iterdir()) == ["begun", "run.db", "told"]
    return n


def watch(rng, store, programs, begun=None, to_kill=0):
    """Read and copy the store until the programs end; kill some of them in the middle. Returns how many."""
    victims = programs[:to_kill]
    while any(program.poll() is None for program in programs):
        if store.exists():
            dale.open(store).history  # noqa: B018
            for file in list(store.parent.iterdir()):
                copy(file)
        if victims and begun.exists() and begun.stat().st_size > 20 and rng.random() < 0.5:
            victims.pop().kill()
        time.sleep(0.02 * rng.random())
    results = [program.communicate()[1] for program in programs]
    assert results == [""] * len(programs), results
    killed = [program for program in programs if program.returncode == -9]
    assert all(program.returncode == 0 for program in programs if program not in killed)
    return len(killed)


def copy(file):
    try:
        return file.read_bytes()
    except FileNotFoundError:  # a log or a lock file, removed meanwhile
        return b""
