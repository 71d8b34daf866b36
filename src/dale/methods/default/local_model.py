"""One local problem: the data of a trust region, and the Taylor models fitted to them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dale._arrays import Matrix, Vector
from dale.methods.default.settings import TaylorSettings
from dale.methods.default.trust_region import TrustRegion
from dale.models.taylor import TaylorModel
from dale.space.domain import Domain

REDUCTION_RTOL = 1e-3  # accuracy of predicted reductions, relative to the minimum reduction


@dataclass(frozen=True, eq=False)
class LocalProblem:
    """The data from which a step is computed.

    Attributes:
        X: Observed points, (n, d).
        y: Their standardised values less the lowest one, (n,).
        constraints: Their outcome constraints, each divided by its scale, (n, k).
        center: Row of the observation to step from.
        region: Trust region around it.
        pending: Pending points, (m, d).
        domain: Points that may be proposed.
        target: Best feasible value; infinite where none is feasible.
        min_reduction: Smaller reductions count as none.
        settings: Settings of the Taylor models.
    """

    X: Matrix
    y: Vector
    constraints: Matrix
    center: int
    region: TrustRegion
    pending: Matrix
    domain: Domain
    target: float
    min_reduction: float
    settings: TaylorSettings

    @property
    def atol(self) -> float:
        """Absolute tolerance of predicted reductions."""
        return REDUCTION_RTOL * self.min_reduction

    @property
    def seen(self) -> Matrix:
        """Points observed or pending, (n + m, d)."""
        return np.vstack([self.X, self.pending])

    def fit(self, y: Vector, lowest: float) -> TaylorModel:
        """The model of values y (n,) around the center, conditioned on fantasies >= ``lowest`` at pending points."""
        center, radius = self.X[self.center], self.region.radius
        model = TaylorModel.fit(
            self.X,
            y,
            center,
            float(y[self.center]),
            radius,
            max_degree=self.settings.max_degree,
            quadratic_rhos=self.settings.quadratic_rhos,
        )
        if len(self.pending):
            Z = (self.pending - center) / radius
            fantasies = np.clip(model.value + model.predict(Z).mean, lowest, np.max(y))
            model = model.condition(Z, fantasies - model.value)
        return replace(model, scale=self.settings.std_factor * model.scale)
