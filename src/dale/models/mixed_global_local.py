"""The posterior under the Mixed-Global-Local kernel (Def. 2), decoupled into one model for each part.

Points of different parts are uncorrelated (eq. 18), so the posterior at x is that of the part in which x lies, given
the observations of that part alone: a Gaussian process for the outside, a quadratic for each region.

*Inside a region*, under the quadratic kernel, in weight space. Prior: f(x) = c + phi(x)'w with w ~ N(0, I), where
phi(x)'phi(x') = k_q(x, x'). Observed with noise of variance t at k points,

    mean(x) = c + phi(x)' m,   m minimises |Phi m - (y - c)|^2 + t |m|^2
    variance(x) = t phi(x)' (Phi'Phi + t I)^-1 phi(x).

This equals the Gaussian process with kernel k_q and k_q(X, X) + t I, whose Cholesky factor does not exist for t = 0
and more than N_U points. In weight space the limit t -> 0 exists: with k >= N_U points that determine a quadratic, the
mean is the least-squares quadratic and the variance is zero: ``QuadraticFit``, the fit of Alg. 3.

Numerically phi is ill-conditioned for points that are close to each other. So it is written in z = (x - center) /
radius: phi(x) = M psi(z), with v = M'w the unknowns. The penalty becomes t |M^-T v|^2, and the stacked least-squares
problem [Psi; sqrt(t) M^-T] is solved by QR, never by its normal equations.

Shapes: X (k, d), y (k,); N_U = 1 + d + d (d + 1) / 2 features.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.linalg import solve_triangular

from dale._arrays import Matrix, Vector
from dale.models.base import Prediction
from dale.models.ellipsoid import Ellipsoid
from dale.models.gaussian_process import GaussianProcess, Prior
from dale.models.kernels.mixed_global_local import MixedGlobalLocal, region_of
from dale.models.kernels.quadratic import quadratic_features
from dale.models.quadratic_fit import QuadraticFit, n_unknowns


class LocalModel(Protocol):
    """The model of one region: ``LocalQuadratic``, or ``QuadraticFit``, its limit without noise."""

    @property
    def ball(self) -> Ellipsoid:
        """The region."""
        ...

    def predict(self, A: Matrix, /) -> Prediction:
        """Mean and std at points A (m, d)."""
        ...


class OutsideModel(Protocol):
    """The model of the outside, such as a ``GaussianProcess``."""

    def predict(self, A: Matrix, /) -> Prediction:
        """Mean and std at points A (m, d)."""
        ...


@dataclass(frozen=True, eq=False)
class MixedGlobalLocalPosterior:
    """One model for each part of the cube.

    Attributes:
        outside: Model of the outside, given the observations in no region.
        regions: One local model for each region; their balls are pairwise disjoint.

    Examples:
        >>> from dale.models.kernels import SquaredExponential
        >>> X = np.array([[0.1], [0.2], [0.3], [0.7], [0.9]])
        >>> kernel = MixedGlobalLocal(SquaredExponential(0.3), (Ellipsoid(np.array([0.2]), 0.15),))
        >>> model = MixedGlobalLocalPosterior.fit(kernel, X, X[:, 0] ** 2)
        >>> model.predict(np.array([[0.25]])).mean.round(6)
        array([0.0625])
    """

    outside: OutsideModel
    regions: tuple[LocalModel, ...]

    @classmethod
    def fit(
        cls, kernel: MixedGlobalLocal, X: Matrix, y: Vector, *, mean: float = 0.0, noise: float = 0.0
    ) -> MixedGlobalLocalPosterior:
        """Condition on observations.

        Args:
            kernel: The covariance function, with its regions.
            X: The points, (n, d).
            y: Their values, (n,).
            mean: The prior mean c_mu, everywhere.
            noise: Variance of the noise inside the regions. Without noise, the points in a region must determine a
                quadratic.
        """
        X, y = np.asarray(X, dtype=float), np.asarray(y, dtype=float)
        if X.ndim != 2 or y.shape != X.shape[:1]:
            raise ValueError(f"expected points X (n, d) and values y (n,), got arrays of shape {X.shape} and {y.shape}")
        if not 0 <= noise < math.inf:
            raise ValueError(f"noise: expected a finite variance of at least 0, got {noise!r}")
        number = kernel.region_of(X)
        outside = number == -1
        return cls(
            GaussianProcess.fit(kernel.outside, X[outside], y[outside], Prior(mean, kernel.variance)),
            tuple(
                local_model(ball, X[number == i], y[number == i], mean_level=mean, noise=noise)
                for i, ball in enumerate(kernel.balls)
            ),
        )

    def predict(self, A: Matrix) -> Prediction:
        """Mean and std at points A (m, d)."""
        mean, std = (values.copy() for values in self.outside.predict(A))
        number = region_of([local.ball for local in self.regions], A)
        for i in np.unique(number[number >= 0]):
            mean[number == i], std[number == i] = self.regions[i].predict(A[number == i])
        return Prediction(mean, std)


def local_model(ball: Ellipsoid, X: Matrix, y: Vector, *, mean_level: float = 0.0, noise: float = 0.0) -> LocalModel:
    """The posterior in a ball, given the observations X (k, d), y (k,) in it."""
    if noise > 0:
        return LocalQuadratic.fit(ball, X, y, mean_level=mean_level, noise=noise)
    fit = QuadraticFit.to(X, y, ball)
    if fit is None:
        k, d = X.shape
        raise ValueError(
            f"region around {ball.center}: without noise its points must determine a quadratic in {d} variables, which "
            f"takes at least {n_unknowns(d)} of them in general position, got {k}; add points or noise"
        )
    return fit


@dataclass(frozen=True, eq=False)
class LocalQuadratic:
    """The posterior in one ball, with noise.

    Attributes:
        ball: The region, and the coordinates used inside.
        mean_level: c.
        coefficients: Posterior mean of v, (N_U,).
        R: Of the QR factorisation, (N_U, N_U).
        noise: t > 0.
    """

    ball: Ellipsoid
    mean_level: float
    coefficients: Vector
    R: Matrix
    noise: float

    @classmethod
    def fit(cls, ball: Ellipsoid, X: Matrix, y: Vector, *, mean_level: float, noise: float) -> LocalQuadratic:
        """Condition on any number of observations X (k, d), y (k,)."""
        p = n_unknowns(X.shape[1])
        penalty = math.sqrt(noise) * np.linalg.inv(_to_region(ball, X.shape[1])).T
        Q, R = np.linalg.qr(np.vstack([quadratic_features(ball.to_local(X)), penalty]))
        b = np.append(y - mean_level, np.zeros(p))
        return cls(ball, mean_level, solve_triangular(R, Q.T @ b), R, noise)

    def predict(self, A: Matrix) -> Prediction:
        """Mean and std at points A (m, d)."""
        Psi = quadratic_features(self.ball.to_local(A))
        v = solve_triangular(self.R, Psi.T, trans="T")
        return Prediction(self.mean_level + Psi @ self.coefficients, np.sqrt(self.noise * np.sum(v**2, axis=0)))


def _to_region(ball: Ellipsoid, d: int) -> Matrix:
    """M with phi(center + radius z) = M psi(z).

    Row by row: sqrt(2) x_i = sqrt(2) c_i + r sqrt(2) z_i, and x_i x_j = c_i c_j + r c_i z_j + r c_j z_i + r^2 z_i z_j.
    """
    c, r, root2 = ball.center, ball.radius, math.sqrt(2)
    rows, columns = np.triu_indices(d)
    p = n_unknowns(d)
    M = np.zeros((p, p))
    M[0, 0] = 1
    for i in range(d):
        M[1 + i, 0] = root2 * c[i]
        M[1 + i, 1 + i] = r
    for q, (i, j) in enumerate(zip(rows.tolist(), columns.tolist(), strict=True), start=1 + d):
        weight = 1.0 if i == j else root2
        M[q, 0] = weight * c[i] * c[j]
        M[q, 1 + i] += weight * r * c[j] / root2
        M[q, 1 + j] += weight * r * c[i] / root2
        M[q, q] = r**2
    return M
