"""The global side of the default method when values are noisy: one model of signal and noise."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dale._arrays import Matrix, Vector
from dale.acquisition.noisy import log_knowledge_gradient, std_reduction, with_std_reduction
from dale.history.observations import Observations
from dale.history.snapshot import Snapshot
from dale.methods.default.global_search import GlobalSearch
from dale.methods.default.settings import GlobalSettings
from dale.methods.default.trust_region import TrustRegionSet
from dale.methods.initial_design import MIN_DISTANCE_PENDING
from dale.models.base import Prediction, PredictionDerivatives
from dale.models.gaussian_process import GaussianProcess
from dale.models.kernels.squared_exponential import SquaredExponential
from dale.models.noisy_gp import NoisyGP
from dale.models.preprocessing import MIN_DISTANCE, are_separated
from dale.models.transforms import Log1p


@dataclass(frozen=True, eq=False)
class NoisySearch(GlobalSearch):
    """Search with a model of signal and noise, fitted to all observations.

    The acquisition function uses the reduction of the posterior std that one more evaluation brings, so observed points
    may be proposed again.

    Attributes:
        model: The model of signal and noise.
    """

    model: NoisyGP

    @classmethod
    def of(
        cls, settings: GlobalSettings, snapshot: Snapshot, observations: Observations, rng: np.random.Generator
    ) -> NoisySearch:
        """The search at one state of a run."""
        if settings.kernel is SquaredExponential:
            model = observations.noisy_gp  # fitted once for each state of the run
        else:
            model = observations.fit_noisy_gp(settings.kernel)
        incumbent = model.lowest(observations.feasible)
        return cls(settings, snapshot, observations, TrustRegionSet(), rng, incumbent, model)

    @cached_property
    def _data(self) -> tuple[Matrix, Vector, float, Log1p | None]:
        return self.model.X, self.model.v, self.target, self.model.transform

    @property
    def target(self) -> float:
        """The lowest posterior mean of all feasible observations; of all observations while none is feasible."""
        return float(np.min(self.model.means) if self.incumbent is None else self.model.mean_of(self.incumbent))

    def posterior(self, length_scale: float | None = None) -> GaussianProcess:
        """The model; where evaluations fail, log P(completes) keeps proposals away."""
        return self.model.posterior

    def with_pending(self, posterior: GaussianProcess) -> GaussianProcess:
        """The model conditioned on fantasies at pending points: its own predictions."""
        return self._with(posterior, self._pending, posterior.predict(self._pending).mean)

    def _with(self, posterior: GaussianProcess, X: Matrix, v: Vector) -> GaussianProcess:
        """The model with more observations X (m, d), v (m,), whose noise is the median of the others."""
        if len(X) == 0:
            return posterior
        more = len(posterior.points) - len(self.model.X) + len(X)
        noise = np.append(self.model.fitted.noise, np.full(more, np.median(self.model.fitted.noise)))
        X, v = np.vstack([posterior.points, X]), np.append(posterior.values, v)
        return GaussianProcess.fit(posterior.kernel, X, v, posterior.prior, noise)

    def _log_acquisition(self, posterior: GaussianProcess) -> Vector:
        """Log acquisition at the starting points, (m,); in a finite space the knowledge gradient, if it is not 0.

        In a finite space, the best point itself is one of the few candidates, and EI overrates it: its mean may fall
        by another evaluation, but that changes no decision.
        """
        if not self.domain.continuous.any() and self.incumbent is not None:
            values = self._log_knowledge_gradient(posterior)
            if np.max(values, initial=-np.inf) > -np.inf:
                return values
        return super()._log_acquisition(posterior)

    def _log_knowledge_gradient(self, posterior: GaussianProcess) -> Vector:
        """Logarithm of the knowledge gradient at the starting points, (m,)."""
        X = np.unique(self.model.X[self.observations.feasible[self.model.rows]], axis=0)
        mean, std = posterior.predict(self.starts)
        total = np.sqrt(std**2 + self.model.noise_std**2)
        changes = posterior.covariance(self.starts, X) / total[:, None]
        return log_knowledge_gradient(
            posterior.predict(X).mean, mean, changes, std_reduction(std, self.model.noise_std)
        )

    def _predict(self, posterior: GaussianProcess, A: Matrix) -> Prediction:
        mean, std = posterior.predict(A)
        return Prediction(mean, std_reduction(std, self.model.noise_std))

    def _derivatives(self, posterior: GaussianProcess, A: Matrix) -> PredictionDerivatives:
        return with_std_reduction(posterior.derivatives(A), self.model.noise_std)

    def allowed(self, A: Matrix) -> np.ndarray:
        """Which points (m, d) may be proposed: allowed, not failed, and not pending if the space is not finite, (m,).

        In a finite space, the knowledge gradient knows what pending points are expected to tell. Where values are
        exact, but rough, an observed point is not proposed again.
        """
        observations = self.snapshot.history.observations
        known = observations.failed if observations.noise.modelled else np.ones(len(observations.X), dtype=bool)
        new = are_separated(A, observations.X[known], MIN_DISTANCE)
        if self.domain.continuous.any():
            new &= are_separated(A, self.snapshot.history.pending, MIN_DISTANCE_PENDING)
        new[new] = self.domain.allowed(A[new])
        return new
