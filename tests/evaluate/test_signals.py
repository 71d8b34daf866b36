"""Ctrl-C and SIGTERM: the first returns the best result so far, the second exits immediately; no process is left."""

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from evaluators import BOX, Random, bowl, is_alive

import dale
from dale.evaluate.signals import Signals
from dale.history.trial import TrialState

FULL = os.environ.get("DALE_FULL") == "1"
REPETITIONS = 50 if FULL else 4

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")


@pytest.fixture(autouse=True)
def in_the_foreground():
    """The handlers of a foreground process: in the background a shell ignores SIGINT, and minimize keeps that."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler), signal.signal(signal.SIGTERM, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGINT, before[0])
    signal.signal(signal.SIGTERM, before[1])


# Repeatedly forks a run, sends it a signal at a random time, and prints the result.
DRIVER = """
import json, os, random, signal, sys, time
import dale
sys.path.insert(0, {here!r})
from evaluators import Counted, Random, bowl, is_alive
from pathlib import Path
from tempfile import TemporaryDirectory

def slow(x):
    time.sleep(0.02)
    return bowl(x)

def run(folder, kind, pipe):
    signal.signal(signal.SIGINT, signal.default_int_handler)
    fun = Counted(Path(folder), slow)
    # The default method computes for a while, so some signals arrive during a proposal.
    result = dale.minimize(fun, [(-2, 2), (-2, 2)], budget=100000, seed=0, n_parallel=3 if kind == "processes" else 1)
    told = [t for t in result.history if t.value is not None]
    said = dict(status=result.status, message=result.message, nfev=result.nfev, told=len(told), fun=result.fun,
                best=min([t.value for t in told], default=None), pids=fun.pids(), executed=len(fun.lines()),
                pending=sum(t.state.value == "pending" for t in result.history),
                true=all(t.value == bowl(t.x) for t in told))
    os.write(pipe, json.dumps(said).encode())
    os._exit(0)

chance = random.Random(int(sys.argv[3]))
for _ in range(int(sys.argv[3])):
    with TemporaryDirectory() as folder:
        reads, writes = os.pipe()
        pid = os.fork()
        if pid == 0:
            run(folder, sys.argv[2], writes)
        os.close(writes)
        while not os.listdir(folder):
            time.sleep(0.01)
        time.sleep(chance.uniform(0, 1))
        os.kill(pid, getattr(signal, sys.argv[1]))
        said = os.fdopen(reads).read()
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        said = json.loads(said or "{{}}")
        print(json.dumps(said | dict(code=code, left=[p for p in said.get("pids", []) if p != pid and is_alive(p)])))
