"""Ctrl-C and SIGTERM with a store: the result so far is returned, all values are in the file, and the run resumes."""

import itertools
import json
import signal
import sys
from collections import Counter

import pytest
from store_runs import BOUNDS, FULL, Uniform, same_runs, start, valley, without_store

import dale
from dale.history.trial import TrialState

REPETITIONS = 50 if FULL else 4

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")

# Forks a run, signals it at a random moment and prints its result; repeats this on one store. Every fourth signal is
# sent as soon as the file exists, so that some signals arrive while the store is opened.
DRIVER = """
import json, os, random, signal, sys, time
import dale
from pathlib import Path
from store_runs import BOUNDS, Uniform, valley
import dale.evaluate.process  # before the fork, so that signals do not arrive while it is imported

store, log, name, n_parallel, repetitions = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], *map(int, sys.argv[4:])

def slow(x):
    with log.open("a") as file:
        file.write(x.tobytes().hex() + "\\n")
    time.sleep(0.02)
    return valley(x)

def run(pipe):
    signal.signal(signal.SIGINT, signal.default_int_handler)
    told = []
    callback = lambda result: told.append(result.nfev)
    os.write(pipe, b"\\n")
    result = dale.minimize(
        lambda x: slow(x), BOUNDS, budget=10**6, seed=0, method=Uniform(), store=store, n_parallel=n_parallel,
        callback=callback
    )
    values = [t.value for t in result.history if t.value is not None]
    said = dict(status=result.status, message=result.message, nfev=result.nfev, fun=result.fun, told=len(values),
                best=min(values, default=None), acknowledged=max(told, default=0))
    os.write(pipe, json.dumps(said).encode())
    os._exit(0)

chance = random.Random(repetitions)
for k in range(repetitions):
    reads, writes = os.pipe()
    pid = os.fork()
    if pid == 0:
        run(writes)
    os.close(writes)
    pipe = os.fdopen(reads)
    pipe.readline()
    size = log.stat().st_size if log.exists() else 0
    while not store.exists() or (k % 4 and not (log.exists() and log.stat().st_size > size)):
        time.sleep(0.001)
    time.sleep(chance.uniform(0, 0.1 if k % 4 else 0.03))
    os.kill(pid, getattr(signal, name))
    said = pipe.read()
    pipe.close()
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    history = dale.open(store).history
    kept = sum(t.value is not None for t in history)
    print(json.dumps(json.loads(said or "{}") | dict(code=code, kept=kept)), flush=True)
"""


@pytest.mark.parametrize("n_parallel", [1, 3])
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_signals_at_random_moments_lose_no_value(tmp_path, name, n_parallel):
    store, log = tmp_path / "run.db", tmp_path / "log"
    driver = start("-c", DRIVER, store, log, name, n_parallel, REPETITIONS)
    said, errors = driver.communicate()
    rows = [json.loads(line) for line in said.splitlines()]
    assert (driver.returncode, len(rows)) == (0, REPETITIONS), errors
    before = 0
    for row in rows:
        status = {"SIGINT": dale.Status.INTERRUPTED, "SIGTERM": dale.Status.TERMINATED}[name]
        assert (row["code"], row["status"], row["message"]) == (0, status, status.message), errors
        assert row["fun"] == row["best"]
        assert row["acknowledged"] <= row["told"] == row["nfev"] == row["kept"] >= before
        before = row["kept"]
    n = before + 5
    result = dale.minimize(
        valley, BOUNDS, budget=n, seed=0, method=Uniform(), store=store
    )  # pending trials first, then new ones
    assert result.nfev == n
    assert all(t.state is TrialState.COMPLETE and t.value == valley(t.x) for t in result.history)
    assert same_runs(result.history, without_store(n))
    executed = Counter(log.read_text().split())
    assert sum(executed.values()) - before <= REPETITIONS * n_parallel  # at most those that were running at each signal
    assert sorted(p.name for p in tmp_path.iterdir()) == ["log", "run.db"]


