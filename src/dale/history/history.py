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
from dale.history.noise import NoiseEstimate
from dale.history.outliers import MAX_OBSERVATIONS, find_outliers
from dale.history.reason import Source
from dale.history.recommendation import Center, NoisyData, recommend
from dale.history.trial import Trial, TrialState, last_evaluation
from dale.models.failure_boundary import FailureBoundary
from dale.models.kernels.base import KernelFactory
from dale.models.kernels.squared_exponential import SquaredExponential
from dale.models.noisy_gp import MAX_NOISE_STD, NoisyGP
from dale.models.relevance import length_scale_ratios
from dale.models.transforms import Standardize
from dale.space.point import Params

RATIOS_GROWTH = 1.1  # of the number of observations between two fits of the ratios of length-scales


class Best(NamedTuple):
    """The best feasible observation.

    Attributes:
        row: Its row among the observations.
        value: Its value; where values are noisy, the posterior mean there.
        noise: Standard deviation of the noise in the values; 0 where there is none.
        std: Standard deviation of the value, by the model; 0 where there is no noise.
    """

    row: int
    value: float
    noise: float
    std: float = 0.0


@dataclass(frozen=True, eq=False)
class Observations:
    """Trials with an outcome, in the order of their ids, as arrays in the unit cube.

    Transient failures and discarded trials are left out.

    Attributes:
        X: Points, (n, d).
        y: Values to be minimised (``Trial.loss``), (n,); NaN where the evaluation failed.
        noise_std: Standard deviations of the noise in the values, (n,); NaN where unknown.
        constraints: Outcome constraints, (n, k), feasible where at most 0; NaN where the evaluation failed.
        ids: Ids of the trials, (n,).
        allowed: Which points the input constraints allow, (n,); only points that the user added may violate them.
        trials: All trials of the run, by id.
    """

    X: Matrix
    y: Vector
    noise_std: Vector
    constraints: Matrix
    ids: np.ndarray
    allowed: np.ndarray
    trials: tuple[Trial, ...]

    @cached_property
    def params(self) -> tuple[Params, ...]:
        """The points as the objective received them, n of them."""
        return tuple(self.trials[i].params for i in self.ids.tolist())

    @property
    def dimension(self) -> int:
        """Number of coordinates."""
        return self.X.shape[1]

    @cached_property
    def has_value(self) -> np.ndarray:
        """Which rows have a value, (n,)."""
        return np.isfinite(self.y)

    @cached_property
    def failed(self) -> np.ndarray:
        """Which evaluations failed, (n,); outliers did not."""
        return np.array([self.trials[i].value is None for i in self.ids.tolist()], dtype=bool)

    @cached_property
    def feasible(self) -> np.ndarray:
        """Which rows have a value, satisfy all outcome constraints and are allowed, (n,)."""
        return self.has_value & np.all(self.constraints <= 0, axis=1) & self.allowed  # NaN is not feasible

    @cached_property
    def inliers(self) -> Observations:
        """The same without the values of outliers, as if these evaluations had failed."""
        some = np.flatnonzero(self.has_value)
        outliers = some[find_outliers(self.X[some], self.y[some])]
        if len(outliers) == 0:
            clean = self
        else:
            y = self.y.copy()
            y[outliers] = np.nan
            clean = replace(self, y=y)
        clean.__dict__["inliers"] = clean  # of what is left, nothing is removed a second time
        return clean

    @cached_property
    def noise(self) -> NoiseEstimate:
        """The noise in the values; that of the outliers too, where all others seem to have none."""
        some = self.rows(self.has_value)
        own = NoiseEstimate.of(some.X, some.y, some.noise_std, some.params)
        if self.inliers is self:
            return own
        inner = self.inliers.noise
        return inner if inner.level > 0 else own

    @cached_property
    def standardize(self) -> Standardize:
        """Standardises the values."""
        return Standardize.of(self.y[self.has_value])

    @cached_property
    def failure_boundary(self) -> FailureBoundary | None:
        """Where evaluations fail; None if none has failed."""
        return FailureBoundary.fit(self.X, self.failed)

    @cached_property
    def noisy_gp(self) -> NoisyGP:
        """A model of signal and noise, fitted to the newest inliers."""
        return self.fit_noisy_gp() if self.inliers is self else self.inliers.noisy_gp

    def fit_noisy_gp(self, kernel: KernelFactory = SquaredExponential) -> NoisyGP:
        """A model of signal and noise with another kernel, fitted to the newest observations."""
        rows = np.flatnonzero(self.has_value)[-MAX_OBSERVATIONS:]
        known = None if self.noise.known is None else self.noise.known[-MAX_OBSERVATIONS:]
        scale = self.standardize
        ratios = self._length_scale_ratios() if kernel is SquaredExponential else None
        return NoisyGP.of(rows, self.X[rows], scale(self.y[rows]), known, scale.inverse_scale(1.0), kernel, ratios)

    def _length_scale_ratios(self) -> tuple[float, ...]:
        """How fast the values vary along each coordinate.

        They are learnt anew whenever the number of observations has grown by ``RATIOS_GROWTH``, from the first so many,
        so that they cost little and are a function of the observations.
        """
        rows = np.flatnonzero(self.has_value)
        n = int(RATIOS_GROWTH ** math.floor(math.log(len(rows), RATIOS_GROWTH)) + 0.5)
        return length_scale_ratios(self.X[rows[:n]], self.y[rows[:n]])

    @cached_property
    def best(self) -> Best | None:
        """The best feasible observation; None if none is feasible."""
        if not self.feasible.any():
            return None
        row = int(np.argmin(np.where(self.feasible, self.y, np.inf)))
        if self.noise.modelled:
            lowest = self.noisy_gp.lowest(self.inliers.feasible)
            if lowest is not None:
                return self._noisy_best(lowest)
        return Best(row, float(self.y[row]), self.noise.level)

    def _noisy_best(self, lowest: int) -> Best:
        """The observation with the lowest posterior mean, where the global model names one."""
        center, scale, model = self.recommended, self.inliers.standardize, self.noisy_gp
        if center is None:
            mean, std = model.at(lowest)
            return Best(lowest, scale.inverse(mean), self.noise.level, scale.inverse_scale(std))
        value = scale.lowest + scale.inverse_scale(center.model.value)
        mean, gp_std = model.at(center.row)
        difference, gp_std = abs(value - scale.inverse(mean)), scale.inverse_scale(gp_std)
        # What two models of the same values differ by, beyond the std of the global one, is an error of the local one.
        excess = math.sqrt(max(difference - gp_std, 0.0)) * math.sqrt(difference + gp_std)
        std = math.hypot(scale.inverse_scale(center.model.value_std), excess)
        return Best(center.row, value, scale.inverse_scale(center.model.noise_at_center), std)

    @cached_property
    def recommended(self) -> Center | None:
        """Where values are noisy: the row with the lowest mean of a Taylor model, and the model; None for none."""
        if self.inliers is not self:
            return self.inliers.recommended
        lowest = self.noisy_gp.lowest(self.feasible)
        if lowest is None:
            return None
        rows = np.flatnonzero(self.has_value)
        at = int(np.flatnonzero(rows == lowest)[0])
        center = recommend(self.noisy_data, at, self.feasible[rows], self.trials, self.ids[rows])
        return None if center is None else center._replace(row=int(rows[center.row]))

    @cached_property
    def noisy_data(self) -> NoisyData:
        """The values less the lowest one, standardised, with their noise."""
        scale, known = self.standardize, self.noise.known
        unit = max(scale.inverse_scale(1.0), float(np.finfo(float).tiny))
        return NoisyData.of(
            self.X[self.has_value],
            scale.above_lowest(self.y[self.has_value]),
            None if known is None else np.minimum(known, MAX_NOISE_STD * unit) / unit,
            self.feasible[self.has_value],
            self.noisy_gp.noise_at(scale(self.y[self.has_value])),
        )

    def has_value_elsewhere(self, trial: Trial) -> bool:
        """Whether another point has the value of a trial too, so that a replicate may have it by chance."""
        elsewhere = np.any(trial.unit_x != self.X, axis=1)
        return trial.value is not None and bool(np.any(self.y[elsewhere] == trial.loss))

    def rows(self, keep: np.ndarray) -> Observations:
        """Some of the rows, given as a boolean array (n,)."""
        return Observations(
            self.X[keep],
            self.y[keep],
            self.noise_std[keep],
            self.constraints[keep],
            self.ids[keep],
            self.allowed[keep],
            self.trials,
        )


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
