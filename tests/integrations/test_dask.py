"""The workers of a Dask cluster as an executor: each evaluation is executed at most once, also if a worker dies."""

import asyncio
import doctest
import os
import random
import signal
import subprocess
import sys
import threading
import time

import dask
import distributed
import pytest
from clusters import client_of, commands, free_port, on_the_scheduler, shared, threads, until
from evaluators import BOX, Counted, Random, bowl, points_of

import dale
from dale.history.trial import TrialState
from dale.integrations.dask import executor

FULL = os.environ.get("DALE_FULL") == "1"


def failed(result):
    return [t for t in result.history if t.state is TrialState.FAILED]


def takes_a_moment(x):
    time.sleep(random.expovariate(100))
    return bowl(x)


def test_many_threads_and_random_durations(tmp_path):
    """One trial per evaluation, unique ids, each executed once."""
    n = 500 if FULL else 200
    counted = Counted(tmp_path, takes_a_moment)
    with client_of(threads(64)) as client:
        run = executor(client)
        result = dale.minimize(counted, BOX, budget=n, seed=0, executor=run, method=None if FULL else Random())
        assert run.n_workers == 64
    assert len({t.id for t in result.history}) == len(result.history) == result.nfev == n
    assert all(t.value == bowl(t.x) for t in result.history)
    assert counted.points() == points_of(result)


TOGETHER = threading.Barrier(3)


def needs_three_at_once(x):
    TOGETHER.wait(60)
    return bowl(x)


class TestNumberOfRunningTrials:
    def test_the_current_number_of_threads(self):
        """There is no worker at first. When more join, more trials start while the first still runs."""
        with client_of(threads(1, workers=0)) as client:
            run = executor(client)
            assert run.n_workers == 1
            threading.Timer(0.5, client.cluster.scale, [1]).start()
            threading.Timer(2, client.cluster.scale, [3]).start()
            result = dale.minimize(needs_three_at_once, BOX, budget=6, seed=0, executor=run, method=Random())
            assert (result.nfev, failed(result)) == (6, [])
            client.cluster.scale(1)
            assert until(lambda: run.n_workers == 1)

    def test_without_a_worker_the_time_limit_and_ctrl_c_end_the_run(self):
        with client_of(threads(1, workers=0)) as client:
            result = dale.minimize(bowl, BOX, budget=6, executor=executor(client), n_parallel=2, time_limit=0.5)
            assert [t.state for t in result.history] == [TrialState.PENDING] * 2
            assert until(lambda: not on_the_scheduler(client))
            before = signal.signal(signal.SIGINT, signal.default_int_handler)
            threading.Timer(0.5, os.kill, [os.getpid(), signal.SIGINT]).start()
            result = dale.minimize(bowl, BOX, budget=6, executor=executor(client))
            signal.signal(signal.SIGINT, before)
            assert (result.status, result.message) == (dale.Status.INTERRUPTED, "Interrupted")
            assert until(lambda: not on_the_scheduler(client))


LEFT = threading.Event()


def outlives_its_worker(x):
    STARTED.append(x)
    LEFT.wait(60)
    return bowl(x)


class TestNoWorkerIsLeft:
    """The only worker leaves during an evaluation: the time limit still ends the run, and the message says why."""

    def test_the_worker_is_asked_to_leave(self):
        STARTED.clear()
        LEFT.clear()
        with client_of(threads(1)) as client:
            threading.Thread(target=lambda: until(lambda: STARTED) and client.cluster.scale(0), daemon=True).start()
            result = dale.minimize(
                outlives_its_worker, BOX, budget=6, seed=0, executor=executor(client), time_limit=4, method=Random()
            )
            LEFT.set()
            assert until(lambda: not on_the_scheduler(client))
        assert len(STARTED) == 1
        assert [t.state for t in result.history] == [TrialState.FAILED, TrialState.PENDING]
        assert "was asked to leave during the evaluation" in result.history[0].error
        assert result.message.endswith("; the executor has no workers")

    @pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
    def test_the_worker_is_killed_after_the_time_limit(self, tmp_path):
        (tmp_path / "counted").mkdir()
        fun = Counted(tmp_path / "counted", kills_its_process_later)
        with commands(tmp_path) as start:
            address = f"tcp://127.0.0.1:{free_port()}"
            start("scheduler", "--host", address, "--no-dashboard")
            start("worker", address, "--no-nanny", "--nthreads", "1", "--no-dashboard")
            with executor(address) as run:
                assert run.submit(abs, -3).result(60) == 3  # the worker has imported dale
                result = dale.minimize(fun, BOX, budget=6, seed=0, executor=run, time_limit=3, method=Random())
        assert len(fun.points()) == 1
        assert "WorkerDied: the worker tcp://127.0.0.1:" in result.history[0].error
        assert [t.state for t in result.history] == [TrialState.FAILED]
        assert "the executor has no workers" in result.message


