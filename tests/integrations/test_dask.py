"""Dask's workers as an executor: each evaluation is executed at most once, whoever dies."""

import asyncio
import doctest
import os
import random
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import dask
import distributed
import pytest
from clusters import commands, free_port, on_the_scheduler, processes, shared, threads, until
from ways import BOX, Counted, Random, bowl, points_of

import dale
from dale.history.trial import TrialState
from dale.integrations.dask import executor

FULL = os.environ.get("DALE_FULL") == "1"
posix = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")


@contextmanager
def client_of(cluster):
    with cluster, distributed.Client(cluster, set_as_default=False) as client:
        yield client


def failed(result):
    return [t for t in result.history if t.state is TrialState.FAILED]


def is_hit(x):
    """One point in ten or so."""
    return int(abs(x[0]) * 1e9) % 10 == 0


def kills_its_worker(x):
    if is_hit(x):
        os.kill(os.getpid(), signal.SIGKILL)
    return bowl(x)


def takes_a_moment(x):
    time.sleep(random.expovariate(100))
    return bowl(x)


def test_many_threads_and_random_durations(tmp_path):
    """As many rows as evaluations, no id twice, each executed once."""
    n = 500 if FULL else 200
    counted = Counted(tmp_path, takes_a_moment)
    with client_of(threads(64)) as client:
        run = executor(client)
        result = dale.minimize(counted, BOX, budget=n, seed=0, executor=run, method=None if FULL else Random())
        assert run.n_workers == 64
    assert len({t.id for t in result.history}) == len(result.history) == result.nfev == n
    assert all(t.value == bowl(t.x) for t in result.history)
    assert counted.points() == points_of(result)


@posix
@pytest.mark.slow
class TestDeath:
    def test_the_workers_of_one_evaluation_in_ten_are_killed(self, tmp_path):
        """Only those trials fail; every other runs once, also those that waited on the worker that died."""
        n, fun = 500 if FULL else 40, Counted(tmp_path, kills_its_worker)
        with client_of(processes(2)) as client:
            result = dale.minimize(fun, BOX, budget=n, seed=0, executor=executor(client), n_parallel=4, method=Random())
        executed = [t for t in result.history if not t.retry]  # Dask gives up what has lost four workers in its queue
        assert len(result.history) - len(executed) <= n // 50
        assert [t.id for t in executed if t.state is TrialState.FAILED] == [t.id for t in executed if is_hit(t.x)] != []
        assert all("WorkerDied: the worker tcp://127.0.0.1:" in t.error for t in failed(result) if not t.retry)
        assert fun.points() == sorted(t.x.tobytes().hex() for t in executed)
        assert result.nfev == len(result.history) == n

    def test_where_the_scheduler_allows_no_failure(self, tmp_path):
        """Dask then fails what waited on the worker that died too. Those points are asked again."""
        fun = Counted(tmp_path, kills_its_worker)
        with client_of(processes(1, scheduler_kwargs={"allowed_failures": 0})) as client:
            result = dale.minimize(fun, BOX, budget=9, seed=0, executor=executor(client), n_parallel=3, method=Random())
        innocent = [t for t in failed(result) if t.retry]
        assert innocent
        assert all("died before it started the evaluation" in t.error for t in innocent)
        executed = [t for t in result.history if t not in innocent]
        assert fun.points() == sorted(t.x.tobytes().hex() for t in executed)
        assert [t.id for t in executed if t.state is TrialState.FAILED] == [t.id for t in executed if is_hit(t.x)] != []

    def test_commands_on_two_hosts_of_which_one_dies_and_then_the_scheduler(self, tmp_path):
        folder = tmp_path / "counted"
        folder.mkdir()
        fun = Counted(folder, Slow(tmp_path))
        with commands(tmp_path) as start:
            address = f"tcp://127.0.0.1:{free_port()}"
            scheduler = start("scheduler", "--host", address, "--no-dashboard")
            worker = ["worker", address, "--no-nanny", "--nthreads", "1", "--no-dashboard"]
            start(*worker)
            start(*worker)
            with executor(address) as run:
                assert until(lambda: run.n_workers == 2)
                a_value_outlives_its_worker(run, tmp_path)
                start(*worker)
                assert until(lambda: run.n_workers == 2)
                trap, victim = tmp_path / "trap", tmp_path / "victim"
                killed, traps = [], []

                def kill(result):
                    if result.nfev >= 4 and not traps:
                        traps.append(trap.touch())
                    if victim.exists() and not killed:
                        killed.append(int(victim.read_text()))
                        os.kill(killed[0], signal.SIGKILL)

                result = dale.minimize(fun, BOX, budget=12, seed=0, executor=run, callback=kill, method=Random())
                assert (result.status, len(failed(result))) == (0, 1)
                assert [str(killed[0]), failed(result)[0].x.tobytes().hex()] in fun.lines()
                assert fun.points() == points_of(result)

                def end(result):
                    if result.nfev >= 4:
                        scheduler.kill()

                result = dale.minimize(fun, BOX, budget=500, seed=1, executor=run, callback=end, method=Random())
                assert (result.status, result.success) == (8, False)
                assert result.message.startswith(
                    "No more could be evaluated: BrokenExecutor: the Dask scheduler cannot"
                )
                assert result.nfev >= 4
                assert all(t.retry for t in failed(result))
                assert {t.state for t in result.history} == {TrialState.COMPLETE, TrialState.FAILED}
                with pytest.raises(RuntimeError, match=r"No more .*: the Dask scheduler cannot be reached"):
                    dale.minimize(fun, BOX, budget=5, executor=run)


