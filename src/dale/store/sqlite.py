"""The file format: an SQLite database with two tables. Events are only appended; one row counts them.

    run      problem as JSON, number of events, checksum of the last event
    events   number, session, kind, trial, time, content as JSON, checksum

The checksum of an event covers its row and the checksum of the row before, so it covers the problem and all earlier
rows. Together with the count it reveals every row that was changed, lost or added, including damage that SQLite does
not detect.

The database uses a write-ahead log with full synchronisation: a committed event is on disk. The log is copied into the
file after every commit, so the file alone is complete when a process is killed. SQLite would silently truncate a
damaged log; nothing depends on one. A connection is open only while dale holds its own lock on the store
(``locks.py``), and closed again: between two events there is the file alone.

So an event makes five calls of fsync: the head of a new log, the directory with its name, the events in it, the log
again before it is copied, the file. That is 2 ms on an idle disk and 10 to 30 ms on a busy one, little beside an
evaluation. A log that is kept for the next event would save one of them and the work of creating it; but a connection
has to stay open for that, which depends on locks that any code of the process can release.

Rules for changes: a new version may add keys to the problem and to the content of events, because readers ignore keys
that they do not know. A new key is written only if it differs from its default, so that an older store still holds the
same problem. Any other change needs a new format number, and the reader must keep reading formats 2 and 3. A store has
format 2 until the first correction of a trial is written, an event that readers of format 2 do not know; then it has
format 3.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from threading import RLock
from typing import Any, Literal, NamedTuple
from zlib import crc32

from dale.errors import StoreError
from dale.store.codec import dump_json, load_json
from dale.store.events import CORRECTIONS, Event, EventKind
from dale.store.locks import LOCK_TIMEOUT, access_lock, write_lock

APPLICATION_ID = int.from_bytes(b"dale", "big")
FORMAT, FORMAT_WITH_CORRECTIONS = 2, 3
BUSY_TIMEOUT = 1.0  # seconds that SQLite waits for a lock before Python can handle Ctrl-C
TABLES = {
    "run": """CREATE TABLE run (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    problem TEXT NOT NULL,
    events INTEGER NOT NULL,
    checksum INTEGER NOT NULL
)""",
    "events": """CREATE TABLE events (
    number INTEGER PRIMARY KEY,
    session INTEGER NOT NULL,
    kind TEXT NOT NULL,
    trial INTEGER,
    time TEXT NOT NULL,
    content TEXT NOT NULL,
    checksum INTEGER NOT NULL
)""",
}
COLUMNS = "number, session, kind, trial, time, content, checksum"
CONTENT_ERRORS = (ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError)
NOT_CHANGED = "The file was not changed"
BACKUP_HINT = "first copy it together with the files beside it; then restore a backup, or start a new run"


Mode = Literal["ro", "rw", "rwc", "ro&immutable=1"]


class Position(NamedTuple):
    """How far a run has been read: number and checksum of the last event."""

    number: int
    checksum: int


@contextlib.contextmanager
def connection_to(path: Path, mode: Mode) -> Iterator[sqlite3.Connection]:
    """A connection without automatic transactions, which executes no code from the file. Others must be locked out.

    A fork waits until it is closed: SQLite in the child would take the locks of its parent for its own.
    """
    with _no_fork:
        connection = sqlite3.connect(
            f"{path.as_uri()}?mode={mode}", uri=True, timeout=BUSY_TIMEOUT, isolation_level=None
        )
        with contextlib.closing(connection):
            for pragma in ("trusted_schema = OFF", "cell_size_check = ON", "synchronous = FULL", "fullfsync = ON"):
                connection.execute(f"PRAGMA {pragma}")
            connection.execute("PRAGMA wal_autocheckpoint = 1")
            yield connection


def create(path: Path, problem: dict[str, Any], events: Sequence[Event] = (), *, must_be_new: bool = False) -> None:
    """Create a store, with some events; do nothing if another process has created it first, unless it must be new."""
    with translate_errors(path, "create"), write_lock(path):
        if path.exists() and must_be_new:
            raise StoreError(f"{path} exists; choose another path for the new run. {NOT_CHANGED}")
        if path.exists():
            return
        with _draft_of(path) as draft, connection_to(draft, "rwc") as connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {FORMAT}")
            for table in TABLES.values():
                connection.execute(table)
            text = dump_json(problem)
            connection.execute("INSERT INTO run VALUES (1, ?, 0, ?)", (text, crc32(text.encode())))
            _insert(connection, events, Position(0, crc32(text.encode())), path)
            connection.execute("COMMIT")
            # At the end: a log that a full disk kept from being copied into the draft would be lost with its name.
            _use_log(connection, path)


def copy(path: Path, target: Path) -> None:
    """Copy a store as it is now, also while processes use it, with SQLite's backup function."""
    with translate_errors(target, "create"), write_lock(target):
        if target.exists():
            raise StoreError(f"{target} exists; choose another path for the copy. {NOT_CHANGED}")
        with _draft_of(target) as draft, connection_to(draft, "rwc") as connection, _opened(path) as source:
            source.backup(connection)
            _use_log(connection, target)


