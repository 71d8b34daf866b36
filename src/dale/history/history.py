"""The history of a run: its trials, and arrays of them for the models. All of it frozen.

A change makes a new ``History``. Everything derived from finished trials hangs on its ``Observations``, computed when
it is first read; a history that differs in pending trials only shares them, so that a batch of asks analyses once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from dale._arrays import Matrix, Vector
from dale.history.direction import Direction
from dale.history.observations import Observations
from dale.history.reason import Source
from dale.history.trial import Trial, TrialState, last_evaluation


class _Columns(NamedTuple):
    """All trials as arrays, by id."""

    unit_x: Matrix
    value: Vector
    noise_std: Vector
    constraints: Matrix
    pending: np.ndarray
    retry: np.ndarray  # failed by a transient failure
    retried: np.ndarray  # and proposed again
    user: np.ndarray  # the point came from the user
    allowed: np.ndarray
    discarded: np.ndarray

    @classmethod
    def empty(cls, dimension: int) -> _Columns:
        """Of no trials."""
        flags = [np.zeros(0, dtype=bool)] * 6
        return cls(np.empty((0, dimension)), np.empty(0), np.empty(0), np.empty((0, 0)), *flags)

    def resized(self, n: int, n_constraints: int) -> _Columns:
        """A copy with room for n trials and so many constraints."""
        if self.constraints.shape[1] < n_constraints:
            self = self._replace(constraints=np.full((len(self.value), n_constraints), np.nan))
        more = n - len(self.value)
        return _Columns(*(np.concatenate([c, _filler(c, more)]) for c in self))

    def write(self, trial: Trial, default_noise: float) -> None:
        """What has become of a trial."""
        i = trial.id
        self.unit_x[i] = trial.unit_x
        self.value[i] = np.nan if trial.value is None else trial.loss
        self.noise_std[i] = default_noise if trial.noise is None else trial.noise
        if trial.constraints:
            self.constraints[i] = trial.constraints
        self.pending[i] = trial.state is TrialState.PENDING
        self.retry[i] = trial.retry
        self.user[i] = trial.reason.source in (Source.ADDED, Source.USER)
        self.allowed[i] = trial.allowed
        self.discarded[i] = trial.state is TrialState.DISCARDED
        if trial.reason.retry_of is not None:
            self.retried[trial.reason.retry_of] = True

    def observations(self, trials: tuple[Trial, ...]) -> Observations:
        """The finished ones of all trials."""
        done = np.flatnonzero(~self.pending & ~self.retry & ~self.discarded)
        return Observations(
            self.unit_x[done],
            self.value[done],
            self.noise_std[done],
            self.constraints[done],
            done,
            self.allowed[done],
            trials,
        )


@dataclass(frozen=True, eq=False)
class History:
    """The trials of a run. The order in which they were completed does not show.

    Attributes:
        trials: All of them, in the order of their ids, from 0 on.
        observations: Those with an outcome, as arrays.
        length_scale: Length-scale of the last proposal of a model; None before the first.
        log_alpha: Logarithm of alpha*, the best acquisition value of that proposal, in units of the objective; None if
            it was not stored.
        length_scale_since: Id of the first trial of the last unbroken sequence of proposals with this length-scale.
        default_noise: Standard deviation of the noise in values that came without one; NaN if unknown.
        direction: Whether the objective is minimised or maximised.
    """

    trials: tuple[Trial, ...]
    observations: Observations
    length_scale: float | None
    log_alpha: float | None
    length_scale_since: int
    default_noise: float
    direction: Direction
    _columns: _Columns

    @classmethod
    def empty(cls, dimension: int, noise: float | None = None, direction: Direction = Direction.MINIMIZE) -> History:
        """Of a run that has not begun."""
        columns, default_noise = _Columns.empty(dimension), math.nan if noise is None else noise
        return cls((), columns.observations(()), None, None, 0, default_noise, direction, columns)

    @classmethod
    def of(cls, trials: Iterable[Trial], dimension: int, noise: float | None = None) -> History:
        """Of trials in the order of their ids, from 0 on."""
        return cls.empty(dimension, noise).with_trials(trials)

    def with_trials(self, changed: Iterable[Trial]) -> History:
        """With new trials, and with what has become of earlier ones; new ones in the order of their ids."""
        changed = tuple(changed)
        if not changed:
            return self
        trials, scale, since, alpha = list(self.trials), self.length_scale, self.length_scale_since, self.log_alpha
        for trial in changed:
            if trial.id < len(trials):
                trials[trial.id] = trial
                continue
            trials.append(trial)
            if trial.reason.length_scale is not None and trial.reason.length_scale != scale:
                scale, since = trial.reason.length_scale, trial.id
            alpha = alpha if trial.reason.log_alpha is None else trial.reason.log_alpha
        known = [evaluation for trial in changed if (evaluation := last_evaluation(trial)) is not None]
        columns = self._columns.resized(len(trials), max((len(e.constraints) for e in known), default=0))
        for trial in changed:
            columns.write(trial, self.default_noise)
        every = tuple(trials)
        only_pending = all(t.state is TrialState.PENDING and self._is_pending(t.id) for t in changed)
        observations = self.observations if only_pending else columns.observations(every)
        return History(every, observations, scale, alpha, since, self.default_noise, self.direction, columns)

    def _is_pending(self, number: int) -> bool:
        """Whether a trial has no outcome so far."""
        return number >= len(self.trials) or self.trials[number].state is TrialState.PENDING

    @property
    def dimension(self) -> int:
        """Number of coordinates."""
        return self.observations.dimension

    @cached_property
    def pending(self) -> Matrix:
        """Points of the pending trials, (m, d)."""
        return self._columns.unit_x[self._columns.pending]

    @cached_property
    def seen(self) -> Matrix:
        """Points observed or pending, (n + m, d)."""
        return np.vstack([self.observations.X, self.pending])

    @cached_property
    def n_user(self) -> int:
        """Number of points that came from the user, without transient failures."""
        return int(np.sum(self._columns.user & ~self._columns.retry))

    @cached_property
    def n_asked(self) -> int:
        """Number of proposals so far, without transient failures, which are proposed again."""
        return int(np.sum(~self._columns.retry)) - self.n_user

    @cached_property
    def n_evaluated(self) -> int:
        """Number of evaluations made, failed and discarded ones included; values that the user added do not count."""
        return sum(t.state is not TrialState.PENDING and t.reason.source is not Source.ADDED for t in self.trials)

    @cached_property
    def complete(self) -> tuple[Trial, ...]:
        """Trials with a value."""
        return tuple(t for t in self.trials if t.state is TrialState.COMPLETE)

    @cached_property
    def retries(self) -> tuple[Trial, ...]:
        """The trials with a transient failure that have not been proposed again."""
        return tuple(self.trials[i] for i in np.flatnonzero(self._columns.retry & ~self._columns.retried))

    def best_at(self, point: Vector) -> Trial | None:
        """The trial with the best value at a point of the cube (d,); None if there is none."""
        there = [t for t in self.complete if np.array_equal(t.unit_x, point)]
        return min(there, key=lambda t: t.loss, default=None)

    def without_pending(self) -> History:
        """The same with no trial pending, for a look at what comes next."""
        if len(self.pending) == 0:
            return self
        return replace(self, _columns=self._columns._replace(pending=np.zeros_like(self._columns.pending)))


def _filler(column: np.ndarray, n: int) -> np.ndarray:
    shape = (n, *column.shape[1:])
    return np.zeros(shape, dtype=bool) if column.dtype == bool else np.full(shape, np.nan)
