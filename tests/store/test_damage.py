"""A truncated, changed or foreign file gives all trials or one clear error, and is never changed."""

import random
import re
import shutil
import sqlite3
import sys

import pytest
from store_runs import BOUNDS, FULL, Uniform, limited, same_runs, valley

import dale
from dale.store.sqlite import FORMAT, FORMAT_WITH_CORRECTIONS


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The bytes of a store with 40 trials, and its history."""
    path = tmp_path_factory.mktemp("whole") / "run.db"
    with dale.Optimizer(BOUNDS, seed=0, method=Uniform(), store=path) as optimizer:
        for k in range(40):
            trial = optimizer.ask()
            if k % 9 == 4:
                optimizer.fail(trial, "a traceback\n" * 5)
            else:
                optimizer.tell(trial, valley(trial.x))
    return path.read_bytes(), optimizer.history


def all_or_error(path, history):
    """Open a file: True if it has all trials, False if there is a clear error; anything else fails the test."""
    before = path.read_bytes()
    found, said = None, ""
    try:
        found = dale.open(path).history
    except dale.StoreError as error:
        said = str(error)
    if found is None:
        assert str(path) in said
        assert "The file was not changed" in said
        with pytest.raises(dale.StoreError):
            dale.Optimizer(BOUNDS, method=Uniform(), store=path)
        assert path.read_bytes() == before
        return False
    assert path.read_bytes() == before
    assert same_runs(found, history), f"{len(found)} of {len(history)} trials, without an error"
    return True


def test_truncated_files_are_refused(tmp_path, whole):
    data, history = whole
    path = tmp_path / "run.db"
    for left in range(len(data) - 4096, len(data), 1 if FULL else 97):
        path.write_bytes(data[:left])
        assert not all_or_error(path, history), f"{left} of {len(data)} bytes"
    path.write_bytes(b"")
    assert not all_or_error(path, history)


def test_flipped_bits_are_detected(tmp_path, whole):
    data, history = whole
    path, rng = tmp_path / "run.db", random.Random(0)
    seen = 0
    for _ in range(1000 if FULL else 120):
        flipped = bytearray(data)
        flipped[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        path.write_bytes(flipped)
        seen += not all_or_error(path, history)
    assert seen > 0


def test_changed_rows_are_detected(tmp_path, whole):
    """SQLite itself does not detect rows that another program has changed, deleted or swapped."""
    data, history = whole
    path = tmp_path / "run.db"
    for change in (
        "DELETE FROM events WHERE number = (SELECT MAX(number) FROM events)",
        "DELETE FROM events WHERE number = 20",
        "UPDATE events SET content = replace(content, '1', '2') WHERE number = 30",
        "UPDATE events SET time = '2020-01-01T00:00:00+00:00' WHERE number = 30",
        "UPDATE events SET trial = 0 WHERE kind = 'tell' AND trial = 3",
        "UPDATE run SET problem = replace(problem, '\"seed\":0', '\"seed\":1')",
        "UPDATE run SET events = events - 1",
        "DELETE FROM run",
        "DROP TABLE run",
        "CREATE TRIGGER t AFTER INSERT ON events BEGIN DELETE FROM events; END",
    ):
        path.write_bytes(data)
        connection = sqlite3.connect(path, isolation_level=None)
        connection.execute(change)
        connection.close()
        assert not all_or_error(path, history), change
    path.write_bytes(data)
    assert all_or_error(path, history)


def test_the_log_of_a_killed_process_is_not_needed(tmp_path):
    """All reported values are in the file, even if the log is truncated, changed or missing."""
    optimizer = dale.Optimizer(BOUNDS, seed=0, method=Uniform(), store=tmp_path / "run.db")
    reader = sqlite3.connect(tmp_path / "run.db")  # another program; as long as it runs, the log is kept
    reader.execute("SELECT * FROM run").fetchall()
    for _ in range(12):
        optimizer.tell(optimizer.ask(), 1.0)
    data, log = (tmp_path / "run.db").read_bytes(), (tmp_path / "run.db-wal").read_bytes()
    assert log
    reader.close()
    (tmp_path / "killed").mkdir()
    path, rng = tmp_path / "killed" / "run.db", random.Random(0)

    def open_with(log):
        path.write_bytes(data)
        path.with_name("run.db-shm").unlink(missing_ok=True)
        path.with_name("run.db-wal").write_bytes(log)
        assert all_or_error(path, optimizer.history)

    open_with(log)
    for _ in range(200 if FULL else 30):
        flipped = bytearray(log)
        flipped[rng.randrange(len(log))] ^= 1 << rng.randrange(8)
        open_with(flipped)
        open_with(log[: rng.randrange(len(log))])
    path.with_name("run.db-wal").unlink()
    path.with_name("run.db-shm").unlink(missing_ok=True)
    assert all_or_error(path, optimizer.history)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"x,y\n1,2\n" * 500, "not a store of dale"),
        (b"\0" * 8192, "not a store of dale"),
        (b"", "not a store of dale"),
        (b"SQLite format 3\0", "not a store of dale"),
    ],
    ids=["text", "zeros", "empty", "head"],
)
def test_files_that_are_no_stores(tmp_path, content, said):
    path = tmp_path / "run.db"
    path.write_bytes(content)
    for attempt in (dale.open, lambda p: dale.Optimizer(BOUNDS, store=p)):
        with pytest.raises(dale.StoreError, match=said) as caught:
            attempt(path)
        assert str(path) in str(caught.value)
    assert path.read_bytes() == content


def test_a_database_of_another_program(tmp_path):
    path = tmp_path / "other.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE trials (a)")
    connection.commit()
    connection.close()
    before = path.read_bytes()
    with pytest.raises(dale.StoreError, match="not a store of dale"):
        dale.minimize(valley, BOUNDS, budget=3, store=path)
    assert path.read_bytes() == before


@pytest.mark.parametrize(("found", "age"), [(1, "older"), (99, "newer")])
def test_another_format_is_refused_with_both_numbers(tmp_path, whole, found, age):
    path = _written(tmp_path / "run.db", whole[0])
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {found}")
    connection.close()
    before, both = path.read_bytes(), f"{FORMAT} and {FORMAT_WITH_CORRECTIONS}"
    for attempt in (dale.open, lambda p: dale.Optimizer(BOUNDS, method=Uniform(), store=p)):
        with pytest.raises(
            dale.StoreError, match=rf"format {found}, but .* reads formats {both}; .* the {age} version"
        ):
            attempt(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("store", [3, b"run.db", "", ":memory:", "sqlite:///run.db"], ids=repr)
def test_invalid_paths(store):
    with pytest.raises((TypeError, ValueError), match="path of a file"):
        dale.Optimizer(BOUNDS, store=store)


def test_missing_directories_and_files(tmp_path):
    with pytest.raises(dale.StoreError, match="check that its directory exists"):
        dale.Optimizer(BOUNDS, store=tmp_path / "nowhere" / "run.db")
    with pytest.raises(dale.StoreError, match="does not exist; expected the path"):
        dale.open(tmp_path / "run.db")


@pytest.mark.skipif(sys.platform == "win32", reason="no limits on file sizes")
@pytest.mark.parametrize("limit", [14_000, 30_001, 60_000])
def test_a_full_disk_keeps_earlier_data(tmp_path, limit):
    assert re.search(r"Not written: (ask|tell) of trial \d+, \{", limited(tmp_path / "run.db", limit))


def test_a_moved_store_is_detected(tmp_path):
    path = tmp_path / "run.db"
    optimizer = dale.Optimizer(BOUNDS, seed=0, method=Uniform(), store=path)
    trial = optimizer.ask()
    path.rename(tmp_path / "moved.db")
    with pytest.raises(dale.StoreError, match="deleted, moved or replaced"):
        optimizer.tell(trial, 1.0)
    (tmp_path / "moved.db").rename(path)
    optimizer.tell(trial, 1.0)
    assert dale.open(path).history[0].value == 1.0


def test_the_log_of_another_store_does_not_become_part_of_a_new_one(tmp_path):
    (tmp_path / "run.db-wal").write_bytes(b"a log")  # its store was deleted
    with pytest.raises(dale.StoreError, match=r"delete run\.db-wal too"):
        dale.Optimizer(BOUNDS, seed=0, method=Uniform(), store=tmp_path / "run.db")
    assert [p.name for p in tmp_path.iterdir()] == ["run.db-wal"]


def test_the_error_contains_a_value_that_cannot_be_written(tmp_path):
    """The value may have taken hours, and the optimizer inside minimize is not accessible."""

    def objective(x):
        (tmp_path / "run.db").unlink(missing_ok=True)
        return 0.123456789012345

    with pytest.raises(dale.StoreError, match="deleted") as caught:
        dale.minimize(objective, BOUNDS, budget=3, seed=0, method=Uniform(), store=tmp_path / "run.db")
    assert re.fullmatch(r"Trial 0 at \(.*\) gave 0\.123456789012345, which was not kept", *caught.value.__notes__)


def test_a_directory_is_refused(tmp_path):
    for attempt in (dale.open, lambda path: dale.Optimizer(BOUNDS, store=path)):
        with pytest.raises(dale.StoreError, match="is a directory"):
            attempt(tmp_path)


def test_hard_links_are_refused(tmp_path, whole):
    path, other = _written(tmp_path / "run.db", whole[0]), tmp_path / "other.db"
    other.hardlink_to(path)
    for name in (path, other):
        with pytest.raises(dale.StoreError, match=r"has 2 names \(hard links\)"):
            dale.Optimizer(BOUNDS, method=Uniform(), store=name)
        assert len(dale.open(name).history) == len(whole[1])  # reading is safe
    other.unlink()
    dale.Optimizer(BOUNDS, method=Uniform(), store=path).close()


def test_symbolic_links_are_followed(tmp_path, whole):
    path, link = _written(tmp_path / "run.db", whole[0]), tmp_path / "link.db"
    link.symlink_to(path)
    one = dale.Optimizer(BOUNDS, method=Uniform(), store=path)
    two = dale.Optimizer(BOUNDS, method=Uniform(), store=link)
    assert one.ask().id != two.ask().id


def test_a_store_can_be_copied_as_one_file(tmp_path, whole):
    shutil.copy(_written(tmp_path / "a.db", whole[0]), tmp_path / "b.db")
    with dale.Optimizer(BOUNDS, method=Uniform(), store=tmp_path / "b.db") as optimizer:
        optimizer.tell(optimizer.ask(), 1.0)
    assert len(optimizer.history) == len(whole[1]) + 1


def _written(path, data):
    path.write_bytes(data)
    return path
