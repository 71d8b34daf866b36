"""A short form of each storm; the whole is ``make storm``. And the storms notice what they are there for."""

import itertools
import random
import sqlite3
import sys
from contextlib import suppress

import pytest
from evaluators import FORK_WARNING
from store_runs import BOUNDS, Uniform, same_runs, step, stepped, valley

import dale
from storm import __main__ as command
from storm import dask_deaths, disk, power
from storm.__main__ import main, run_case

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals and fork"),
    pytest.mark.filterwarnings(FORK_WARNING),
]
needs_disk = pytest.mark.skipif(not disk.AVAILABLE, reason="the SQLite of this Python cannot be observed")


@pytest.mark.parametrize(
    "name", ["fuzz", pytest.param("power", marks=needs_disk), "kills", "creation", "disk_full", "writers", "processes"]
)
def test_one_case(name, capsys):
    assert run_case(0, name, 0), capsys.readouterr()


@pytest.mark.slow
@pytest.mark.parametrize("name", command.STORMS)
def test_more_cases(name, capsys):
    assert all(run_case(1, name, number) for number in range(1 if name == "dask_deaths" else 3)), capsys.readouterr()


def test_one_run_with_dying_dask_workers(tmp_path):
    with dask_deaths.client_of(dask_deaths.processes(2)) as client:
        assert dask_deaths.deaths_inside(random.Random(0), client, tmp_path / "run") > 0


@needs_disk
def test_power_cuts_reveal_writes_that_are_not_synchronised(tmp_path, monkeypatch):
    class Hasty(sqlite3.Connection):
        def execute(self, sql, *values):
            return super().execute(sql.replace("synchronous = FULL", "synchronous = OFF"), *values)

    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *given, **more: connect(*given, factory=Hasty, **more))
    with pytest.raises((AssertionError, dale.StoreError)):
        power.case(random.Random(0), tmp_path)


@needs_disk
@pytest.mark.parametrize("n", [1, 1000])
def test_a_store_that_is_created_on_a_full_disk_is_whole_or_missing(n, tmp_path):
    """The disk is full for n operations of SQLite, from the k-th on, for every k."""
    for k in itertools.count():
        seen, store = [], tmp_path / f"{k}.db"

        def observer(operation, seen=seen, k=k):
            seen.append(operation)
            return disk.FULL if k < len(seen) <= k + n and operation.kind in ("create", "write") else disk.OK

        with disk.observed(observer), suppress(dale.StoreError):
            dale.Optimizer(BOUNDS, seed=0, method=Uniform(), store=store).close()
        with dale.Optimizer(BOUNDS, seed=0, method=Uniform(), store=store) as optimizer:
            step(optimizer, valley, 1)
        assert same_runs(dale.open(store).history, stepped(1))
        assert store.read_bytes()[18:20] == b"\2\2"  # it has a write-ahead log: SQLite may fail to make one silently
        if k >= len(seen):
            break
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(f"{i}.db" for i in range(k + 1))


class TestCommand:
    def test_a_quiet_storm(self, capfd):
        assert main(["--minutes", "0.01", "--only", "creation", "--seed", "3"]) == 0
        said = capfd.readouterr().out.splitlines()
        assert said[0].startswith("seed 3, 0.01 minutes")
        assert said[-2].split() == ["storm", "cases", "tried", "failed", "minutes"]
        name, cases, tried, unit, failed, _ = said[-1].split()
        assert (name, unit, failed) == ("creation", "kills", "0")
        assert int(cases) >= 1
        assert int(tried) >= 1

    def test_a_case_that_fails_is_counted_and_can_be_repeated(self, monkeypatch, capfd):
        def broken(rng, folder):
            raise AssertionError(f"it broke with {rng.random()}")

        monkeypatch.setattr(power, "case", broken)
        monkeypatch.setattr(command, "play", lambda seed, name, count, seconds: in_this_process(seed, name, count))
        assert main(["--minutes", "0", "--only", "power", "--seed", "5"]) == 1
        said = capfd.readouterr().out
        assert "to repeat it: make storm SEED=5 CASE=power/0" in said
        assert said.splitlines()[-1].split()[:6] == ["power", "1", "0", "power", "cuts", "1"]
        error = next(line for line in said.splitlines() if line.startswith("failed "))
        assert main(["--seed", "5", "--case", "power/0"]) == 1
        assert error.partition(";")[0] in capfd.readouterr().out

    def test_a_process_that_dies_has_failed(self, monkeypatch, capfd):
        monkeypatch.setattr(sys, "executable", "/bin/false")
        assert main(["--minutes", "0", "--only", "power", "--seed", "5"]) == 1
        assert "the process ended with status 1" in capfd.readouterr().out


def in_this_process(seed, name, count):
    """A turn of one case."""
    count.cases += 1
    if not run_case(seed, name, count.cases - 1):
        count.failed += (count.cases - 1,)
        yield "it failed"
