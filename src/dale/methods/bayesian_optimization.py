"""One proposal of Bayesian optimization (Alg. 1, lines 6-7), as a function of the history.

1. Until the initial design is complete: its next point (lines 2-3).
2. Regions in which the observations fit a convex quadratic (Alg. 3).
3. The global model: a Gaussian process on the observations outside all regions, its length-scale chosen by the policy
   (Alg. 2), its mean and variance in closed form.
4. The maximum of the acquisition function outside the regions, or the minimum of a region, whichever has the larger
   acquisition value. If there are regions, the global variance is divided by 100 for this comparison (Sec. 4).

At pending points the model's own mean is a fantasy value, clipped to the range of the observed values; failed
evaluations count as the worst value.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from dale._arrays import Matrix, Vector
from dale.acquisition.base import Acquisition, AcquisitionState, Quantity, adapted, check_acquisition, quantity_of
from dale.acquisition.expected_improvement import LogExpectedImprovement
from dale.history.observations import Observations
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
from dale.methods.length_scale.policy import LengthScaleChoice, LengthScalePolicy, ModelT, PastProposal, SpatialModel
from dale.methods.region_identification import Region, RegionIdentification, Regions
from dale.models.base import Prediction
from dale.models.cholesky import CholeskyFactor, IncrementalCholesky
from dale.models.gaussian_process import GaussianProcess, Prior, maximum_likelihood_prior
from dale.models.kernels.base import KernelFactory, StationaryKernel, check_kernel
from dale.models.kernels.squared_exponential import SquaredExponential
from dale.models.mixed_global_local import MixedGlobalLocalPosterior
from dale.models.preprocessing import (
    MIN_DISTANCE,
    POINT_RESOLUTION,
    VALUE_RESOLUTION,
    are_separated,
    average_replicates,
    quantize,
)
from dale.models.transforms import Standardize
from dale.optim.multistart import NEAR_POINTS, Box, Maximum, maximize, starting_points

N_INITIAL = 3  # Sec. 4: three samples by latin hypercube sampling
VARIANCE_DIVISOR = 100.0  # Sec. 4
REGION_DISTANCE = 0.5  # of the starting points around a region, in its radii: the standard deviation


@dataclass(frozen=True)
class BayesianOptimization:
    """Settings: the parts of the method.

    Attributes:
        length_scale: How the length-scale of the global model is chosen.
        regions: How local quadratic regions are found; None for none.
        acquisition: The acquisition function. ``AlphaRatio`` and regions compare logarithms, so they need one with
            ``is_log``.
        n_initial: Size of the initial design.
        kernel: The kernel of the global model.

    Examples:
        >>> from dale.acquisition import ProbabilityOfImprovement
        >>> from dale.methods.length_scale import Fixed
        >>> from dale.models.kernels import Matern52
        >>> method = BayesianOptimization(Fixed(0.3), acquisition=ProbabilityOfImprovement(), kernel=Matern52)
    """

    length_scale: LengthScalePolicy
    regions: RegionIdentification | None = None
    acquisition: Acquisition = LogExpectedImprovement()  # noqa: RUF009 (frozen)
    n_initial: int = N_INITIAL
    kernel: KernelFactory = SquaredExponential
    name: ClassVar[str] = "bayesian_optimization"
    revision: ClassVar[int] = 3
    capabilities: ClassVar[Capabilities] = Capabilities()

    def changed_settings(self) -> Mapping[str, Any]:
        """Settings that differ from the defaults, by name."""
        return changed_settings(self)

    def __post_init__(self) -> None:
        if isinstance(self.length_scale, type) or not callable(getattr(self.length_scale, "choose", None)):
            raise TypeError(
                "length_scale: expected a policy such as dale.methods.length_scale.Fixed(0.3) or AlphaRatio(), "
                f"got {self.length_scale!r}"
            )
        log_for = "AlphaRatio" if isinstance(self.length_scale, AlphaRatio) else ""
        check_acquisition(self.acquisition, log_for=log_for or ("RegionIdentification" if self.regions else ""))
        if self.regions and quantity_of(self.acquisition) is Quantity.INFORMATION:
            raise ValueError(
                "acquisition: the minimum of a region is certain, so its evaluation gives no information; expected a "
                f"function such as LogExpectedImprovement() with RegionIdentification, got {self.acquisition!r}"
            )
        check_kernel(self.kernel)
        if self.n_initial < 1:
            raise ValueError(f"n_initial: expected at least one point of the initial design, got {self.n_initial!r}")

    def propose(self, snapshot: Snapshot, rng: RandomStreams) -> Proposal:
        """The next point of the unit cube."""
        first = initial_proposal(snapshot, self.n_initial, rng)
        if first is not None:
            return first
        context = GlobalModelContext(self, snapshot, rng("global"), snapshot.cache.of(IncrementalCholesky))
        choice = self.length_scale.choose(context)  # line 6
        model = choice.model or choice.posterior
        found = context.find(model.shrunk(VARIANCE_DIVISOR) if context.regions.live else model, choice.point)  # line 7
        local = [(context.region_acquisition(region, model), region) for region in context.open_regions]
        best = max(local, key=lambda pair: pair[0], default=None)
        if best is not None and (found is None or best[0] > found.value):
            return context.local_proposal(best[1], best[0], choice)
        if found is None:
            return space_filling_proposal(snapshot, rng("global"))
        return context.global_proposal(found, choice)


@dataclass(frozen=True, eq=False)
class GlobalModelContext:
    """The data of one proposal: the ``LengthScaleContext`` that a length-scale policy uses."""

    method: BayesianOptimization
    snapshot: Snapshot
    rng: np.random.Generator
    cache: IncrementalCholesky
    box: Box = field(init=False)
    _searched: dict[SpatialModel, Maximum | None] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "box", Box.unit(self.dimension))

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

    @property
    def n_ordered(self) -> int:
        """Number of coordinates that are not those of options, at least 1."""
        return self.snapshot.domain.n_ordered

    @cached_property
    def scale(self) -> Standardize:
        """The standardisation of the values."""
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
        has_value = self.observations.has_value
        if self.method.regions is None:
            return Regions()
        found = self.method.regions(self.observations.X[has_value], self.z[has_value], self.scale.resolution)
        # A region whose minimum cannot be evaluated is useless: its ball is left to the global model.
        failed = self.observations.X[~has_value]
        return replace(
            found,
            live=tuple(r for r in found.live if are_separated(r.minimiser[None, :], failed, MIN_DISTANCE_FAILED)[0]),
        )

    @property
    def open_regions(self) -> tuple[Region, ...]:
        """Live regions whose minimum is not pending."""
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
            outside[:] = True  # a global model needs data
        X, z = average_replicates(self.observations.X[outside], self.z[outside], self.observations.has_value[outside])
        return X, quantize(z, VALUE_RESOLUTION)

    @property
    def kernel(self) -> KernelFactory:
        """Makes the kernel of a length-scale."""
        return self.method.kernel

    @property
    def worst(self) -> float:
        """Highest standardised value."""
        return float(np.max(self.z))

    @property
    def incumbent(self) -> Vector:
        """Point of the lowest value, (d,)."""
        return self.observations.X[np.nanargmin(self.observations.y)]

    @property
    def proposals(self) -> tuple[PastProposal, ...]:
        """Earlier proposals of the global model."""
        unit = self.scale.inverse_scale(1.0) or np.finfo(float).tiny
        found = []
        for trial in self.snapshot.history.trials:
            reason = trial.reason
            if reason.source is Source.GLOBAL and reason.length_scale is not None and reason.std is not None:
                value = math.inf if trial.value is None else float(self.scale(np.array(trial.loss)))
                found.append(PastProposal(reason.length_scale, reason.std / unit, value))
        return tuple(found)

    def fit(self, kernel: StationaryKernel) -> GaussianProcess:
        """The global model with any kernel, given the observations outside all regions."""
        X, z = self.outside
        return self.with_pending(GaussianProcess.fit(kernel, X, z))

    def posterior(self, length_scale: float) -> GaussianProcess:
        """The global model, given the observations outside all regions."""
        kernel = self.method.kernel(length_scale)
        X, z = self.outside
        if length_scale == self.previous and not self.regions.live:
            factor = self.cache.factor(
                kernel, X, int(np.sum(self.observations.ids < self.snapshot.history.length_scale_since))
            )
        else:
            factor = CholeskyFactor.of(kernel(X, X))
        return self.with_pending(GaussianProcess(kernel, X, z, factor, maximum_likelihood_prior(factor, z)))

    def with_pending(self, model: ModelT) -> ModelT:
        """The model, given its own means at pending points, within the range of the observed values."""
        lowest, highest = quantize([self.best, np.max(self.z)], VALUE_RESOLUTION)
        for x in self.snapshot.history.pending:
            mean = float(model.predict(x[None, :]).mean[0])
            model = model.condition(x[None, :], np.array([min(max(mean, lowest), highest)]))
        return model

    @property
    def previous_log_acquisition(self) -> float | None:
        """``max_log_acquisition`` at the last proposal, in units of the present standardisation."""
        log_alpha = self.snapshot.history.log_alpha
        return None if log_alpha is None else log_alpha - self._log_unit

    def log_alpha(self, choice: LengthScaleChoice) -> float | None:
        """The acquisition value that the next choice is compared with, in units of the objective.

        None where equal values have not shown their unit yet.
        """
        values = self.observations.y[self.observations.has_value]
        if choice.log_acquisition is None or np.min(values) == np.max(values):
            return None
        return choice.log_acquisition + self._log_unit

    @property
    def _log_unit(self) -> float:
        """Logarithm of the unit of acquisition values; a probability has none."""
        return self.scale.log_scale if quantity_of(self.method.acquisition).has_unit else 0.0

    def standardised(self, prior: Prior) -> Prior:
        """A mean and variance of the objective's values, in units of the model."""
        unit = self.scale.inverse_scale(1.0)
        return Prior(float(self.scale(np.array(prior.mean))), prior.variance / unit**2)

    def max_log_acquisition(self, posterior: GaussianProcess) -> float:
        """Maximum of the acquisition function, a logarithm, outside the regions."""
        found = self.search(posterior)
        return -math.inf if found is None else found.value

    def search(self, model: SpatialModel) -> Maximum | None:
        """The maximum of the acquisition function among allowed points; each model is searched once."""
        if model not in self._searched:
            self._searched[model] = self.climb(model, self.starts)
        return self._searched[model]

    def find(self, model: SpatialModel, point: Vector | None) -> Maximum | None:
        """The maximum of the acquisition function, or its value at a point that was chosen already."""
        if point is None:
            return self.search(model)
        return Maximum(point, float(self.acquisition_values(model, point[None, :])[0]))

    def acquisition(self, model: SpatialModel) -> Acquisition:
        """The acquisition function, adapted to the number of evaluations and to a model."""
        best = float(quantize(self.best, VALUE_RESOLUTION))
        state = AcquisitionState(self.n, self.dimension, best, lambda: model.predict(self.starts))
        return adapted(self.method.acquisition, state)

    def acquisition_values(self, model: SpatialModel, A: Matrix) -> Vector:
        """Values of the acquisition function at points A (m, d) under a model."""
        return self.acquisition(model)(model.predict(A), float(quantize(self.best, VALUE_RESOLUTION)))

    def climb(self, model: SpatialModel, starts: Matrix) -> Maximum | None:
        """The best allowed maximum of the acquisition function from some starting points (k, d)."""
        best = float(quantize(self.best, VALUE_RESOLUTION))
        acquisition = self.acquisition(model)

        def values(A: Matrix) -> Vector:
            return acquisition(model.predict(A), best)

        def value_and_gradient(x: Vector) -> tuple[float, Vector]:
            mean, std, mean_gradient, std_gradient = model.predict_with_gradient(x)
            prediction = Prediction(np.array(mean), np.array(std))
            value, by_mean, by_std = acquisition.partials(prediction, best)
            return float(value), by_mean * mean_gradient + by_std * std_gradient

        return maximize(values, value_and_gradient, starts, self.box, self.allowed)

    @cached_property
    def starts(self) -> Matrix:
        """Starting points of every search, (m, d): over the box, around the incumbent and around each live region.

        The global model does not see the observations in a region, so it often has a narrow maximum close to one.
        """
        starts = [starting_points(self.rng, self.box, self.incumbent)]
        for region in self.regions.live:
            directions, distances = self.rng.standard_normal((2, NEAR_POINTS, self.dimension))
            directions /= np.linalg.norm(directions, axis=1, keepdims=True)
            radii = region.ball.radius * (1 + REGION_DISTANCE * np.abs(distances[:, :1]))
            starts.append(np.clip(region.ball.center + radii * directions, self.box.low, self.box.high))
        return np.vstack(starts)

    def allowed(self, A: Matrix) -> np.ndarray:
        """Which points (m, d) are in no region, and neither observed nor pending."""
        return (
            ~self.regions.inside(A)
            & are_separated(A, self.observations.X, MIN_DISTANCE)
            & are_separated(A, self.snapshot.history.pending, MIN_DISTANCE_PENDING)
        )

    def region_acquisition(self, region: Region, model: SpatialModel) -> float:
        """Acquisition value at the minimum of a region, where the std is 0 (``models/mixed_global_local.py``)."""
        return float(self.acquisition(model)(Prediction(np.array(region.minimum), np.array(0.0)), self.best))

    def model(self, choice: LengthScaleChoice) -> MixedGlobalLocalPosterior:
        """The posterior under the MGL kernel (eq. 18): the global model outside, a quadratic in each live region."""
        outside = choice.model or choice.posterior
        return MixedGlobalLocalPosterior(outside, tuple(region.fit for region in self.regions.live))

    def local_proposal(self, region: Region, value: float, choice: LengthScaleChoice) -> Proposal:
        """The minimum of a region."""
        reason = self._reason(Source.LOCAL, region.minimiser, value, choice)
        return Proposal(region.minimiser, replace(reason, region=self.regions.live.index(region) + 1))

    def global_proposal(self, found: Maximum, choice: LengthScaleChoice) -> Proposal:
        """The maximum of the acquisition function under the global model."""
        reason = self._reason(Source.GLOBAL, found.x, found.value, choice)
        coarse = quantize(found.x, POINT_RESOLUTION)
        return Proposal(coarse if self.allowed(coarse[None, :])[0] else found.x, reason)

    def _reason(self, source: Source, x: Vector, value: float, choice: LengthScaleChoice) -> Reason:
        mean, std = self.model(choice).predict(x[None, :])
        acquisition = self.method.acquisition
        is_log_ei = acquisition.is_log and quantity_of(acquisition) is Quantity.EXPECTED_IMPROVEMENT
        return Reason(
            source,
            length_scale=choice.length_scale,
            log_alpha_ratio=choice.log_alpha_ratio,
            cooled=choice.cooled,
            log_alpha=self.log_alpha(choice),
            expected_improvement=self.scale.inverse_scale(math.exp(value)) if is_log_ei else None,
            mean=self.scale.inverse(float(mean[0])),
            std=self.scale.inverse_scale(float(std[0])),
            n_regions=len(self.regions.live),
        )