def kills_its_process_later(x):
    time.sleep(4)
    os.kill(os.getpid(), signal.SIGKILL)


STARTED, MAY_END, LOCK = [], threading.Event(), threading.Lock()


def first_is_good_and_the_others_wait(x):
    with LOCK:
        STARTED.append(x)
        is_first = len(STARTED) == 1
    if is_first:
        assert until(lambda: len(STARTED) > 1)  # in the other thread
        return -1.0
    MAY_END.wait(60)
    return bowl(x)


def test_queued_trials_are_cancelled_at_an_early_end():
    """Two threads, eight pending trials: running ones are not waited for, the others never run."""
    client, fun = shared("dask threads"), first_is_good_and_the_others_wait
    run = executor(client)
    STARTED.clear()
    result = dale.minimize(fun, BOX, budget=20, n_parallel=8, executor=run, target=0, method=Random())
    assert (result.status, result.nfev) == (1, 1)
    MAY_END.set()
    assert until(lambda: not on_the_scheduler(client))
    assert len(STARTED) <= 3  # the thread of the first one may have begun another


class Pickled:
    """An objective that counts how often it is pickled and unpickled in the process of the tests."""

    left, arrived = 0, 0

    def __reduce__(self):
        Pickled.left += 1
        return arrive, ()

    def __call__(self, x):
        return bowl(x)


def arrive():
    Pickled.arrived += 1
    return Pickled()


class Homeless:
    """An objective whose module the workers cannot import, or whose module ends the process that imports it."""

    def __init__(self, error):
        self.error = error

    def __reduce__(self):
        return absent, (self.error,)

    def __call__(self, x):
        return 0.0


def absent(error):
    raise error


def ends_its_process_on_one_side(x):
    return bowl(x) if x[0] > 0 else sys.exit(3)


class TestObjective:
    def test_a_closure_is_sent(self):
        shift = 0.5
        client = shared("dask cluster")
        result = dale.minimize(lambda x: bowl(x) + shift, BOX, budget=5, seed=0, executor=executor(client))
        assert all(t.value == bowl(t.x) + 0.5 for t in result.history)

    def test_it_is_sent_once_per_run(self):
        run = executor(shared("dask threads"))
        dale.minimize(Pickled(), BOX, budget=10, executor=run, method=Random())
        assert Pickled.left == 2  # the first time as a check
        assert Pickled.arrived <= 2  # once per thread that fetched it at the same time

    def test_nothing_is_left_on_the_scheduler(self):
        client = shared("dask threads")
        assert dale.minimize(bowl, BOX, budget=5, executor=executor(client), method=Random()).nfev == 5
        assert until(lambda: not on_the_scheduler(client)), on_the_scheduler(client)

    def test_an_objective_that_cannot_be_pickled_is_rejected_before_the_run(self):
        lock = threading.Lock()
        with pytest.raises(TypeError, match=r"objective .* cannot be sent .* DaskExecutor: .*lock.*; define it"):
            dale.minimize(lambda x: lock, BOX, budget=3, executor=executor(shared("dask threads")))

    @pytest.mark.parametrize(
        "error", [ModuleNotFoundError("No module named 'solver'"), SystemExit("no licence"), BaseException("a panic")]
    )
    def test_an_objective_that_a_worker_cannot_load_ends_the_run(self, error):
        message = rf"No further evaluation was possible: .*Dask could not execute .*{error}.*; check that"
        with pytest.raises(RuntimeError, match=message):
            dale.minimize(Homeless(error), BOX, budget=3, executor=executor(shared("dask threads")))

    @pytest.mark.usefixtures("all_may_fail")
    def test_sys_exit_fails_its_trial_and_the_worker_continues(self):
        run = executor(shared("dask threads"))
        result = dale.minimize(ends_its_process_on_one_side, BOX, budget=8, seed=0, executor=run, method=Random())
        failed = [t for t in result.history if t.error is not None]
        assert 0 < len(failed) < 8
        assert all(t.error.endswith("SystemExit: 3\n") for t in failed)
        assert not any(t.retry for t in result.history)
        assert run.n_workers == 2


WAITING = threading.Event()


def waits():
    STARTED.append(None)
    WAITING.wait(60)
    return 3


