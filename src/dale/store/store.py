"""A store: the optimizer appends events to a run on disk and reads those of other processes.

Every change is one transaction that holds the write lock from its beginning. It first reads the events of other
processes, then makes the change, and writes its events at the end; trial ids follow from the rows. So any number of
processes can work on one store, and each sees all reported values. A process waits at most as long as another one
computes a proposal.
"""

from __future__ import annotations

import contextlib
import os
import platform
import socket
import warnings
import weakref
from collections.abc import Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy

from dale._blas import cpu_kind
from dale.errors import StoreError, StoreWarning
from dale.history.correction import now
from dale.history.history import History
from dale.history.seeding import check_seed
from dale.history.trial import Trial
from dale.space.space import Space
from dale.store.codec import dump_json
from dale.store.events import CORRECTIONS, Event, EventKind, event_content, replay
from dale.store.location import network_file_system, resolve_path
from dale.store.locks import file_id, is_alive, remove_dead_sessions, session_lock, write_lock
from dale.store.problem import MAX_SHOWN, differences
from dale.store.sqlite import (
    NOT_CHANGED,
    Position,
    check_hard_links,
    create,
    read,
    read_after,
    translate_errors,
    write,
)


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
        self._unread: Sequence[Event] = events
        self._unsaved: list[Event] = []
        self._is_recorded = False  # whether the file says that this session has begun
        for event in events:
            self._track_owner(event)
        with translate_errors(path, "open"):
            check_hard_links(path)
            self._file = file_id(path)
            self._write_lock = write_lock(path)
            with self._write_lock:
                self._begin_session()
        self._end = weakref.finalize(self, self._session_lock.release)

    @contextlib.contextmanager
    def transaction(self) -> Iterator[Sequence[Event]]:
        """Change the run, completely or not at all; yields the events since the last transaction.

        If the block raises, call ``rewind`` with the ``position`` from before the transaction.
        """
        self._check_usable()
        self._unsaved = []
        try:
            with translate_errors(self.path, "lock"):
                self._write_lock.acquire()  # also after a transaction that Ctrl-C has interrupted
                self._check_files()
            self.writing = True
            new_events, self._unread = [*self._unread, *self._read_new_events()], ()
            if not self._is_recorded:
                self._append(EventKind.OPEN, None, {**worker(), "versions": versions(), "cpu": cpu_kind()}, now())
            yield new_events
            self._save()
            self._is_recorded = True
        finally:
            self.writing = False
            self._write_lock.release()

    def replay(self, history: History, events: Sequence[Event]) -> History:
        """The history after some more events of the file."""
        with translate_errors(self.path, "read"):
            return replay(history, events, self._space)

    def position(self) -> ReadState:
        """How far the run has been read."""
        return ReadState(self._position, dict(self._owners), self._unread)

    def rewind(self, state: ReadState) -> None:
        """Return to an earlier position: the next transaction yields all events after it that are in the file."""
        self.writing = False  # Ctrl-C may have interrupted the end of the transaction
        self._position, self._owners, self._unread = state

    def append(self, kind: EventKind, trial: Trial) -> None:
        """Append an event about a trial; only inside a transaction, which writes it when it ends."""
        time = trial.corrections[-1].when if kind in CORRECTIONS else now()
        self._append(kind, trial.id, event_content(kind, trial, self._space), time)

    def abandoned(self) -> Iterator[int]:
        """Ids of the pending trials whose process has ended; only inside a transaction."""
        alive = {self._session: True}
        for trial, owner in sorted(self._owners.items()):
            if owner not in alive:
                alive[owner] = is_alive(self.path, owner)
            if not alive[owner]:
                yield trial

    def close(self) -> None:
        """Close the file. Other processes may then evaluate the pending trials."""
        self._end()

    def _read_new_events(self) -> list[Event]:
        events, self._position = read_after(self.path, self._position)
        for event in events:
            self._track_owner(event)
        return events

    def _append(self, kind: EventKind, trial: int | None, content: dict[str, Any], time: str) -> None:
        number = self._position.number + len(self._unsaved) + 1
        event = Event(number, self._session, kind, trial, time, content)
        self._unsaved.append(event)
        self._track_owner(event)

    def _save(self) -> None:
        """Write the new events. An error contains what could not be written: it may have been expensive."""
        if not self._unsaved:
            return
        try:
            self._position = write(self.path, self._unsaved, self._position)
        except StoreError as error:
            lost = [f"{e.kind} of trial {e.trial}, {dump_json(e.content)}" for e in self._unsaved]
            raise StoreError(f"{error}. Not written: {_join(lost)}") from error

    def _track_owner(self, event: Event) -> None:
        """Record which session evaluates a trial."""
        if event.trial is None:
            return
        if event.kind in (EventKind.ASK, EventKind.REASSIGN):
            self._owners[event.trial] = event.session
        else:
            self._owners.pop(event.trial, None)

    def _begin_session(self) -> None:
        """Begin a session with the next free number. The first transaction records it, if all events make sense."""
        self._unread = [*self._unread, *self._read_new_events()]
        remove_dead_sessions(self.path)
        session = 1 + max((event.session for event in self._unread), default=0)
        while True:
            self._session, self._session_lock = session, session_lock(self.path, session)
            if self._session_lock.try_acquire():
                break
            session += 1  # of a process that has not recorded it yet, or whose store was deleted and created anew

    def _check_usable(self) -> None:
        if not self._end.alive:
            raise StoreError(f"{self.path} was closed; create a new Optimizer with the same store to resume")
        if os.getpid() != self._process:
            raise StoreError(
                f"{self.path} was opened by process {self._process} and cannot be used by its child process "
                f"{os.getpid()}; open it there in a new Optimizer"
            )

    def _check_files(self) -> None:
        """Whether the store is still the same file, and its session is known; a deleted lock file is created again."""
        if file_id(self.path) != self._file:
            raise StoreError(
                f"{self.path} was deleted, moved or replaced while it was open; put it back to continue, or create a "
                "new Optimizer with the store if it still exists. All trials so far are in history"
            )
        if not self._session_lock.is_held() and not self._session_lock.try_acquire():
            raise StoreError(f"{self._session_lock.path} was replaced, and another process holds it; delete the file")


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
        ...     print(list(new_events), list(store.abandoned()))
        [] []
        >>> store.close()
    """
    resolved = resolve_path(path)
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
    with translate_errors(resolved, "read"):
        found, stored_seed = list(differences(stored, problem)), check_seed(stored["seed"])
    if found:
        raise StoreError(
            f"{resolved} holds another problem: {_join(found)}. {NOT_CHANGED}: to resume the run, use the settings "
            "and the version of dale that it was started with; to start a new run, use another path"
        )
    _warn_of_another_cpu(resolved, events)
    return Store(resolved, stored_seed, space, events, position)


def _warn_of_another_cpu(path: Path, events: Sequence[Event]) -> None:
    kinds = [event.content["cpu"] for event in events if event.kind is EventKind.OPEN and "cpu" in event.content]
    if kinds and kinds[-1] != cpu_kind():
        warnings.warn(
            f"{path} was last used on another kind of CPU ({kinds[-1]}, here {cpu_kind()}): from now on, proposals may "
            "differ in the last digits from those of a run on that kind alone",
            StoreWarning,
            stacklevel=4,
        )


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
