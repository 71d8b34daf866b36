"""A process for each evaluation: a crash or a hang fails one trial, and no process is left behind."""

import faulthandler
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from multiprocessing.connection import Connection

import pytest
from evaluators import (
    BOX,
    FORK_WARNING,
    Counted,
    Random,
    bowl,
    evaluation_processes,
    failed,
    is_alive,
    is_hit,
    one_in,
    points_of,
    wait_until_gone,
)

import dale
import dale.evaluate.process as process
from dale.history.trial import TrialState
from dale.methods.base import Capabilities

FULL = os.environ.get("DALE_FULL") == "1"
pytestmark = [
    pytest.mark.filterwarnings(FORK_WARNING),
    pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals and fork"),
    pytest.mark.usefixtures("all_may_fail"),
]


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (lambda: (faulthandler.disable(), os.kill(os.getpid(), signal.SIGSEGV)), "was killed by signal 11 (SIGSEGV)"),
        (lambda: os.kill(os.getpid(), signal.SIGKILL), "was killed by signal 9 (SIGKILL)"),
        (lambda: os._exit(3), "ended with exit code 3"),
        (lambda: os._exit(0), "ended with exit code 0"),
    ],
    ids=["segfault", "kill", "os._exit", "exit code 0"],
)
def test_a_process_that_dies_fails_only_its_trial(harm, message, tmp_path):
    fun = Counted(tmp_path, one_in(3, harm))
    result = dale.minimize(fun, BOX, budget=12, seed=1, n_parallel=3, method=Random())
    assert [t.id for t in failed(result)] == [t.id for t in result.history if is_hit(t.x, 3)] != []
    assert {t.error for t in failed(result)} == {
        f"the process of the evaluation {message} before the objective returned"
    }
    assert not any(t.retry for t in result.history)
    assert fun.points() == points_of(result)
    assert (result.status, result.nfev) == (0, 12)


def test_the_worker_of_one_evaluation_in_ten_is_killed(tmp_path):
    """Only these trials fail, every other one runs once, and no process is left."""
    fun = Counted(tmp_path, one_in(10, lambda: os.kill(os.getpid(), signal.SIGKILL)))
    n = 500 if FULL else 60
    result = dale.minimize(fun, BOX, budget=n, seed=0, n_parallel=4, method=Random())
    assert [t.id for t in failed(result)] == [t.id for t in result.history if is_hit(t.x, 10)] != []
    assert fun.points() == points_of(result)
    assert len(set(fun.pids())) == len(result.history) == n
    assert wait_until_gone(fun.pids())
    assert evaluation_processes() == []


def test_one_evaluation_in_ten_hangs(tmp_path):
    """The run ends, the trials have the reason, and no process is left."""
    fun = Counted(tmp_path, one_in(10, lambda: time.sleep(3600)))
    n, timeout = (200, 2.0) if FULL else (40, 0.3)
    result = dale.minimize(fun, BOX, budget=n, seed=0, n_parallel=4, timeout=timeout, method=Random())
    hit = {t.id for t in result.history if is_hit(t.x, 10)}
    assert hit
    assert hit <= {t.id for t in failed(result)}  # on a busy machine others may time out too
    assert {t.error for t in failed(result)} == {f"timed out after {timeout:g} s"}
    assert fun.points() == points_of(result)
    assert wait_until_gone(fun.pids())
    assert evaluation_processes() == []


def test_a_process_that_ignores_sigterm_is_killed(tmp_path, monkeypatch):
    monkeypatch.setattr(process, "GRACE", 0.2)

    def stubborn(x):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        while True:
            time.sleep(3600)

    fun = Counted(tmp_path, stubborn)
    result = dale.minimize(fun, BOX, budget=2, seed=0, timeout=0.3, method=Random())
    assert {t.error for t in result.history} == {"timed out after 0.3 s"}
    assert len(fun.pids()) == 2
    assert not any(map(is_alive, fun.pids()))


