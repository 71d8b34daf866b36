"""The local Bayesian Taylor model: the paper's quadratic region carried on to all degrees and all data.

Around a centre c with radius D, in the coordinates z = (x - c) / D and with r = |z|,

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
from functools import cached_property, lru_cache
from itertools import combinations_with_replacement
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dgeqrf

from dale.arrays import Matrix, Vector
from dale.beliefs import Beliefs, root_of_variance
from dale.descent import Surface

MOST_TERMS = 90  # the degree is the largest with no more monomials ...
MOST_DEGREE = 6  # ... and no larger than this, though at least 2
MOST_POINTS = 120  # the nearest; more where a quadratic has more terms
FLAT = 1e3  # standard deviation of the linear weights, in units of s
RHOS = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2)  # radii of convergence, in sides of the cube
FAR_RHOS = (12.8, 100.0, 1e4)  # a plain quadratic, for all the cube can tell
EARNED = 6.0  # logarithm of the Bayes factor that a far rho needs
ROUGHNESS = 1e-10  # remainder of degree 1, against rounding
LEAST_VARIANCE = 1e-300  # in units of s^2
SAME = 1e-9  # points this near to the centre, in radii, are the centre


class Twice(NamedTuple):
    """Second derivatives of monomials that are not zero, sorted by the pair of variables i <= j.

    Attributes:
        of: Number of the monomial, (q,).
        rest: Number of what remains of it; p stands for 1, (q,).
        factor: And its factor, (q,).
        begin: Where each pair begins, (d (d + 1) / 2,).
    """

    of: np.ndarray
    rest: np.ndarray
    factor: Vector
    begin: np.ndarray


class Monomials(NamedTuple):
    """All monomials of degree 1 .. m in d variables, each the product of a lower one and a variable.

    Attributes:
        degree: Of each monomial, (p,).
        root: Root of its multinomial coefficient, (p,).
        variables: The factors of each, (p, m), filled up with d, which stands for 1.
        lower: Number of the monomial that remains when variable i is taken away once, (p, d); p stands for 1.
        factor: How often variable i is in it, times ``root`` over that of the remaining one, (p, d).
        twice: What remains when two variables are taken away.
    """

    degree: np.ndarray
    root: Vector
    variables: np.ndarray
    lower: np.ndarray
    factor: Matrix
    twice: Twice

    def __call__(self, Z: Matrix) -> Matrix:
        """Features (m, p) of points (m, d)."""
        padded = np.hstack([Z, np.ones((len(Z), 1))])
        features = padded[:, self.variables[:, 0]] * self.root
        for column in self.variables.T[1:]:
            features *= padded[:, column]
        return features

    def with_slopes(self, Z: Matrix) -> tuple[Matrix, np.ndarray]:
        """Features (m, p) and their slopes (m, p, d) at points (m, d)."""
        features = self(Z)
        padded = np.hstack([features, np.ones((len(Z), 1))])
        return features, self.factor * padded[:, self.lower]

    def curvatures(self, features: Matrix, weights: Matrix) -> np.ndarray:
        """Second derivatives (m, d, d) of the polynomials with these weights, (p,) or (m, p), at m points.

        Args:
            features: Of the points, (m, p).
            weights: The same for all points, or those of each.
        """
        m, d = len(features), self.factor.shape[1]
        padded = np.hstack([features, np.ones((m, 1))])
        parts = weights[..., self.twice.of] * self.twice.factor * padded[:, self.twice.rest]
        curvature = np.zeros((m, d, d))
        if len(self.twice.of) == 0:
            return curvature
        triangle = np.add.reduceat(parts, self.twice.begin, axis=1)  # from degree 2 on every pair has a term
        i, j = np.triu_indices(d)
        curvature[:, i, j] = curvature[:, j, i] = triangle
        return curvature


@lru_cache(maxsize=64)
def monomials(dimension: int, degree: int) -> Monomials:
    """The monomials of a Taylor polynomial without its constant."""
    terms = [t for k in range(1, degree + 1) for t in combinations_with_replacement(range(dimension), k)]
    number = {t: i for i, t in enumerate(terms)} | {(): len(terms)}
    root = np.array([_root(t) for t in terms] + [1.0])
    lower = np.full((len(terms), dimension), len(terms))
    factor = np.zeros((len(terms), dimension))
    for a, term in enumerate(terms):
        for i in set(term):
            rest = list(term)
            rest.remove(i)
            lower[a, i] = number[tuple(rest)]
            factor[a, i] = term.count(i) * root[a] / root[lower[a, i]]
    variables = np.array([t + (dimension,) * (degree - len(t)) for t in terms])
    return Monomials(np.array([len(t) for t in terms]), root[:-1], variables, lower, factor, _twice(lower, factor))


def _twice(lower: np.ndarray, factor: Matrix) -> Twice:
    """Second derivatives from first ones."""
    p, d = lower.shape
    # The monomial 1 has no variable to take away: one more row, of zeros, stands for it.
    again, factor_again = np.vstack([lower, np.full((1, d), p)]), np.vstack([factor, np.zeros((1, d))])
    of: list[int] = []
    rest: list[int] = []
    factors: list[float] = []
    begin: list[int] = []
    for i, j in zip(*np.triu_indices(d), strict=True):
        begin.append(len(of))
        both = factor[:, i] * factor_again[lower[:, i], j]
        a = np.flatnonzero(both)
        of.extend(a)
        rest.extend(again[lower[a, i], j])
        factors.extend(both[a])
    return Twice(np.array(of, dtype=int), np.array(rest, dtype=int), np.array(factors), np.array(begin))


def _root(term: tuple[int, ...]) -> float:
    ways = math.factorial(len(term))
    for variable in set(term):
        ways //= math.factorial(term.count(variable))
    return math.sqrt(ways)


def n_terms(dimension: int, degree: int) -> int:
    """Number of monomials of degree 1 .. ``degree``."""
    return math.comb(dimension + degree, degree) - 1


@lru_cache(maxsize=64)
def affordable_degree(dimension: int) -> int:
    """Degree of the model: as high as ``MOST_TERMS`` allows."""
    degree = 2
    while degree < MOST_DEGREE and n_terms(dimension, degree + 1) <= MOST_TERMS:
        degree += 1
    return degree


@dataclass(frozen=True, eq=False)
class TaylorModel:
    """The posterior of a Taylor polynomial around ``centre``; points are given in its own coordinates z.

    Attributes:
        centre: c, (d,).
        value: y(c).
        radius: D.
        terms: The features.
        rho: Radius of convergence.
        scale: s.
        weights: Posterior mean (p,).
        root: Square root of the posterior covariance over s^2, (p, p).
        n_points: Observations used, without the centre.
    """

    centre: Vector
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
        centre: Vector,
        value: float,
        radius: float,
        *,
        most_degree: int = MOST_DEGREE,
        rhos: tuple[float, ...] = RHOS,
        far_rhos: tuple[float, ...] = FAR_RHOS,
    ) -> TaylorModel:
        """From observations (n, d), (n,) around a centre, which is interpolated.

        Args:
            X: Points.
            y: Their values.
            centre: c.
            value: y(c).
            radius: D.
            most_degree: The degree is no higher.
            rhos: Radii of convergence to choose from.
            far_rhos: Those that have to be earned.
        """
        d = len(centre)
        Z = (X - centre) / radius
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
            centre, value, radius, terms, chosen, math.sqrt(best.variance), best.weights * best.prior, root, len(v)
        )

    @property
    def degree(self) -> int:
        """m."""
        return int(self.terms.degree[-1])

    @cached_property
    def gradient(self) -> Vector:
        """Slope of the mean at the centre, by z."""
        return self.weights[: len(self.centre)]

    @cached_property
    def hessian(self) -> Matrix:
        """Second derivatives of the mean at the centre, by z."""
        return self.mean_with_curvatures(np.zeros((1, len(self.centre)))).curvature[0]

    def remainder(self, r: Vector | float) -> Vector:
        """Standard deviation of what the polynomial leaves out, at distance r from the centre in radii."""
        t = self.radius / self.rho
        return np.asarray(self.scale * t ** (self.degree - 1) * np.asarray(r) ** (self.degree + 1))

    def predict(self, Z: Matrix) -> tuple[Vector, Vector]:
        """Mean and spread of y(x) - y(c) at points (m, d)."""
        features = self.terms(Z)
        v = features @ self.root
        return features @ self.weights, self.scale * np.sqrt(np.maximum(np.sum(v * v, axis=1), LEAST_VARIANCE))

    def mean_with_curvatures(self, Z: Matrix) -> Surface:
        """Mean of y(x) - y(c) at points (m, d), its slopes (m, d) and second derivatives (m, d, d)."""
        features, slopes = self.terms.with_slopes(Z)
        return Surface(features @ self.weights, self.weights @ slopes, self.terms.curvatures(features, self.weights))

    def predict_with_curvatures(self, Z: Matrix) -> Beliefs:
        """What is believed about y(x) - y(c) at points (m, d), with first and second derivatives."""
        features, slopes = self.terms.with_slopes(Z)
        v = features @ self.root
        by_feature = v @ self.root.T  # half of the variance's slope by the features, over s^2
        J = slopes.transpose(0, 2, 1) @ self.root  # (m, d, p)
        spread, spread_slope, spread_curvature = root_of_variance(
            np.maximum(np.sum(v * v, axis=1), LEAST_VARIANCE),
            (by_feature[:, None, :] @ slopes)[:, 0],
            J @ J.transpose(0, 2, 1) + self.terms.curvatures(features, by_feature),
        )
        return Beliefs(
            features @ self.weights,
            self.scale * spread,
            self.weights @ slopes,
            self.scale * spread_slope,
            self.terms.curvatures(features, self.weights),
            self.scale * spread_curvature,
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
