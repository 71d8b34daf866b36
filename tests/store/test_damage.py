"""A store that was cut, changed or is none: every row, or one clear error; and the file is left as it is."""

import random
import re
import shutil
import sqlite3
import sys

import pytest
from store_runs import BOUNDS, FULL, Uniform, same_runs, start, valley

import dale
from dale.store.sqlite import FORMAT


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A store of 40 trials as its bytes, and its history."""
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
    """Open a file; True if every trial is there, False for an error that says what to do. Nothing else may happen."""
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
    assert same_runs(found, history), f"{len(found)} of {len(history)} trials, without a word"
    return True


def test_cut_anywhere(tmp_path, whole):
    data, history = whole
    path = tmp_path / "run.db"
    for left in range(len(data) - 4096, len(data), 1 if FULL else 97):
        path.write_bytes(data[:left])
        assert not all_or_error(path, history), f"{left} of {len(data)} bytes"
    path.write_bytes(b"")
    assert not all_or_error(path, history)


def test_bits_flipped_anywhere(tmp_path, whole):
    data, history = whole
    path, rng = tmp_path / "run.db", random.Random(0)
    seen = 0
    for _ in range(1000 if FULL else 120):
        flipped = bytearray(data)
        flipped[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        path.write_bytes(flipped)
        seen += not all_or_error(path, history)
    assert seen > 0


def test_every_row_is_watched(tmp_path, whole):
    """Damage that SQLite does not see: rows changed, taken away or exchanged by another program."""
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
    """Cut or changed, or not there at all: what was told is in the file."""
    optimizer = dale.Optimizer(BOUNDS, seed=0, method=Uniform(), store=tmp_path / "run.db")
    for _ in range(12):
        optimizer.tell(optimizer.ask(), 1.0)
    data, log = (tmp_path / "run.db").read_bytes(), (tmp_path / "run.db-wal").read_bytes()
    assert log  # there is one
    (tmp_path / "killed").mkdir()
    path, rng = tmp_path / "killed" / "run.db", random.Random(0)

    def left_behind(log):
        path.write_bytes(data)
        path.with_name("run.db-shm").unlink(missing_ok=True)
        path.with_name("run.db-wal").write_bytes(log)
        assert all_or_error(path, optimizer.history)

    left_behind(log)
    for _ in range(200 if FULL else 30):
        flipped = bytearray(log)
        flipped[rng.randrange(len(log))] ^= 1 << rng.randrange(8)
        left_behind(flipped)
        left_behind(log[: rng.randrange(len(log))])
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
def test_a_file_that_is_none(tmp_path, content, said):
    path = tmp_path / "run.db"
    path.write_bytes(content)
    for attempt in (dale.open, lambda p: dale.Optimizer(BOUNDS, store=p)):
        with pytest.raises(dale.StoreError, match=said) as caught:
            attempt(path)
        assert str(path) in str(caught.value)
    assert path.read_bytes() == content


def test_another_programs_database(tmp_path):
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
    before = path.read_bytes()
    for attempt in (dale.open, lambda p: dale.Optimizer(BOUNDS, method=Uniform(), store=p)):
        with pytest.raises(
            dale.StoreError, match=rf"format {found}, but .* reads format {FORMAT}; .* the {age} version"
        ):
            attempt(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("store", [3, b"run.db", "", ":memory:", "sqlite:///run.db"], ids=repr)
def test_what_is_no_path(store):
    with pytest.raises((TypeError, ValueError), match="path of a file"):
        dale.Optimizer(BOUNDS, store=store)


def test_places_where_nothing_can_be_written(tmp_path):
    with pytest.raises(dale.StoreError, match="check that its directory exists"):
        dale.Optimizer(BOUNDS, store=tmp_path / "nowhere" / "run.db")
    with pytest.raises(dale.StoreError, match="does not exist; expected the path"):
        dale.open(tmp_path / "run.db")


LIMITED = """
import resource, sys
import dale
from store_runs import BOUNDS, Uniform, same_runs
store = sys.argv[1]
optimizer = dale.Optimizer(BOUNDS, seed=0, method=Uniform(), store=store)
while True:
    trial = optimizer.ask()
    optimizer.tell(trial, trial.x[0])
    if trial.id == 5:
        break
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
try:
    for k in range(10000):
        before = optimizer.history
        trial = optimizer.ask()
        before = optimizer.history
        optimizer.tell(trial, 0.25 + k)
except dale.StoreError as error:
    assert same_runs(optimizer.history, before), "the state in memory has changed"
    assert "is the disk full?" in str(error), str(error)
    print(error)
