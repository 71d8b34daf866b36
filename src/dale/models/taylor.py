"""The local Bayesian Taylor model: the paper's quadratic region, extended to all degrees and all data.

Around a center c with radius D, in the coordinates z = (x - c) / D and with r = |z|,

    y(x) - y(c) = sum of w_a phi_a(z), all monomials of degree 1 .. m, + remainder(z).

*Features.* phi_a is the monomial times the square root of its multinomial coefficient (``models/monomials.py``), so
that features of degree k have the rotation-invariant kernel (z . z')^k. Degree 2 alone is the paper's k_q (eq. 19).
With too few points its posterior mean is the interpolant whose Hessian has the least Frobenius norm.

*Prior.* With t = D / rho and a common scale s, weights are independent and normal: practically unbounded for degree 1,
with standard deviation s t^(k - 2) for degree k >= 2. This is a Taylor series whose radius of convergence is rho, in
units of the cube: it does not change with D.

*Remainder.* The omitted terms count as independent noise with standard deviation s t^(m - 1) r^(m + 1), the size of the
first of them. Distant points therefore get less weight, without any rule for neighbours.

*Scales.* s by restricted maximum likelihood in closed form, rho by evidence on a grid. With no more points than a
quadratic has terms, every rho explains the data about equally well. So a series that ends after its quadratic terms
(rho far beyond the cube) requires redundant points, and a log Bayes factor of ``MIN_LOG_BAYES_FACTOR``.

*Numerics.* Weight space: [Phi P / sigma; I] = Q R, with the values as one more column, so that R contains the factor of
the posterior, the right-hand side and the residual. Forming Phi' Phi or a Gram matrix would square the condition number
and limit the accuracy to 1e-8 of the values; this one reaches their last digits.

Shapes: n observations X (n, d), y (n,); p features; points Z (k, d) in local coordinates.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dgeqrf, dtrtrs

from dale._arrays import Matrix, Vector
from dale.models.base import Prediction, PredictionDerivatives, std_with_derivatives
from dale.models.monomials import MAX_DEGREE, Monomials, affordable_degree, monomials, n_terms
from dale.optim.projected_newton import FunctionValues

MAX_POINTS = 120  # the nearest; more where a quadratic has more terms
LINEAR_PRIOR_STD = 1e3  # of the linear weights, in units of s
RHOS = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2)  # radii of convergence, in sides of the cube
QUADRATIC_RHOS = (12.8, 100.0, 1e4)  # radii so large that the series is a quadratic in the whole cube
MIN_LOG_BAYES_FACTOR = 6.0  # evidence that one of QUADRATIC_RHOS needs
NUGGET = 1e-10  # remainder of degree 1, against rounding errors
MIN_VARIANCE = 1e-300  # in units of s^2
SAME_POINT = 1e-9  # points this close to the center, in radii, are the center


@dataclass(frozen=True, eq=False)
class TaylorModel:
    """The posterior of a Taylor polynomial around a center; a ``Model`` in the coordinates z.

    Attributes:
        center: c, (d,).
        value: y(c).
        radius: D.
        Z: Observations in local coordinates, (n, d).
        differences: Their values minus y(c), (n,).
        terms: The features.
        rho: Radius of convergence.
        scale: s.
        weights: Posterior mean of the weights, (p,).
        covariance_factor: F with F F' their posterior covariance divided by s^2, (p, p).
        n_points: Number of observations used, without the center.
    """

    center: Vector
    value: float
    radius: float
    Z: Matrix
    differences: Vector
    terms: Monomials
    rho: float
    scale: float
    weights: Vector
    covariance_factor: Matrix
    n_points: int

    @classmethod
    def fit(
        cls,
        X: Matrix,
        y: Vector,
        center: Vector,
        value: float,
        radius: float,
        *,
        max_degree: int = MAX_DEGREE,
        rhos: tuple[float, ...] = RHOS,
        quadratic_rhos: tuple[float, ...] = QUADRATIC_RHOS,
    ) -> TaylorModel:
        """From observations in the cube around a center, which is interpolated.

        Args:
            X: Points.
            y: Their values.
            center: c.
            value: y(c).
            radius: D.
            max_degree: Highest degree.
            rhos: Radii of convergence to choose from.
            quadratic_rhos: Those that need a Bayes factor.

        Examples:
            >>> X = np.array([[0.4, 0.4], [0.6, 0.4], [0.4, 0.6], [0.5, 0.55], [0.6, 0.6], [0.45, 0.5], [0.5, 0.4]])
            >>> y = X[:, 0] ** 2 + X[:, 0] * X[:, 1]
            >>> model = TaylorModel.fit(X, y, np.array([0.5, 0.5]), 0.5, radius=0.1)
            >>> (model.gradient / model.radius).round(6)
            array([1.5, 0.5])
        """
        Z, differences = (X - center) / radius, y - value
        degree = min(affordable_degree(len(center)), max_degree)
        return cls._fit(center, value, radius, Z, differences, degree, rhos, quadratic_rhos)

    def condition(self, Z: Matrix, differences: Vector) -> TaylorModel:
        """A new model with more observations in local coordinates, with the same rho, and s estimated anew.

        Fantasies tell nothing about the function, so rho is not chosen again.
        """
        Z, differences = np.vstack([self.Z, Z]), np.append(self.differences, differences)
        return self._fit(self.center, self.value, self.radius, Z, differences, self.degree, (self.rho,), ())

    @classmethod
    def _fit(
        cls,
        center: Vector,
        value: float,
        radius: float,
        Z: Matrix,
        differences: Vector,
        degree: int,
        rhos: tuple[float, ...],
        quadratic_rhos: tuple[float, ...],
    ) -> TaylorModel:
        """From observations in local coordinates."""
        d = len(center)
        r = np.sqrt(np.sum(Z * Z, axis=1))
        # Nearest first: a stable factorisation of badly scaled rows needs rows of decreasing size.
        use = np.argsort(r, kind="stable")
        use = use[r[use] > SAME_POINT][: max(MAX_POINTS, n_terms(d, 2) * 3 // 2)]
        terms = monomials(d, degree)
        data = _Data(terms(Z[use]), differences[use], r[use], terms.degree, d)
        redundant = len(use) > n_terms(d, 2)
        best: _Fit | None = None
        for rho in rhos + quadratic_rhos if redundant else rhos:
            fit = data.fit(radius / rho)
            if rho in quadratic_rhos:
                fit = fit._replace(loss=fit.loss + MIN_LOG_BAYES_FACTOR)
            if best is None or fit.loss < best.loss:
                best, chosen = fit, rho
        assert best is not None
        factor = _solve_upper(best.R, np.eye(len(best.R))) * best.prior_std[:, None]
        weights, scale = best.weights * best.prior_std, math.sqrt(best.variance)
        return cls(center, value, radius, Z, differences, terms, chosen, scale, weights, factor, len(use))

    @property
    def degree(self) -> int:
        """m."""
        return int(self.terms.degree[-1])

    @cached_property
    def gradient(self) -> Vector:
        """Gradient of the mean at the center, by z, (d,)."""
        return self.weights[: len(self.center)]

    @cached_property
    def hessian(self) -> Matrix:
        """Hessian of the mean at the center, by z, (d, d)."""
        return self.mean_derivatives(np.zeros((1, len(self.center)))).hessian[0]

    def remainder(self, r: Vector | float) -> Vector:
        """Standard deviation of the omitted terms at distance r from the center, in radii."""
        t = self.radius / self.rho
        return np.asarray(self.scale * t ** (self.degree - 1) * np.asarray(r) ** (self.degree + 1))

    def predict(self, Z: Matrix) -> Prediction:
        """Mean and std of y(x) - y(c) at points."""
        features = self.terms(Z)
        v = features @ self.covariance_factor
        std = self.scale * np.sqrt(np.maximum((v * v).sum(axis=1), MIN_VARIANCE))
        return Prediction(features @ self.weights, std)

    def mean_derivatives(self, Z: Matrix) -> FunctionValues:
        """Mean of y(x) - y(c) at points, with its gradients and Hessians."""
        features, gradients = self.terms.with_gradients(Z)
        return FunctionValues(
            features @ self.weights, self.weights @ gradients, self.terms.hessians(features, self.weights)
        )

    def derivatives(self, Z: Matrix) -> PredictionDerivatives:
        """Mean and std of y(x) - y(c) at points, with first and second derivatives."""
        features, gradients = self.terms.with_gradients(Z)
        v = features @ self.covariance_factor
        by_feature = v @ self.covariance_factor.T  # half of the variance's gradient by the features, divided by s^2
        J = gradients.transpose(0, 2, 1) @ self.covariance_factor  # (k, d, p)
        std, std_gradient, std_hessian = std_with_derivatives(
            np.maximum((v * v).sum(axis=1), MIN_VARIANCE),
            (by_feature[:, None, :] @ gradients)[:, 0],
            J @ J.transpose(0, 2, 1) + self.terms.hessians(features, by_feature),
        )
        return PredictionDerivatives(
            features @ self.weights,
            self.scale * std,
            self.weights @ gradients,
            self.scale * std_gradient,
            self.terms.hessians(features, self.weights),
            self.scale * std_hessian,
        )


class _Fit(NamedTuple):
    """The posterior for one t = D / rho."""

    loss: float  # negative logarithm of the evidence
    weights: Vector  # in units of their prior standard deviation
    R: Matrix
    prior_std: Vector  # in units of s
    variance: float  # s^2


class _Data(NamedTuple):
    """Observations, the nearest first."""

    features: Matrix  # (n, p)
    differences: Vector  # (n,)
    r: Vector  # (n,)
    degrees: np.ndarray  # of the features, (p,)
    dimension: int

    def fit(self, t: float) -> _Fit:
        """The posterior for one t = D / rho."""
        (n, p), degree = self.features.shape, int(self.degrees[-1])
        prior_std = np.where(self.degrees == 1, LINEAR_PRIOR_STD, t ** (self.degrees - 2.0))
        noise = t ** (degree - 1) * self.r ** (degree + 1) + NUGGET * self.r
        A = np.zeros((n + p, p + 1), order="F")
        A[:n, :p] = self.features * prior_std / noise[:, None]
        A[:n, p] = self.differences / noise
        A[n:, :p].flat[:: p + 1] = 1.0
        qr, *_ = dgeqrf(A, overwrite_a=True)
        R = np.triu(qr[:p, :p])
        weights = _solve_upper(R, qr[:p, p])
        residual = float(qr[p, p]) ** 2 if n else 0.0
        freedom = max(n - self.dimension, 0)
        variance = max(residual / max(freedom, 1), MIN_VARIANCE)
        loss = 0.5 * freedom * math.log(variance) + float(np.sum(np.log(noise)))
        loss += float(np.sum(np.log(np.abs(np.diag(R)))))
        return _Fit(loss, weights, R, prior_std, variance)


def _solve_upper(R: Matrix, b: Matrix) -> Matrix:
    """R^-1 b for an upper triangular R. By LAPACK: SciPy's wrapper takes longer than the solution."""
    # LAPACK expects columns, so a matrix stored by rows is passed as its own transpose, which is lower triangular.
    by_columns = bool(R.flags.f_contiguous)
    x, _ = dtrtrs(R if by_columns else R.T, b, lower=not by_columns, trans=not by_columns)
    return np.asarray(x)