@dataclass(frozen=True)
class Slow:
    """Takes a while, and one that finds a trap in the folder says so and stays there."""

    folder: Path

    def __call__(self, x):
        time.sleep(random.uniform(0.1, 0.4))
        with suppress(FileNotFoundError):
            (self.folder / "trap").rename(self.folder / "caught")
            (self.folder / "caught").write_text(str(os.getpid()))
            (self.folder / "caught").rename(self.folder / "victim")
            time.sleep(600)
        return bowl(x)


def leaves_its_process(folder):
    (folder / "process").write_text(str(os.getpid()))
    return 3


def a_value_outlives_its_worker(run, folder):
    """A worker dies when it has evaluated but nobody has fetched the value: the value is not lost."""
    run._client.loop.add_callback(time.sleep, 3)  # busy elsewhere, as it is while a proposal is thought of
    future = run.submit(leaves_its_process, folder)
    path = folder / "process"
    assert until(path.exists)
    time.sleep(1)
    before = path.stat().st_mtime_ns
    os.kill(int(path.read_text()), signal.SIGKILL)
    assert future.result(60) == 3
    assert path.stat().st_mtime_ns == before


TOGETHER = threading.Barrier(3)


def needs_three_at_once(x):
    TOGETHER.wait(60)
    return bowl(x)


class TestHowManyAtOnce:
    def test_as_many_as_the_cluster_has_threads_at_the_time(self):
        """There is no worker at first; when more have joined, trials are added while the first still runs."""
        with client_of(threads(1, workers=0)) as client:
            run = executor(client)
            assert run.n_workers == 1
            threading.Timer(0.5, client.cluster.scale, [1]).start()
            threading.Timer(2, client.cluster.scale, [3]).start()
            result = dale.minimize(needs_three_at_once, BOX, budget=6, seed=0, executor=run, method=Random())
            assert (result.nfev, failed(result)) == (6, [])
            client.cluster.scale(1)
            assert until(lambda: run.n_workers == 1)

    def test_without_a_worker_the_time_limit_and_ctrl_c_end_the_run_and_nothing_is_left(self):
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


BEGUN, MAY_END = [], threading.Event()


def first_is_good_and_the_others_wait(x):
    BEGUN.append(x)
    if len(BEGUN) == 1:
        return -1.0
    MAY_END.wait(60)
    return bowl(x)


def test_what_has_not_begun_is_cancelled_at_an_early_end():
    """Two threads, eight on their way: those that run are not waited for, the others never run."""
    client, fun = shared("dask threads"), first_is_good_and_the_others_wait
    run = executor(client)
    BEGUN.clear()
    result = dale.minimize(fun, BOX, budget=20, n_parallel=8, executor=run, target=0, method=Random())
    assert (result.status, result.nfev) == (1, 1)
    assert until(lambda: len(BEGUN) == 3)
    MAY_END.set()
    assert until(lambda: not on_the_scheduler(client))
    assert len(BEGUN) == 3