else:
    raise SystemExit("the limit was never met")
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
assert same_runs(dale.open(store).history, before), "the state on disk has changed"
again = optimizer.ask()  # there is room again: it goes on
optimizer.tell(again, 1.5)
assert dale.open(store).history[again.id].value == 1.5
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there are no limits for files")
@pytest.mark.parametrize("limit", [14_000, 30_001, 60_000])
def test_disk_full_leaves_what_was_there(tmp_path, limit):
    program = start("-c", LIMITED, tmp_path / "run.db", limit)
    said, errors = program.communicate()
    assert program.returncode == 0, said + errors
    assert re.search(r"Not written: (ask|tell) of trial \d+, \{", said)


def test_a_store_that_is_taken_away_is_missed(tmp_path):
    path = tmp_path / "run.db"
    optimizer = dale.Optimizer(BOUNDS, seed=0, method=Uniform(), store=path)
    trial = optimizer.ask()
    path.rename(tmp_path / "moved.db")
    with pytest.raises(dale.StoreError, match="deleted, moved or replaced"):
        optimizer.tell(trial, 1.0)
    with pytest.raises(dale.StoreError, match=r"delete run\.db-wal too"):  # or its log would be taken for a new one's
        dale.Optimizer(BOUNDS, seed=0, method=Uniform(), store=path)
    (tmp_path / "moved.db").rename(path)
    optimizer.tell(trial, 1.0)
    assert dale.open(path).history[0].value == 1.0


@pytest.mark.skipif(sys.platform == "win32", reason="an open file cannot be deleted")
def test_a_log_that_is_taken_away_is_missed(tmp_path):
    """Whoever opens the store next makes another log, and each would overwrite what the other has told."""
    path = tmp_path / "run.db"
    first = dale.Optimizer(BOUNDS, seed=0, method=Uniform(), store=path)
    first.tell(first.ask(), 1.0)
    for name in ("run.db-wal", "run.db-shm"):
        (tmp_path / name).unlink()
    other = start("-c", OTHER, path)
    assert other.communicate()[0] == "2\n"
    with pytest.raises(dale.StoreError, match=r"run\.db-wal was deleted, moved or replaced"):
        first.ask()
    first.close()
    assert [t.value for t in dale.open(path).history] == [1.0, 2.0]


OTHER = """
import dale, sys
from store_runs import BOUNDS, Uniform
optimizer = dale.Optimizer(BOUNDS, seed=0, method=Uniform(), store=sys.argv[1])
optimizer.tell(optimizer.ask(), 2.0)
print(len(optimizer.history))
"""


def test_a_value_that_cannot_be_kept_is_in_the_error(tmp_path):
    """It may have taken hours, and the optimizer of minimize is out of reach."""

    def objective(x):
        (tmp_path / "run.db").unlink(missing_ok=True)
        return 0.123456789012345

    with pytest.raises(dale.StoreError, match="deleted") as caught:
        dale.minimize(objective, BOUNDS, budget=3, seed=0, method=Uniform(), store=tmp_path / "run.db")
    assert re.fullmatch(r"Trial 0 at \(.*\) gave 0\.123456789012345, which was not kept", *caught.value.__notes__)


def test_a_folder_is_no_store(tmp_path):
    for attempt in (dale.open, lambda path: dale.Optimizer(BOUNDS, store=path)):
        with pytest.raises(dale.StoreError, match="is a directory"):
            attempt(tmp_path)


def test_a_store_has_one_name(tmp_path, whole):
    path, other = _written(tmp_path / "run.db", whole[0]), tmp_path / "other.db"
    other.hardlink_to(path)
    for name in (path, other):
        with pytest.raises(dale.StoreError, match=r"has 2 names \(hard links\)"):
            dale.Optimizer(BOUNDS, method=Uniform(), store=name)
        assert len(dale.open(name).history) == len(whole[1])  # to look at it is no harm
    other.unlink()
    draft = tmp_path / ".run.db.123.abcdef.new"  # left by a process that was killed as it had made the store
    draft.hardlink_to(path)
    dale.Optimizer(BOUNDS, method=Uniform(), store=path).close()
    assert [p.name for p in tmp_path.iterdir()] == ["run.db"]


def test_a_link_is_the_store_that_it_leads_to(tmp_path, whole):
    path, link = _written(tmp_path / "run.db", whole[0]), tmp_path / "link.db"
    link.symlink_to(path)
    one = dale.Optimizer(BOUNDS, method=Uniform(), store=path)
    two = dale.Optimizer(BOUNDS, method=Uniform(), store=link)
    assert one.ask().id != two.ask().id


def test_a_store_moves_as_one_file(tmp_path, whole):
    shutil.copy(_written(tmp_path / "a.db", whole[0]), tmp_path / "b.db")
    with dale.Optimizer(BOUNDS, method=Uniform(), store=tmp_path / "b.db") as optimizer:
        optimizer.tell(optimizer.ask(), 1.0)
    assert len(optimizer.history) == len(whole[1]) + 1


def _written(path, data):
    path.write_bytes(data)
    return path
