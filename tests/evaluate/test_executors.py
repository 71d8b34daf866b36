"""Evaluation in any ``concurrent.futures.Executor``, which the user owns."""

import os
import random
import signal
import sys
import threading
import time
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor

import pytest
from evaluators import BOX, Counted, Random, bowl, points_of

import dale
from dale.history.trial import TrialState

FULL = os.environ.get("DALE_FULL") == "1"


def test_many_workers_and_random_durations(tmp_path):
    """One trial per evaluation, unique ids, each executed once."""
    n = 500 if FULL else 200

    def fun(x):
        time.sleep(random.expovariate(100))
        return bowl(x)

    counted = Counted(tmp_path, fun)
    with ThreadPoolExecutor(64) as executor:
        result = dale.minimize(counted, BOX, budget=n, seed=0, executor=executor, method=None if FULL else Random())
    assert len({t.id for t in result.history}) == len(result.history) == result.nfev == n
    assert all(t.value == bowl(t.x) for t in result.history)
    assert counted.points() == points_of(result)


class Plain(Executor):
    """An executor that reports neither its number of workers nor which futures run."""

    def __init__(self):
        self.threads = ThreadPoolExecutor(2)
        self.submitted = []

    def submit(self, fun, /, *args, **more):
        future = Future()
        self.submitted.append(future)

        def done(inner):
            if future.cancelled():
                return
            if inner.exception() is None:
                future.set_result(inner.result())
            else:
                future.set_exception(inner.exception())

        self.threads.submit(fun, *args, **more).add_done_callback(done)
        return future

    def shutdown(self, wait=True, *, cancel_futures=False):
        self.threads.shutdown(wait, cancel_futures=cancel_futures)


class TestNumberOfRunningTrials:
    def most(self, executor, **more):
        lock, out, most = threading.Lock(), [0], [0]

        def fun(x):
            with lock:
                out[0] += 1
                most[0] = max(out[0], most[0])
            time.sleep(0.05)
            with lock:
                out[0] -= 1
            return bowl(x)

        with executor:
            assert dale.minimize(fun, BOX, budget=12, method=Random(), executor=executor, **more).nfev == 12
        return most[0]

    def test_the_number_of_workers(self):
        assert 1 < self.most(ThreadPoolExecutor(3)) <= 3

    def test_n_parallel_below_the_number_of_workers(self):
        assert self.most(ThreadPoolExecutor(3), n_parallel=1) == 1

    def test_an_executor_that_does_not_report_its_workers(self):
        with (
            Plain() as executor,
            pytest.raises(ValueError, match=r"Plain does not report its number of workers; pass n_parallel"),
        ):
            dale.minimize(bowl, BOX, budget=3, executor=executor)
        assert 1 < self.most(Plain(), n_parallel=2) <= 2


class TestEarlyEnd:
    def test_the_target_cancels_queued_trials_and_does_not_wait(self):
        """Two workers, eight pending trials: two run, and continue."""
        may_end = threading.Event()
        calls = []

        def fun(x):
            calls.append(x)
            if len(calls) == 1:
                return -1.0
            may_end.wait(60)
            return bowl(x)

        with ThreadPoolExecutor(2) as executor:
            result = dale.minimize(fun, BOX, budget=20, n_parallel=8, executor=executor, target=0, method=Random())
            may_end.set()
        assert (result.status, result.fun) == (1, -1.0)
        assert result.nfev == 1
        assert {t.state for t in result.history[1:]} <= {TrialState.PENDING}
        assert len(calls) <= 3

    def test_the_time_limit_cancels_queued_trials(self):
        """Running trials are waited for and recorded; queued trials are cancelled."""
        calls = []

        def fun(x):
            calls.append(x.tobytes())
            time.sleep(1.5)
            return bowl(x)

        with ThreadPoolExecutor(2) as executor:
            result = dale.minimize(
                fun, BOX, budget=8, n_parallel=8, executor=executor, time_limit=1, seed=0, method=Random()
            )
        assert result.status == 5
        assert sorted(t.x.tobytes() for t in result.history if t.state is TrialState.COMPLETE) == sorted(calls)
        assert 0 < result.nfev < 8 == len(result.history)

    def test_if_it_is_unknown_which_trials_run_all_are_waited_for(self):
        def fun(x):
            time.sleep(0.8)
            return bowl(x)

        with Plain() as executor:
            result = dale.minimize(fun, BOX, budget=4, n_parallel=4, executor=executor, time_limit=0.5, method=Random())
        assert all(t.state is TrialState.COMPLETE for t in result.history)

    def test_the_executor_is_not_shut_down(self):
        with ThreadPoolExecutor(2) as executor:
            dale.minimize(bowl, BOX, budget=3, executor=executor)
            dale.minimize(bowl, BOX, budget=30, executor=executor, target=1e3)
            with pytest.raises(TypeError, match="one objective"):
                dale.minimize(lambda x: [1, 2], BOX, budget=3, executor=executor)
            assert executor.submit(int, "3").result() == 3


