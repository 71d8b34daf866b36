"""The posterior of a Gaussian process with constant mean (eqs. 3-5).

    f ~ GP(c, s2 k),  k a correlation function, K = k(X, X) + jitter I = L L'
    mean(x) = c + k(x)' a,             a = K^-1 (y - c)
    std(x)  = sqrt(s2 (1 - |v|^2)),    v = L^-1 k(x)

For a given k the maximum-likelihood mean and variance are closed forms, so no search is needed:

    c  = 1' K^-1 y / 1' K^-1 1
    s2 = (y - c)' K^-1 (y - c) / n

Shapes: X (n, d), y (n,), queries (m, d). Reference: Rasmussen & Williams, Gaussian Processes for Machine Learning,
ch. 2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from dale._arrays import Matrix, Vector
from dale.models.base import Prediction, PredictionDerivatives, PredictionGradient, std_with_derivatives
from dale.models.cholesky import CholeskyFactor
from dale.models.kernels.base import StationaryKernel

MIN_VARIANCE = 1e-12  # of standardised values; less is rounding error
DEFAULT_PRIOR = (0.0, 1.0)  # mean and variance of standardised values


class Prior(NamedTuple):
    """Prior mean c_mu and variance sigma_f^2."""

    mean: float
    variance: float


def maximum_likelihood_prior(factor: CholeskyFactor, y: Vector) -> Prior:
    """Maximum-likelihood c_mu and sigma_f^2 for standardised values y (n,) and a factored correlation matrix.

    Values without variation (a single one, or a plateau) have a maximum-likelihood variance of 0, and a model without
    uncertainty has no expected improvement. They tell nothing about c_mu and sigma_f^2: mean 0 and variance 1 are used.

    Examples:
        >>> maximum_likelihood_prior(CholeskyFactor.of(np.eye(2)), np.array([-1.0, 1.0]))
        Prior(mean=0.0, variance=0.9999999999)
    """
    K_inv_1, K_inv_y = factor.solve(np.column_stack([np.ones_like(y), y])).T
    c = float(K_inv_y.sum() / K_inv_1.sum())
    s2 = float((y - c) @ (K_inv_y - c * K_inv_1)) / len(y)
    return Prior(c, s2) if s2 > MIN_VARIANCE else Prior(*DEFAULT_PRIOR)


@dataclass(frozen=True, eq=False)
class GaussianProcess:
    """A Gaussian process, given observations.

    Attributes:
        kernel: The correlation function.
        points: X (n, d).
        values: y (n,).
        factor: Of k(X, X).
        prior: c_mu and sigma_f^2.

    Examples:
        >>> from dale.models.kernels import SquaredExponential
        >>> model = GaussianProcess.fit(SquaredExponential(0.3), np.array([[0.2], [0.8]]), np.array([1.0, -1.0]))
        >>> model.predict(np.array([[0.2], [0.4]])).mean.round(3)
        array([1.   , 0.451])
    """

    kernel: StationaryKernel
    points: Matrix
    values: Vector
    factor: CholeskyFactor
    prior: Prior

    @classmethod
    def fit(
        cls,
        kernel: StationaryKernel,
        X: Matrix,
        y: Vector,
        prior: Prior | None = None,
        noise: Vector | float | None = None,
    ) -> GaussianProcess:
        """Condition on observations.

        Args:
            kernel: The correlation function.
            X: Points, (n, d).
            y: Values, (n,).
            prior: c_mu and sigma_f^2; None for the maximum-likelihood ones.
            noise: Variances of the noise in the values, divided by that of the prior; predictions do not include it.
        """
        K = kernel(X, X)
        if noise is not None:
            K[np.diag_indices_from(K)] += noise
        factor = CholeskyFactor.of(K)
        return cls(kernel, X, y, factor, prior or maximum_likelihood_prior(factor, y))

    def with_prior(self, prior: Prior) -> GaussianProcess:
        """The same observations under another prior; the factor is reused."""
        if prior == self.prior:
            return self
        return GaussianProcess(self.kernel, self.points, self.values, self.factor, prior)

    def shrunk(self, divisor: float) -> GaussianProcess:
        """The same observations with a variance divided by this."""
        return self.with_prior(Prior(self.prior.mean, self.prior.variance / divisor))

    def condition(self, X: Matrix, y: Vector) -> GaussianProcess:
        """A new model with more observations X (k, d), y (k,) without noise and the same prior, in O(k n^2)."""
        factor, points = self.factor, self.points
        for x in X:
            extended = factor.extended(self.kernel(x[None, :], points)[0])
            points = np.vstack([points, x])
            if extended is None:
                extended = CholeskyFactor.of(self.kernel(points, points), min_jitter=factor.jitter)
            factor = extended
        return GaussianProcess(self.kernel, points, np.append(self.values, y), factor, self.prior)

    @cached_property
    def weights(self) -> Vector:
        """a = K^-1 (y - c), (n,)."""
        return self.factor.solve(self.values - self.prior.mean)

    def predict(self, A: Matrix) -> Prediction:
        """Mean and std at points A (m, d)."""
        k = self.kernel(A, self.points)
        v = self.factor.solve_lower(k.T)
        variance = self.prior.variance * np.maximum(1 - np.sum(v**2, axis=0), 0.0)
        return Prediction(self.prior.mean + k @ self.weights, np.sqrt(variance))

    def covariance(self, A: Matrix, B: Matrix) -> Matrix:
        """Posterior covariances of points A (m, d) with points B (k, d): (m, k)."""
        v, w = (self.factor.solve_lower(self.kernel(C, self.points).T) for C in (A, B))
        return self.prior.variance * (self.kernel(A, B) - v.T @ w)

    def predict_with_gradient(self, x: Vector) -> PredictionGradient:
        """Mean, std and their gradients at one point x (d,)."""
        k = self.kernel(x[None, :], self.points)[0]
        dk = self.kernel.gradient(x, self.points, k)  # (n, d)
        v = self.factor.solve_lower(k)
        variance = 1 - float(v @ v)
        mean = self.prior.mean + float(k @ self.weights)
        mean_gradient = dk.T @ self.weights
        if variance <= 0:  # at an observation, up to rounding: the std has a kink there
            return PredictionGradient(mean, 0.0, mean_gradient, np.zeros_like(x))
        scale = math.sqrt(self.prior.variance)
        std = scale * math.sqrt(variance)
        # d(1 - v'v)/dx = -2 (K^-1 k)' dk, and d sqrt(q) = dq / (2 sqrt(q)).
        std_gradient = -scale * (dk.T @ self.factor.solve_upper(v)) / math.sqrt(variance)
        return PredictionGradient(mean, std, mean_gradient, std_gradient)

    def derivatives(self, A: Matrix) -> PredictionDerivatives:
        """Mean and std at points A (m, d), with first and second derivatives."""
        (m, d), n = A.shape, len(self.points)
        k = self.kernel(A, self.points)
        J = self.kernel.gradients(A, self.points, k)  # (m, n, d)
        v = self.factor.solve_lower(np.column_stack([k.T, J.transpose(1, 0, 2).reshape(n, m * d)]))
        w = self.factor.solve_upper(v[:, :m])
        V = v[:, m:].reshape(n, m, d).transpose(1, 2, 0)  # J' L^-T
        # variance = s2 (1 - k' K^-1 k), so half of its derivatives are -s2 J' K^-1 k and -s2 (J' K^-1 J + w k'').
        s2 = self.prior.variance
        std, std_gradient, std_hessian = std_with_derivatives(
            s2 * (1 - np.sum(v[:, :m] ** 2, axis=0)),
            -s2 * (w.T[:, None, :] @ J)[:, 0],
            -s2 * (V @ V.transpose(0, 2, 1) + self.kernel.hessians(A, self.points, k, w.T)),
        )
        return PredictionDerivatives(
            self.prior.mean + k @ self.weights,
            std,
            self.weights @ J,
            std_gradient,
            self.kernel.hessians(A, self.points, k, self.weights),
            std_hessian,
        )
