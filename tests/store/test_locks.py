"""Locks that no other code of the process can release, and a store that is created only once."""

import os
import shutil
import signal
import threading
from collections import Counter
from pathlib import Path

import pytest
from store_runs import BOUNDS, Uniform, same_runs, start, valley

import dale
from dale.store import locks, sqlite
from dale.store.locks import FileLock

ASK = """
import dale, sys
from store_runs import BOUNDS, Uniform
optimizer = dale.Optimizer(BOUNDS, seed=0, method=Uniform(), store=sys.argv[1])
trial = optimizer.ask()
optimizer.tell(trial, 2.0)
print(trial.id)
"""


def opened(path):
    return dale.Optimizer(BOUNDS, seed=0, method=Uniform(), store=path)


def test_a_copy_of_the_folder_releases_no_lock(tmp_path):
    """The end of any open file on the store's files would release the locks of SQLite, which are POSIX locks."""
    folder = tmp_path / "run"
    folder.mkdir()
    optimizer = opened(folder / "run.db")
    for k in range(4):
        trial = optimizer.ask()
        shutil.copytree(folder, tmp_path / str(k))
        other = start("-c", ASK, folder / "run.db")  # another process that opens and closes the store
        assert other.communicate() == (f"{2 * k + 1}\n", "")  # and does not get the trial that is pending here
        optimizer.tell(trial, 1.0)
        assert len(dale.open(folder / "run.db").history) == 2 * k + 2
        copied = opened(tmp_path / str(k) / "run.db")  # between two changes, the file alone is complete
        assert len(copied.history) == 2 * k + 1
        copied.close()
    optimizer.close()
    assert [p.name for p in folder.iterdir()] == ["run.db"]


COPYING = """
import shutil, sys, tempfile, threading
import dale
from pathlib import Path
from store_runs import BOUNDS, Uniform, valley

store, log, done = Path(sys.argv[1]), Path(sys.argv[2]), threading.Event()

def copy():
    while not done.is_set():
        for file in store.parent.iterdir():
            try:
                file.read_bytes()
            except FileNotFoundError:
                pass

def objective(x):
    with log.open("a") as file:
        file.write(x.tobytes().hex() + "\\n")
    return valley(x)

thread = threading.Thread(target=copy)
thread.start()
try:
    dale.minimize(objective, BOUNDS, budget=40, seed=0, method=Uniform(), store=store)
finally:
    done.set()
    thread.join()
"""


def test_two_runs_that_are_copied_all_the_time_evaluate_nothing_twice(tmp_path):
    (tmp_path / "run").mkdir()
    store = tmp_path / "run" / "run.db"
    both = [start("-c", COPYING, store, tmp_path / "log") for _ in range(2)]
    while any(program.poll() is None for program in both):
        if store.exists():
            dale.open(store).result()
    for program in both:
        _, errors = program.communicate()
        assert (program.returncode, errors) == (0, "")
    history = dale.open(store).history
    assert 40 <= len(history) <= 41
    assert all(trial.value == valley(trial.x) for trial in history)
    assert set(Counter((tmp_path / "log").read_text().split()).values()) == {1}
    assert [p.name for p in store.parent.iterdir()] == ["run.db"]


OUTLIVED = """
import dale, os, sys, time
from store_runs import BOUNDS, Uniform
optimizer = dale.Optimizer(BOUNDS, seed=0, method=Uniform(), store=sys.argv[1])
optimizer.ask()
child = os.fork()
if child == 0:
    os.close(1)
    os.close(2)
    time.sleep(600)
os.write(1, f"{child}\\n".encode())
time.sleep(600)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_child_does_not_keep_the_session_of_its_parent(tmp_path):
    program = start("-c", OUTLIVED, tmp_path / "run.db")
    child = int(program.stdout.readline())
    try:
        with opened(tmp_path / "run.db") as optimizer:
            assert optimizer.ask().id == 1
            program.kill()
            program.communicate()
            assert optimizer.ask().id == 0
    finally:
        os.kill(child, signal.SIGKILL)


class TestCreation:
    def test_a_store_without_hard_links_is_not_overwritten(self, tmp_path, monkeypatch):
        """Another process creates the store at the worst moment, before this one gives it its name."""
        path, others, rename = tmp_path / "run.db", [], Path.rename

        def add(value):
            with opened(path) as optimizer:
                optimizer.add([0.5, 0.5], value)

        def slow_rename(self, target):
            if not others:
                others.append(threading.Thread(target=add, args=(2.0,)))
                others[0].start()
                others[0].join(1.0)  # it may finish in this time if nothing makes it wait
            return rename(self, target)

        def no_links(self, target):
            raise OSError("hard links are not supported")

        monkeypatch.setattr(Path, "hardlink_to", no_links)
        monkeypatch.setattr(Path, "rename", slow_rename)
        add(1.0)
        others[0].join()
        assert sorted(trial.value for trial in dale.open(path).history) == [1.0, 2.0]
        assert [p.name for p in tmp_path.iterdir()] == ["run.db"]

    @pytest.mark.parametrize("call", ["Path.rename", "os.fsync", "sqlite3.connect"])
    def test_a_kill_during_the_creation_leaves_nothing_behind(self, tmp_path, call):
        """The next process removes what it finds, and creates the store."""
        program = start("-c", KILLED.format(call=call), tmp_path / "run.db")
        _, errors = program.communicate()
        assert (program.returncode, errors) == (9, "")
        with opened(tmp_path / "run.db") as optimizer:
            optimizer.tell(optimizer.ask(), 1.0)
        assert [p.name for p in tmp_path.iterdir()] == ["run.db"]


KILLED = """
import os, sqlite3, sys
from pathlib import Path
import dale
from store_runs import BOUNDS, Uniform
sqlite3_connect = sqlite3.connect
def connect(*args, **kwargs):
    sqlite3_connect(*args, **kwargs).execute("PRAGMA journal_mode = WAL").fetchall()
    os._exit(9)
