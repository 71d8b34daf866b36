"""A Gaussian process for noisy values: a smooth signal plus noise.

    y ~ N(c 1, s2 (K + eta R))

with K the correlations at length-scale l, and R the shape of the noise: the identity where its variance, eta s2, is
unknown; the diagonal of the variances where they are known, and then eta s2 = 1.

Length-scale, signal and noise are the most probable ones on a grid. For each l, one reduction to tridiagonal form,
R^-1/2 K R^-1/2 = Q T Q', makes the evidence cheap at every eta. With a = Q' R^-1/2 1, b = Q' R^-1/2 y and
M = T + eta I,

    c  = a' M^-1 b / a' M^-1 a,    q = (b - c a)' M^-1 (b - c a),
    s2 = q / n,  or 1 / eta where the noise is known,
    -log p(y) = (n log s2 + log |M| + q / s2) / 2 + constant.

The error of c counts where the error of a mean is stated (Rasmussen & Williams, eq. 2.42): with k the correlations of a
point with the observations and V those of the observations, noise included,

    std^2 = s2 (1 - k' V^-1 k + (1 - k' V^-1 1)^2 / 1' V^-1 1).

Where it is unknown, outliers have more of it: R has the squares of their factors (``models/outlier_weights.py``).

Few noisy values contain little information about l, so it has a log-normal prior with median
``PRIOR_LENGTH_SCALE`` sqrt(d) and standard deviation ``PRIOR_LOG_STD`` of its logarithm. The search for l starts there.

Shapes: X (n, d), standardised values (n,).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dormqr, dptsv, dsytrd

from dale._arrays import Matrix, Vector
from dale.models.gaussian_process import GaussianProcess, Prior
from dale.models.kernels.base import KernelFactory, LengthScale
from dale.models.kernels.squared_exponential import SquaredExponential
from dale.models.likelihood import leave_one_out, log_leave_one_out_densities
from dale.models.outlier_weights import outlier_factors, price
from dale.models.transforms import Log1p, skewness_transform
from dale.optim.grid import descend_on_grid

LENGTH_SCALES = tuple(float(l) for l in np.geomspace(0.02, 1.6, 14))  # in units of sqrt(d)
PRIOR_LENGTH_SCALE, PRIOR_LOG_STD = 0.25, 0.5
STRIDES = 2, 1  # the loss is followed downhill in steps of two length-scales, then of one
NOISE_RATIOS = tuple(float(r) for r in np.geomspace(1e-6, 10.0, 29))  # eta, where the noise is unknown
SIGNAL_VARIANCES = tuple(float(s) for s in np.geomspace(1e-2, 10.0, 19))  # s2, where it is known
MIN_NOISE_VARIANCE = 1e-10  # where it is known
MAX_NOISE_STD = 1e6  # in units of the values' std: such a value contains no information
MIN_POINTS_FOR_OUTLIERS = 10
BLOCK = 32  # workspace of LAPACK, in columns
MAX_FITTED = 160  # observations that length-scale and noise are fitted to


class NoisyFit(NamedTuple):
    """The most probable parameters.

    Attributes:
        length_scale: l.
        prior: c and s2.
        noise: Variances of the noise divided by s2, (n,).
        eta: The factor of R in them.
        loss: Negative log of evidence and prior, up to a constant.
    """

    length_scale: float
    prior: Prior
    noise: Vector
    eta: float
    loss: float


def fit_noise(
    X: Matrix,
    y: Vector,
    variances: Vector | None = None,
    kernel: KernelFactory = SquaredExponential,
    factors: Vector | None = None,
    length_scale: float | None = None,
    ratios: tuple[float, ...] | None = None,
) -> NoisyFit:
    """Length-scale, mean, signal and noise of standardised values.

    Args:
        X: Points.
        y: Values, of variance about 1.
        variances: Of the noise in each value, (n,), where they are known.
        kernel: The correlation function.
        factors: Of the std of the noise in each value, (n,), where it is unknown; None if they are all 1.
        length_scale: The length-scale; None for the most probable one.
        ratios: Of the length-scale along each coordinate to it, (d,); None if they are all 1.

    Examples:
        >>> X = np.repeat(np.linspace(0, 1, 10), 2)[:, None]
        >>> fitted = fit_noise(X, np.sin(6 * X[:, 0]) + np.tile([0.1, -0.1], 10))
        >>> bool(0.05 < math.sqrt(fitted.noise[0] * fitted.prior.variance) < 0.15)
        True
    """
    n, d = X.shape
    shape = np.ones(n) if variances is None else np.maximum(variances, MIN_NOISE_VARIANCE)
    if factors is not None:
        shape = factors**2
    eta = np.array(NOISE_RATIOS) if variances is None else 1 / np.array(SIGNAL_VARIANCES)
    median, own = PRIOR_LENGTH_SCALE * math.sqrt(d), float(np.sum(np.log(shape))) / 2
    scales, found = math.sqrt(d) * np.array(LENGTH_SCALES), dict[int, NoisyFit]()

    def loss(i: int) -> float:
        """Of one length-scale."""
        if i not in found:
            l = float(scales[i])
            K = kernel(_length_scales(l, ratios))(X, X)
            all_losses, c, s2 = losses(K, y, shape, eta, known=variances is not None)
            k = int(np.argmin(all_losses))
            prior = (math.log(l / median) / PRIOR_LOG_STD) ** 2 / 2
            total = float(all_losses[k]) + own + prior
            found[i] = NoisyFit(l, Prior(float(c[k]), float(s2[k])), eta[k] * shape, float(eta[k]), total)
        return found[i].loss

    if length_scale is not None:
        i = int(np.argmin(np.abs(np.log(scales / length_scale))))
        loss(i)
        return found[i]
    best = int(np.argmin(np.abs(np.log(scales / median))))
    for stride in STRIDES:
        best = descend_on_grid(lambda at: loss(at[0]), (best,), (len(scales),), stride)[0]
    return found[best]


def _length_scales(l: float, ratios: tuple[float, ...] | None) -> LengthScale:
    """That along each coordinate; one number if they are all the same."""
    return l if ratios is None else tuple(l * r for r in ratios)


def _sample(n: int) -> np.ndarray:
    """Rows that length-scale, mean, signal and noise of n values are fitted to."""
    return np.linspace(0, n - 1, min(n, MAX_FITTED)).astype(int)


def losses(K: Matrix, y: Vector, shape: Vector, eta: Vector, *, known: bool) -> tuple[Vector, Vector, Vector]:
    """-log p(y) up to a constant, c and s2 at each eta (m,), for correlations K (n, n) and R = diag(shape)."""
    root, n = 1 / np.sqrt(shape), len(y)
    diagonal, off_diagonal, ab = _tridiagonal(root[:, None] * K * root, np.column_stack([root, root * y]))
    a, b = ab.T
    D, _, solved, _ = zip(*(dptsv(diagonal + e, off_diagonal, ab) for e in eta), strict=True)  # M = L D L'
    Ma, Mb = np.moveaxis(np.array(solved), 2, 0)  # M^-1 a and M^-1 b, (m, n)
    c = Ma @ b / (Ma @ a)
    q = np.sum((b - c[:, None] * a) * (Mb - c[:, None] * Ma), axis=1)
    s2 = 1 / eta if known else np.maximum(q / n, np.finfo(float).tiny)
    is_definite = np.min(D, axis=1) > 0  # but for rounding errors
    log_determinant = np.sum(np.log(np.where(is_definite[:, None], D, 1.0)), axis=1)
    return np.where(is_definite, (n * np.log(s2) + log_determinant + q / s2) / 2, np.inf), c, s2


def _tridiagonal(A: Matrix, V: Matrix) -> tuple[Vector, Vector, Matrix]:
    """Diagonal (n,) and off-diagonal (n - 1,) of T in A = Q T Q', and Q' V, for a symmetric A (n, n) and V (n, k)."""
    if len(A) == 1:
        return A[0], np.zeros(1), V  # SciPy's solver expects one number off the diagonal even here
    H, diagonal, off_diagonal, tau, _ = dsytrd(A, lower=True, lwork=BLOCK * len(A))
    below, *_ = dormqr("L", "T", H[1:, :-1], tau, V[1:], lwork=BLOCK * V.shape[1])  # Q leaves the first row as it is
    return diagonal, off_diagonal, np.vstack([V[:1], below])


@dataclass(frozen=True, eq=False)
class NoisyGP:
    """A smooth signal plus noise, given observations.

    Attributes:
        rows: Row of each observation in the data of the run, (n,).
        X: Points, (n, d).
        v: Standardised values, (n,).
        fitted: The most probable parameters.
        kernel: The correlation function.
        transform: Of the standardised values before; None for none.
        ratios: Of the length-scale along each coordinate to the fitted one, (d,); None if they are all 1.

    Examples:
        >>> X = np.repeat(np.linspace(0, 1, 10), 2)[:, None]
        >>> y = np.sin(6 * X[:, 0]) + np.tile([0.1, -0.1], 10)
        >>> model = NoisyGP.of(np.arange(20), X, y, noise_std=np.full(20, 0.1), scale=1.0)
        >>> round(model.noise_std, 6)
        0.1
    """

    rows: np.ndarray
    X: Matrix
    v: Vector
    fitted: NoisyFit
    kernel: KernelFactory = SquaredExponential
    transform: Log1p | None = None
    ratios: tuple[float, ...] | None = None

    @classmethod
    def of(
        cls,
        rows: np.ndarray,
        X: Matrix,
        v: Vector,
        noise_std: Vector | None,
        scale: float,
        kernel: KernelFactory = SquaredExponential,
        ratios: tuple[float, ...] | None = None,
        *,
        may_have_outliers: bool = True,
    ) -> NoisyGP:
        """Fit to standardised values.

        Args:
            rows: Row of each observation in the data of the run, (n,).
            X: Points, (n, d).
            v: Standardised values, (n,).
            noise_std: Standard deviations of the noise in units of the objective, (n,); None if they are unknown.
            scale: One unit of the standardised values, in units of the objective.
            kernel: The correlation function.
            ratios: Of the length-scale along each coordinate to the fitted one, (d,); None if they are all 1.
            may_have_outliers: Whether some values may have much more noise than others, if it is unknown.
        """
        scale = max(scale, float(np.finfo(float).tiny))
        variances = None if noise_std is None else (np.minimum(noise_std, MAX_NOISE_STD * scale) / scale) ** 2
        n, transform = len(v), skewness_transform(v) if variances is None else None
        if transform is not None:
            v = transform(v)
        sample = _sample(n)
        known = None if variances is None else variances[sample]
        fitted = fit_noise(X[sample], v[sample], known, kernel, ratios=ratios)
        all_noise = np.full(n, fitted.eta) if variances is None else variances / fitted.prior.variance
        model = cls(rows, X, v, fitted._replace(noise=all_noise), kernel, transform, ratios)
        may_have_outliers = may_have_outliers and variances is None and n >= MIN_POINTS_FOR_OUTLIERS
        return model._robust(sample) if may_have_outliers else model

    def _robust(self, sample: np.ndarray) -> NoisyGP:
        """The model with less weight of outliers, where that is more probable; fitted to a sample of the rows."""

        def errors(model: NoisyGP) -> Vector:
            mean, std = leave_one_out(model.posterior)
            return (model.v - mean) / std

        def refit(model: NoisyGP, factors: Vector, *, anywhere: bool = False) -> NoisyGP:
            l = None if anywhere else model.fitted.length_scale
            fitted = fit_noise(self.X[sample], self.v[sample], None, self.kernel, factors[sample], l, self.ratios)
            return replace(model, fitted=fitted._replace(noise=fitted.eta * factors**2))

        robust, factors = outlier_factors(self, errors, refit, len(self.v))
        if robust.fitted.loss + price(factors[sample]) >= self.fitted.loss:
            return self
        return refit(self, factors, anywhere=True)

    @cached_property
    def posterior(self) -> GaussianProcess:
        """Of the signal."""
        kernel = self.kernel(_length_scales(self.fitted.length_scale, self.ratios))
        return GaussianProcess.fit(kernel, self.X, self.v, self.fitted.prior, self.fitted.noise)

    @cached_property
    def means(self) -> Vector:
        """Posterior means of the signal at the observations, (n,)."""
        return self.posterior.predict(self.X).mean

    def mean_of(self, row: int) -> float:
        """Posterior mean of the signal at a row of the data."""
        return float(self.means[np.flatnonzero(self.rows == row)[0]])

    def untransformed(self, v: float) -> float:
        """The standardised value of a transformed one."""
        return v if self.transform is None else self.transform.inverse(v)

    def at(self, row: int) -> tuple[float, float]:
        """Posterior mean and std of the signal at a row of the data, standardised; the error of c is included."""
        x = self.X[self.rows == row][:1]
        mean, std = (float(v[0]) for v in self.posterior.predict(x))
        k = self.posterior.kernel(x, self.X)[0]
        weight = 1 - float(k @ self.posterior.factor.solve(np.ones(len(k))))  # of c in the mean
        slope = 1.0 if self.transform is None else self.transform.inverse_slope(mean)
        return self.untransformed(mean), slope * math.hypot(std, weight * self._constant_std)

    @cached_property
    def _constant_std(self) -> float:
        """Standard deviation of c, which was fitted to a sample of the observations."""
        sample = _sample(len(self.v))
        X, noise, prior = self.X[sample], self.fitted.noise[sample], self.fitted.prior
        factor = GaussianProcess.fit(self.posterior.kernel, X, self.v[sample], prior, noise).factor
        return math.sqrt(prior.variance / float(np.sum(factor.solve(np.ones(len(sample))))))

    def lowest(self, among: np.ndarray) -> int | None:
        """The row of the data with the lowest posterior mean, of those where ``among`` is True; None if none is."""
        means = np.where(among[self.rows], self.means, np.inf)
        i = int(np.argmin(means))
        return int(self.rows[i]) if means[i] < np.inf else None

    def leave_one_out_log_densities(self) -> Vector:
        """Log p of each standardised value given all others, (n,)."""
        in_model = log_leave_one_out_densities(self.posterior)
        return in_model if self.transform is None else in_model - self.v - math.log(self.transform.scale)

    def noise_at(self, z: Vector) -> Vector:
        """Standard deviation of the noise in one more evaluation where the value is z (n,), both standardised."""
        return self.noise_std * (np.ones(len(z)) if self.transform is None else self.transform.inverse_slopes(z))

    @cached_property
    def noise_std(self) -> float:
        """Standard deviation of the noise in one more evaluation, standardised."""
        return math.sqrt(float(np.median(self.fitted.noise)) * self.fitted.prior.variance)
