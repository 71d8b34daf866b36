"""Proposals along the history of a run again, with and without pending trials.

At n observations the method sees the first n trials of the run as completed and, in the parallel variant, the next ones
as pending. Each variant has its own cache, as an optimizer does. The variants alternate, so that other load on the
machine affects both alike.
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
    """Seconds of a proposal after the same observations, without and with pending trials."""

    serial: float
    parallel: float


class Replay:
    """The replay of a run by a method, with a given number of pending trials."""

    def __init__(self, method: Method, trials: Sequence[Trial], pending: int, seed: int) -> None:
        self._method, self._trials, self._n_pending, self._seed = method, trials, pending, seed
        dimension = len(trials[0].unit_x)
        self._domain, self._cache = Domain.unit(dimension), Cache()
        self._history = History.of(map(_pending, trials[:pending]), dimension)

    def step(self, n: int, clock: Callable[[], float]) -> tuple[float, Source]:
        """Record observation number n (from 1) and propose; return the seconds and the source of the point."""
        if self._n_pending:
            self._history = self._history.with_trials([_pending(self._trials[n - 1 + self._n_pending])])
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
    """Times of proposals at each number of observations, without the initial design.

    Args:
        method: The method.
        trials: The trials of a run in the order of their ids, all complete.
        seed: The seed of the run.
        pending: The number of pending trials in the parallel variant.
        clock: The clock of the times.
    """
    sequential, parallel = (Replay(method, trials, ahead, seed) for ahead in (0, pending))
    pairs = []
    for n in range(1, len(trials) - pending + 1):
        serial_time, source = sequential.step(n, clock)
        parallel_time, other_source = parallel.step(n, clock)
        if Source.INITIAL_DESIGN not in (source, other_source):
            pairs.append(Pair(serial_time, parallel_time))
    return pairs


def _pending(trial: Trial) -> Trial:
    return replace(trial, state=TrialState.PENDING, value=None, noise=None, constraints=())