def _use_log(connection: sqlite3.Connection, path: Path) -> None:
    """Let a database have a write-ahead log. SQLite returns another mode, and no error, if it fails."""
    (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
    if mode != "wal":
        raise _explained(path, "create", OSError("no write-ahead log could be made"), sqlite3.SQLITE_FULL)


@contextlib.contextmanager
def _draft_of(path: Path) -> Iterator[Path]:
    """A file that gets its name when it is complete; with the write lock held, and if the name is not taken."""
    draft, log = path.with_name(f".{path.name}.new"), log_of(path)
    if log.exists():
        raise StoreError(
            f"{path} does not exist, but {log.name} does: it is the log of a store that was deleted or moved, and "
            f"would become part of a new one. Put {path.name} back to resume its run, or delete {log.name} too to "
            "start a new run"
        )
    _remove_draft(draft)  # of a process that was killed here
    try:
        yield draft
        draft.rename(path)
        _sync_directory(path.parent)
    finally:
        _remove_draft(draft)


def _remove_draft(draft: Path) -> None:
    for file in (draft, *(Path(f"{draft}-{kind}") for kind in ("journal", "wal", "shm"))):
        file.unlink(missing_ok=True)


def _sync_directory(path: Path) -> None:
    if hasattr(os, "O_DIRECTORY"):
        directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)


def check_hard_links(path: Path) -> None:
    """Refuse a file with several names: SQLite keeps a log per name, and writes through one would damage the others."""
    names = path.stat().st_nlink
    if names > 1:
        raise StoreError(
            f"{path} has {names} names (hard links), and writing through more than one of them would damage it; delete "
            f"the others, or copy the file and use the copy. {NOT_CHANGED}"
        )


def read(path: Path) -> tuple[dict[str, Any], list[Event], Position]:
    """Read and verify a store: its problem, all events and the position after them.

    In a directory where no lock file can be created, others may write meanwhile: then it is read again.
    """
    while True:
        before = _state(path)
        try:
            with _opened(path) as connection:
                return _read_verified(connection, path)
        except StoreError:
            if _state(path) == before:
                raise


def _state(path: Path) -> list[Any]:
    """Changes whenever the files of a store do."""
    state: list[Any] = []
    for file in (path, log_of(path)):
        with contextlib.suppress(FileNotFoundError):
            found = file.stat()
            state.append((file, found.st_mtime_ns, found.st_size))
    return state


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection for reading, which writes nothing. Without a log, SQLite need not create files beside the store."""
    with contextlib.ExitStack() as stack, translate_errors(path, "read"):
        with contextlib.suppress(OSError):  # a directory that this process may not write to
            stack.enter_context(access_lock(path))
        yield stack.enter_context(connection_to(path, "ro" if log_of(path).exists() else "ro&immutable=1"))


def log_of(path: Path) -> Path:
    """SQLite's write-ahead log of a database."""
    return Path(f"{path}-wal")


def _read_verified(connection: sqlite3.Connection, path: Path) -> tuple[dict[str, Any], list[Event], Position]:
    """Read the problem, all events and the position after them; raise an error if anything was damaged."""
    connection.execute("BEGIN")
    try:
        _check_format(connection, path)
        faults = [str(row[0]) for row in connection.execute("PRAGMA quick_check(3)")]
        if faults != ["ok"]:
            raise _damaged(path, "; ".join(faults).replace("\n", " "))
        problems = [row[0] for row in connection.execute("SELECT problem FROM run")]
        if len(problems) != 1:
            raise _damaged(path, f"expected one problem, got {len(problems)}")
        events, position = events_after(connection, Position(0, crc32(problems[0].encode())), path)
        return load_json(problems[0]), events, position
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _check_format(connection: sqlite3.Connection, path: Path) -> None:
    (application_id,) = connection.execute("PRAGMA application_id").fetchone()
    if application_id != APPLICATION_ID:
        raise StoreError(f"{path} is a database, but not a store of dale; choose another path. {NOT_CHANGED}")
    (found,) = connection.execute("PRAGMA user_version").fetchone()
    if found not in (FORMAT, FORMAT_WITH_CORRECTIONS):
        age = "newer" if found > FORMAT else "older"
        known = f"{FORMAT} and {FORMAT_WITH_CORRECTIONS}"
        raise StoreError(
            f"{path} has store format {found}, but this version of dale reads formats {known}; open the file with the "
            f"{age} version of dale that created it, or choose another path. {NOT_CHANGED}"
        )
    tables = dict(connection.execute("SELECT name, sql FROM sqlite_master").fetchall())
    if tables != TABLES:
        raise _damaged(path, f"expected the tables {sorted(TABLES)} as created, got {sorted(map(str, tables))}")


