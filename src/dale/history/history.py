"""The history of a run as the methods see it: arrays in the unit cube, told trials in the order of their ids."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dale._arrays import Matrix, Vector
from dale.history.reason import Source
from dale.history.trial import Trial, TrialState
from dale.space.allowed_set import AllowedSet
from dale.space.domain import Rounding

FIRST_ROWS = 64


@dataclass(frozen=True, eq=False)
class History:
    """What has been asked and told so far. The order of the tells does not show.

    Attributes:
        X: Points told or failed, (n, d); none that the machine failed, for they tell nothing.
        y: Their values, (n,); NaN where failed.
        noise: Standard deviations of the errors in them, (n,); NaN where unknown.
        constraints: Theirs, (n, k), feasible when at most 0; NaN where failed.
        ids: Their trials, (n,).
        pending: Points asked and not yet told, (m, d).
        n_asked: Number of asks so far, not counting those that the machine failed: they are asked again.
        n_given: Number of points that came from the user, counted likewise.
        length_scale: That of the last proposal of a model; None before the first.
        adopted: The first trial of the last unbroken row of proposals with this length-scale.
        trials: All trials, in the order of their ids.
        rounding: Which points the objective can see; None for all.
        inputs: Which points may be proposed; None for all.
    """

    X: Matrix
    y: Vector
    noise: Vector
    constraints: Matrix
    ids: np.ndarray
    pending: Matrix
    n_asked: int
    n_given: int
    length_scale: float | None
    adopted: int
    trials: tuple[Trial, ...] = ()
    rounding: Rounding | None = None
    inputs: AllowedSet | None = None

    @classmethod
    def of(cls, trials: Sequence[Trial], dimension: int) -> History:
        """The history of trials in the order of their ids, from 0 on."""
        ledger = Ledger(dimension)
        for trial in trials:
            ledger.write(trial)
        return ledger.history()

    @property
    def dimension(self) -> int:
        """Number of coordinates."""
        return self.X.shape[1]

    @property
    def n_parameters(self) -> int:
        """Number of parameters that vary."""
        return self.dimension if self.rounding is None else self.rounding.n_parameters

    @property
    def told(self) -> np.ndarray:
        """Which rows have a value."""
        return np.isfinite(self.y)

    @property
    def constrained(self) -> bool:
        """Whether there are constraints of either kind."""
        return self.inputs is not None or self.constraints.shape[1] > 0

    @cached_property
    def feasible(self) -> np.ndarray:
        """Which rows have a value, fulfil all constraints and are allowed, (n,)."""
        feasible = self.told & np.all(self.constraints <= 0, axis=1)  # NaN is not
        if self.inputs is not None:
            feasible &= np.array([self.trials[i].allowed for i in self.ids], dtype=bool)
        return feasible


class Ledger:
    """The trials of a run, and growing arrays of them, so that a history costs no loop over all of them.

    Args:
        dimension: Number of coordinates.
        rounding: Which points the objective can see; None for all.
        noise: Standard deviation of the error in values that were told without one; None if unknown.
        inputs: Which points may be proposed; None for all.

    Attributes:
        trials: All of them, in the order of their ids; to be read, and changed by ``write`` alone.
        version: How often it has been written to.
        inputs: As given.
    """

    def __init__(
        self,
        dimension: int,
        rounding: Rounding | None = None,
        noise: float | None = None,
        inputs: AllowedSet | None = None,
    ) -> None:
        self._rounding = rounding
        self.inputs = inputs
        self._usual_noise = math.nan if noise is None else noise
        self.trials: list[Trial] = []
        self.version = 0
        self._points = np.empty((FIRST_ROWS, dimension))
        self._values = np.full(FIRST_ROWS, np.nan)
        self._noise = np.full(FIRST_ROWS, np.nan)
        self._constraints = np.empty((FIRST_ROWS, 0))
        self._pending = np.zeros(FIRST_ROWS, dtype=bool)
        self._retry = np.zeros(FIRST_ROWS, dtype=bool)
        self._asked_again = np.zeros(FIRST_ROWS, dtype=bool)
        self._given = np.zeros(FIRST_ROWS, dtype=bool)
        self._length_scale: float | None = None
        self._adopted = 0

    def write(self, trial: Trial) -> None:
        """The next trial, or what has become of an earlier one."""
        i = trial.id
        self.version += 1
        if i == len(self.trials):
            self._append(trial)
        self.trials[i] = trial
        self._values[i] = np.nan if trial.value is None else trial.value
        self._noise[i] = self._usual_noise if trial.noise is None else trial.noise
        if trial.constraints:
            if not self._constraints.shape[1]:
                self._constraints = np.full((len(self._values), len(trial.constraints)), np.nan)
            self._constraints[i] = trial.constraints
        self._pending[i] = trial.state is TrialState.PENDING
        self._retry[i] = trial.retry

    def _append(self, trial: Trial) -> None:
        i = len(self.trials)
        if i == len(self._values):
            self._points = np.concatenate([self._points, np.empty_like(self._points)])
            self._values, self._noise = (np.append(v, np.full(i, np.nan)) for v in (self._values, self._noise))
            self._constraints = np.concatenate([self._constraints, np.full_like(self._constraints, np.nan)])
            more = np.zeros(i, dtype=bool)
            self._pending, self._retry = np.append(self._pending, more), np.append(self._retry, more)
            self._given, self._asked_again = np.append(self._given, more), np.append(self._asked_again, more)
        self.trials.append(trial)
        self._points[i] = trial.unit_x
        self._given[i] = trial.reason.source in (Source.ADDED, Source.USER)
        if trial.reason.retry_of is not None:
            self._asked_again[trial.reason.retry_of] = True
        l = trial.reason.length_scale
        if l is not None and l != self._length_scale:
            self._length_scale, self._adopted = l, i

    @property
    def length_scale(self) -> float | None:
        """That of the last proposal of a model."""
        return self._length_scale

    def next_retry(self) -> Trial | None:
        """The first trial that the machine failed and that has not been asked again."""
        waiting = np.flatnonzero(self._retry & ~self._asked_again)
        return self.trials[waiting[0]] if len(waiting) else None

    def history(self) -> History:
        """As it stands now."""
        n = len(self.trials)
        pending = self._pending[:n]
        counts = ~self._retry[:n]
        done = np.flatnonzero(~pending & counts)
        n_given = int(np.sum(self._given[:n] & counts))
        return History(
            X=self._points[done],
            y=self._values[done],
            noise=self._noise[done],
            constraints=self._constraints[done],
            ids=done,
            pending=self._points[:n][pending],
            n_asked=int(np.sum(counts)) - n_given,
            n_given=n_given,
            length_scale=self._length_scale,
            adopted=self._adopted,
            trials=tuple(self.trials),
            rounding=self._rounding,
            inputs=self.inputs,
        )