@pytest.mark.parametrize("hangs", [True, False])
def test_children_of_an_evaluation_end_with_it(hangs, tmp_path):
    def starts(x):
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"])
        (tmp_path / str(child.pid)).touch()
        if hangs:
            child.wait()
        child.returncode = 0  # no warning that it still runs
        return bowl(x)

    result = dale.minimize(starts, BOX, budget=2, seed=0, timeout=2 if hangs else 60, method=Random())
    assert {t.state for t in result.history} == {TrialState.FAILED if hangs else TrialState.COMPLETE}
    pids = [int(path.name) for path in tmp_path.iterdir()]
    assert len(pids) == 2
    assert wait_until_gone(pids)


@pytest.mark.parametrize("stop", ["callback", "error", "target"])
def test_no_process_is_left_after_an_early_end(stop, tmp_path):
    def fun(x):
        if x[0] > 0:
            time.sleep(3600)
        return bowl(x)

    def callback(result):
        if stop != "target":
            raise StopIteration if stop == "callback" else ZeroDivisionError

    counted = Counted(tmp_path, fun)
    more = {"budget": 30, "seed": 0, "n_parallel": 6, "method": Random(), "callback": callback}
    if stop == "error":
        with pytest.raises(ZeroDivisionError):
            dale.minimize(counted, BOX, **more)
    else:
        result = dale.minimize(counted, BOX, target=100 if stop == "target" else None, **more)
        pending = [t for t in result.history if t.state is TrialState.PENDING]
        assert result.nfev + len(pending) == len(result.history)
    assert not any(map(is_alive, counted.pids()))
    assert evaluation_processes() == []


def test_ctrl_c_in_a_terminal_does_not_reach_an_evaluation():
    """A terminal sends it to its process group, and each evaluation has its own group."""
    result = dale.minimize(lambda x: float(os.getpgrp() == os.getpid()), BOX, budget=2, seed=0, n_parallel=2)
    assert result.func_vals.tolist() == [1.0, 1.0]


def stops(folder):
    os.kill(os.getpid(), signal.SIGSTOP)


def dies_and_leaves_a_helper_that_holds_the_pipe(folder):
    """The helper has its own session, so it outlives the process."""
    helper = os.fork()
    if helper == 0:
        os.setsid()
        time.sleep(3600)
    (folder / f"{helper}").touch()
    os._exit(7)


@pytest.mark.parametrize(
    ("harm", "error"),
    [
        (stops, "timed out after 1 s"),
        (
            dies_and_leaves_a_helper_that_holds_the_pipe,
            "the process of the evaluation ended with exit code 7 before the objective returned",
        ),
    ],
)
def test_a_value_that_is_half_sent_is_not_waited_for(harm, error, tmp_path, monkeypatch):
    send, sent, run = Connection._send, [], os.getpid()

    def interrupted(self, *data):
        """The process comes as far as the first part of its outcome; its first message says that it has started."""
        sent.extend([1] if os.getpid() != run else [])
        return harm(tmp_path) if len(sent) == 3 else send(self, *data)

    monkeypatch.setattr(Connection, "_send", interrupted)
    monkeypatch.setattr(process, "GRACE", 0.2)
    try:
        result = dale.minimize(
            lambda x: dale.Evaluation(bowl(x), constraints=[-1.0] * 50_000),
            BOX,
            budget=2,
            seed=0,
            timeout=1.0,
            method=Takes(),
        )
    finally:
        for helper in tmp_path.iterdir():
            os.kill(int(helper.name), signal.SIGKILL)
    assert [t.error for t in result.history] == [error] * 2
    assert evaluation_processes() == []


def test_a_large_value_and_long_output(capfd):
    def fun(x):
        print("x" * 100_000)
        return dale.Evaluation(bowl(x), constraints=[-1.0] * 50_000)

    assert dale.minimize(fun, BOX, budget=3, seed=0, n_parallel=2, method=Takes()).nfev == 3
    assert len(capfd.readouterr().out) >= 300_000


class Takes(Random):
    capabilities = Capabilities(outcome_constraints=True)


