"""What the models see of a run: points, values, noise, constraints, and what follows from them alone."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.spatial import cKDTree

from dale._arrays import Matrix, Vector
from dale.history.noise import NoiseEstimate, find_replicates
from dale.history.outliers import MAX_OBSERVATIONS, find_outliers
from dale.history.reason import Source
from dale.history.recommendation import Center, NoisyData, recommend
from dale.history.roughness import proved_scatter, scatter
from dale.history.trial import Trial, TrialState
from dale.models.failure_boundary import FailureBoundary
from dale.models.kernels.base import KernelFactory
from dale.models.kernels.squared_exponential import SquaredExponential
from dale.models.noisy_gp import MAX_NOISE_STD, MIN_POINTS_FOR_OUTLIERS, NoisyGP
from dale.models.preprocessing import last_growth
from dale.models.relevance import length_scale_ratios
from dale.models.transforms import Standardize
from dale.space.point import Params

FEW_LEVELS = 0.25  # probability that two values are equal


class Best(NamedTuple):
    """The best feasible observation.

    Attributes:
        row: Its row among the observations.
        value: Its value; where values are noisy, the posterior mean there.
        noise: Standard deviation of the noise in the values; 0 where there is none.
        std: Standard deviation of the value, by the model; 0 where there is no noise.
        difference: The part of the std that two models of the values differ by, beyond the std of the global one.
    """

    row: int
    value: float
    noise: float
    std: float = 0.0
    difference: float = 0.0


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
    def mean_constraints(self) -> Matrix:
        """Outcome constraints, of replicates their mean, (n, k); NaN where the evaluation failed."""
        if self.constraints.shape[1] == 0:
            return self.constraints
        mean = self.constraints.copy()
        known = np.flatnonzero(np.isfinite(mean).all(axis=1))
        for group in find_replicates(self.X[known], [self.params[row] for row in known.tolist()]):
            rows = known[group]
            if np.any(mean[rows] != mean[rows[0]]):  # equal values stay as they are, to the last bit
                mean[rows] = np.sum(mean[rows] / len(rows), axis=0)
        return mean

    @cached_property
    def feasible(self) -> np.ndarray:
        """Which rows have a value, satisfy all outcome constraints and are allowed, (n,).

        The mean of the replicates has to satisfy the constraints too: one of several may do so by chance.
        """
        satisfied = np.all((self.constraints <= 0) & (self.mean_constraints <= 0), axis=1)  # NaN is not feasible
        return self.has_value & satisfied & self.allowed

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
    def smoothed(self) -> Observations:
        """The inliers; where probes have proved that values are rough, with their scatter as noise."""
        if self.noise.modelled:
            is_seen = self.inliers.noise.modelled  # or outliers alone prove it
            return self.inliers if is_seen else self.inliers._with_noise(replace(self.noise, known=None))
        proved = proved_scatter(self.trials)
        if proved == 0:
            return self.inliers
        found = self.inliers._without_replicates()  # they agree, which would deny the noise
        std = found.scatter() or proved
        return found._with_noise(NoiseEstimate.of_scatter(std, found.y[found.has_value]))

    def _with_noise(self, noise: NoiseEstimate) -> Observations:
        """The same inliers with this noise."""
        noisy = replace(self)
        noisy.__dict__.update(inliers=noisy, noise=noise)
        return noisy

    @cached_property
    def modelled(self) -> Observations:
        """What a method models: the smoothed values; where they are exact, without what only tests that.

        A model that interpolates can have one value at a point only, and probes would count like points that say more.
        """
        if self.smoothed.noise.modelled:
            return self.smoothed
        return self.inliers._without_replicates()._without_probes()

    @property
    def roughness(self) -> float:
        """Standard deviation by which values scatter around a smooth function although they are exact; 0 for none."""
        is_rough = self.smoothed.noise.modelled and not self.noise.modelled
        return self.smoothed.noise.level if is_rough else 0.0

    def scatter(self) -> float:
        """The same as the values around the lowest one suggest it, proved or not."""
        some, scale = self.has_value, self.standardize
        return scale.inverse_scale(scatter(self.X[some], scale.above_lowest(self.y[some]), self.trials))

    def _is_from(self, source: Source) -> np.ndarray:
        """Which rows have a value of this source, (n,)."""
        trials = (self.trials[i] for i in self.ids.tolist())
        found = [t.reason.source is source and t.state is TrialState.COMPLETE for t in trials]
        return np.array(found, dtype=bool) & self.has_value

    def _without_replicates(self) -> Observations:
        """The observations without replicates, or without the values that one repeats if it is lower than all of them.

        A model that interpolates can have one value at a point only.
        """
        is_replicate = self._is_from(Source.REPLICATE)
        drop = is_replicate.copy()
        for row in np.flatnonzero(is_replicate):
            repeated = np.all(self.X[row] == self.X, axis=1) & ~is_replicate & self.has_value
            if np.all(self.y[row] < self.y[repeated]):
                drop |= repeated
                drop[row] = False
        return self.rows(~drop) if drop.any() else self

    def _without_probes(self) -> Observations:
        """The observations without probes, or without the point beside which one lies if it is far lower than that."""
        is_probe = self._is_from(Source.PROBE)
        drop, lower = is_probe.copy(), {}  # lower: the row of the lowest probe, by that of its center
        for row in np.flatnonzero(is_probe)[np.argsort(-self.y[is_probe], kind="stable")].tolist():
            reason = self.trials[self.ids[row]].reason
            center = np.flatnonzero(self.ids == reason.probe_of)
            if len(center) and self.y[row] < self.y[center[0]] - (reason.scatter or 0.0):
                lower[int(center[0])] = row
        drop[list(lower.values())] = False
        drop[list(lower)] = True
        return self.rows(~drop) if drop.any() else self

    @cached_property
    def noise(self) -> NoiseEstimate:
        """The noise in the values; that of the outliers too, where all others seem to have none."""
        if self.inliers is not self and self.inliers.noise.level > 0:
            return self.inliers.noise
        some = self.rows(self.has_value)
        own = NoiseEstimate.of(some.X, some.y, some.noise_std, some.params)
        return self._with_fitted(own, some) if own.known is not None and own.is_detected else own

    @staticmethod
    def _with_fitted(own: NoiseEstimate, some: Observations) -> NoiseEstimate:
        """Where the user gave the noise of some values: that of all others by a model of those others alone.

        Replicates prove it, but their number is small, so they say little about its level.
        """
        unknown = ~np.isfinite(some.noise_std)
        others = some.rows(unknown).inliers
        z = others.standardize(others.y[others.has_value])
        if len(z) < MIN_POINTS_FOR_OUTLIERS or not others.noise.is_large:
            return own
        std = others.standardize.inverse_scale(float(np.median(others.noisy_gp.noise_at(z))))
        return NoiseEstimate.of_known(np.where(unknown, std, some.noise_std), some.y, is_detected=True)

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
        scale, X = self.standardize, self.X[rows]
        ratios = self._length_scale_ratios() if kernel is SquaredExponential else None
        may_have_outliers, unit = not self.noise.is_discrete, scale.inverse_scale(1.0)
        return NoisyGP.of(
            rows, X, scale(self.y[rows]), known, unit, kernel, ratios, may_have_outliers=may_have_outliers
        )

    def _length_scale_ratios(self) -> tuple[float, ...]:
        """How fast the values vary along each coordinate.

        They are learnt anew whenever the number of observations has grown by a tenth (``last_growth``).
        """
        rows = np.flatnonzero(self.has_value)
        n = last_growth(len(rows))
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
        row = lowest if center is None else center.row
        mean, std = model.at(row)
        value, std = scale.inverse(mean), scale.inverse_scale(std)
        if center is None:
            noise = self.noise.level
            least = noise / math.sqrt(np.sum(self.has_value)) if self.noise.known is None else 0.0
            return Best(row, value, noise, max(std, least))
        noise = scale.inverse_scale(center.model.noise_at_center)
        if center.is_global:
            if self.noise.known is None:
                noise = scale.inverse_scale(float(model.noise_at(np.array([mean]))[0]))
            return Best(row, value, noise, std)
        local = scale.lowest + scale.inverse_scale(center.model.value)
        local_std = scale.inverse_scale(center.model.value_std)
        # What two models of the same values differ by, beyond the std of the global one, is an error of the local one.
        difference = abs(local - value)
        excess = math.sqrt(max(difference - std, 0.0)) * math.sqrt(difference + std)
        # Such an error may come from following the noise, so the noise may be as large if the replicates prove it.
        data = self.inliers.noisy_data
        missed = min(scale.inverse_scale(data.proven_noise), excess)
        if missed > noise:
            noise, local_std = missed, max(local_std, missed / math.sqrt(np.sum(data.replicates.n[center.near])))
        return Best(row, local, noise, math.hypot(local_std, excess), excess)

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
        log_density = np.full(len(self.y), np.nan)
        log_density[self.noisy_gp.rows] = self.noisy_gp.leave_one_out_log_densities()
        center = recommend(self.noisy_data, at, log_density[rows], self.feasible[rows], self.trials, self.ids[rows])
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
            is_discrete=self.noise.is_discrete,
        )

    def is_noise_given(self, point: Vector) -> bool:
        """Whether the user gave the noise of a value at a point (d,), also where it is 0."""
        return bool(np.isfinite(self.noise_std[np.all(point == self.X, axis=1)]).any())

    def n_noise_tests(self, trial: Trial) -> int:
        """How many replicates with the value of a trial suggest that it is exact: two if other points have it too.

        It may be equal by chance then. Where all points have one value, noise would not matter.
        """
        elsewhere = np.any(trial.unit_x != self.X, axis=1) & self.has_value
        share = float(np.mean(self.y[elsewhere] == trial.loss)) if trial.value is not None and elsewhere.any() else 0.0
        return 2 if 0 < share < 1 else 1

    @cached_property
    def is_incoherent(self) -> bool:
        """Whether values have few levels and nearest neighbours agree no more often than by chance."""
        X, first = np.unique(self.X[self.has_value], axis=0, return_index=True)
        y, n = self.y[self.has_value][first], len(first)
        if n < 2:
            return False
        nearest = cKDTree(X).query(X, k=2)[1][:, 1]
        chance = float(np.sum((np.unique(y, return_counts=True)[1] / n) ** 2))
        return chance > FEW_LEVELS and bool(np.mean(y == y[nearest]) <= chance)

    def rows(self, keep: np.ndarray) -> Observations:
        """Some of the rows, given as a boolean array (n,)."""
        some = Observations(
            self.X[keep],
            self.y[keep],
            self.noise_std[keep],
            self.constraints[keep],
            self.ids[keep],
            self.allowed[keep],
            self.trials,
        )
        some.__dict__["mean_constraints"] = self.mean_constraints[keep]  # of all replicates, also of those left out
        return some
