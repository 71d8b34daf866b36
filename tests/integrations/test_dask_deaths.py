"""Workers of a Dask cluster that die: their evaluation fails, every other one runs once, and no value is lost."""

import os
import random
import signal
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from clusters import client_of, commands, free_port, processes, until
from evaluators import BOX, Counted, Random, bowl, failed, is_hit, kills_its_process, points_of

import dale
from dale.history.trial import TrialState
from dale.integrations.dask import executor

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")]


def test_if_the_scheduler_allows_no_failures(tmp_path):
    """Dask then also drops the tasks in the queue of the worker that died. These points are retried."""
    fun = Counted(tmp_path, kills_its_process)
    with client_of(processes(1, scheduler_kwargs={"allowed_failures": 0})) as client:
        result = dale.minimize(fun, BOX, budget=9, seed=0, executor=executor(client), n_parallel=3, method=Random())
    innocent = [t for t in failed(result) if t.retry]
    assert innocent
    assert all("died before it started the evaluation" in t.error for t in innocent)
    executed = [t for t in result.history if t not in innocent]
    assert fun.points() == sorted(t.x.tobytes().hex() for t in executed)
    assert [t.id for t in executed if t.state is TrialState.FAILED] == [t.id for t in executed if is_hit(t.x, 10)] != []


def test_commands_on_two_hosts_of_which_one_dies_and_then_the_scheduler(tmp_path):
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
            message = "No further evaluation was possible: BrokenExecutor: the Dask scheduler cannot"
            assert result.message.startswith(message)
            assert result.nfev >= 4
            assert all(t.retry for t in failed(result))
            assert {t.state for t in result.history} == {TrialState.COMPLETE, TrialState.FAILED}
            with pytest.raises(RuntimeError, match=r"No further .*: the Dask scheduler cannot be reached"):
                dale.minimize(fun, BOX, budget=5, executor=run)


@dataclass(frozen=True)
class Slow:
    """A slow objective. If there is a file "trap" in the directory, one call renames it to "victim" and hangs."""

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
    """A worker dies after the evaluation and before the value was fetched: the value is not lost."""
    run._client.loop.add_callback(time.sleep, 3)  # blocks the client, as a proposal does
    future = run.submit(leaves_its_process, folder)
    path = folder / "process"
    assert until(path.exists)
    time.sleep(1)
    before = path.stat().st_mtime_ns
    os.kill(int(path.read_text()), signal.SIGKILL)
    assert future.result(60) == 3
    assert path.stat().st_mtime_ns == before
