"""The run on disk: what the optimizer writes, and what it reads of others that write to the same run.

Every change is one transaction that holds the write lock from its beginning: what others wrote is read first, then the
change is made, and the numbers of trials follow from the rows. So any number of processes may work on one store; each
sees what all have told, and none waits for another longer than for its thinking.
"""

from __future__ import annotations

import contextlib
import os
import platform
import socket
import sqlite3
import time
import warnings
import weakref
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any, Literal

import numpy as np
import scipy

from dale.errors import StoreError, StoreWarning
from dale.history.seeding import check_seed
from dale.history.trial import Trial
from dale.space.space import Space
from dale.store.codec import as_json
from dale.store.events import Event, Kind, content_of
from dale.store.location import checked_path, doubtful
from dale.store.problem import MOST_SHOWN, differences
from dale.store.sessions import Sessions, is_inherited, sessions_of
from dale.store.sqlite import Mark, append, check, check_names, commit, connect, create, events_after, reported

Place = tuple[Mark, dict[int, int], list[Event]]  # the last event, who evaluates the pending trials, what is unread
PATIENCE = 600.0  # seconds to wait for another process that writes: it may be thinking


class Store:
    """One optimizer's connection to a run on disk; ``open_store`` makes it.

    Args:
        path: The file, resolved.
        seed: The seed of the run.
        space: The space of the run.
        events: All events of the file, verified; the first transaction yields them.
        mark: Number and checksum of the last one.

    Attributes:
        path: As given.
        seed: As given.
        writing: Whether a transaction is open.
    """

    def __init__(self, path: Path, seed: int, space: Space, events: list[Event], mark: Mark) -> None:
        self.path = path
        self.seed = seed
        self.writing = False
        self._space = space
        self._process = os.getpid()
        self._mark = mark
        self._owners: dict[int, int] = {}  # of the pending trials: the session that evaluates each
        self._unread = events  # read from the file, not yet by the optimizer
        for event in events:
            self._note(event)
        self._sessions = sessions_of(path)
        with reported(path, "open"):
            check_names(path)
            self._connection = connect(path, "rw")
            self._session = self._begin_session()
            self._files = {file: _identity(file) for file in (path, Path(f"{path}-wal"))}
        self._end = weakref.finalize(self, _end, self._connection, self._sessions, self._session, self._process)

    @contextlib.contextmanager
    def transaction(self) -> Iterator[list[Event]]:
        """A change of the run, all of it or nothing; gives what has happened since the last one.

        Where it is left by an error, ``go_back`` to the ``place`` before.
        """
        self._check_usable()
        self._unsaved: list[tuple[Kind, int, dict[str, Any]]] = []
        try:
            with reported(self.path, "read"):
                self._begin()
                self.writing = True
                news, self._unread = [*self._unread, *self._news()], []
            yield news
            with self._saved():
                commit(self._connection, self._mark)
        except BaseException:
            self._roll_back()
            raise
        finally:
            self.writing = False

    def place(self) -> Place:
        """How far the run has been read."""
        return self._mark, dict(self._owners), self._unread

    def go_back(self, place: Place) -> None:
        """Read again from there the next time: what was written since, if it was, comes as news."""
        self.writing = False  # Ctrl-C may have come before the end of the transaction could say so
        self._mark, self._owners, self._unread = place

    def write(self, kind: Kind, trial: Trial) -> None:
        """Append an event about a trial; inside a transaction."""
        content = content_of(kind, trial, self._space)
        self._unsaved.append((kind, trial.id, content))
        with self._saved():
            self._append(kind, trial.id, content)

    def orphan(self) -> int | None:
        """The first pending trial whose process is gone; inside a transaction."""
        alive = {self._session: True}
        for trial, owner in sorted(self._owners.items()):
            if owner not in alive:
                alive[owner] = self._sessions.alive(owner)
            if not alive[owner]:
                return trial
        return None

    def close(self) -> None:
        """Let go of the file; what is still pending may then be asked by others."""
        self._end()

    def _news(self) -> list[Event]:
        events, self._mark = events_after(self._connection, self._mark, self.path)
        for event in events:
            self._note(event)
        return events

    def _append(self, kind: Kind, trial: int | None, content: dict[str, Any]) -> None:
        now = datetime.now(UTC).isoformat(timespec="microseconds")
        event = Event(self._mark.number + 1, self._session, kind, trial, now, content)
        self._mark = append(self._connection, event, self._mark)
        self._note(event)

    def _note(self, event: Event) -> None:
        """Keep track of who evaluates what."""
        if event.trial is None:
            return
        if event.kind in (Kind.ASK, Kind.TAKE):
            self._owners[event.trial] = event.session
        else:
            self._owners.pop(event.trial, None)

    @contextlib.contextmanager
    def _saved(self) -> Iterator[None]:
        """Writing; an error says what could not be written, for it may have been expensive."""
        try:
            with reported(self.path, "write to"):
                yield
        except StoreError as error:
            lost = [f"{kind} of trial {trial}, {as_json(content)}" for kind, trial, content in self._unsaved]
            more = f"; and {len(lost) - MOST_SHOWN} more" if len(lost) > MOST_SHOWN else ""
            raise StoreError(f"{error}. Not written: {'; '.join(lost[:MOST_SHOWN])}{more}") from error

    def _begin(self) -> None:
        """Take the write lock, as soon as others let go of it."""
        self._roll_back()  # of what Ctrl-C has cut off
        patient_until = time.monotonic() + PATIENCE
        while True:
            try:
                self._connection.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as error:
                busy = getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY
                if not busy or time.monotonic() > patient_until:
                    raise
            else:
                return

    def _roll_back(self) -> None:
        if self._connection.in_transaction:  # SQLite itself may have rolled back already
            with contextlib.suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")

    def _begin_session(self) -> int:
        """Enter this process into the run, with the next number."""
        self._session = 0
        try:
            self._begin()
            self._unread = [*self._unread, *self._news()]
            session = 1 + max((event.session for event in self._unread), default=0)
            while not self._sessions.begin(session):
                session += 1
            self._session = session
            self._append(Kind.OPEN, None, {**worker(), "versions": versions()})
            commit(self._connection, self._mark)
        except BaseException:
            self._sessions.end(self._session, tidy=False)
            self._roll_back()
            self._connection.close()
            raise
        return self._session

    def _check_usable(self) -> None:
        if not self._end.alive:
            raise StoreError(f"{self.path} was closed; make a new Optimizer with the same store to go on")
        if os.getpid() != self._process:
            raise StoreError(
                f"{self.path} was opened by process {self._process} and cannot be used by its child {os.getpid()}; "
                'fork first and open it afterwards, or start processes by multiprocessing.get_context("spawn")'
            )
        for file, identity in self._files.items():
            if _identity(file) != identity:  # SQLite would go on writing to where nobody finds it
                raise StoreError(
                    f"{file} was deleted, moved or replaced while it was open; put it back to go on, or make a new "
                    f"Optimizer with the store if {self.path.name} is there, or take what is known from history"
                )


