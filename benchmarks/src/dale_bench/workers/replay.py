"""Proposals over the history of a run once more, with nothing pending and with something.

At n observations the method sees the first n trials of the run, told; and, where workers are at work, the next ones as
pending beside them, their values not known. Both ways walk along the run with a cache of their own, as an optimizer
does, and take turns, so that whatever else the machine does is shared fairly.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from dale.history.history import History
from dale.history.reason import Source
from dale.history.seeding import RandomStreams
from dale.history.snapshot import Cache, Snapshot
from dale.history.trial import Trial, TrialState
from dale.methods.base import Method
from dale.space.domain import Domain


class Pair(NamedTuple):
    """Seconds of a proposal after the same observations: with nothing pending, and with something."""

    serial: float
    parallel: float


class Walk:
    """A method on its way along the trials of a run, with so many pending."""

    def __init__(self, method: Method, trials: Sequence[Trial], pending: int, seed: int) -> None:
        self._method, self._trials, self._ahead, self._seed = method, trials, pending, seed
        dimension = len(trials[0].unit_x)
        self._domain, self._cache = Domain.unit(dimension), Cache()
        self._history = History.of(map(_pending, trials[:pending]), dimension)

    def step(self, n: int, clock: Callable[[], float]) -> tuple[float, Source]:
        """Tell observation number n, from 1 up, and propose: what that took, and where the point is from."""
        if self._ahead:
            self._history = self._history.with_trials([_pending(self._trials[n - 1 + self._ahead])])
        self._history = self._history.with_trials([self._trials[n - 1]])
        snapshot = Snapshot(self._history, self._domain, self._cache)
        begun = clock()
        proposal = self._method.propose(snapshot, RandomStreams(self._seed, self._history.n_asked))
        return clock() - begun, proposal.reason.source


def replay(
    method: Method,
    trials: Sequence[Trial],
    seed: int,
    pending: int,
    clock: Callable[[], float] = time.process_time,
) -> list[Pair]:
    """What proposals take at each number of observations, but for the opening, in which nothing is thought.

    Args:
        method: Whose.
        trials: Of a run, in the order of their ids, all told.
        seed: Of the run.
        pending: How many are pending where workers are at work.
        clock: What proposals are timed by.
    """
    alone, among_others = (Walk(method, trials, ahead, seed) for ahead in (0, pending))
    pairs = []
    for n in range(1, len(trials) - pending + 1):
        serial, source = alone.step(n, clock)
        parallel, other_source = among_others.step(n, clock)
        if Source.INITIAL_DESIGN not in (source, other_source):
            pairs.append(Pair(serial, parallel))
    return pairs


def _pending(trial: Trial) -> Trial:
    return replace(trial, state=TrialState.PENDING, value=None, noise=None, constraints=())
