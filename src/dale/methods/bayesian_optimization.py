"""One proposal of Bayesian optimization (Alg. 1, lines 6-7), as a function of the history.

1. Before the initial design is complete: its next point (lines 2-3).
2. Regions where the observations look like a convex quadratic (Alg. 3).
3. The global model: a Gaussian process on the observations outside all regions, its length-scale chosen by the policy
   (Alg. 2), its mean and variance in closed form.
4. The best point of the acquisition function outside the regions against the minimum of each region. With any region
   live, the global variance is divided by 100 for this comparison (Sec. 4).

Pending points are believed to give what the model predicts there, though no less than the best value seen; failed
ones to be as bad as the worst.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from dale._arrays import Matrix, Vector
from dale.acquisition.base import AcquisitionFunction
from dale.acquisition.expected_improvement import log_expected_improvement
from dale.history.history import Observations
from dale.history.reason import Reason, Source
from dale.history.seeding import RandomStreams
from dale.history.snapshot import Snapshot
from dale.methods.base import Capabilities, Proposal, changed_settings
from dale.methods.initial_design import (
    MIN_DISTANCE_FAILED,
    MIN_DISTANCE_PENDING,
    initial_proposal,
    space_filling_proposal,
)
from dale.methods.length_scale.alpha_ratio import AlphaRatio
from dale.methods.length_scale.policy import LengthScaleChoice, LengthScalePolicy
from dale.methods.region_identification import Region, RegionIdentification, Regions
from dale.models.cholesky import CholeskyFactor, IncrementalCholesky
from dale.models.gaussian_process import GaussianProcess, Prior, maximum_likelihood_prior
from dale.models.kernels.squared_exponential import SquaredExponential
from dale.models.preprocessing import (
    APART,
    POINT_RESOLUTION,
    VALUE_RESOLUTION,
    are_separated,
    average_replicates,
    quantize,
)
from dale.models.transforms import Standardize
from dale.optim.multistart import Box, Found, maximise, starting_points

INITIAL = 3  # Sec. 4: three samples by latin hypercube sampling
VARIANCE_DIVISOR = 100.0  # Sec. 4


@dataclass(frozen=True)
class BayesianOptimization:
    """Settings: the parts of the method.

    Attributes:
        length_scale: How the global model's length-scale is chosen.
        regions: How local quadratic regions are found; None for none.
        acquisition: What the global model is searched for. With ``AlphaRatio`` it must be the logarithm of a positive
            promise, for ratios are taken.
        initial: Size of the initial design.
    """

    length_scale: LengthScalePolicy
    regions: RegionIdentification | None
    acquisition: AcquisitionFunction = log_expected_improvement
    initial: int = INITIAL
    name: ClassVar[str] = "bayesian_optimization"
    revision: ClassVar[int] = 1

    @property
    def capabilities(self) -> Capabilities:
        """What the method can deal with; the expected improvement is known if it is what is searched for."""
        return Capabilities(expected_improvement=self.acquisition is log_expected_improvement)

    def changed_settings(self) -> Mapping[str, Any]:
        """Settings that differ from the defaults, by name."""
        return changed_settings(self)

    def __post_init__(self) -> None:
        if isinstance(self.length_scale, AlphaRatio) and self.acquisition is not log_expected_improvement:
            raise ValueError("AlphaRatio compares logarithms of promises: wanted acquisition=log_expected_improvement")
        if not callable(getattr(self.length_scale, "choose", None)):
            raise TypeError(
                "length_scale must be a policy such as dale.methods.length_scale.Fixed(0.3) or AlphaRatio(), "
                f"got {self.length_scale!r}"
            )
        if self.regions is not None and self.acquisition is not log_expected_improvement:
            raise ValueError("a region promises log EI: wanted acquisition=log_expected_improvement, or regions=None")
        if self.initial < 1:
            raise ValueError(f"the initial design needs at least one point, got initial={self.initial!r}")

    def propose(self, snapshot: Snapshot, rng: RandomStreams) -> Proposal:
        """The next point of the unit cube."""
        first = initial_proposal(snapshot, self.initial, rng)
        if first is not None:
            return first
        view = View(self, snapshot, rng("global"), snapshot.cache.of(IncrementalCholesky))
        decision = self.length_scale.choose(view)  # line 6
        found = view.search(_shrunk(decision.posterior) if view.regions.live else decision.posterior)  # line 7
        promised = [(view.region_promise(region), region) for region in view.open_regions]
        best = max(promised, key=lambda pair: pair[0], default=None)
        if best is not None and (found is None or best[0] > found.value):
            return view.local_proposal(best[1], best[0], decision)
        return (
            space_filling_proposal(snapshot, rng("global")) if found is None else view.global_proposal(found, decision)
        )


@dataclass(frozen=True, eq=False)
class View:
    """What is known at one proposal; it is the ``LengthScaleContext`` that a length-scale policy looks at."""

    method: BayesianOptimization
    snapshot: Snapshot
    rng: np.random.Generator
    cache: IncrementalCholesky
    box: Box = field(init=False)
    starts: Matrix = field(init=False)
    _searched: dict[GaussianProcess, Found | None] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "box", Box.unit(self.dimension))
        incumbent = self.observations.X[np.nanargmin(self.observations.y)]
        object.__setattr__(self, "starts", starting_points(self.rng, self.box, incumbent))

    @property
    def observations(self) -> Observations:
        """The finished trials."""
        return self.snapshot.history.observations

    @property
    def previous(self) -> float | None:
        """Length-scale of the last proposal."""
        return self.snapshot.history.length_scale

    @property
    def n(self) -> int:
        """Number of observations, pending ones included."""
        return len(self.observations.X) + len(self.snapshot.history.pending)

    @property
    def dimension(self) -> int:
        """Number of coordinates."""
        return self.observations.dimension

    @cached_property
    def scale(self) -> Standardize:
        """Standardises the values."""
        return Standardize.of(self.observations.y[self.observations.has_value])

    @cached_property
    def z(self) -> Vector:
        """Standardised values (n,); failed evaluations count as the worst."""
        z = self.scale(self.observations.y)
        return np.where(self.observations.has_value, z, np.max(z[self.observations.has_value]))

    @property
    def best(self) -> float:
        """Lowest standardised value."""
        return float(np.min(self.z))

    @cached_property
    def regions(self) -> Regions:
        """Alg. 3 on the observations."""
        told = self.observations.has_value
        if self.method.regions is None:
            return Regions()
        found = self.method.regions(self.observations.X[told], self.z[told], self.scale.resolution)
        # A region whose minimum cannot be evaluated is no use: its ball is left to the global model.
        failed = self.observations.X[~told]
        return replace(
            found,
            live=tuple(r for r in found.live if are_separated(r.minimiser[None, :], failed, MIN_DISTANCE_FAILED)[0]),
        )

    @property
    def open_regions(self) -> tuple[Region, ...]:
        """Live regions whose minimum is not being evaluated already."""
        return tuple(
            r
            for r in self.regions.live
            if are_separated(r.minimiser[None, :], self.snapshot.history.pending, MIN_DISTANCE_PENDING)[0]
        )

    @cached_property
    def outside(self) -> tuple[Matrix, Vector]:
        """Points (m, d) and values (m,) that the global model sees: those in no region."""
        outside = ~self.regions.inside(self.observations.X)
        if not np.any(outside):
            outside[:] = True  # a global model of nothing would have no opinion
        X, z = average_replicates(self.observations.X[outside], self.z[outside], self.observations.has_value[outside])
        return X, quantize(z, VALUE_RESOLUTION)

    def posterior(self, length_scale: float) -> GaussianProcess:
        """The global model, given the observations outside all regions."""
        kernel = SquaredExponential(length_scale)
        X, z = self.outside
        if length_scale == self.previous and not self.regions.live:
            factor = self.cache.factor(
                kernel, X, int(np.sum(self.observations.ids < self.snapshot.history.length_scale_since))
            )
        else:
            factor = CholeskyFactor.of(kernel(X, X))
        posterior = GaussianProcess(kernel, X, z, factor, maximum_likelihood_prior(factor, z))
        lowest, highest = quantize([self.best, np.max(self.z)], VALUE_RESOLUTION)
        for x in self.snapshot.history.pending:
            believed = float(posterior.predict(x[None, :]).mean[0])
            posterior = posterior.extended(x, min(max(believed, lowest), highest))
        return posterior

    def standardised(self, prior: Prior) -> Prior:
        """A mean and variance of the objective's values, in units of the model."""
        unit = self.scale.inverse_scale(1.0)
        return Prior(float(self.scale(np.array(prior.mean))), prior.variance / unit**2)

    def promise(self, posterior: GaussianProcess) -> float:
        """Logarithm of the best acquisition outside the regions."""
        found = self.search(posterior)
        return -math.inf if found is None else found.value

    def search(self, posterior: GaussianProcess) -> Found | None:
        """The best allowed point of the acquisition function; the same model is searched once."""
        if posterior not in self._searched:
            self._searched[posterior] = self._search(posterior)
        return self._searched[posterior]

    def _search(self, posterior: GaussianProcess) -> Found | None:
        best = float(quantize(self.best, VALUE_RESOLUTION))

        def values(A: Matrix) -> Vector:
            return self.method.acquisition(*posterior.predict(A), best).value

        def value_and_gradient(x: Vector) -> tuple[float, Vector]:
            mean, std, mean_gradient, std_gradient = posterior.predict_with_gradient(x)
            value, by_mean, by_std = self.method.acquisition(np.array(mean), np.array(std), best)
            return float(value), by_mean * mean_gradient + by_std * std_gradient

        return maximise(values, value_and_gradient, self.starts, self.box, self.allowed)

    def allowed(self, A: Matrix) -> np.ndarray:
        """Which points (m, d) are in no region, and neither observed nor being evaluated."""
        return (
            ~self.regions.inside(A)
            & are_separated(A, self.observations.X, APART)
            & are_separated(A, self.snapshot.history.pending, MIN_DISTANCE_PENDING)
        )

    def region_promise(self, region: Region) -> float:
        """Log EI at the minimum of a region, where nothing is left uncertain (``gp/local_quadratic.py``)."""
        return float(log_expected_improvement(np.array(region.minimum), np.array(0.0), self.best).value)

    def local_proposal(self, region: Region, promise: float, decision: LengthScaleChoice) -> Proposal:
        """The minimum of a region."""
        reason = replace(
            self._why(Source.LOCAL, promise, decision),
            region=self.regions.live.index(region) + 1,
            mean=self.scale.inverse(region.minimum),
            std=0.0,
        )
        return Proposal(region.minimiser, reason)

    def global_proposal(self, found: Found, decision: LengthScaleChoice) -> Proposal:
        """The best point of the global model."""
        mean, std = decision.posterior.predict(found.x[None, :])
        reason = replace(
            self._why(Source.GLOBAL, found.value, decision),
            mean=self.scale.inverse(float(mean[0])),
            std=self.scale.inverse_scale(float(std[0])),
        )
        coarse = quantize(found.x, POINT_RESOLUTION)
        return Proposal(coarse if self.allowed(coarse[None, :])[0] else found.x, reason)

    def _why(self, source: Source, promise: float, decision: LengthScaleChoice) -> Reason:
        in_logs = self.method.acquisition is log_expected_improvement
        return Reason(
            source,
            length_scale=decision.length_scale,
            log_alpha_ratio=decision.log_alpha_ratio,
            cooled=decision.cooled,
            expected_improvement=self.scale.inverse_scale(math.exp(promise)) if in_logs else None,
            n_regions=len(self.regions.live),
        )


def _shrunk(posterior: GaussianProcess) -> GaussianProcess:
    """The variance scaled down "for consistency with the quadratic part" (Sec. 4)."""
    return posterior.with_prior(Prior(posterior.prior.mean, posterior.prior.variance / VARIANCE_DIVISOR))
