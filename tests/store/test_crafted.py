"""Files whose checksums are right and whose content is not: one clear error that names the file, or a run."""

import copy
import json
import random
import shutil
import sqlite3
import sys
from zlib import crc32

import pytest
from store_runs import FULL, start
from test_format import FILE, optimizer

import dale
from dale.cli import main
from dale.store.sqlite import row_checksum

STRANGE = [None, True, -1, 10**9, 10**400, float("nan"), float("inf"), "abc", "", [], [[1]], {}, {"float": "x"}]


def craft(path, edit):
    """Write a store like format2.db, with edited rows: the problem, and (kind, trial, content) of each event."""
    shutil.copy(FILE, path)
    connection = sqlite3.connect(path, isolation_level=None)
    (problem,) = connection.execute("SELECT problem FROM run").fetchone()
    rows = connection.execute("SELECT * FROM events ORDER BY number").fetchall()
    data = {"problem": json.loads(problem), "events": [[row[2], row[3], json.loads(row[5])] for row in rows]}
    data = edit(data) or data
    text = data["problem"] if isinstance(data["problem"], str) else json.dumps(data["problem"])
    checksum = crc32(text.encode())
    for row, (kind, trial, content) in zip(rows, data["events"], strict=True):
        content = content if isinstance(content, str) else json.dumps(content)
        new = (*row[:2], kind, trial, row[4], content)
        checksum = row_checksum(new, checksum)
        connection.execute(
            "UPDATE events SET kind = ?, trial = ?, content = ?, checksum = ? WHERE number = ?",
            (kind, trial, content, checksum, row[0]),
        )
    connection.execute("UPDATE run SET problem = ?, checksum = ?", (text, checksum))
    connection.close()
    return path


def places(data, path=()):
    """The path of everything inside JSON data."""
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in items:
        yield (*path, key)
        yield from places(value, (*path, key))


def edit_at(path, new):
    """An edit that replaces, or with ``del`` removes, what is at a path."""

    def edit(data):
        inside = data
        for key in path[:-1]:
            inside = inside[key]
        if new == "del" and isinstance(inside, dict):
            del inside[path[-1]]
        else:
            inside[path[-1]] = copy.deepcopy(new)

    return edit


def use(path, directory):
    """All that reads a store; returns the errors."""
    errors = []
    for attempt in (lambda: read_all(path, directory), lambda: resume(path)):
        try:
            attempt()
        except dale.StoreError as error:
            errors.append(str(error))
    return errors


def read_all(path, directory):
    run = dale.open(path)
    str(run.result())
    run.to_csv(directory / "run.csv")
    run.to_json(directory / "run.json")
    assert main(["show", str(path), "--trials"]) == 0


def resume(path):
    with optimizer(path) as resumed:
        resumed.ask()
        resumed.result()


def test_any_strange_value_anywhere_is_an_error_or_a_run(tmp_path, capsys):
    whole = {}
    craft(tmp_path / "run.db", whole.update)
    assert use(tmp_path / "run.db", tmp_path) == []
    rng, seen = random.Random(0), 0
    found = [place for place in places(whole) if place[:1] == ("problem",) or place[2:3] == (2,)]
    edits = [(place, new) for place in found for new in [*STRANGE, "del"]]
    for place, new in edits if FULL else rng.sample(edits, 80):
        craft(tmp_path / "run.db", edit_at(place, new))
        try:
            errors = use(tmp_path / "run.db", tmp_path)
        except Exception as error:
            raise AssertionError(f"{place} = {new!r}") from error
        assert all(str(tmp_path / "run.db") in error for error in errors), (place, new, errors)
        seen += bool(errors)
    assert seen > 30


@pytest.mark.parametrize(
    "edit",
    [
        edit_at(("problem",), "[" * 100_000 + "]" * 100_000),
        edit_at(("events", 3, 2), "[" * 100_000 + "]" * 100_000),
        edit_at(("problem",), []),
        edit_at(("problem", "space"), None),
        edit_at(("events", 3, 1), 10**6),
        edit_at(("events", 3, 1), -1),
        edit_at(("events", 3, 0), "unknown"),
    ],
)
def test_an_error_names_the_file(tmp_path, edit):
    path = craft(tmp_path / "run.db", edit)
    before = path.read_bytes()
    for attempt in (dale.open, optimizer):
        with pytest.raises(dale.StoreError, match=r"run\.db (is damaged|holds another problem): ") as caught:
            attempt(path)
        assert "The file was not changed" in str(caught.value)
    assert path.read_bytes() == before


BOMB = """
import resource, sys
import dale
resource.setrlimit(resource.RLIMIT_AS, (3 * 10**9, 3 * 10**9))
try:
    dale.open(sys.argv[1])
except dale.StoreError as error:
    print(error)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits on memory")
@pytest.mark.parametrize("dtype", ["<U500000000", "V2000000000", "O", "S2000000000", "U2000000,U2000000"])
def test_no_array_takes_more_memory_than_its_text(tmp_path, dtype):
    bomb = {"array": ["a"], "dtype": dtype}
    path = craft(tmp_path / "run.db", edit_at(("problem", "space", "parameters", "kind", "options", 0), bomb))
    said, errors = start("-c", BOMB, path).communicate()
    assert "run.db is damaged" in said, errors
    assert int(said.splitlines()[-1]) < 1_000_000  # kB