"""


@pytest.mark.parametrize("kind", ["serial", "processes"])
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_at_random_times_the_best_result_is_returned(name, kind):
    code = DRIVER.format(here=str(Path(__file__).parent))
    done = subprocess.run(
        [sys.executable, "-c", code, name, kind, str(REPETITIONS)], capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(rows) == REPETITIONS
    for row in rows:
        status = {"SIGINT": dale.Status.INTERRUPTED, "SIGTERM": dale.Status.TERMINATED}[name]
        assert (row["code"], row["status"], row["message"]) == (0, status, status.message), done.stderr
        assert row["fun"] == row["best"]
        assert row["true"]
        assert row["nfev"] == row["told"] <= row["executed"] <= row["told"] + row["pending"]
        assert row["pending"] <= (3 if kind == "processes" else 1)
        assert row["left"] == []


def test_in_the_objective_it_takes_effect_immediately():
    seen = []

    def fun(x):
        seen.append(x)
        if len(seen) == 3:
            signal.raise_signal(signal.SIGTERM)
            raise AssertionError("unreachable")
        return bowl(x)

    result = dale.minimize(fun, BOX, budget=50, seed=0)
    assert (result.status, result.message, result.nfev, len(seen)) == (dale.Status.TERMINATED, "Terminated", 2, 3)
    assert result.history[2].state is TrialState.PENDING


def test_during_a_proposal_it_is_deferred():
    """The proposal is recorded and not evaluated."""

    class Interrupted(Random):
        def propose(self, snapshot, rng):
            if snapshot.history.n_asked == 4:
                signal.raise_signal(signal.SIGINT)
            return super().propose(snapshot, rng)

    calls = []
    result = dale.minimize(lambda x: calls.append(x) or bowl(x), BOX, budget=50, seed=0, method=Interrupted())
    assert (result.status, result.message, result.nfev, len(calls)) == (dale.Status.INTERRUPTED, "Interrupted", 4, 4)
    assert [t.state for t in result.history] == [TrialState.COMPLETE] * 4 + [TrialState.PENDING]


def test_in_the_callback():
    result = dale.minimize(bowl, BOX, budget=9, seed=0, callback=lambda r: signal.raise_signal(signal.SIGINT))
    assert (result.status, result.message, result.nfev) == (dale.Status.INTERRUPTED, "Interrupted", 1)


def test_a_value_is_recorded_if_the_objective_catches_the_interrupt():
    def fun(x):
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            return bowl(x)

    result = dale.minimize(fun, BOX, budget=9, seed=0)
    assert (result.status, result.message, result.nfev) == (dale.Status.INTERRUPTED, "Interrupted", 1)


def test_after_the_last_evaluation_it_is_still_reported(monkeypatch):
    """The run is complete, but the status shows that the signal arrived."""
    told = dale.Optimizer.result

    def late(self):
        signal.raise_signal(signal.SIGINT)
        return told(self)

    monkeypatch.setattr(dale.Optimizer, "result", late)
    result = dale.minimize(bowl, BOX, budget=2, seed=0)
    assert (result.status, result.message, result.nfev) == (dale.Status.INTERRUPTED, "Interrupted", 2)


def test_the_second_exits_immediately():
    class Deaf(Random):
        def propose(self, snapshot, rng):
            if snapshot.history.n_asked == 2:
                signal.raise_signal(signal.SIGINT)
                signal.raise_signal(signal.SIGINT)
                raise AssertionError("unreachable")
            return super().propose(snapshot, rng)

    with pytest.raises(KeyboardInterrupt):
        dale.minimize(bowl, BOX, budget=50, seed=0, method=Deaf())
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def handlers():
    return [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]


def test_the_handlers_are_restored():
    before = handlers()
    within = []

    def fun(x):
        within.append(handlers())
        if len(within) > 3:
            raise GeneratorExit  # which no barrier stops
        return bowl(x)

    dale.minimize(fun, BOX, budget=2, seed=0)
    assert handlers() == before
    with pytest.raises(GeneratorExit):
        dale.minimize(fun, BOX, budget=9, seed=0)
    assert handlers() == before
    assert all(taken not in before for pair in within for taken in pair)


def test_a_handler_of_the_user_is_kept():
    calls = []
    before = signal.signal(signal.SIGTERM, lambda *_: calls.append(1))
    try:
        result = dale.minimize(lambda x: signal.raise_signal(signal.SIGTERM) or bowl(x), BOX, budget=3, seed=0)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert (result.status, len(calls)) == (0, 3)


def test_a_handler_that_the_user_sets_during_the_run_is_kept():
    mine = lambda *_: None  # noqa: E731
    before = signal.getsignal(signal.SIGTERM)
    try:
        with Signals():
            signal.signal(signal.SIGTERM, mine)
        assert signal.getsignal(signal.SIGTERM) is mine
    finally:
        signal.signal(signal.SIGTERM, before)


def test_in_another_thread_no_handler_is_set():
    seen, before = [], handlers()
    thread = threading.Thread(
        target=dale.minimize, args=(lambda x: seen.append(handlers()) or bowl(x), BOX), kwargs={"budget": 3}
    )
    thread.start()
    thread.join()
    assert seen == [before] * 3


def test_it_ends_a_nested_run_and_the_outer_run():
    def inner(x):
        def fun(y):
            signal.raise_signal(signal.SIGINT)

        return 1.0 if dale.minimize(fun, BOX, budget=3, seed=0).status is dale.Status.INTERRUPTED else 2.0

    result = dale.minimize(inner, BOX, budget=5, seed=0)
    assert (result.status, result.message, result.nfev, result.fun) == (dale.Status.INTERRUPTED, "Interrupted", 1, 1.0)


TWICE = """
import dale, os, signal, sys, time
from pathlib import Path
folder = Path(sys.argv[1])
signal.signal(signal.SIGINT, signal.default_int_handler)

def stubborn(x):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    (folder / f"{os.getpid()}").touch()
    while True:
        time.sleep(3600)

dale.minimize(lambda x: stubborn(x), [(0, 1)], budget=9, n_parallel=2)
"""


def test_the_second_ctrl_c_kills_processes_that_ignore_sigterm(tmp_path):
    run = subprocess.Popen([sys.executable, "-c", TWICE, str(tmp_path)], stderr=subprocess.PIPE, text=True)
    while len(list(tmp_path.iterdir())) < 2:
        assert run.poll() is None
        threading.Event().wait(0.05)
    run.send_signal(signal.SIGINT)
    threading.Event().wait(0.5)  # the run waits for them to exit
    run.send_signal(signal.SIGINT)
    _, said = run.communicate(timeout=60)
    assert run.returncode == -signal.SIGINT
    assert said.rstrip().endswith("KeyboardInterrupt")
    assert not any(is_alive(int(path.name)) for path in tmp_path.iterdir())