Path.hardlink_to = lambda *args: (_ for _ in ()).throw(OSError("hard links are not supported"))
{call} = connect if "{call}" == "sqlite3.connect" else lambda *args: os._exit(9)
dale.Optimizer(BOUNDS, seed=0, method=Uniform(), store=sys.argv[1])
"""


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError(37, "No locks available")])
def test_an_attempt_that_ends_early_leaves_the_lock_of_another(tmp_path, monkeypatch, error):
    """Ctrl-C, or an error of the file system, while another process has the lock."""
    holder, other = FileLock(tmp_path / "run.db-write"), FileLock(tmp_path / "run.db-write")
    holder.acquire()

    def fails(fd):
        raise error

    monkeypatch.setattr(locks, "_lock", fails)
    with pytest.raises((KeyboardInterrupt, OSError)):
        other.acquire()
    assert not other.is_held()
    other.release()
    assert holder.is_held()
    monkeypatch.undo()
    assert not other.try_acquire()
    holder.release()
    assert other.try_acquire()
    other.release()


def test_a_log_that_vanishes_while_the_store_is_read(tmp_path, monkeypatch):
    """Another process has deleted it between two looks at it."""
    opened(tmp_path / "run.db").close()
    exists = Path.exists
    monkeypatch.setattr(Path, "exists", lambda self, **more: self.name == "run.db-wal" or exists(self, **more))
    assert [file for file, *_ in sqlite._state(tmp_path / "run.db")] == [tmp_path / "run.db"]


def test_a_deleted_lock_file_is_created_again(tmp_path):
    optimizer = opened(tmp_path / "run.db")
    trial = optimizer.ask()
    files = [file for file in tmp_path.iterdir() if file.name != "run.db"]
    assert files
    for file in files:
        file.unlink()
    assert optimizer.ask().id == 1
    other = start("-c", ASK, tmp_path / "run.db")
    assert other.communicate() == ("2\n", "")  # the trials of this process are its own
    optimizer.tell(trial, 1.0)
    optimizer.close()
    assert [p.name for p in tmp_path.iterdir()] == ["run.db"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes")
def test_a_pipe_is_refused(tmp_path):
    os.mkfifo(tmp_path / "run.db")
    program = start("-c", ASK, tmp_path / "run.db")
    try:
        _, errors = program.communicate(timeout=60)
    finally:
        program.kill()
    assert "is a pipe, a socket or a device; expected the path of a regular file" in errors
    with pytest.raises(dale.StoreError, match="is a pipe"):
        dale.open(tmp_path / "run.db")


class TestExport:
    def test_a_store_in_use_is_copied_and_the_copy_can_be_resumed(self, tmp_path):
        with opened(tmp_path / "run.db") as optimizer:
            for k in range(5):
                optimizer.tell(optimizer.ask(), float(k))
            pending = optimizer.ask()
            dale.open(tmp_path / "run.db").to_db(tmp_path / "copy.db")
            with opened(tmp_path / "copy.db") as copy:
                assert same_runs(copy.history, optimizer.history)
                copy.tell(copy.ask(), 0.5)
            assert dale.open(tmp_path / "run.db").history[pending.id].value is None
            optimizer.tell(pending, 0.25)
        assert sorted(p.name for p in tmp_path.iterdir()) == ["copy.db", "run.db"]

    def test_no_file_is_overwritten(self, tmp_path):
        opened(tmp_path / "run.db").close()
        (tmp_path / "copy.db").write_text("mine")
        with pytest.raises(dale.StoreError, match=r"copy\.db exists; choose another path"):
            dale.open(tmp_path / "run.db").to_db(tmp_path / "copy.db")
        with pytest.raises(ValueError, match="the run itself"):
            dale.open(tmp_path / "run.db").to_db(tmp_path / "run.db")
        assert (tmp_path / "copy.db").read_text() == "mine"
