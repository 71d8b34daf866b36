"""kill -9 while a run is in progress: during evaluations, ask and tell, and sometimes during the start.

No acknowledged value is lost, each kill repeats at most one evaluation, and the run is that of an undisturbed process.
"""

import time
from collections import Counter

from store_runs import BOUNDS, same_runs, start, valley, without_store

import dale
from dale.history.trial import TrialState

UNIT = "kills"


def case(rng, folder):
    kills = rng.randint(2, 5)
    check = killed_minimize if rng.random() < 0.25 else killed_ask_and_tell
    check(rng, folder, kills)
    return kills


def killed_ask_and_tell(rng, folder, kills):
    begun, told, store = folder / "begun", folder / "told", folder / "run.db"
    for _ in range(kills):
        program = start("evaluate", store, 10**6, begun, told)
        size = begun.stat().st_size if begun.exists() else 0
        end = time.monotonic() + (2 * rng.random() if rng.random() < 0.2 else 600)
        while program.poll() is None and time.monotonic() < end:
            if begun.exists() and begun.stat().st_size > size:
                break
            time.sleep(0.001)
        time.sleep(0.04 * rng.random())
        program.kill()
        _, errors = program.communicate()
        assert errors == ""  # every start succeeded
    budget = (dale.open(store).n_evaluated if store.exists() else 0) + 5
    last = start("evaluate", store, budget, begun, told)
    _, errors = last.communicate()
    assert last.returncode == 0, errors
    history = dale.open(store).history
    assert len(history) == budget
    assert all(t.state is TrialState.COMPLETE for t in history)
    assert same_runs(history, without_store(budget))
    acknowledged = [line.split() for line in told.read_text().splitlines()]
    assert [line for line in acknowledged if history[int(line[0])].value.hex() != line[1]] == []
    assert len({number for number, _ in acknowledged}) == len(acknowledged)
    evaluations = Counter(begun.read_text().split())
    assert set(evaluations) == {str(i) for i in range(budget)}
    assert sum(evaluations.values()) - budget <= kills
    assert sorted(p.name for p in folder.iterdir()) == ["begun", "run.db", "told"]


def killed_minimize(rng, folder, kills):
    store = folder / "run.db"
    for _ in range(kills):
        program = start("minimize", store, 16)
        while program.poll() is None and not store.exists():
            time.sleep(0.01)
        time.sleep(0.5 * rng.random())
        program.kill()
        _, errors = program.communicate()
        assert errors == ""
    last = start("minimize", store, 16)
    assert last.communicate() == ("16\n", "")
    assert same_runs(dale.open(store).history, dale.minimize(valley, BOUNDS, budget=16, seed=0).history)
    assert [p.name for p in folder.iterdir()] == ["run.db"]
