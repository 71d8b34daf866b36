"""The events of a fork: a new run that begins with the trials of another one."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any, NamedTuple

from dale.history.added_data import AddedRow, added_trials
from dale.history.correction import now
from dale.history.transfer import transfer
from dale.history.transitions import corrected
from dale.history.trial import NO_OUTCOME, Trial, TrialState
from dale.space.constraints import Constraints, as_constraints
from dale.space.space import Space
from dale.store.events import Event, EventKind, event_content
from dale.store.location import resolve_path
from dale.store.problem import space_to_json
from dale.store.run import Run
from dale.store.sqlite import create


def fork_store(
    run: Run,
    path: str | os.PathLike[str],
    *,
    at: int | None = None,
    space: Space | None = None,
    fill: Mapping[str, Any] | None = None,
) -> int:
    """Write a fork of a stored run to a new file; ``dale.fork`` describes the arguments.

    Returns:
        Number of trials that are outside of the new space, and were left out.

    Examples:
        >>> import dale
        >>> result = dale.minimize(lambda x: x[0] ** 2, [(-2, 2)], budget=5, seed=0, store="run.db")
        >>> fork_store(dale.open("run.db"), "fork.db", at=3)
        0
        >>> len(dale.open("fork.db").history)
        3
    """
    n, limits = check_at(at, len(run.history)), None
    problem = dict(run.problem)
    if space is not None:
        if problem["constraints"] and not space.constraints:
            raise ValueError(
                f"{run.path} has input constraints: write those of the fork into the file of its space "
                "(constraints = [...]), or call dale.fork(path, store=..., space=..., constraints=...) in Python"
            )
        limits = as_constraints(None, space)
        problem.pop("objective", None)  # its arguments may have to change with the parameters
        problem["constraints"] = list(space.constraints)
        space = space if limits is None else limits.space  # with equalities, if there are any
        problem["space"] = space_to_json(space)
    first = FirstTrials(run.history[:n], run.events, run.space)
    events, n_outside = first.in_same_space(fill) if space is None else first.in_space(space, limits, fill)
    create(resolve_path(path), {**problem, **origin(run.path, n)}, events, must_be_new=True)
    return n_outside


class ForkedEvents(NamedTuple):
    """The events that a fork begins with.

    Attributes:
        events: The events.
        n_outside: Number of trials that are outside of the new space, and were left out.
    """

    events: list[Event]
    n_outside: int


class FirstTrials(NamedTuple):
    """The first trials of a run, in memory or on disk, for a fork.

    Attributes:
        trials: These trials.
        events: All events of the run.
        space: The space of the run.
    """

    trials: Sequence[Trial]
    events: Sequence[Event]
    space: Space

    def in_same_space(self, fill: Mapping[str, Any] | None) -> ForkedEvents:
        """The same events, as if the run had only these trials; with everything that became of them since."""
        if fill:
            raise ValueError(f"fill: expected only with a new space, got {dict(fill)!r}; pass the new space too")
        return ForkedEvents(first_events(self.events, len(self.trials)), 0)

    def in_space(self, space: Space, constraints: Constraints | None, fill: Mapping[str, Any] | None) -> ForkedEvents:
        """The trials that fit another space, as added data."""
        rows, n_outside = transfer(self.trials, self.space, space, fill)
        return ForkedEvents(added_events(rows, space, constraints), n_outside)


def origin(path: str | os.PathLike[str] | None, n: int) -> dict[str, Any]:
    """The part of a stored problem that says where its first trials come from."""
    return {"fork": {"of": None if path is None else os.fspath(path), "trials": n}}


def check_at(at: Any, n: int) -> int:
    """How many of n trials a fork takes; all of them for None."""
    if at is None:
        return n
    if isinstance(at, bool) or not isinstance(at, Integral):
        raise TypeError(f"at: expected a number of trials or None, got {at!r}")
    if not 0 <= int(at) <= n:
        raise ValueError(f"at: expected a number of trials from 0 to {n}, which the run has, got {at!r}")
    return int(at)


def first_events(events: Iterable[Event], n: int) -> list[Event]:
    """The events of the first n trials, with everything that became of them, and of the sessions that wrote them."""
    kept = [event for event in events if event.trial is None or event.trial < n]
    sessions = {event.session for event in kept if event.trial is not None}
    kept = [event for event in kept if event.session in sessions]
    return [replace(event, number=number) for number, event in enumerate(kept, 1)]


def added_events(rows: Sequence[AddedRow], space: Space, constraints: Constraints | None) -> list[Event]:
    """The events of evaluations that are added to a new run."""
    trials = added_trials(rows, 0, space, constraints)
    return _numbered(_event(EventKind.ADD, trial, space) for trial in trials)


def events_of(trials: Sequence[Trial], space: Space) -> list[Event]:
    """Events that lead to these trials, for a run in memory; corrections come after as many trials as they did."""
    return _numbered(_replayed(trials, space))


def _replayed(trials: Sequence[Trial], space: Space) -> Iterator[Event]:
    corrections = sorted(((c.n_trials, c.when, t.id, c) for t in trials for c in t.corrections), key=lambda c: c[:2])
    current: dict[int, Trial] = {}
    for trial in trials:
        current[trial.id] = _uncorrected(trial)
        yield _event(EventKind.ASK, trial, space)
        if current[trial.id].state is not TrialState.PENDING:
            is_complete = current[trial.id].state is TrialState.COMPLETE
            yield _event(EventKind.TELL if is_complete else EventKind.FAIL, current[trial.id], space)
        while corrections and (corrections[0][0] <= trial.id + 1 or trial is trials[-1]):
            n_trials, when, number, c = corrections.pop(0)
            current[number] = corrected(current[number], c.after, who=c.who, when=when, why=c.why, n_trials=n_trials)
            yield _event(EventKind.DISCARD if c.after is None else EventKind.AMEND, current[number], space, when)


def _uncorrected(trial: Trial) -> Trial:
    """The trial as it was reported first."""
    if not trial.corrections:
        return trial
    before, error = trial.corrections[0].before, trial.corrections[0].error
    state = TrialState.FAILED if before is None else TrialState.COMPLETE
    return replace(trial, state=state, error=error, corrections=(), **vars(before or NO_OUTCOME))


def _event(kind: EventKind, trial: Trial, space: Space, time: str | None = None) -> Event:
    return Event(0, 1, kind, trial.id, time or now(), event_content(kind, trial, space))


def _numbered(events: Iterable[Event]) -> list[Event]:
    return [replace(event, number=number) for number, event in enumerate(events, 1)]
