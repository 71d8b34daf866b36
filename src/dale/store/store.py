"""A store: the optimizer appends events to a run on disk and reads those of other processes.

Every change is one transaction that holds the write lock from its beginning. It first reads the events of other
processes, then makes the change; trial ids follow from the rows. So any number of processes can work on one store, and
each sees all reported values. A process waits at most as long as another one computes a proposal.
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
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy

from dale.errors import StoreError, StoreWarning
from dale.history.seeding import check_seed
from dale.history.trial import Trial
from dale.space.space import Space
from dale.store.codec import dump_json
from dale.store.events import Event, EventKind, event_content
from dale.store.location import network_file_system, resolve_path
from dale.store.problem import MAX_SHOWN, differences
from dale.store.sessions import Sessions, is_inherited, sessions_of
from dale.store.sqlite import (
    NOT_CHANGED,
    Position,
    append,
    check_hard_links,
    commit,
    connect,
    create,
    events_after,
    read_verified,
    translate_errors,
)

LOCK_TIMEOUT = 600.0  # seconds to wait for the write lock: another process may be computing a proposal
FORK_HINT = 'fork first and open it afterwards, or start processes with multiprocessing.get_context("spawn")'


class ReadState(NamedTuple):
    """How far an optimizer has read a run.

    Attributes:
        position: The last event that was read from the file.
        owners: For each pending trial the session that evaluates it.
        unread: Events that were read from the file, but not by the optimizer yet.
    """

    position: Position
    owners: dict[int, int]
    unread: Sequence[Event]


class Store:
    """One optimizer's connection to a run on disk. Create it with ``open_store``.

    Args:
        path: The file, resolved.
        seed: The seed of the run.
        space: The space of the run.
        events: All events of the file, verified; the first transaction yields them.
        position: The position after them.

    Attributes:
        path: As given.
        seed: As given.
        writing: Whether a transaction is open.
    """

    def __init__(self, path: Path, seed: int, space: Space, events: Sequence[Event], position: Position) -> None:
        self.path = path
        self.seed = seed
        self.writing = False
        self._space = space
        self._process = os.getpid()
        self._position = position
        self._owners: dict[int, int] = {}  # pending trial: the session that evaluates it
        self._unread = events
        for event in events:
            self._track_owner(event)
        self._sessions = sessions_of(path)
        with translate_errors(path, "open"):
            check_hard_links(path)
            self._connection = connect(path, "rw")
            self._session = self._begin_session()
            self._files = {file: _file_id(file) for file in (path, Path(f"{path}-wal"))}
        self._end = weakref.finalize(self, _end, self._connection, self._sessions, self._session, self._process)

    @contextlib.contextmanager
    def transaction(self) -> Iterator[Sequence[Event]]:
        """Change the run, completely or not at all; yields the events since the last transaction.

        If the block raises, call ``rewind`` with the ``position`` from before the transaction.
        """
        self._check_usable()
        self._unsaved: list[tuple[EventKind, int, dict[str, Any]]] = []
        try:
            with translate_errors(self.path, "read"):
                self._begin()
                self.writing = True
                new_events, self._unread = [*self._unread, *self._read_new_events()], ()
            yield new_events
            with self._report_unsaved():
                commit(self._connection, self._position)
        except BaseException:
            self._roll_back()
            raise
        finally:
            self.writing = False

    def position(self) -> ReadState:
        """How far the run has been read."""
        return ReadState(self._position, dict(self._owners), self._unread)

    def rewind(self, state: ReadState) -> None:
        """Return to an earlier position: the next transaction yields all events after it that are in the file."""
        self.writing = False  # Ctrl-C may have interrupted the end of the transaction
        self._position, self._owners, self._unread = state

    def append(self, kind: EventKind, trial: Trial) -> None:
        """Append an event about a trial; only inside a transaction."""
        content = event_content(kind, trial, self._space)
        self._unsaved.append((kind, trial.id, content))
        with self._report_unsaved():
            self._append(kind, trial.id, content)

    def abandoned(self) -> int | None:
        """Id of the first pending trial whose process has ended, if any; only inside a transaction."""
        alive = {self._session: True}
        for trial, owner in sorted(self._owners.items()):
            if owner not in alive:
                alive[owner] = self._sessions.alive(owner)
            if not alive[owner]:
                return trial
        return None

    def close(self) -> None:
        """Close the file. Other processes may then evaluate the pending trials."""
        self._end()

    def _read_new_events(self) -> list[Event]:
        events, self._position = events_after(self._connection, self._position, self.path)
        for event in events:
            self._track_owner(event)
        return events

    def _append(self, kind: EventKind, trial: int | None, content: dict[str, Any]) -> None:
        now = datetime.now(UTC).isoformat(timespec="microseconds")
        event = Event(self._position.number + 1, self._session, kind, trial, now, content)
        self._position = append(self._connection, event, self._position)
        self._track_owner(event)

    def _track_owner(self, event: Event) -> None:
        """Record which session evaluates a trial."""
        if event.trial is None:
            return
        if event.kind in (EventKind.ASK, EventKind.REASSIGN):
            self._owners[event.trial] = event.session
        else:
            self._owners.pop(event.trial, None)

    @contextlib.contextmanager
    def _report_unsaved(self) -> Iterator[None]:
        """On an error, add what could not be written to its message: it may have been expensive."""
        try:
            with translate_errors(self.path, "write to"):
                yield
        except StoreError as error:
            unsaved = [f"{kind} of trial {trial}, {dump_json(content)}" for kind, trial, content in self._unsaved]
            raise StoreError(f"{error}. Not written: {_join(unsaved)}") from error

    def _begin(self) -> None:
        """Acquire the write lock; wait while another process holds it."""
        self._roll_back()  # a transaction that Ctrl-C has interrupted
        deadline = time.monotonic() + LOCK_TIMEOUT
        while True:
            try:
                self._connection.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as error:
                busy = getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY
                if not busy or time.monotonic() > deadline:
                    raise
            else:
                return

    def _roll_back(self) -> None:
        if self._connection.in_transaction:  # SQLite may have rolled back by itself
            with contextlib.suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")

    def _begin_session(self) -> int:
        """Begin a session with the next free number, and append an event about it."""
        self._session = 0
        try:
            self._begin()
            self._unread = [*self._unread, *self._read_new_events()]
            session = 1 + max((event.session for event in self._unread), default=0)
            while not self._sessions.begin(session):
                session += 1
            self._session = session
            self._append(EventKind.OPEN, None, {**worker(), "versions": versions()})
            commit(self._connection, self._position)
        except BaseException:
            self._sessions.end(self._session, remove_file=False)
            self._roll_back()
            self._connection.close()
            raise
        return self._session

    def _check_usable(self) -> None:
        if not self._end.alive:
            raise StoreError(f"{self.path} was closed; create a new Optimizer with the same store to resume")
        if os.getpid() != self._process:
            raise StoreError(
                f"{self.path} was opened by process {self._process} and cannot be used by its child process "
                f"{os.getpid()}; {FORK_HINT}"
            )
        for file, identity in self._files.items():
            if _file_id(file) != identity:  # SQLite would continue to write to a file that has no name
                raise StoreError(
                    f"{file} was deleted, moved or replaced while it was open; put it back to continue, or create a "
                    f"new Optimizer with the store if {self.path.name} still exists. All trials so far are in history"
                )


def open_store(path: Any, space: Space, problem: dict[str, Any]) -> Store:
    """Open the store of a problem, or create it.

    The file is read and verified once, before the write lock is acquired: a file that is damaged or that holds another
    problem is never opened for writing, and other processes do not wait. With the lock held, only the events that were
    appended since are read; their checksums continue those of the verified ones.

    Examples:
        >>> import dale
        >>> from dale.store.problem import problem_to_json
        >>> space = dale.Space(x=(0, 1))
        >>> problem = problem_to_json(space, 0, dale.methods.default(), None, None)
        >>> store = open_store("run.db", space, problem)
        >>> with store.transaction() as new_events:
        ...     print(list(new_events), store.abandoned())
        [] None
        >>> store.close()
    """
    resolved = resolve_path(path)
    if is_inherited(resolved):
        raise StoreError(
            f"{resolved} was open when this process was forked, and opening it here too would damage it; {FORK_HINT}"
        )
    file_system = network_file_system(resolved)
    if file_system is not None:
        warnings.warn(
            f"{resolved} is on a network file system ({file_system}), where the locks that SQLite needs may not work: "
            "the run may be damaged if several machines use it. Keep the store on a local disk",
            StoreWarning,
            stacklevel=3,
        )
    if not resolved.exists():
        create(resolved, {**problem, "seed": check_seed(problem["seed"])})
    stored, events, position = read(resolved)
    found = list(differences(stored, problem))
    if found:
        raise StoreError(
            f"{resolved} holds another problem: {_join(found)}. {NOT_CHANGED}: to resume the run, use the settings "
            "and the version of dale that it was started with; to start a new run, use another path"
        )
    return Store(resolved, stored["seed"], space, events, position)


def read(path: Path) -> tuple[dict[str, Any], list[Event], Position]:
    """Read and verify a store: its problem, all events and the position after them. Nothing is written to disk."""
    log = Path(f"{path}-wal")
    if not log.exists():  # no process has the file open, so SQLite need not create files beside it
        with contextlib.suppress(StoreError):
            return _read(path, "ro&immutable=1")
        if not log.exists():
            return _read(path, "ro&immutable=1")  # to raise its error
    return _read(path, "ro")


def _read(path: Path, mode: Literal["ro", "ro&immutable=1"]) -> tuple[dict[str, Any], list[Event], Position]:
    with translate_errors(path, "read"), contextlib.closing(connect(path, mode)) as connection:
        return read_verified(connection, path)


def worker() -> dict[str, Any]:
    """Host name and process id."""
    return {"host": socket.gethostname(), "pid": os.getpid()}


def versions() -> dict[str, str]:
    """Versions of dale, its dependencies and Python."""
    try:
        own = metadata.version("dale")
    except metadata.PackageNotFoundError:  # run from a source tree
        own = "unknown"
    return {"dale": own, "numpy": np.__version__, "scipy": scipy.__version__, "python": platform.python_version()}


def _join(items: Sequence[str]) -> str:
    """The first few items of a list, for an error message."""
    more = f"; and {len(items) - MAX_SHOWN} more" if len(items) > MAX_SHOWN else ""
    return "; ".join(items[:MAX_SHOWN]) + more


def _file_id(path: Path) -> tuple[int, int] | None:
    """Device and inode of the file that has this name; None if there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _end(connection: sqlite3.Connection, sessions: Sessions, session: int, process: int) -> None:
    """Close a store, also when it is garbage collected. A forked child leaves the store of its parent alone."""
    if os.getpid() != process:
        return
    with contextlib.suppress(sqlite3.Error):
        if connection.in_transaction:
            connection.execute("ROLLBACK")
    try:
        connection.execute("BEGIN IMMEDIATE")
    except sqlite3.Error:  # another process holds the lock, or the file was deleted: leave the lock file to others
        sessions.end(session, remove_file=False)
    else:
        sessions.end(session, remove_file=True)
        connection.execute("ROLLBACK")
    connection.close()
