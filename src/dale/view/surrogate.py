"""A Gaussian process of the whole objective, for plots only.

The method's own model is built to propose the next evaluation: its length-scale is cooled down below the one that
explains the data, so between observations it returns to their mean. A plot should show the best prediction of the whole
function instead, so the length-scale here is the maximum-likelihood one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dale._arrays import Matrix, Vector
from dale._computing import computing
from dale.models.base import Prediction
from dale.models.gaussian_process import GaussianProcess
from dale.models.kernels.base import KernelFactory
from dale.models.kernels.squared_exponential import SquaredExponential
from dale.models.likelihood import GRID, log_marginal_likelihood
from dale.models.preprocessing import THINNING_DISTANCE, thin
from dale.models.transforms import Standardize

MAX_OBSERVATIONS = 500  # a contour plot of 2000 trials takes 0.8 s with this limit and 8 s without


@dataclass(frozen=True, eq=False)
class PlotSurrogate:
    """A model of the objective on the unit cube, with values in the user's units."""

    posterior: GaussianProcess
    standardize: Standardize

    @classmethod
    @computing()
    def fit(
        cls, X: Matrix, y: Vector, length_scale: float | None = None, kernel: KernelFactory = SquaredExponential
    ) -> PlotSurrogate:
        """Fit to values (n,) at points (n, d) of the unit cube.

        More than ``MAX_OBSERVATIONS`` are thinned first: of observations close to each other the best is kept.

        Args:
            X: The points.
            y: Their values, without outliers: a single huge value would flatten everything else.
            length_scale: In the unit cube; None for the one with the highest marginal likelihood.
            kernel: The kernel, such as that of the method.
        """
        if len(y) > MAX_OBSERVATIONS:
            kept = thin(X, y, THINNING_DISTANCE * math.sqrt(X.shape[1]), MAX_OBSERVATIONS)
            X, y = X[kept], y[kept]
        standardize = Standardize.of(y)
        z = standardize(y)
        length_scales = GRID[::3] if length_scale is None else (length_scale,)
        posteriors = [GaussianProcess.fit(kernel(l), X, z) for l in length_scales]
        return cls(max(posteriors, key=log_marginal_likelihood), standardize)

    @computing()
    def predict(self, points: Matrix) -> Prediction:
        """Mean and standard deviation of the objective at points (m, d) of the unit cube."""
        mean, std = self.posterior.predict(points)
        return Prediction(
            np.array([self.standardize.inverse(float(z)) for z in mean]),
            np.array([self.standardize.inverse_scale(float(z)) for z in std]),
        )
