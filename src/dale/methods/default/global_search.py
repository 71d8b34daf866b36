"""The global side of the default method at one proposal: its Gaussian process and the maximum of its acquisition."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

import numpy as np

from dale._arrays import Matrix, Vector
from dale.acquisition.base import maximize_acquisition
from dale.acquisition.feasibility import Feasibility, feasibility_weighted
from dale.history.observations import Observations
from dale.history.reason import Reason, Source
from dale.history.snapshot import Snapshot
from dale.methods.base import Proposal
from dale.methods.default.basin_kernel import KernelCache
from dale.methods.default.settings import GlobalSettings
from dale.methods.default.trust_region import TrustRegionSet
from dale.methods.initial_design import MIN_DISTANCE_PENDING
from dale.models.base import Prediction, PredictionDerivatives
from dale.models.constraint_gp import fit_constraints
from dale.models.gaussian_process import GaussianProcess, Prior
from dale.models.kernels.base import StationaryKernel
from dale.models.kernels.squared_exponential import SquaredExponential
from dale.models.preprocessing import (
    MIN_DISTANCE,
    POINT_RESOLUTION,
    THINNING_DISTANCE,
    VALUE_RESOLUTION,
    are_separated,
    average_replicates,
    quantize,
    thin,
)
from dale.models.transforms import MIN_SKEWNESS, Log1p, Standardize
from dale.optim.multistart import N_STARTS, Box, Maximum, starting_points
from dale.optim.projected_newton import Tolerance, minimize_on_box
from dale.space.domain import Domain

MIN_OBSERVATIONS = 256  # lower limit of the number of observations in the model, however many points are pending
MAX_PENDING = 128  # maximum number of pending points in the model
KERNEL_GROWTH = 1.06  # of the number of observations between two choices of the kernel of trend and ripples
COORDINATE_LEVELS = tuple(np.linspace(0, 1, 17))  # tried for each discrete coordinate of the incumbent
ACQUISITION_TOLERANCE = Tolerance(gtol=1e-6, ftol=1e-10)  # coarse, because proposals are rounded anyway


@dataclass(frozen=True, eq=False)
class GlobalSearch:
    """The global side at one proposal. It implements ``LengthScaleContext`` for the length-scale policy.

    Attributes:
        settings: Settings of the global model.
        snapshot: State of the run.
        observations: Without outliers and the replicate.
        regions: Trust regions; proposals stay outside the closed ones.
        rng: Draws the starting points.
        incumbent: Row of the best feasible observation; None if none is feasible.
    """

    settings: GlobalSettings
    snapshot: Snapshot
    observations: Observations
    regions: TrustRegionSet
    rng: np.random.Generator
    incumbent: int | None
    _at_starts: list[tuple[GaussianProcess, Vector]] = field(init=False, default_factory=list)

    @property
    def scale(self) -> Standardize:
        """Standardises the values."""
        return self.observations.standardize

    @property
    def domain(self) -> Domain:
        """Points that may be proposed."""
        return self.snapshot.domain

    @property
    def previous(self) -> float | None:
        """Length-scale of the last proposal."""
        return self.snapshot.history.length_scale

    @property
    def n(self) -> int:
        """Number of observations in the model."""
        return len(self._data[1])

    @property
    def dimension(self) -> int:
        """Number of coordinates."""
        return self.observations.dimension

    @property
    def n_ordered(self) -> int:
        """Number of coordinates that are not those of options, at least 1."""
        return self.domain.n_ordered

    @cached_property
    def starts(self) -> Matrix:
        """Starting points of the search, (m, d)."""
        incumbent = self.observations.X[np.nanargmin(self.observations.y) if self.incumbent is None else self.incumbent]
        starts = starting_points(self.rng, Box.unit(self.dimension), incumbent)
        if not self.domain.is_continuous:
            starts = _snapped(starts, incumbent, self.domain)
        if self.domain.allowed_set is not None:
            starts = self.domain.allowed_set.allowed_among(starts, incumbent, self.rng)
        starts = starts[~self.regions.covers(starts)]
        starts = starts[self._is_unexplored(starts)]
        pending = self.snapshot.history.pending
        if len(pending) > MAX_PENDING:  # the model lacks some of them, so a minimum distance replaces its variance
            starts = starts[are_separated(starts, pending, THINNING_DISTANCE * math.sqrt(self.dimension))]
        return starts

    @cached_property
    def best(self) -> float:
        """The best standardised value."""
        return float(np.min(self.scale(self.observations.y[self.observations.has_value])))

    @cached_property
    def feasibility(self) -> Feasibility | None:
        """Models of the outcome constraints and of failures; None if there are none."""
        failures = self.snapshot.failures
        if self.observations.constraints.shape[1] == 0:
            return None if failures is None else Feasibility((), failures)
        has_value = self.observations.has_value
        X, z = self.observations.X[has_value], self.scale(self.observations.y[has_value])
        keep = thin(X, z, THINNING_DISTANCE * math.sqrt(self.dimension), self.settings.max_observations)
        constraints = self.observations.mean_constraints[has_value]
        outcomes = fit_constraints(X[keep], constraints[keep], self._pending, self.settings.kernel)
        return Feasibility(outcomes, failures)

    @property
    def _pending(self) -> Matrix:
        """Pending points that the models condition on: all of them, or an even sample, (m, d)."""
        pending = self.snapshot.history.pending
        if len(pending) > MAX_PENDING:
            pending = pending[np.linspace(0, len(pending) - 1, MAX_PENDING).astype(int)]
        return pending

    @property
    def target(self) -> float:
        """The value to improve on, in the units of the model."""
        if self.incumbent is None or not self.snapshot.is_restricted:
            return self._data[2]
        z = self.scale(self.observations.y[self.incumbent])
        return float(quantize(z, VALUE_RESOLUTION) if self.transform is None else self.transform(z))

    @property
    def _seeks_feasible(self) -> bool:
        """Whether no observation is feasible yet: then the search maximises the probability of feasibility alone."""
        return self.incumbent is None and self.observations.constraints.shape[1] > 0

    @property
    def _limit(self) -> int:
        """Maximum number of observations in the model: fewer while points are pending."""
        limit = self.settings.max_observations
        return max(limit - len(self.snapshot.history.pending), min(MIN_OBSERVATIONS, limit))

    @cached_property
    def _data(self) -> tuple[Matrix, Vector, float, Log1p | None]:
        """Points (m, d) and values (m,) of the model, the target, and the transform of standardised values, if any."""
        has_value, best = self.observations.has_value, self.best
        z = self.scale(self.observations.y)
        worst = float(np.max(z[has_value]))
        evaluated, z = ~self.observations.failed, np.where(has_value, z, worst)  # outliers have the worst value
        X, z = average_replicates(self.observations.X[evaluated], z[evaluated], has_value[evaluated])
        keep = thin(X, z, THINNING_DISTANCE * math.sqrt(self.dimension), self._limit)
        X, z = X[keep], z[keep]
        median = float(np.median(z))
        if self.settings.log_transform and worst - median > MIN_SKEWNESS * (median - best) > 0:
            transform = Log1p(best, median - best)
            return X, quantize(transform(z), VALUE_RESOLUTION), 0.0, transform
        return X, quantize(z, VALUE_RESOLUTION), float(quantize(best, VALUE_RESOLUTION)), None

    @cached_property
    def _left_out(self) -> Matrix:
        """Observations that the model does not see, because a better one is near, (m, d)."""
        X = self.observations.X
        return X[are_separated(X, self._data[0], MIN_DISTANCE)]

    def _is_unexplored(self, A: Matrix) -> np.ndarray:
        """Which points (m, d) are not close to an observation that the model does not see, (m,).

        Without this rule the model proposes such places again and again once a region has been closed.
        """
        if not self.regions.closed:
            return np.ones(len(A), dtype=bool)
        return are_separated(A, self._left_out, THINNING_DISTANCE / 2 * math.sqrt(self.dimension))

    @property
    def transform(self) -> Log1p | None:
        """Transform of the standardised values before they are modelled; None for none."""
        return self._data[3]

    @property
    def log_unit(self) -> float:
        """Logarithm of one unit of the acquisition function in standardised values; 0 for a probability."""
        if self._seeks_feasible:
            return 0.0
        if self.transform is None:
            return 0.0
        return math.log(self.transform.scale) + self.target  # log of the inverse transform's derivative at the target

    def posterior(self, length_scale: float) -> GaussianProcess:
        """The global model. Its prior mean and variance are those of the values, for every length-scale."""
        X, v, _, _ = self._data
        prior = Prior(float(np.mean(v)), float(np.var(v)) or 1.0)
        return GaussianProcess.fit(self.settings.kernel(length_scale), X, v, prior)

    def basin_posterior(self) -> GaussianProcess | None:
        """The model of trend and ripples; None while no region has been closed, and with constraints.

        None, too, where a single scale is more probable: then the length-scale that is cooled down explores more.
        """
        if not self.settings.trend_and_ripples or not self.regions.closed or self.snapshot.is_constrained:
            return None
        kernel = self.basin_kernel()
        X, v, _, _ = self._data
        return None if isinstance(kernel, SquaredExponential) else GaussianProcess.fit(kernel, X, v)

    def basin_kernel(self) -> StationaryKernel:
        """The most probable kernel of one scale or two.

        It is chosen anew whenever the number of observations has grown by ``KERNEL_GROWTH``, from the first so many: so
        it stays a function of the trials, and costs little.
        """
        n = max(int(KERNEL_GROWTH ** math.floor(math.log(len(self.observations.X), KERNEL_GROWTH))), 2)
        first = self.observations.rows(np.arange(len(self.observations.X)) < n)
        if not first.has_value.any():
            first = self.observations
        return self.snapshot.cache.of(KernelCache).kernel(
            first, min(self._limit, len(first.X)), lambda: replace(self, observations=first)._data[:2]
        )

    def with_pending(self, posterior: GaussianProcess) -> GaussianProcess:
        """The model conditioned on fantasies at pending points: its predictions, clipped to the range of the values."""
        pending = self._pending
        if len(pending) == 0:
            return posterior
        X, v, target, _ = self._data
        fantasies = np.clip(posterior.predict(pending).mean, target, np.max(v))
        return GaussianProcess.fit(
            posterior.kernel, np.vstack([X, pending]), np.append(v, fantasies), prior=posterior.prior
        )

    def standardised(self, prior: Prior) -> Prior:
        """A mean and variance of the objective's values in standardised units."""
        return Prior(float(self.scale(np.array(prior.mean))), prior.variance / self.scale.inverse_scale(1.0) ** 2)

    def max_log_acquisition(self, posterior: GaussianProcess) -> float:
        """Maximum of the log acquisition function over the starting points: accurate enough for comparisons."""
        return float(np.max(self._log_acquisition_at_starts(posterior), initial=-math.inf))

    def _log_acquisition_at_starts(self, posterior: GaussianProcess) -> Vector:
        """Log acquisition at the starting points, (m,); cached, because one proposal reads it several times."""
        for model, values in self._at_starts:
            if model is posterior:
                return values
        if self._seeks_feasible:
            values = self._log_feasibility_at_starts
        else:
            values = self._log_acquisition(posterior)
            values = values if self.feasibility is None else values + self._log_feasibility_at_starts
        self._at_starts.append((posterior, values))
        return values

    def _log_acquisition(self, posterior: GaussianProcess) -> Vector:
        """Log acquisition at the starting points without constraints, (m,)."""
        return self.settings.acquisition(self._predict(posterior, self.starts), self.target)

    @cached_property
    def _log_feasibility_at_starts(self) -> Vector:
        """Log probability that the starting points are feasible, (m,)."""
        return np.zeros(0) if self.feasibility is None else self.feasibility.log_probability(self.starts)

    def _predict(self, posterior: GaussianProcess, A: Matrix) -> Prediction:
        """Mean and std at points (m, d) for the acquisition function."""
        return posterior.predict(A)

    def _derivatives(self, posterior: GaussianProcess, A: Matrix) -> PredictionDerivatives:
        """The same with their derivatives."""
        return posterior.derivatives(A)

    def search(self, posterior: GaussianProcess) -> Maximum | None:
        """The allowed point with the highest acquisition value; None if no starting point is allowed."""
        at_starts = self._log_acquisition_at_starts(posterior)
        order = np.argsort(-at_starts, kind="stable")[: 2 * N_STARTS]
        order = order[at_starts[order] > -math.inf]
        order = order[self.allowed(self.starts[order])][:N_STARTS]
        if len(order) == 0:
            return None
        starts = self.starts[order]
        lower, upper = Box.unit(self.dimension)
        if not self.domain.is_continuous:  # discrete and inactive coordinates keep their values
            free = self.domain.continuous & self.domain.active(starts)
            lower, upper = np.where(free, lower, starts), np.where(free, upper, starts)
        best = Maximum(starts[0], float(at_starts[order[0]]))
        if not np.any(lower < upper):
            return best
        maxima, values = self._maximized(posterior, starts, lower, upper)
        for x, value, allowed in zip(maxima, values, self.allowed(maxima), strict=True):
            if allowed and value > best.value:
                best = Maximum(x, float(value))
        return best

    def _maximized(
        self, posterior: GaussianProcess, starts: Matrix, lower: Vector | Matrix, upper: Vector | Matrix
    ) -> tuple[Matrix, Vector]:
        """Local maxima of the log acquisition function, (m, d), and its values there, (m,): one for each start."""
        derivatives, allowed_set = partial(self._derivatives, posterior), self.domain.allowed_set
        if self.feasibility is None and allowed_set is None:
            return maximize_acquisition(
                self.settings.acquisition,
                derivatives,
                self.target,
                starts,
                lower,
                upper,
                tolerance=ACQUISITION_TOLERANCE,
            )
        fun = feasibility_weighted(
            self.settings.acquisition, None if self._seeks_feasible else derivatives, self.target, self.feasibility
        )
        points, values = minimize_on_box(fun, starts, lower, upper, tolerance=ACQUISITION_TOLERANCE)
        if allowed_set is not None:
            points, values = allowed_set.project_back(fun, points, values, starts, lower, upper)
        return points, -values

    def allowed(self, A: Matrix) -> np.ndarray:
        """Which points (m, d) may be proposed: allowed, outside closed regions, neither observed nor pending, (m,)."""
        new = (
            ~self.regions.covers(A)
            & are_separated(A, self.observations.X, MIN_DISTANCE)
            & self._is_unexplored(A)
            & are_separated(A, self.snapshot.history.pending, MIN_DISTANCE_PENDING)
        )
        new[new] = self.domain.allowed(A[new])
        return new

    def proposal(self, found: Maximum, posterior: GaussianProcess) -> Proposal:
        """The maximum of the acquisition function as a proposal, with its reason."""
        mean, std = (float(v[0]) for v in posterior.predict(found.x[None, :]))
        transform = self.transform
        reason = Reason(
            Source.GLOBAL,
            expected_improvement=None if self._seeks_feasible else self._expected_improvement(found.value),
            mean=self.scale.inverse(mean if transform is None else transform.inverse(mean)),
            std=self.scale.inverse_scale(std if transform is None else transform.inverse_slope(mean) * std),
        )
        coarse = quantize(found.x, POINT_RESOLUTION)
        return Proposal(coarse if self.allowed(coarse[None, :])[0] else found.x, reason)

    def _expected_improvement(self, log_value: float) -> float:
        """Expected improvement in units of the objective, from its logarithm in units of the model."""
        value = math.exp(log_value)
        if self.transform is not None:
            value = value * self.transform.scale * math.exp(self.target)
        return self.scale.inverse_scale(value)


def _snapped(starts: Matrix, incumbent: Vector, domain: Domain) -> Matrix:
    """Starting points (m, d), snapped to the domain, and the incumbent with one discrete coordinate changed."""
    neighbours = []
    for j in np.flatnonzero(~domain.continuous):
        changed = np.tile(incumbent, (len(COORDINATE_LEVELS), 1))
        changed[:, j] = COORDINATE_LEVELS
        neighbours.append(changed)
    return np.unique(domain.snap(np.vstack([starts, *neighbours])), axis=0)
