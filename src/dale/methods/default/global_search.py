"""The global side of the default method at one proposal: its model, what that promises, and where it promises most."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property, partial

import numpy as np

from dale._arrays import Matrix, Vector
from dale.acquisition.base import maximize_acquisition
from dale.acquisition.feasibility import Feasibility, feasibility_weighted
from dale.history.history import Observations
from dale.history.reason import Reason, Source
from dale.history.snapshot import Snapshot
from dale.methods.base import Proposal
from dale.methods.default.settings import GlobalSettings
from dale.methods.default.trust_region import TrustRegionSet
from dale.methods.initial_design import MIN_DISTANCE_PENDING
from dale.models.base import Prediction, PredictionDerivatives
from dale.models.constraint_gp import fit_constraints
from dale.models.gaussian_process import GaussianProcess, Prior
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
from dale.models.transforms import Log1p, Standardize
from dale.optim.multistart import N_STARTS, Box, Maximum, starting_points
from dale.optim.projected_newton import Tolerance, minimize_on_box
from dale.space.domain import Domain

FEWEST = 256  # observations that the model sees at least, however many points are pending
MOST_PENDING = 128  # pending points that the model sees
LEVELS = tuple(np.linspace(0, 1, 17))  # at which a coordinate that is not free is tried at the best observation
SKEWED = 5.0  # upper range over lower range, around the median, from which values are compressed
TOP = Tolerance(gtol=1e-6, ftol=1e-10)  # of a climb; points are rounded anyway


@dataclass(frozen=True, eq=False)
class GlobalSearch:
    """The global side at one proposal; it is the ``LengthScaleContext`` that a length-scale policy looks at."""

    settings: GlobalSettings
    snapshot: Snapshot
    observations: Observations  # without outliers and the replicate
    regions: TrustRegionSet
    rng: np.random.Generator
    incumbent: int | None  # row of the best feasible observation
    _seen: list[tuple[GaussianProcess, Vector]] = field(init=False, default_factory=list)

    @property
    def scale(self) -> Standardize:
        """Standardises the values."""
        return self.observations.standardize

    @property
    def domain(self) -> Domain:
        """Points that may be proposed."""
        return self.snapshot.domain

    @property
    def is_constrained(self) -> bool:
        """Whether there are constraints of either kind."""
        return self.domain.allowed_set is not None or self.observations.constraints.shape[1] > 0

    @property
    def previous(self) -> float | None:
        """Length-scale of the last proposal."""
        return self.snapshot.history.length_scale

    @property
    def n(self) -> int:
        """Number of observations that the model sees."""
        return len(self._data[1])

    @property
    def dimension(self) -> int:
        """Number of coordinates."""
        return self.observations.dimension

    @cached_property
    def starts(self) -> Matrix:
        """Where the search looks first, (m, d)."""
        incumbent = self.observations.X[np.nanargmin(self.observations.y) if self.incumbent is None else self.incumbent]
        starts = starting_points(self.rng, Box.unit(self.dimension), incumbent)
        if not self.domain.is_continuous:
            starts = _as_seen(starts, incumbent, self.domain)
        if self.domain.allowed_set is not None:
            starts = self.domain.allowed_set.allowed_among(starts, incumbent, self.rng)
        starts = starts[~self.regions.inside(starts)]
        if (
            len(self.snapshot.history.pending) > MOST_PENDING
        ):  # those that the model does not get keep others away themselves
            starts = starts[
                are_separated(starts, self.snapshot.history.pending, THINNING_DISTANCE * math.sqrt(self.dimension))
            ]
        return starts

    @cached_property
    def best(self) -> float:
        """The best standardised value."""
        return float(np.min(self.scale(self.observations.y[self.observations.has_value])))

    @cached_property
    def feasibility(self) -> Feasibility | None:
        """What is believed about black-box constraints; None where there are none."""
        if self.observations.constraints.shape[1] == 0:
            return None
        told = self.observations.has_value
        X, z = self.observations.X[told], self.scale(self.observations.y[told])
        keep = thin(X, z, THINNING_DISTANCE * math.sqrt(self.dimension), self.settings.max_observations)
        constraints = self.observations.constraints[told]
        return Feasibility(fit_constraints(X[keep], constraints[keep], self._pending, self.settings.kernel))

    @property
    def _pending(self) -> Matrix:
        """The points being evaluated that a model gets."""
        pending = self.snapshot.history.pending
        if len(pending) > MOST_PENDING:
            pending = pending[np.linspace(0, len(pending) - 1, MOST_PENDING).astype(int)]
        return pending

    @property
    def target(self) -> float:
        """The value to improve on, as the model sees it."""
        if self.incumbent is None or not self.is_constrained:
            return self._data[2]
        z = self.scale(self.observations.y[self.incumbent])
        return float(quantize(z, VALUE_RESOLUTION) if self.transform is None else self.transform(z))

    @property
    def _seeks_feasible(self) -> bool:
        """Whether nothing is feasible yet, so that there is nothing to improve on."""
        return self.incumbent is None and self.feasibility is not None

    @cached_property
    def _data(self) -> tuple[Matrix, Vector, float, Log1p | None]:
        """Points (m, d) and values (m,) of the model, the target, and the transform of standardised values, if any."""
        told, best = self.observations.has_value, self.best
        z = self.scale(self.observations.y)
        worst = float(np.max(z[told]))
        X, z = average_replicates(self.observations.X, np.where(told, z, worst), told)
        most = self.settings.max_observations
        most = max(most - len(self.snapshot.history.pending), min(FEWEST, most))
        keep = thin(X, z, THINNING_DISTANCE * math.sqrt(self.dimension), most)
        X, z = X[keep], z[keep]
        median = float(np.median(z))
        if self.settings.log_transform and worst - median > SKEWED * (median - best) > 0:
            transform = Log1p(best, median - best)
            return X, quantize(transform(z), VALUE_RESOLUTION), 0.0, transform
        return X, quantize(z, VALUE_RESOLUTION), float(quantize(best, VALUE_RESOLUTION)), None

    @property
    def transform(self) -> Log1p | None:
        """Transform of the standardised values that the model sees; None if it sees them as they are."""
        return self._data[3]

    @property
    def log_unit(self) -> float:
        """Logarithm of what one unit of the acquisition is in standardised values; a probability's is 1."""
        if self._seeks_feasible:
            return 0.0
        transform = self.transform
        return 0.0 if transform is None else math.log(transform.scale) + self.target  # log of the slope at the target

    def posterior(self, length_scale: float) -> GaussianProcess:
        """The global model: its mean and variance are those of the values, whatever the length-scale."""
        X, v, _, _ = self._data
        prior = Prior(float(np.mean(v)), float(np.var(v)) or 1.0)
        return GaussianProcess.fit(self.settings.kernel(length_scale), X, v, prior)

    def with_pending(self, posterior: GaussianProcess) -> GaussianProcess:
        """The model that believes to have seen what it predicts at pending points, though nothing below the best."""
        pending = self._pending
        if len(pending) == 0:
            return posterior
        X, v, target, _ = self._data
        believed = np.clip(posterior.predict(pending).mean, target, np.max(v))
        return GaussianProcess.fit(
            posterior.kernel, np.vstack([X, pending]), np.append(v, believed), prior=posterior.prior
        )

    def standardised(self, prior: Prior) -> Prior:
        """A mean and variance of the objective's values, in units of the model."""
        return Prior(float(self.scale(np.array(prior.mean))), prior.variance / self.scale.inverse_scale(1.0) ** 2)

    def max_log_acquisition(self, posterior: GaussianProcess) -> float:
        """Maximum of the acquisition function among the starting points: enough for a comparison."""
        return float(np.max(self._levels(posterior), initial=-math.inf))

    def _levels(self, posterior: GaussianProcess) -> Vector:
        """Log EI at the starting points, (m,); remembered, for it is asked for again and again."""
        for model, levels in self._seen:
            if model is posterior:
                return levels
        if self._seeks_feasible:
            levels = self._feasible_starts
        else:
            levels = self.settings.acquisition(self._predict(posterior, self.starts), self.target)
            levels = levels if self.feasibility is None else levels + self._feasible_starts
        self._seen.append((posterior, levels))
        return levels

    @cached_property
    def _feasible_starts(self) -> Vector:
        """Log probability that the starting points are feasible, (m,)."""
        return np.zeros(0) if self.feasibility is None else self.feasibility.log_probability(self.starts)

    def _predict(self, posterior: GaussianProcess, A: Matrix) -> Prediction:
        """Mean and std at points (m, d), as the acquisition function takes them."""
        return posterior.predict(A)

    def _believe(self, posterior: GaussianProcess, A: Matrix) -> PredictionDerivatives:
        """The same with derivatives."""
        return posterior.derivatives(A)

    def search(self, posterior: GaussianProcess) -> Maximum | None:
        """The best allowed point of the acquisition function: the best starting points climbed from together."""
        level = self._levels(posterior)
        order = np.argsort(-level, kind="stable")[: 2 * N_STARTS]
        order = order[level[order] > -math.inf]
        order = order[self.allowed(self.starts[order])][:N_STARTS]
        if len(order) == 0:
            return None
        starts = self.starts[order]
        lower, upper = Box.unit(self.dimension)
        if not self.domain.is_continuous:  # what cannot move freely stays as it is
            free = self.domain.continuous & self.domain.active(starts)
            lower, upper = np.where(free, lower, starts), np.where(free, upper, starts)
        tops, promises = self._climbed(posterior, starts, lower, upper)
        best = Maximum(starts[0], float(level[order[0]]))
        for x, value, allowed in zip(tops, promises, self.allowed(tops), strict=True):
            if allowed and value > best.value:
                best = Maximum(x, float(value))
        return best

    def _climbed(
        self, posterior: GaussianProcess, starts: Matrix, lower: Vector | Matrix, upper: Vector | Matrix
    ) -> tuple[Matrix, Vector]:
        believe, inputs = partial(self._believe, posterior), self.domain.allowed_set
        if not self.is_constrained:
            return maximize_acquisition(
                self.settings.acquisition, believe, self.target, starts, lower, upper, tolerance=TOP
            )
        below = feasibility_weighted(
            self.settings.acquisition, None if self._seeks_feasible else believe, self.target, self.feasibility
        )
        tops, losses = minimize_on_box(below, starts, lower, upper, tolerance=TOP)
        if inputs is not None:
            tops, losses = inputs.walked_back(below, tops, losses, starts, lower, upper)
        return tops, -losses

    def allowed(self, A: Matrix) -> np.ndarray:
        """Which points (m, d) are in no closed ball, neither observed nor being evaluated, and may be proposed."""
        new = (
            ~self.regions.inside(A)
            & are_separated(A, self.observations.X, MIN_DISTANCE)
            & are_separated(A, self.snapshot.history.pending, MIN_DISTANCE_PENDING)
        )
        if self.domain.allowed_set is not None:
            new[new] = self.domain.allowed_set.allowed(A[new])
        return new

    def proposal(self, found: Maximum, posterior: GaussianProcess) -> Proposal:
        """The best point of the global model."""
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


def _as_seen(starts: Matrix, incumbent: Vector, domain: Domain) -> Matrix:
    """Starting points (m, d) as the objective sees them, and the incumbent with one thing about it changed."""
    changed = []
    for j in np.flatnonzero(~domain.continuous):
        others = np.tile(incumbent, (len(LEVELS), 1))
        others[:, j] = LEVELS
        changed.append(others)
    return np.unique(domain.snap(np.vstack([starts, *changed])), axis=0)
