"""The local Bayesian Taylor model: the paper's quadratic region carried on to all degrees and all data.

Around a center c with radius D, in the coordinates z = (x - c) / D and with r = |z|,

    y(x) - y(c) = sum of w_a phi_a(z), all monomials of degree 1 .. m, + remainder(z).

*Features.* phi_a is the monomial times the root of its multinomial coefficient, so that features of degree k have the
rotation-invariant kernel (z . z')^k. Degree 2 alone is the paper's k_q (eq. 19), and its posterior mean with too few
points is the interpolant whose Hessian has the least Frobenius norm.

*Prior.* With t = D / rho and a common scale s, weights are independent and Gaussian: of degree 1 practically flat, of
degree k >= 2 with standard deviation s t^(k - 2). This is a Taylor series whose radius of convergence is rho, in units
of the cube: it does not change with D.

*Remainder.* What is left out is independent noise with standard deviation s t^(m - 1) r^(m + 1), the first term
omitted. Far points are believed less, by just so much; so there is no rule for neighbours and no margin.

*Scales.* s by restricted maximum likelihood in closed form, rho by evidence on a grid. With no more points than a
quadratic has terms every rho explains the data about as well, so belief in a series that ends after its quadratic (rho
far beyond the cube) has to be earned: by redundant points, and by a Bayes factor of ``EARNED``.

*Numbers.* Weight space: [Phi P / sigma; I] = Q R, with the values as one more column, so that R holds the factor of the
posterior, the right-hand side and the residual. Forming Phi' Phi or a Gram matrix would square the condition number and
stall at 1e-8 of the values; this reaches their last digits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dgeqrf

from dale._arrays import Matrix, Vector
from dale.models.base import PredictionDerivatives, root_of_variance
from dale.models.monomials import MOST_DEGREE, Monomials, affordable_degree, monomials, n_terms
from dale.optim.projected_newton import FunctionValues

MOST_POINTS = 120  # the nearest; more where a quadratic has more terms
FLAT = 1e3  # standard deviation of the linear weights, in units of s
RHOS = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2)  # radii of convergence, in sides of the cube
FAR_RHOS = (12.8, 100.0, 1e4)  # a plain quadratic, for all the cube can tell
EARNED = 6.0  # logarithm of the Bayes factor that a far rho needs
ROUGHNESS = 1e-10  # remainder of degree 1, against rounding
LEAST_VARIANCE = 1e-300  # in units of s^2
SAME = 1e-9  # points this near to the center, in radii, are the center


@dataclass(frozen=True, eq=False)
class TaylorModel:
    """The posterior of a Taylor polynomial around ``center``; points are given in its own coordinates z.

    Attributes:
        center: c, (d,).
        value: y(c).
        radius: D.
        terms: The features.
        rho: Radius of convergence.
        scale: s.
        weights: GaussianProcess mean (p,).
        root: Square root of the posterior covariance over s^2, (p, p).
        n_points: Observations used, without the center.
    """

    center: Vector
    value: float
    radius: float
    terms: Monomials
    rho: float
    scale: float
    weights: Vector
    root: Matrix
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
        most_degree: int = MOST_DEGREE,
        rhos: tuple[float, ...] = RHOS,
        far_rhos: tuple[float, ...] = FAR_RHOS,
    ) -> TaylorModel:
        """From observations (n, d), (n,) around a center, which is interpolated.

        Args:
            X: Points.
            y: Their values.
            center: c.
            value: y(c).
            radius: D.
            most_degree: The degree is no higher.
            rhos: Radii of convergence to choose from.
            far_rhos: Those that have to be earned.
        """
        d = len(center)
        Z = (X - center) / radius
        r = np.sqrt(np.sum(Z * Z, axis=1))
        # Nearest first: the rows of the system fall in size, as a stable factorization of badly scaled rows wants it.
        use = np.argsort(r, kind="stable")
        use = use[r[use] > SAME][: max(MOST_POINTS, n_terms(d, 2) * 3 // 2)]
        Z, r, v = Z[use], r[use], y[use] - value
        degree = min(affordable_degree(d), most_degree)
        terms = monomials(d, degree)
        features = terms(Z)
        redundant = len(v) > n_terms(d, 2)
        best: _Fit | None = None
        for rho in rhos + far_rhos if redundant else rhos:
            fit = _fit(features, v, r, terms.degree, degree, radius / rho, d)
            if rho in far_rhos:
                fit = fit._replace(loss=fit.loss + EARNED)
            if best is None or fit.loss < best.loss:
                best, chosen = fit, rho
        assert best is not None
        root = solve_triangular(best.R, np.eye(len(best.R)), check_finite=False) * best.prior[:, None]
        return cls(
            center, value, radius, terms, chosen, math.sqrt(best.variance), best.weights * best.prior, root, len(v)
        )

    @property
    def degree(self) -> int:
        """m."""
        return int(self.terms.degree[-1])

    @cached_property
    def gradient(self) -> Vector:
        """Slope of the mean at the center, by z."""
        return self.weights[: len(self.center)]

    @cached_property
    def hessian(self) -> Matrix:
        """Second derivatives of the mean at the center, by z."""
        return self.mean_derivatives(np.zeros((1, len(self.center)))).hessian[0]

    def remainder(self, r: Vector | float) -> Vector:
        """Standard deviation of what the polynomial leaves out, at distance r from the center in radii."""
        t = self.radius / self.rho
        return np.asarray(self.scale * t ** (self.degree - 1) * np.asarray(r) ** (self.degree + 1))

    def predict(self, Z: Matrix) -> tuple[Vector, Vector]:
        """Mean and std of y(x) - y(c) at points (m, d)."""
        features = self.terms(Z)
        v = features @ self.root
        return features @ self.weights, self.scale * np.sqrt(np.maximum(np.sum(v * v, axis=1), LEAST_VARIANCE))

    def mean_derivatives(self, Z: Matrix) -> FunctionValues:
        """Mean of y(x) - y(c) at points (m, d), its gradients (m, d) and second derivatives (m, d, d)."""
        features, gradients = self.terms.with_gradients(Z)
        return FunctionValues(
            features @ self.weights, self.weights @ gradients, self.terms.hessians(features, self.weights)
        )

    def derivatives(self, Z: Matrix) -> PredictionDerivatives:
        """What is believed about y(x) - y(c) at points (m, d), with first and second derivatives."""
        features, gradients = self.terms.with_gradients(Z)
        v = features @ self.root
        by_feature = v @ self.root.T  # half of the variance's gradient by the features, over s^2
        J = gradients.transpose(0, 2, 1) @ self.root  # (m, d, p)
        std, std_gradient, std_hessian = root_of_variance(
            np.maximum(np.sum(v * v, axis=1), LEAST_VARIANCE),
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
    loss: float  # negative logarithm of the evidence
    weights: Vector  # in units of the prior
    R: Matrix
    prior: Vector
    variance: float  # s^2


def _fit(features: Matrix, v: Vector, r: Vector, degrees: np.ndarray, degree: int, t: float, dimension: int) -> _Fit:
    """The posterior for one t = D / rho."""
    n, p = features.shape
    prior = np.where(degrees == 1, FLAT, t ** (degrees - 2.0))
    noise = t ** (degree - 1) * r ** (degree + 1) + ROUGHNESS * r
    A = np.zeros((n + p, p + 1), order="F")
    A[:n, :p] = features * prior / noise[:, None]
    A[:n, p] = v / noise
    A[n:, :p].flat[:: p + 1] = 1.0
    qr, *_ = dgeqrf(A, overwrite_a=True)
    R = np.triu(qr[:p, :p])
    weights = solve_triangular(R, qr[:p, p], check_finite=False)
    residual = float(qr[p, p]) ** 2 if n else 0.0
    freedom = max(n - dimension, 0)
    variance = max(residual / max(freedom, 1), 1e-300)
    loss = 0.5 * freedom * math.log(variance) + float(np.sum(np.log(noise))) + float(np.sum(np.log(np.abs(np.diag(R)))))
    return _Fit(loss, weights, R, prior, variance)