UNINTERRUPTIBLE = """
import signal, sys, time
import dale
from pathlib import Path
from store_runs import BOUNDS, Uniform, valley

signal.signal(signal.SIGINT, signal.default_int_handler)
seen = []

def deaf(x):
    seen.append(x)
    if len(seen) > 3:
        try:
            print("waiting", flush=True)
            time.sleep(600)
        except KeyboardInterrupt:
            print("deaf", flush=True)
            time.sleep(600)
    return valley(x)

dale.minimize(deaf, BOUNDS, budget=100, seed=0, method=Uniform(), store=sys.argv[1])
"""


def test_a_second_ctrl_c_ends_at_once_and_loses_no_value(tmp_path):
    run = start("-c", UNINTERRUPTIBLE, tmp_path / "run.db")
    for word in ("waiting\n", "deaf\n"):
        assert run.stdout.readline() == word, run.communicate()[1]
        run.send_signal(signal.SIGINT)
    _, errors = run.communicate(timeout=60)
    assert run.returncode == -signal.SIGINT
    assert errors.rstrip().endswith("KeyboardInterrupt")
    states = [t.state for t in dale.open(tmp_path / "run.db").history]
    assert states == [TrialState.COMPLETE] * 3 + [TrialState.PENDING]
    result = dale.minimize(valley, BOUNDS, budget=6, seed=0, method=Uniform(), store=tmp_path / "run.db")
    assert same_runs(result.history, without_store(6))


def test_ctrl_c_while_the_store_is_opened_returns_its_result(tmp_path, monkeypatch):
    before = dale.minimize(valley, BOUNDS, budget=4, seed=0, method=Uniform(), store=tmp_path / "run.db")
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)  # a background process of a shell ignores it
    replay = dale.store.store.replay

    def interrupted(*arguments):
        signal.raise_signal(signal.SIGINT)
        monkeypatch.undo()
        return replay(*arguments)

    monkeypatch.setattr(dale.store.store, "replay", interrupted)
    try:
        result = dale.minimize(valley, BOUNDS, budget=9, seed=0, method=Uniform(), store=tmp_path / "run.db")
    finally:
        signal.signal(signal.SIGINT, handler)
    assert (result.status, result.nfev, result.fun) == (dale.Status.INTERRUPTED, 4, before.fun)
    again = dale.minimize(valley, BOUNDS, budget=9, seed=0, method=Uniform(), store=tmp_path / "run.db")
    assert same_runs(again.history, without_store(9))


def test_a_signal_while_the_store_is_closed_returns_the_result(tmp_path, monkeypatch):
    handler = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    close = dale.Optimizer.close

    def terminated(self):
        signal.raise_signal(signal.SIGTERM)
        close(self)

    monkeypatch.setattr(dale.Optimizer, "close", terminated)
    try:
        result = dale.minimize(valley, BOUNDS, budget=4, seed=0, method=Uniform(), store=tmp_path / "run.db")
    finally:
        signal.signal(signal.SIGTERM, handler)
    assert (result.status, result.nfev) == (dale.Status.TERMINATED, 4)


def interrupted_at(k, call):
    """Raise KeyboardInterrupt at the k-th line of the code that begins and ends a transaction, if it has so many."""
    left = [k]

    def trace(frame, event, _):
        if not frame.f_code.co_filename.endswith(("contextlib.py", "store.py")):
            return None
        left[0] -= event == "line"
        if left[0] == 0:
            sys.settrace(None)
            raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


def test_ctrl_c_anywhere_in_ask_and_tell_keeps_memory_and_file_equal(tmp_path):
    """Without minimize, the signal may arrive while a trial is recorded, even right after it was written."""
    store = tmp_path / "run.db"
    with dale.Optimizer(BOUNDS, seed=0, method=Uniform(), store=store) as optimizer:
        for k in itertools.count(1):
            trial = optimizer.ask()
            cut = interrupted_at(k, optimizer.ask), interrupted_at(k, lambda t=trial: optimizer.tell(t, 0.5))
            with optimizer.transaction():
                pass  # which reads what was written before the signal
            for pending in optimizer.history[trial.id :]:
                optimizer.tell(pending, 0.5)
            if not any(cut):
                break
        run = dale.open(store)
        assert [(t.id, t.state) for t in optimizer.history] == [(t.id, t.state) for t in run.history]
        told = [event.trial for event in run.events if event.kind == "tell"]
        assert told == sorted(set(told))
        assert len(told) == len(run.history) > k > 50
