"""A run that changes: every change is a transaction, in memory and in the store, if there is one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock
from typing import Self

from dale.history.run_state import RunState
from dale.history.trial import Trial, TrialState
from dale.space.domain import Domain
from dale.store.events import EventKind
from dale.store.store import Store


class ChangingRun(RunState):
    """The history of a run, its lock and its store; a subclass sets them."""

    _lock: RLock
    _store: Store | None
    _in_transaction: bool
    _inherited: tuple[int, ...] = ()  # pending trials of the run that this one is a fork of, in memory

    @property
    def store(self) -> str | None:
        """Path of the file that keeps the run; None if there is none."""
        return None if self._store is None else str(self._store.path)

    def close(self) -> None:
        """Release the store: other processes may then evaluate what is pending. The end of the process does it too."""
        if self._store is not None:
            with self._lock:
                self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Several changes as one: all of them happen or none; with a store no other process comes between."""
        with self._lock:
            if self._in_transaction:
                yield
                return
            before, inherited = self._history, self._inherited
            position = None if self._store is None else self._store.position()
            self._in_transaction = True
            try:
                with self._stored():
                    yield
            except BaseException:  # Ctrl-C may come after the store has committed: then the events are read again
                if self._store is not None and position is not None:
                    self._store.rewind(position)
                self._history, self._inherited = before, inherited
                raise
            finally:
                self._in_transaction = False

    @contextmanager
    def _stored(self) -> Iterator[None]:
        """A transaction of the store, if there is one, after the events of others have been read."""
        if self._store is None:
            yield
            return
        with self._store.transaction() as events:
            self._history = self._store.replay(self._history, events)
            yield

    def _reassign(self, domain: Domain) -> Trial | None:
        """A trial that nobody evaluates any more, for the caller to evaluate; with the values that are held.

        It was left pending by a process that is gone, or by the run that this one is a fork of.
        """
        numbers = self._inherited if self._store is None else self._store.abandoned()
        pending = (self._history.trials[number] for number in numbers)
        pending = (t for t in pending if t.state is TrialState.PENDING and domain.contains(t.unit_x[None, :])[0])
        abandoned = next(pending, None)
        if abandoned is not None and self._store is not None:
            self._store.append(EventKind.REASSIGN, abandoned)
        elif abandoned is not None:
            self._inherited = tuple(number for number in self._inherited if number != abandoned.id)
        return abandoned

    def _change(self, kind: EventKind, before: Trial, after: Trial) -> Trial:
        return before if after is before else self._write(kind, [after])[0]

    def _write(self, kind: EventKind, trials: list[Trial]) -> list[Trial]:
        """To the store first: what cannot be kept has not happened."""
        if self._store is not None:
            for trial in trials:
                self._store.append(kind, trial)
        self._history = self._history.with_trials(trials)
        return trials