class Pickled:
    """An objective that counts how often it leaves and arrives, in the process of the tests."""

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
    """As one whose module the workers do not have."""

    def __reduce__(self):
        return absent, ()

    def __call__(self, x):
        return 0.0


def absent():
    raise ModuleNotFoundError("No module named 'solver'")


def returns_a_lock(x):
    return threading.Lock()


def ends_its_process(x):
    sys.exit(3)


class TestObjective:
    def test_a_closure_travels(self):
        shift = 0.5
        client = shared("dask cluster")
        result = dale.minimize(lambda x: bowl(x) + shift, BOX, budget=5, seed=0, executor=executor(client))
        assert all(t.value == bowl(t.x) + 0.5 for t in result.history)

    def test_it_is_sent_once_for_a_run(self):
        run = executor(shared("dask threads"))
        dale.minimize(Pickled(), BOX, budget=10, executor=run, method=Random())
        assert Pickled.left == 2  # to see whether it can be
        assert Pickled.arrived <= 2  # once for each thread that came at the same time

    def test_nothing_of_it_is_left_on_the_scheduler(self):
        client = shared("dask threads")
        assert dale.minimize(bowl, BOX, budget=5, executor=executor(client), method=Random()).nfev == 5
        assert until(lambda: not on_the_scheduler(client)), on_the_scheduler(client)

    def test_what_cannot_be_sent_is_refused_before_the_run(self):
        lock = threading.Lock()
        with pytest.raises(TypeError, match=r"objective .* cannot be sent .* DaskExecutor: .*lock.*; define it"):
            dale.minimize(lambda x: lock, BOX, budget=3, executor=executor(shared("dask threads")))

    def test_what_cannot_be_loaded_on_a_worker_ends_the_run(self):
        words = r"No more could be evaluated: .*Dask could not execute .*No module named 'solver'; check that"
        with pytest.raises(RuntimeError, match=words):
            dale.minimize(Homeless(), BOX, budget=3, executor=executor(shared("dask threads")))

    def test_a_value_that_cannot_be_sent_fails_its_trial(self):
        run = executor(shared("dask threads"))
        result = dale.minimize(returns_a_lock, BOX, budget=2, executor=run, method=Random())
        assert all("what was returned cannot be pickled" in t.error for t in result.history)

    def test_sys_exit_fails_its_trial_and_leaves_the_worker(self):
        run = executor(shared("dask threads"))
        result = dale.minimize(ends_its_process, BOX, budget=2, executor=run, method=Random())
        assert all("RuntimeError: the objective called sys.exit(3)" in t.error for t in result.history)
        assert not any(t.retry for t in result.history)
        assert run.n_workers == 2


WAITING = threading.Event()


def waits():
    BEGUN.append(None)
    WAITING.wait(60)
    return 3


class TestExecutor:
    """As any other of ``concurrent.futures``."""

    def test_values_and_errors(self):
        run = executor(shared("dask threads"))
        assert run.submit(int, "11", base=2).result(60) == 3
        with pytest.raises(ValueError, match="invalid literal"):
            run.submit(int, "x").result(60)
        assert list(run.map(abs, [-1, -2])) == [1, 2]

    def test_shutdown_waits_and_leaves_the_client_of_the_user(self):
        client = shared("dask threads")
        with executor(client) as run:
            future = run.submit(abs, -3)
        assert future.done()
        assert client.status == "running"
        with pytest.raises(RuntimeError, match="cannot schedule new futures after shutdown"):
            run.submit(abs, -3)

    def test_shutdown_cancels_what_has_not_begun(self):
        client = shared("dask threads")
        run = executor(client)
        WAITING.clear()
        BEGUN.clear()
        futures = [run.submit(waits) for _ in range(5)]
        assert until(lambda: len(BEGUN) == 2)
        run.shutdown(wait=False, cancel_futures=True)
        assert [future.cancelled() for future in futures].count(True) == 3
        WAITING.set()
        assert all(future.result(60) == 3 for future in futures if not future.cancelled())
        assert len(BEGUN) == 2

    def test_an_address_makes_a_client_that_is_closed_at_the_end(self):
        with executor(shared("dask cluster").scheduler.address) as run:
            assert run.submit(abs, -3).result(60) == 3
            assert run._client.status == "running"
        assert run._client.status == "closed"

    def test_cancelled_by_someone_else(self):
        client = shared("dask threads")
        run = executor(client)
        WAITING.clear()
        future = run.submit(waits)
        client.cancel([future._remote])
        assert isinstance(future.exception(60), dale.Retry)
        WAITING.set()

    def test_a_worker_that_is_told_to_leave(self):
        """Not the point's fault, and not begun a second time."""
        WAITING.clear()
        BEGUN.clear()
        with client_of(threads(1, workers=2)) as client:
            future = executor(client).submit(waits)
            assert until(lambda: BEGUN)
            (address,) = (worker for worker, keys in client.processing().items() if keys)
            client.retire_workers([address])
            error = future.exception(60)
            WAITING.set()
        assert isinstance(error, dale.Retry)
        assert str(error) == f"the worker {address} was asked to leave during the evaluation"
        assert len(BEGUN) == 1