class TestScripts:
    """Runs started from a script."""

    def run(self, tmp_path, code, **more):
        path = tmp_path / "script.py"
        path.write_text(textwrap.dedent(code))
        return subprocess.run([sys.executable, path], capture_output=True, text=True, timeout=300, **more)

    def test_without_a_main_guard_the_error_has_a_hint(self, tmp_path):
        done = self.run(
            tmp_path,
            """
            import dale
            def fun(x):
                return float(x[0] ** 2)
            dale.minimize(fun, [(-1, 1)], budget=5, n_parallel=2)
            """,
        )
        assert done.returncode == 1
        last = done.stderr.strip().splitlines()[-1]
        assert last.startswith(
            "RuntimeError: No further evaluation was possible: the process of the evaluation ended with exit"
        )
        assert last.endswith('must be under: if __name__ == "__main__"')

    def test_a_lambda_needs_no_main_guard(self, tmp_path):
        code = "import dale; print(dale.minimize(lambda x: float(x[0] ** 2), [(-1, 1)], budget=5, n_parallel=2).nfev)"
        done = self.run(tmp_path, code)
        assert (done.returncode, done.stdout, done.stderr) == (0, "5\n", "")

    @pytest.mark.parametrize("fun", ["fun", "lambda x: fun(x)"], ids=["forkserver", "fork"])
    def test_no_process_outlives_a_run_that_is_killed(self, fun, tmp_path):
        code = f"""
            import dale, os, signal, time
            from pathlib import Path

            def fun(x):
                (Path({str(tmp_path)!r}) / f"{{os.getpid()}}.pid").touch()
                time.sleep(3600)

            def enough():
                while len(list(Path({str(tmp_path)!r}).glob("*.pid"))) < 3:
                    time.sleep(0.05)
                os.kill(os.getpid(), signal.SIGKILL)

            if __name__ == "__main__":
                import threading
                main = threading.Timer(0.5, enough)
                main.daemon = True
                main.start()
                dale.minimize({fun}, [(-1, 1)], budget=5, n_parallel=3)
            """
        assert self.run(tmp_path, code).returncode == -signal.SIGKILL
        pids = [int(path.stem) for path in tmp_path.glob("*.pid")]
        assert len(pids) == 3
        assert wait_until_gone(pids)

    def test_at_exit_another_thread_may_be_at_work(self, monkeypatch):
        """The interpreter closes the evaluator while the thread of the run reads its outcomes."""
        workers = process.ProcessEvaluator(lambda x: time.sleep(3600), 2, 60.0)
        optimizer = dale.Optimizer(BOX, seed=0)
        for trial in optimizer.ask(2):
            workers.submit(trial)
        pids = [running.process.pid for running in workers._running]
        reader, real_signal = threading.Thread(target=lambda: [workers.completed() for _ in range(5)]), process._signal

        def signal_while_the_other_reads(found, name):
            real_signal(found, name)
            if threading.current_thread() is threading.main_thread():
                if reader.ident is None:
                    reader.start()
                reader.join(0.3)

        monkeypatch.setattr(process, "_signal", signal_while_the_other_reads)
        workers._close()
        reader.join()
        assert workers.n_running == 0
        assert not any(map(is_alive, pids))

    def test_at_exit_another_thread_may_wait(self, monkeypatch):
        """The connections are closed between the time they are looked up and the wait for them."""
        workers = process.ProcessEvaluator(lambda x: time.sleep(3600), 1, 60.0)
        workers.submit(dale.Optimizer(BOX, seed=0).ask())

        def wait_when_closed(handles, seconds):
            workers._close()
            return real_wait(handles, seconds)

        real_wait = process.wait
        monkeypatch.setattr(process, "wait", wait_when_closed)
        workers.wait(1.0)
        assert workers.n_running == 0

    def test_no_process_outlives_the_interpreter(self, tmp_path):
        """A run in a daemon thread is not notified when the interpreter exits."""
        code = f"""
            import dale, os, threading, time
            from pathlib import Path

            def fun(x):
                (Path({str(tmp_path)!r}) / f"{{os.getpid()}}.pid").touch()
                time.sleep(3600)

            run = lambda: dale.minimize(lambda x: fun(x), [(-1, 1)], budget=5, n_parallel=3)
            threading.Thread(target=run, daemon=True).start()
            while len(list(Path({str(tmp_path)!r}).glob("*.pid"))) < 3:
                time.sleep(0.05)
            """
        assert self.run(tmp_path, code).returncode == 0
        pids = [int(path.stem) for path in tmp_path.glob("*.pid")]
        assert len(pids) == 3
        assert wait_until_gone(pids)
