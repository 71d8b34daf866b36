"""The file: SQLite with two tables, events that are only ever appended, and one row that counts them.

    run      problem as JSON, number of events, checksum of the last
    events   number, session, kind, trial, time, content as JSON, checksum

The checksum of an event covers all of its row and, through the one before, every earlier row and the problem. With the
count it shows whatever was changed, lost or left over, also what SQLite itself does not notice.

Write-ahead log with full sync: what was committed is on disk. The log is carried over into the file after every commit,
so the file alone is whole when a process is killed, and nothing hangs on a log that SQLite would cut short in silence
where it is damaged. Evaluations are expensive; the milliseconds that this takes are not.
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
from dale.store.codec import as_json
from dale.store.events import Event, Kind

APPLICATION = int.from_bytes(b"dale", "big")
VERSION = 2
TURN = 1.0  # seconds that SQLite waits at a time, so that Ctrl-C is heard in between
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
DRAFT = ".{}.{}.new"  # name of a store before it is whole
COLUMNS = "number, session, kind, trial, time, content, checksum"
SAVE = "copy it away together with the files beside it before anything else, and take a backup of it or begin a new one"


class Mark(NamedTuple):
    """How far a run has been read: number and checksum of the last event."""

    number: int
    checksum: int


def connect(path: Path, mode: Literal["ro", "rw", "rwc", "ro&immutable=1"]) -> sqlite3.Connection:
    """A connection that begins and ends no transaction by itself and runs no code from the file."""
    connection = sqlite3.connect(
        f"{path.as_uri()}?mode={mode}", uri=True, timeout=TURN, isolation_level=None, check_same_thread=False
    )
    for pragma in ("trusted_schema = OFF", "cell_size_check = ON", "synchronous = FULL", "fullfsync = ON"):
        connection.execute(f"PRAGMA {pragma}")
    connection.execute("PRAGMA wal_autocheckpoint = 1")
    return connection


def create(path: Path, problem: dict[str, Any]) -> None:
    """Make a store, whole from the moment it is there; nothing is done where another process was faster."""
    log = Path(f"{path}-wal")
    if log.exists() and not path.exists():  # asked in this order, it is not the log of one that was made just now
        raise StoreError(
            f"there is no {path}, but {log.name} of one that was deleted or moved away, which would become part of a "
            f"new one; put the file back to go on with it, or delete {log.name} too to begin a new run"
        )
    draft = path.with_name(DRAFT.format(path.name, f"{os.getpid()}.{secrets.token_hex(4)}"))
    with reported(path, "make"):
        try:
            connection = connect(draft, "rwc")
            try:
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute(f"PRAGMA application_id = {APPLICATION}")
                connection.execute(f"PRAGMA user_version = {VERSION}")
                connection.execute("BEGIN IMMEDIATE")
                for table in TABLES.values():
                    connection.execute(table)
                text = as_json(problem)
                connection.execute("INSERT INTO run VALUES (1, ?, 0, ?)", (text, crc32(text.encode())))
                connection.execute("COMMIT")
            finally:
                connection.close()
            _put_in_place(draft, path)
        finally:
            for leftover in (draft, Path(f"{draft}-wal"), Path(f"{draft}-shm")):
                leftover.unlink(missing_ok=True)


def _put_in_place(draft: Path, path: Path) -> None:
    try:
        path.hardlink_to(draft)
    except FileExistsError:
        return
    except OSError:  # a file system without links
        if not path.exists():
            draft.rename(path)
    if hasattr(os, "O_DIRECTORY"):
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def check_names(path: Path) -> None:
    """Refuse a file with another name: SQLite keeps a log for each name, and what is written by one damages the other.

    A draft is no other name, but left by a process that was killed as the store was there.
    """
    if path.stat().st_nlink < 2:
        return
    for draft in path.parent.glob(DRAFT.format(glob.escape(path.name), "*")):
        with contextlib.suppress(FileNotFoundError):
            if draft.samefile(path):
                draft.unlink()
    names = path.stat().st_nlink
    if names > 1:
        raise StoreError(
            f"{path} has {names} names (hard links), and SQLite would damage it if it were used by more than one of "
            "them; delete the others, or copy the file and use the copy. It was left as it is"
        )


def check(connection: sqlite3.Connection, path: Path) -> tuple[dict[str, Any], list[Event], Mark]:
    """The problem, every event and the mark after them; an error if a bit is not as it was written."""
    connection.execute("BEGIN")
    try:
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        if application != APPLICATION:
            raise StoreError(f"{path} is a database, but no store of dale; it was left as it is. Choose another name")
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version != VERSION:
            raise StoreError(
                f"{path} has format {version}, and this version of dale reads {VERSION}; open it with the version of "
                "dale that made it. It was left as it is"
            )
        tables = dict(connection.execute("SELECT name, sql FROM sqlite_master").fetchall())
        if tables != TABLES:
            raise _damaged(path, f"its tables are {sorted(map(str, tables))}, or not as they were made")
        faults = [str(row[0]) for row in connection.execute("PRAGMA quick_check(3)")]
        if faults != ["ok"]:
            raise _damaged(path, "; ".join(faults).replace("\n", " "))
        texts = [row[0] for row in connection.execute("SELECT problem FROM run")]
        if len(texts) != 1:
            raise _damaged(path, f"it tells {len(texts)} problems, wanted one")
        events, mark = events_after(connection, Mark(0, crc32(texts[0].encode())), path)
        return _decoded(texts[0], path), events, mark
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def events_after(connection: sqlite3.Connection, mark: Mark, path: Path) -> tuple[list[Event], Mark]:
    """The events after a mark, and the mark after them."""
    events = []
    number, checksum = mark
    for row in connection.execute(f"SELECT {COLUMNS} FROM events WHERE number > ? ORDER BY number", (number,)):
        number += 1
        checksum = checksum_of(row[:-1], checksum)
        if row[0] != number or row[-1] != checksum:
            raise _damaged(path, f"event {number} is missing, or its checksum is wrong")
        content = _decoded(row[5], path)
        events.append(Event(row[0], row[1], Kind(row[2]), row[3], row[4], content))
    counted = connection.execute("SELECT events, checksum FROM run").fetchall()
    if counted != [(number, checksum)]:
        raise _damaged(path, f"it counts {counted[0][0] if counted else 'no'} events and has {number}")
    return events, Mark(number, checksum)


def append(connection: sqlite3.Connection, event: Event, mark: Mark) -> Mark:
    """Write an event after a mark; the mark after it, which ``commit`` counts."""
    row = (event.number, event.session, str(event.kind), event.trial, event.time, as_json(event.content))
    checksum = checksum_of(row, mark.checksum)
    connection.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?)", (*row, checksum))
    return Mark(event.number, checksum)


def commit(connection: sqlite3.Connection, mark: Mark) -> None:
    """End a transaction, with the count of all events, where some were written."""
    connection.execute("UPDATE run SET events = :number, checksum = :checksum WHERE events <> :number", mark._asdict())
    connection.execute("COMMIT")


def checksum_of(row: tuple[Any, ...], before: int) -> int:
    """Of a row without its checksum, carried on from the row before."""
    return crc32("|".join(map(str, row)).encode(), before)


def _decoded(text: str, path: Path) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise _damaged(path, str(error)) from None


def _damaged(path: Path, what: str) -> StoreError:
    return StoreError(f"{path} is damaged: {what}. It was left as it is; {SAVE}")


@contextlib.contextmanager
def reported(path: Path, what: str) -> Iterator[None]:
    """Turn what SQLite and the system say into an error that says which file it is about and what to do."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        raise _explained(path, what, error, code) from error
    except OSError as error:
        raise _explained(path, what, error, sqlite3.SQLITE_CANTOPEN) from error
    except ValueError as error:  # text that is no text, a kind of event that is none
        raise _damaged(path, str(error)) from error


def _explained(path: Path, what: str, error: Exception, code: int) -> StoreError:
    if code == sqlite3.SQLITE_NOTADB:
        return StoreError(
            f"{path} is no store of dale, or a damaged one: {error}. It was left as it is; choose another name, "
            f"or {SAVE}"
        )
    if code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
        return StoreError(
            f"could not {what} {path}: {error}; is the disk full? What was there before is intact: make room and go on"
        )
    if code in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM):
        return StoreError(
            f"could not {what} {path}: {error}; see that its folder exists and that you may write to both"
        )
    if code == sqlite3.SQLITE_BUSY:
        return StoreError(f"could not {what} {path}: another process has held it for too long ({error}); try again")
    return _damaged(path, str(error))