class TestClient:
    def test_closed_in_the_midst(self):
        client = distributed.Client(shared("dask threads").cluster, set_as_default=False)

        def close(result):
            if result.nfev >= 3:
                client.close()

        result = dale.minimize(bowl, BOX, budget=50, executor=executor(client), callback=close, method=Random())
        assert (result.status, result.success) == (8, False)
        assert "the Dask scheduler cannot be reached: the client is clos" in result.message
        assert 3 <= result.nfev < 50

    def test_closed_before(self):
        client = distributed.Client(shared("dask threads").cluster, set_as_default=False)
        run = executor(client)
        client.close()
        with pytest.raises(ConnectionError, match="which is closed; create a new one"):
            executor(client)
        with pytest.raises(RuntimeError, match=r"No more could be evaluated: .* the client is closed"):
            dale.minimize(bowl, BOX, budget=50, executor=run)

    def test_nobody_there(self):
        words = r"no Dask scheduler answers at 'tcp://127.0.0.1:\d+' .* `dask scheduler` starts one"
        with dask.config.set({"distributed.comm.timeouts.connect": "1s"}), pytest.raises(ConnectionError, match=words):
            executor(f"tcp://127.0.0.1:{free_port()}")

    @pytest.mark.parametrize(
        "address", ["nonsense", "tcp://127.0.0.1", "http://127.0.0.1:1", "tcp://none.invalid:1", ""]
    )
    def test_an_address_that_is_none(self, address, monkeypatch):
        """No client is made, for that would take a minute to go."""
        monkeypatch.setattr("dale.integrations.dask.Client", None)
        with pytest.raises(ConnectionError, match=f"no Dask scheduler answers at '{address}' "):
            executor(address)

    def test_an_asynchronous_one(self):
        async def refused():
            async with distributed.Client(shared("dask cluster").scheduler.address, asynchronous=True) as client:
                with pytest.raises(TypeError, match=r"expected a synchronous client, got .*; create one without"):
                    executor(client)

        asyncio.run(refused())

    @pytest.mark.parametrize("thing", [None, 3, threading.Event], ids=str)
    def test_what_is_none(self, thing):
        with pytest.raises(TypeError, match=r"must be a distributed.Client or the address .* got .*cluster.get_client"):
            executor(thing)

    def test_dasks_own_executor_is_refused(self):
        words = r"ClientExecutor may execute an evaluation several times; use dale.integrations.dask.executor\(client\)"
        with pytest.raises(TypeError, match=words):
            dale.minimize(bowl, BOX, budget=3, executor=shared("dask threads").get_executor(), n_parallel=2)


def test_the_example_of_its_documentation():
    results = doctest.testmod(sys.modules["dale.integrations.dask"])
    assert (results.attempted, results.failed) == (4, 0)


def test_without_dask():
    code = "import sys; sys.modules['distributed'] = None; import dale; import dale.integrations.dask"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False).stderr
    assert said.strip().splitlines()[-1].endswith("pip install 'dale[dask]'")
