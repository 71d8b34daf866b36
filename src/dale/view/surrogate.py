"""The objective as all observations together show it: one Gaussian process, for pictures only.

The method's own model is made for the next evaluation: its length-scale is cooled down below what explains the data, so
that between the observations it falls back to their mean. A reader wants the best guess of the whole function instead,
so here the length-scale is the one of maximum likelihood.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dale._arrays import Matrix
from dale.history.trial import Trial, TrialState
from dale.models.base import Prediction
from dale.models.gaussian_process import GaussianProcess
from dale.models.kernels.squared_exponential import SquaredExponential
from dale.models.likelihood import GRID, log_marginal_likelihood
from dale.models.transforms import Standardize


@dataclass(frozen=True, eq=False)
class PlotSurrogate:
    """A model of the objective over the unit cube, with values in the user's units."""

    posterior: GaussianProcess
    scale: Standardize

    @classmethod
    def of(cls, history: Sequence[Trial], length_scale: float | None = None) -> PlotSurrogate:
        """From the told trials; ``length_scale=None`` takes the one that explains them best."""
        told = [t for t in history if t.state is TrialState.COMPLETE]
        if not told:
            raise ValueError("there is nothing to draw: no evaluation has given a value yet")
        X, y = np.array([t.unit_x for t in told]), np.array([t.value for t in told], dtype=float)
        scale = Standardize.of(y)
        z = scale(y)
        scales = GRID[::3] if length_scale is None else (length_scale,)
        posteriors = [GaussianProcess.fit(SquaredExponential(l), X, z) for l in scales]
        return cls(max(posteriors, key=log_marginal_likelihood), scale)

    def predict(self, points: Matrix) -> Prediction:
        """Mean and std of the objective at points (m, d) of the cube."""
        mean, std = self.posterior.predict(points)
        return Prediction(
            np.array([self.scale.inverse(float(z)) for z in mean]),
            np.array([self.scale.inverse_scale(float(z)) for z in std]),
        )
