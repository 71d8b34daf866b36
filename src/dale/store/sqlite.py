"""The file format: an SQLite database with two tables. Events are only appended; one row counts them.

    run      problem as JSON, number of events, checksum of the last event
    events   number, session, kind, trial, time, content as JSON, checksum

The checksum of an event covers its row and the checksum of the row before, so it covers the problem and all earlier
rows. Together with the count it reveals every row that was changed, lost or added, including damage that SQLite does
not detect.

The database uses a write-ahead log with full synchronisation: a committed event is on disk. The log is copied into the
file after every commit, so the file alone is complete when a process is killed. SQLite would silently truncate a
damaged log; nothing depends on one. This takes a few milliseconds per event, which is little beside an evaluation.

Rules for changes: a new version may add keys to the problem and to the content of events, because readers ignore keys
that they do not know. A new key is written only if it differs from its default, so that an older store still holds the
same problem. Any other change needs a new format number, and the reader must keep reading format 2.
"""

from __future__ import annotations

import contextlib
import glob
import json
import os
import secrets
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple
from zlib import crc32

from dale.errors import StoreError
from dale.store.codec import dump_json
from dale.store.events import Event, EventKind

APPLICATION_ID = int.from_bytes(b"dale", "big")
FORMAT = 2
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
DRAFT_NAME = ".{}.{}.new"  # name of a store until it is complete
COLUMNS = "number, session, kind, trial, time, content, checksum"
NOT_CHANGED = "The file was not changed"
BACKUP_HINT = "first copy it together with the files beside it; then restore a backup, or start a new run"


class Position(NamedTuple):
    """How far a run has been read: number and checksum of the last event."""

    number: int
    checksum: int


def connect(path: Path, mode: Literal["ro", "rw", "rwc", "ro&immutable=1"]) -> sqlite3.Connection:
    """Connect without automatic transactions and without executing code from the file."""
    connection = sqlite3.connect(
        f"{path.as_uri()}?mode={mode}", uri=True, timeout=BUSY_TIMEOUT, isolation_level=None, check_same_thread=False
    )
    for pragma in ("trusted_schema = OFF", "cell_size_check = ON", "synchronous = FULL", "fullfsync = ON"):
        connection.execute(f"PRAGMA {pragma}")
    connection.execute("PRAGMA wal_autocheckpoint = 1")
    return connection


def create(path: Path, problem: dict[str, Any]) -> None:
    """Create a store atomically; do nothing if another process has created it first."""
    log = Path(f"{path}-wal")
    if log.exists() and not path.exists():  # in this order: another process may be creating the store right now
        raise StoreError(
            f"{path} does not exist, but {log.name} does: it is the log of a store that was deleted or moved, and "
            f"would become part of a new one. Put {path.name} back to resume its run, or delete {log.name} too to "
            "start a new run"
        )
    draft = path.with_name(DRAFT_NAME.format(path.name, f"{os.getpid()}.{secrets.token_hex(4)}"))
    with translate_errors(path, "create"):
        try:
            connection = connect(draft, "rwc")
            try:
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                connection.execute(f"PRAGMA user_version = {FORMAT}")
                connection.execute("BEGIN IMMEDIATE")
                for table in TABLES.values():
                    connection.execute(table)
                text = dump_json(problem)
                connection.execute("INSERT INTO run VALUES (1, ?, 0, ?)", (text, crc32(text.encode())))
                connection.execute("COMMIT")
            finally:
                connection.close()
            _publish(draft, path)
        finally:
            for leftover in (draft, Path(f"{draft}-wal"), Path(f"{draft}-shm")):
                leftover.unlink(missing_ok=True)


def _publish(draft: Path, path: Path) -> None:
    """Give a complete draft its final name, unless the name is taken."""
    try:
        path.hardlink_to(draft)
    except FileExistsError:
        return
    except OSError:  # the file system does not support hard links
        if not path.exists():
            draft.rename(path)
    if hasattr(os, "O_DIRECTORY"):
        directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)


def check_hard_links(path: Path) -> None:
    """Refuse a file with several names: SQLite keeps a log per name, and writes through one would damage the others.

    A draft that a killed process has left behind does not count; it is deleted.
    """
    if path.stat().st_nlink < 2:
        return
    for draft in path.parent.glob(DRAFT_NAME.format(glob.escape(path.name), "*")):
        with contextlib.suppress(FileNotFoundError):
            if draft.samefile(path):
                draft.unlink()
    names = path.stat().st_nlink
    if names > 1:
        raise StoreError(
            f"{path} has {names} names (hard links), and writing through more than one of them would damage it; delete "
            f"the others, or copy the file and use the copy. {NOT_CHANGED}"
        )


def read_verified(connection: sqlite3.Connection, path: Path) -> tuple[dict[str, Any], list[Event], Position]:
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
        return _parse(problems[0], path), events, position
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _check_format(connection: sqlite3.Connection, path: Path) -> None:
    (application_id,) = connection.execute("PRAGMA application_id").fetchone()
    if application_id != APPLICATION_ID:
        raise StoreError(f"{path} is a database, but not a store of dale; choose another path. {NOT_CHANGED}")
    (found,) = connection.execute("PRAGMA user_version").fetchone()
    if found != FORMAT:
        age = "newer" if found > FORMAT else "older"
        raise StoreError(
            f"{path} has store format {found}, but this version of dale reads format {FORMAT}; open the file with the "
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
        content = _parse(row[5], path)
        events.append(Event(row[0], row[1], EventKind(row[2]), row[3], row[4], content))
    count = connection.execute("SELECT events, checksum FROM run").fetchall()
    if count != [(number, checksum)]:
        raise _damaged(path, f"expected {count[0][0] if count else 'no'} events, got {number}")
    return events, Position(number, checksum)


def append(connection: sqlite3.Connection, event: Event, position: Position) -> Position:
    """Append an event after a position; returns the position after it, to be passed to ``commit``."""
    row = (event.number, event.session, str(event.kind), event.trial, event.time, dump_json(event.content))
    checksum = row_checksum(row, position.checksum)
    connection.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?)", (*row, checksum))
    return Position(event.number, checksum)


def commit(connection: sqlite3.Connection, position: Position) -> None:
    """Commit a transaction, with the new number of events if any were appended."""
    connection.execute(
        "UPDATE run SET events = :number, checksum = :checksum WHERE events <> :number", position._asdict()
    )
    connection.execute("COMMIT")


def row_checksum(row: tuple[Any, ...], previous: int) -> int:
    """Checksum of a row (without its own checksum), given that of the previous row."""
    return crc32("|".join(map(str, row)).encode(), previous)


def _parse(text: str, path: Path) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise _damaged(path, str(error)) from None


def _damaged(path: Path, fault: str) -> StoreError:
    return StoreError(f"{path} is damaged: {fault}. {NOT_CHANGED}; {BACKUP_HINT}")


@contextlib.contextmanager
def translate_errors(path: Path, action: str) -> Iterator[None]:
    """Turn errors of SQLite and the operating system into a ``StoreError`` with the path and a remedy."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        raise _explained(path, action, error, code) from error
    except OSError as error:
        raise _explained(path, action, error, sqlite3.SQLITE_CANTOPEN) from error
    except ValueError as error:  # invalid UTF-8, or an unknown kind of event
        raise _damaged(path, str(error)) from error


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