def dies_near_the_middle(x):
    if abs(x[0]) < 0.5:
        os.kill(os.getpid(), signal.SIGKILL)
    return bowl(x)


def dies(x):
    os._exit(1)


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
class TestBroken:
    def test_a_pool_that_breaks_ends_the_run_and_keeps_the_results(self):
        with ProcessPoolExecutor(2) as executor:
            result = dale.minimize(dies_near_the_middle, BOX, budget=200, seed=1, executor=executor, method=Random())
        assert (result.status, result.success) == (8, False)
        assert result.message.startswith("No further evaluation was possible: BrokenProcessPool: ")
        assert result.fun == min(result.func_vals)
        lost = [t for t in result.history if t.state is TrialState.FAILED]
        assert 1 <= len(lost) <= 3  # the cause is unknown, and the next trial may have been rejected
        assert all(t.retry and t.error.startswith("the executor broke\n") for t in lost)
        assert all(t.value == bowl(t.x) for t in result.history if t not in lost)

    def test_a_pool_that_breaks_before_the_first_result_is_an_error(self):
        with (
            ProcessPoolExecutor(2) as executor,
            pytest.raises(RuntimeError, match="No further evaluation was possible: BrokenProcessPool"),
        ):
            dale.minimize(dies, BOX, budget=20, executor=executor)

    def test_an_executor_that_was_shut_down(self):
        executor = ThreadPoolExecutor(2)
        executor.shutdown()
        with pytest.raises(RuntimeError, match="cannot schedule new futures after shutdown"):
            dale.minimize(bowl, BOX, budget=20, executor=executor)

    def test_a_thread_pool_that_cannot_start(self, caplog):
        with (
            ThreadPoolExecutor(2, initializer=int, initargs=("x",)) as executor,
            pytest.raises(RuntimeError, match="BrokenThreadPool"),
        ):
            dale.minimize(bowl, BOX, budget=20, executor=executor)


class Failing(Executor):
    """An executor whose futures end as specified."""

    _max_workers = 1

    def __init__(self, *ends):
        self.ends = list(ends)

    def submit(self, fun, /, *args, **more):
        future, end = Future(), self.ends.pop(0)
        if end == "cancelled":
            future.cancel()
            future.set_running_or_notify_cancel()
        elif isinstance(end, BaseException):
            future.set_exception(end)
        else:
            future.set_result(fun(*args, **more))
        return future


class KilledWorker(Exception):
    """Like the exception of Dask."""


def test_a_future_that_fails_without_the_objective():
    """The point may have killed its worker, so it is not retried; a cancelled future and Ctrl-C are transient."""
    ends = [None, KilledWorker("attempted to run on 1 worker"), "cancelled", None, KeyboardInterrupt(), None]
    result = dale.minimize(bowl, BOX, budget=6, seed=0, executor=Failing(*ends), method=Random())
    assert [t.state.value for t in result.history] == ["complete", "failed", "failed", "complete", "failed", "complete"]
    assert [t.retry for t in result.history] == [False, False, True, False, True, False]
    assert "KilledWorker: attempted to run on 1 worker" in result.history[1].error
    assert result.history[2].error == "the executor cancelled the evaluation"
    assert result.history[3].reason.retry_of == 2


def test_an_objective_that_cannot_be_pickled_is_rejected_before_the_run():
    message = (
        r"objective <function .*> cannot be sent to the processes of ProcessPoolExecutor: .*; define it at the top"
    )
    with ProcessPoolExecutor(1) as executor, pytest.raises(TypeError, match=message):
        dale.minimize(lambda x: 1.0, BOX, budget=3, executor=executor)


def test_timeout_is_rejected():
    message = "got timeout=3 and an executor, whose workers dale cannot stop; omit the executor"
    with ThreadPoolExecutor(1) as executor, pytest.raises(ValueError, match=message):
        dale.minimize(bowl, BOX, budget=3, executor=executor, timeout=3)


def test_not_an_executor():
    class Client:
        def submit(self, fun, x): ...

    with pytest.raises(TypeError, match=r"must be a concurrent.futures.Executor, got .*dale.integrations.dask"):
        dale.minimize(bowl, BOX, budget=3, executor=Client())
