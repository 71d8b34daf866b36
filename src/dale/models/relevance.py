"""How fast a noisy signal varies along each coordinate: the ratios of the length-scales of its Gaussian process.

    y ~ N(c 1, s2 (K + eta I)),   K_ij = exp(-sum_k (x_ik - x_jk)^2 / (2 l_k^2)),   l_k = l r_k

with prod r_k = 1, up to the resolution of the r_k. c and s2 are the most probable ones for each l and eta, as in
``models/noisy_gp.py``. With M = K + eta I, a = M^-1 (y - c) and t_k = log l_k, the loss and its gradient are

    -log p(y) = (n log s2 + log |M|) / 2 + constant,   s2 = (y - c)' a / n,
    d/dM      = G = (M^-1 - a a' / s2) / 2,
    d/dt_k    = sum_ij G_ij K_ij (x_ik - x_jk)^2 / l_k^2,    d/dlog eta = eta trace G.

A priori log l is normal around that of a quarter of the cube's diagonal, as in ``models/noisy_gp.py``, each log r_k is
normal with standard deviation ``LOG_RATIO_STD``, and log eta is normal and wide. Few observations say little about the
ratios, so they are nearly 1 then. Values are winsorised, because one outlier would decide on the ratios.

Shapes: X (n, d), y (n,).
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri
from scipy.optimize import minimize

from dale._arrays import Matrix, Vector
from dale.models.noisy_gp import PRIOR_LENGTH_SCALE, PRIOR_LOG_STD
from dale.models.outlier_weights import MAD_TO_STD
from dale.models.transforms import Standardize

LOG_RATIO_STD = 1.0
PRIOR_NOISE_RATIO, NOISE_LOG_STD = 0.03, 3.0  # of eta
INITIAL_NOISE_RATIO = 0.1
JITTER = 1e-9  # against rounding errors
BOUNDS = (-4.0, 4.0)  # of the logarithms of the ratios
NOISE_BOUNDS = (math.log(1e-6), math.log(30.0))
RESOLUTION = 0.1  # of these: the search ends nearby, and where exactly depends on rounding errors
MAX_FITTED = 80  # observations, evenly spread over the run
MAX_STEPS = 40
MAX_DEVIATION = 4.0  # from the median in robust standard deviations; values beyond are moved there
NOT_FINITE = 1e10  # loss where the matrix is not positive definite by rounding


def length_scale_ratios(X: Matrix, y: Vector) -> tuple[float, ...]:
    """The most probable ratios r (d,) for values y (n,); all are 1 while there are too few different ones.

    Examples:
        >>> X = np.random.default_rng(0).random((40, 2))
        >>> r = length_scale_ratios(X, np.sin(9 * X[:, 0]))
        >>> r[0] < 0.5, r[1] > 2
        (True, True)
    """
    n, d = X.shape
    if d == 1 or n < d + 3 or np.min(y) == np.max(y):
        return (1.0,) * d
    use = np.linspace(0, n - 1, min(n, MAX_FITTED)).astype(int)
    return _ratios(X[use].tobytes(), _winsorised(Standardize.of(y)(y[use])).tobytes(), d)


def _winsorised(y: Vector) -> Vector:
    """Standardised values, those far from the median moved nearer, standardised again."""
    median = float(np.median(y))
    spread = MAD_TO_STD * float(np.median(np.abs(y - median)))
    if spread > 0:
        y = np.clip(y, median - MAX_DEVIATION * spread, median + MAX_DEVIATION * spread)
    std = float(np.std(y))
    return (y - float(np.mean(y))) / (std if std > 0 else 1.0)


@lru_cache(maxsize=16)
def _ratios(points: bytes, values: bytes, d: int) -> tuple[float, ...]:
    X, y = np.frombuffer(points).reshape(-1, d), np.frombuffer(values)
    squares = (X.T[:, :, None] - X.T[:, None, :]) ** 2  # (d, n, n)
    middle = math.log(PRIOR_LENGTH_SCALE * math.sqrt(d))
    start = np.append(np.full(d, middle), math.log(INITIAL_NOISE_RATIO))
    bounds = [(middle + BOUNDS[0], middle + BOUNDS[1])] * d + [NOISE_BOUNDS]
    found = minimize(
        _loss, start, (squares, y), jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": MAX_STEPS}
    )
    t = found.x[:-1]
    return tuple(np.exp(RESOLUTION * np.round((t - np.mean(t)) / RESOLUTION)).tolist())


def _loss(at: Vector, squares: np.ndarray, y: Vector) -> tuple[float, Vector]:
    """-log of evidence and prior, up to a constant, and its gradient by t and log eta."""
    t, log_eta = at[:-1], float(at[-1])
    d, n = len(t), len(y)
    weights, eta = np.exp(-2 * t), math.exp(log_eta)
    K = np.exp(-0.5 * np.tensordot(weights, squares, 1))
    factor, failed = dpotrf(K + (eta + JITTER) * np.eye(n), lower=True)
    if failed:
        return NOT_FINITE, np.zeros_like(at)
    log_determinant = 2 * float(np.sum(np.log(np.diag(factor))))
    inverse, _ = dpotri(factor, lower=True)
    inverse = np.tril(inverse) + np.tril(inverse, -1).T
    row_sums = np.sum(inverse, axis=1)
    a = inverse @ y - float(row_sums @ y) / float(np.sum(row_sums)) * row_sums
    s2 = max(float(y @ a) / n, float(np.finfo(float).tiny))
    G = (inverse - np.outer(a, a) / s2) / 2
    mean, log_l = float(np.mean(t)), math.log(PRIOR_LENGTH_SCALE * math.sqrt(d))
    e = (log_eta - math.log(PRIOR_NOISE_RATIO)) / NOISE_LOG_STD
    loss = (n * math.log(s2) + log_determinant + e * e) / 2
    loss += (((mean - log_l) / PRIOR_LOG_STD) ** 2 + float(np.sum(((t - mean) / LOG_RATIO_STD) ** 2))) / 2
    gradient = weights * np.tensordot(squares, G * K, 2)
    gradient += (mean - log_l) / PRIOR_LOG_STD**2 / d + (t - mean) / LOG_RATIO_STD**2
    return loss, np.append(gradient, eta * float(np.trace(G)) + e / NOISE_LOG_STD)