class TestExecutor:
    """It behaves like the executors of ``concurrent.futures``."""

    def test_values_and_errors(self):
        run = executor(shared("dask threads"))
        with pytest.raises(SystemExit, match="3"):
            run.submit(sys.exit, 3).result(60)
        with pytest.raises(TypeError, match="what was returned cannot be pickled"):
            run.submit(threading.Lock).result(60)
        assert run.submit(int, "11", base=2).result(60) == 3
        with pytest.raises(ValueError, match="invalid literal"):
            run.submit(int, "x").result(60)
        assert list(run.map(abs, [-1, -2])) == [1, 2]

    def test_shutdown_waits_and_keeps_the_client_of_the_user_open(self):
        client = shared("dask threads")
        with executor(client) as run:
            future = run.submit(abs, -3)
        assert future.done()
        assert client.status == "running"
        with pytest.raises(RuntimeError, match="cannot schedule new futures after shutdown"):
            run.submit(abs, -3)

    def test_shutdown_cancels_queued_calls(self):
        client = shared("dask threads")
        run = executor(client)
        WAITING.clear()
        STARTED.clear()
        futures = [run.submit(waits) for _ in range(5)]
        assert until(lambda: len(STARTED) == 2)
        run.shutdown(wait=False, cancel_futures=True)
        assert [future.cancelled() for future in futures].count(True) == 3
        WAITING.set()
        assert all(future.result(60) == 3 for future in futures if not future.cancelled())
        assert len(STARTED) == 2

    def test_an_address_creates_a_client_that_shutdown_closes(self):
        with executor(shared("dask cluster").scheduler.address) as run:
            assert run.submit(abs, -3).result(60) == 3
            assert run._client.status == "running"
        assert run._client.status == "closed"

    def test_a_task_cancelled_by_somebody_else(self):
        client = shared("dask threads")
        run = executor(client)
        WAITING.clear()
        future = run.submit(waits)
        client.cancel([future._remote])
        assert isinstance(future.exception(60), dale.Retry)
        WAITING.set()

    def test_a_worker_that_is_asked_to_leave(self):
        """A transient failure, and the call does not start a second time."""
        WAITING.clear()
        STARTED.clear()
        with client_of(threads(1, workers=2)) as client:
            future = executor(client).submit(waits)
            assert until(lambda: STARTED)
            (address,) = (worker for worker, keys in client.processing().items() if keys)
            client.retire_workers([address])
            error = future.exception(60)
            WAITING.set()
        assert isinstance(error, dale.Retry)
        assert str(error) == f"the worker {address} was asked to leave during the evaluation"
        assert len(STARTED) == 1


class TestClient:
    def test_closed_during_the_run(self):
        client = distributed.Client(shared("dask threads").cluster, set_as_default=False)

        def close(result):
            if result.nfev >= 3:
                client.close()

        result = dale.minimize(bowl, BOX, budget=50, executor=executor(client), callback=close, method=Random())
        assert (result.status, result.success) == (8, False)
        assert "the Dask scheduler cannot be reached: the client is clos" in result.message
        assert 3 <= result.nfev < 50

    def test_closed_before_the_run(self):
        client = distributed.Client(shared("dask threads").cluster, set_as_default=False)
        run = executor(client)
        client.close()
        with pytest.raises(ConnectionError, match="which is closed; create a new one"):
            executor(client)
        with pytest.raises(RuntimeError, match=r"No further evaluation was possible: .* the client is closed"):
            dale.minimize(bowl, BOX, budget=50, executor=run)

    def test_no_scheduler_at_the_address(self):
        message = r"no Dask scheduler answers at 'tcp://127.0.0.1:\d+' .* `dask scheduler` starts one"
        with (
            dask.config.set({"distributed.comm.timeouts.connect": "1s"}),
            pytest.raises(ConnectionError, match=message),
        ):
            executor(f"tcp://127.0.0.1:{free_port()}")

    @pytest.mark.parametrize(
        "address", ["nonsense", "tcp://127.0.0.1", "http://127.0.0.1:1", "tcp://none.invalid:1", ""]
    )
    def test_an_invalid_address(self, address, monkeypatch):
        """No client is created, because it would take a minute to fail."""
        monkeypatch.setattr("dale.integrations.dask.Client", None)
        with pytest.raises(ConnectionError, match=f"no Dask scheduler answers at '{address}' "):
            executor(address)

    def test_an_asynchronous_client(self):
        async def refused():
            async with distributed.Client(shared("dask cluster").scheduler.address, asynchronous=True) as client:
                with pytest.raises(TypeError, match=r"expected a synchronous client, got .*; create one without"):
                    executor(client)

        asyncio.run(refused())

    @pytest.mark.parametrize("thing", [None, 3, threading.Event], ids=str)
    def test_not_a_client(self, thing):
        with pytest.raises(TypeError, match=r"must be a distributed.Client or the address .* got .*cluster.get_client"):
            executor(thing)

    def test_the_executor_of_dask_itself_is_rejected(self):
        message = (
            r"ClientExecutor may execute an evaluation several times; use dale.integrations.dask.executor\(client\)"
        )
        with pytest.raises(TypeError, match=message):
            dale.minimize(bowl, BOX, budget=3, executor=shared("dask threads").get_executor(), n_parallel=2)


def test_the_example_of_its_documentation():
    results = doctest.testmod(sys.modules["dale.integrations.dask"])
    assert (results.attempted, results.failed) == (4, 0)


def test_without_dask():
    code = "import sys; sys.modules['distributed'] = None; import dale; import dale.integrations.dask"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False).stderr
    assert said.strip().splitlines()[-1].endswith("pip install 'dale[dask]'")
