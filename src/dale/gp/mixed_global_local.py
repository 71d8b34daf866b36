"""The posterior under the Mixed-Global-Local kernel, decoupled.

Points of different parts are uncorrelated (eq. 18), so the posterior at x is that of the part that x lies in, given the
observations of that part alone: one Gaussian process for the outside, one quadratic for each region.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dale.arrays import Matrix, Vector
from dale.gp.local_quadratic import LocalQuadratic
from dale.gp.posterior import Posterior, Prediction, Prior
from dale.kernels import StationaryKernel
from dale.regions import Ball


@dataclass(frozen=True, eq=False)
class MixedGlobalLocalPosterior:
    """One model for each part of the cube.

    Attributes:
        outside: Global part, given the observations in no region.
        regions: One local model for each region; their balls are pairwise disjoint.
    """

    outside: Posterior
    regions: tuple[LocalQuadratic, ...]

    @classmethod
    def fit(
        cls,
        kernel: StationaryKernel,
        balls: tuple[Ball, ...],
        X: Matrix,
        y: Vector,
        prior: Prior,
        *,
        noise: float = 0.0,
    ) -> MixedGlobalLocalPosterior:
        """Condition on observations X (n, d), y (n,); ``noise`` is the jitter of the local models."""
        inside = [ball.contains(X) for ball in balls]
        outside = ~np.any(inside, axis=0) if inside else np.ones(len(X), dtype=bool)
        return cls(
            Posterior.fit(kernel, X[outside], y[outside], prior),
            tuple(
                LocalQuadratic.fit(ball, X[within], y[within], mean_level=prior.mean, noise=noise)
                for ball, within in zip(balls, inside, strict=True)
            ),
        )

    def predict(self, A: Matrix) -> Prediction:
        """Mean and spread at points A (m, d)."""
        mean, spread = (values.copy() for values in self.outside.predict(A))
        for local in self.regions:
            within = local.ball.contains(A)
            if np.any(within):
                mean[within], spread[within] = local.predict(A[within])
        return Prediction(mean, spread)