def open_store(path: Any, space: Space, problem: dict[str, Any]) -> Store:
    """Open the store of a problem, or create it.

    The file is read and verified once, before the write lock is taken: a file that is damaged or that holds another
    problem is never opened for writing, and other processes do not wait. With the lock held, only the events that were
    appended since are read; their checksums continue those of the verified ones.
    """
    where = checked_path(path)
    if is_inherited(where):
        raise StoreError(
            f"{where} was open when this process was forked, and SQLite would damage it if it were opened here too; "
            'fork first and open it afterwards, or start processes by multiprocessing.get_context("spawn")'
        )
    kind = doubtful(where)
    if kind is not None:
        warnings.warn(
            f"{where} is on {kind}, where locks and shared memory may not work as SQLite needs them: the run may be "
            "damaged if several machines use it. Keep the store on a local disk",
            StoreWarning,
            stacklevel=3,
        )
    if not where.exists():
        create(where, {**problem, "seed": check_seed(problem["seed"])})
    stored, events, mark = read(where)
    found = list(differences(stored, problem))
    if found:
        more = f", and {len(found) - MOST_SHOWN} more" if len(found) > MOST_SHOWN else ""
        raise StoreError(
            f"{where} holds another problem: {'; '.join(found[:MOST_SHOWN])}{more}. It was left as it is: give what it "
            "was made with to go on with it, or another name to begin a new run"
        )
    return Store(where, stored["seed"], space, events, mark)


def read(path: Path) -> tuple[dict[str, Any], list[Event], Mark]:
    """The problem of a store, all of its events and the mark after them; nothing is written, not even beside it."""
    log = Path(f"{path}-wal")
    if not log.exists():  # nobody writes: then SQLite need not leave files of its own beside it
        with contextlib.suppress(StoreError):
            return _read(path, "ro&immutable=1")
        if not log.exists():
            return _read(path, "ro&immutable=1")  # for its error
    return _read(path, "ro")


def _read(path: Path, mode: Literal["ro", "ro&immutable=1"]) -> tuple[dict[str, Any], list[Event], Mark]:
    with reported(path, "read"), contextlib.closing(connect(path, mode)) as connection:
        return check(connection, path)


def _identity(path: Path) -> tuple[int, int] | None:
    """Which file it is that has this name."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def worker() -> dict[str, Any]:
    """Who this is."""
    return {"host": socket.gethostname(), "pid": os.getpid()}


def versions() -> dict[str, str]:
    """With what the run is made."""
    try:
        own = metadata.version("dale")
    except metadata.PackageNotFoundError:  # not installed: run from its sources
        own = "unknown"
    return {"dale": own, "numpy": np.__version__, "scipy": scipy.__version__, "python": platform.python_version()}


def _end(connection: sqlite3.Connection, sessions: Sessions, session: int, process: int) -> None:
    """Close a store, also when nobody holds it any more; a forked child leaves its parent's alone."""
    if os.getpid() != process:
        return
    with contextlib.suppress(sqlite3.Error):
        if connection.in_transaction:
            connection.execute("ROLLBACK")
    try:
        connection.execute("BEGIN IMMEDIATE")
    except sqlite3.Error:  # somebody thinks, or the file is gone: leave the locks' file to others
        sessions.end(session, tidy=False)
    else:
        sessions.end(session, tidy=True)
        connection.execute("ROLLBACK")
    connection.close()
