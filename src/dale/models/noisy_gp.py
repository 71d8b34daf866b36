"""Length-scale, signal and noise of noisy values: the most probable ones on a grid.

    y ~ N(c 1, s2 (K + eta R))

with K the correlations at length-scale l, and R the shape of the noise: the identity where its variance, eta s2, is
unknown; the diagonal of the variances where they are known, and then eta s2 = 1. For each l one eigendecomposition
R^-1/2 K R^-1/2 = Q diag(e) Q' gives the evidence at every eta. With a = Q' R^-1/2 1, b = Q' R^-1/2 y and D = e + eta,

    c  = sum(a b / D) / sum(a^2 / D),    q = sum((b - c a)^2 / D),
    s2 = q / n,  or 1 / eta where the noise is known,
    -log p(y) = (n log s2 + sum(log D) + q / s2) / 2 + what neither l nor eta changes.

Few noisy values say little about l, so it has a prior: log-normal, around ``LIKELY`` sqrt(d), with ``WIDTH``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from dale._arrays import Matrix, Vector
from dale.models.gaussian_process import GaussianProcess, Prior
from dale.models.kernels.squared_exponential import SquaredExponential

LENGTH_SCALES = tuple(float(l) for l in np.geomspace(0.02, 1.6, 14))  # in units of sqrt(d)
LIKELY, WIDTH = 0.25, 0.5  # the latter of the logarithm
RATIOS = tuple(float(r) for r in np.geomspace(1e-6, 10.0, 29))  # eta, where the noise is unknown
SIGNALS = tuple(float(s) for s in np.geomspace(1e-2, 10.0, 19))  # s2, where it is known; values are standardised
LEAST_VARIANCE = 1e-10  # of known noise
MOST_NOISE = 1e6  # in units of the values' std: more is as good as no observation
MOST_FITTED = 160  # observations that length-scale and noise are fitted to


class NoisyFit(NamedTuple):
    """What explains noisy values best.

    Attributes:
        length_scale: Of the squared-exponential correlation.
        prior: c and s2.
        noise: Variances of the noise over s2, (n,).
    """

    length_scale: float
    prior: Prior
    noise: Vector


def fit_noise(X: Matrix, y: Vector, variances: Vector | None = None) -> NoisyFit:
    """Length-scale, mean, signal and noise of standardised values (n,) at points (n, d).

    Args:
        X: The points.
        y: Their values, of variance 1 or so.
        variances: Of the noise in each, (n,), where they are known.
    """
    n, d = X.shape
    shape = np.ones(n) if variances is None else np.maximum(variances, LEAST_VARIANCE)
    eta = np.array(RATIOS) if variances is None else 1 / np.array(SIGNALS)
    best, least = NoisyFit(LIKELY * math.sqrt(d), Prior(0.0, 1.0), shape), math.inf
    for l in math.sqrt(d) * np.array(LENGTH_SCALES):
        loss, c, s2 = losses(SquaredExponential(float(l))(X, X), y, shape, eta, known=variances is not None)
        loss += (math.log(l / (LIKELY * math.sqrt(d))) / WIDTH) ** 2 / 2
        i = int(np.argmin(loss))
        if loss[i] < least:
            best, least = NoisyFit(float(l), Prior(float(c[i]), float(s2[i])), eta[i] * shape), float(loss[i])
    return best


def losses(K: Matrix, y: Vector, shape: Vector, eta: Vector, *, known: bool) -> tuple[Vector, Vector, Vector]:
    """-log p(y) but for a constant, c and s2 at each eta (m,), for correlations K (n, n) and R = diag(shape)."""
    root = 1 / np.sqrt(shape)
    e, Q = np.linalg.eigh(root[:, None] * K * root)
    a, b = Q.T @ root, Q.T @ (root * y)
    D = np.maximum(e, 0.0)[:, None] + eta
    c = (a * b) @ (1 / D) / ((a * a) @ (1 / D))
    q = np.sum((b[:, None] - c * a[:, None]) ** 2 / D, axis=0)
    s2 = 1 / eta if known else np.maximum(q / len(y), np.finfo(float).tiny)
    return (len(y) * np.log(s2) + np.sum(np.log(D), axis=0) + q / s2) / 2, c, s2


@dataclass(frozen=True, eq=False)
class NoisyModel:
    """A smooth function and errors, given all observations.

    Attributes:
        rows: Of the history that it was made of, (n,).
        X: Their points, (n, d).
        v: Their standardised values, (n,).
        fitted: What explains them.
    """

    rows: np.ndarray
    X: Matrix
    v: Vector
    fitted: NoisyFit

    @classmethod
    def of(cls, rows: np.ndarray, X: Matrix, v: Vector, known: Vector | None, unit: float) -> NoisyModel:
        """Fit to values (n,) in units of ``unit``, with the known standard deviations (n,) of their noise, or None."""
        unit = max(unit, float(np.finfo(float).tiny))
        variances = None if known is None else (np.minimum(known, MOST_NOISE * unit) / unit) ** 2
        n = len(v)
        sample = np.linspace(0, n - 1, min(n, MOST_FITTED)).astype(int)
        fitted = fit_noise(X[sample], v[sample], None if variances is None else variances[sample])
        all_noise = np.full(n, fitted.noise[0]) if variances is None else variances / fitted.prior.variance
        return cls(rows, X, v, fitted._replace(noise=all_noise))

    @cached_property
    def posterior(self) -> GaussianProcess:
        """Of the smooth function."""
        kernel = SquaredExponential(self.fitted.length_scale)
        return GaussianProcess.fit(kernel, self.X, self.v, self.fitted.prior, self.fitted.noise)

    @cached_property
    def means(self) -> Vector:
        """What is believed of the smooth function at the observations, (n,)."""
        return self.posterior.predict(self.X).mean

    def mean_of(self, row: int) -> float:
        """What is believed of the smooth function at a row of the history."""
        return float(self.means[np.flatnonzero(self.rows == row)[0]])

    def least(self, among: np.ndarray) -> int | None:
        """The row of the history with the least mean, among those for which this is True; None if there is none."""
        means = np.where(among[self.rows], self.means, np.inf)
        i = int(np.argmin(means))
        return int(self.rows[i]) if means[i] < np.inf else None

    @property
    def error(self) -> float:
        """Standard deviation of the noise in one more evaluation."""
        return math.sqrt(float(np.median(self.fitted.noise)) * self.fitted.prior.variance)