def events_after(connection: sqlite3.Connection, position: Position, path: Path) -> tuple[list[Event], Position]:
    """Read and verify the events after a position; returns them and the position after them."""
    events = []
    number, checksum = position
    for row in connection.execute(f"SELECT {COLUMNS} FROM events WHERE number > ? ORDER BY number", (number,)):
        number += 1
        checksum = row_checksum(row[:-1], checksum)
        if row[0] != number or row[-1] != checksum:
            raise _damaged(path, f"event {number} is missing or its checksum is wrong")
        datetime.fromisoformat(row[4])  # or an error
        events.append(Event(row[0], row[1], EventKind(row[2]), row[3], row[4], dict(load_json(row[5]))))
    count = connection.execute("SELECT events, checksum FROM run").fetchall()
    if count != [(number, checksum)]:
        raise _damaged(path, f"expected {count[0][0] if count else 'no'} events, got {number}")
    return events, Position(number, checksum)


def read_after(path: Path, position: Position) -> tuple[list[Event], Position]:
    """Read the events after a position; with the write lock held."""
    with _opened(path) as connection:
        return events_after(connection, position, path)


def write(path: Path, events: Sequence[Event], position: Position) -> Position:
    """Append events after a position, all of them or none; returns the position after them."""
    with translate_errors(path, "write to"), access_lock(path), connection_to(path, "rw") as connection:
        _begin(connection)
        after = _insert(connection, events, position, path)
        connection.execute("COMMIT")
        return after


def _insert(connection: sqlite3.Connection, events: Sequence[Event], position: Position, path: Path) -> Position:
    """Append events in the open transaction of a connection."""
    number, checksum = position
    for event in events:
        row = (event.number, event.session, str(event.kind), event.trial, event.time, dump_json(event.content))
        number, checksum = event.number, row_checksum(row, checksum)
        connection.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?)", (*row, checksum))
    changed = connection.execute(
        "UPDATE run SET events = ?, checksum = ? WHERE events = ? AND checksum = ?", (number, checksum, *position)
    )
    if changed.rowcount != 1:
        raise StoreError(f"{path} was changed by a process that did not wait for its lock. {NOT_CHANGED}")
    if any(event.kind in CORRECTIONS for event in events):
        connection.execute(f"PRAGMA user_version = {FORMAT_WITH_CORRECTIONS}")
    return Position(number, checksum)


def _begin(connection: sqlite3.Connection) -> None:
    """Acquire the write lock of SQLite; wait while a program other than dale holds it."""
    deadline = time.monotonic() + LOCK_TIMEOUT
    while True:
        try:
            connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            busy = getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY
            if not busy or time.monotonic() > deadline:
                raise
        else:
            return


def row_checksum(row: tuple[Any, ...], previous: int) -> int:
    """Checksum of a row (without its own checksum), given that of the previous row."""
    return crc32("|".join(map(str, row)).encode(), previous)


def _damaged(path: Path, fault: str) -> StoreError:
    return StoreError(f"{path} is damaged: {fault}. {NOT_CHANGED}; {BACKUP_HINT}")


@contextlib.contextmanager
def translate_errors(path: Path, action: str) -> Iterator[None]:
    """Turn errors of SQLite, the operating system and the content into a ``StoreError`` with path and remedy."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        raise _explained(path, action, error, code) from error
    except OSError as error:
        raise _explained(path, action, error, sqlite3.SQLITE_CANTOPEN) from error
    except CONTENT_ERRORS as error:
        raise _damaged(path, f"its content is not that of a run ({type(error).__name__}: {error})") from error


def _explained(path: Path, action: str, error: Exception, code: int) -> StoreError:
    if code == sqlite3.SQLITE_NOTADB:
        return StoreError(
            f"{path} is not a store of dale, or a damaged one: {error}. {NOT_CHANGED}; choose another path, or, if it "
            f"is damaged, {BACKUP_HINT}"
        )
    if code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
        return StoreError(
            f"could not {action} {path}: {error}; is the disk full? Earlier data are intact: free some space, then "
            "continue or re-run the same command to resume"
        )
    if code in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM):
        return StoreError(
            f"could not {action} {path}: {error}; check that its directory exists and that you may write to both"
        )
    if code == sqlite3.SQLITE_BUSY:
        return StoreError(f"could not {action} {path}: another process holds its lock ({error}); try again later")
    return _damaged(path, str(error))


_no_fork = RLock()  # held while a connection is open
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_no_fork.acquire, after_in_parent=_no_fork.release, after_in_child=_no_fork.release)
