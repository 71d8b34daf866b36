"""How well a Gaussian process explains its observations: marginal likelihood and leave-one-out, in closed form.

Log marginal likelihood, with K the correlation matrix (jitter included) and n observations:

    log p(y) = -(y - c)' K^-1 (y - c) / (2 s2) - log|K| / 2 - n log(2 pi s2) / 2

Leaving out one observation, with a = K^-1 (y - c) and b the diagonal of K^-1 (Rasmussen & Williams, eqs. 5.10-5.12):

    mean_i = y_i - a_i / b_i,   variance_i = s2 / b_i,   log density = sum_i log N(y_i; mean_i, variance_i)

Log likelihood under the hypothesis that the function has the value T at a point x, with k = k(x, X):

    y | f(x) = T  ~  N(c u + T k, s2 C),   u = 1 - k,   C = K - k k'

The maximum-likelihood c and s2 are closed forms again, c = u' C^-1 (y - T k) / u' C^-1 u, and with w = K^-1 k and
q = 1 - k' w all products follow from C^-1 = K^-1 + w w' / q and |C| = q |K|.
"""

from __future__ import annotations

import math

import numpy as np

from dale._arrays import Matrix, Vector
from dale.models.base import Prediction
from dale.models.cholesky import CholeskyFactor
from dale.models.gaussian_process import MIN_VARIANCE, GaussianProcess

GRID = tuple(float(l) for l in np.geomspace(0.01, 10.0, 61))  # "exhaustive" in Sec. 4.1: 20 values per decade


def best_of(scores: Vector) -> int:
    """Index of the largest score; of equal ones the last, which has the largest length-scale."""
    return len(scores) - 1 - int(np.argmax(np.asarray(scores)[::-1]))


def log_marginal_likelihood(model: GaussianProcess) -> float:
    """log p(y) under the prior of the model.

    Examples:
        >>> from dale.models.kernels import SquaredExponential
        >>> X = np.linspace(0, 1, 6)[:, None]
        >>> models = [GaussianProcess.fit(SquaredExponential(l), X, np.sin(3 * X[:, 0])) for l in (0.05, 0.5)]
        >>> log_marginal_likelihood(models[0]) < log_marginal_likelihood(models[1])
        True
    """
    y, (c, s2), n = model.values, model.prior, len(model.values)
    misfit = float((y - c) @ model.weights) / s2
    return -0.5 * (misfit + model.factor.log_determinant + n * math.log(2 * math.pi * s2))


def leave_one_out(model: GaussianProcess) -> Prediction:
    """Prediction of each observation from all others.

    Examples:
        >>> from dale.models.kernels import SquaredExponential
        >>> X, y = np.array([[0.1], [0.4], [0.8]]), np.array([0.0, 1.0, 0.5])
        >>> leave_one_out(GaussianProcess.fit(SquaredExponential(0.01), X, y)).mean.round(2)
        array([0.5, 0.5, 0.5])
    """
    b = _inverse_diagonal(model.factor)
    return Prediction(model.values - model.weights / b, np.sqrt(model.prior.variance / b))


def log_leave_one_out_densities(model: GaussianProcess) -> Vector:
    """Log densities of the observations under their leave-one-out predictions, (n,)."""
    mean, std = leave_one_out(model)
    z = (model.values - mean) / std
    return -0.5 * (z**2 + np.log(2 * math.pi * std**2))


def log_leave_one_out_density(model: GaussianProcess) -> float:
    """Sum of the log densities of the observations under their leave-one-out predictions."""
    return float(np.sum(log_leave_one_out_densities(model)))


def conditional_log_likelihood(model: GaussianProcess, A: Matrix, target: float) -> Vector:
    """log p(y | f(x) = target) at points A (m, d), with the mean and variance that maximise it: (m,).

    Examples:
        >>> from dale.models.kernels import SquaredExponential
        >>> X, y = np.array([[0.0], [0.5], [1.0]]), np.array([0.0, 0.0, 1.0])
        >>> model = GaussianProcess.fit(SquaredExponential(0.2), X, y)
        >>> at = conditional_log_likelihood(model, np.array([[0.25], [0.45], [0.9]]), target=-1.0)
        >>> int(np.argmax(at))  # a low value is most credible far from all others
        0
    """
    n = len(model.values)
    K_inv_1, K_inv_y = model.factor.solve(np.column_stack([np.ones(n), model.values])).T
    k = model.kernel(A, model.points)  # (m, n)
    p = np.sum(model.factor.solve_lower(k.T) ** 2, axis=0)  # k' K^-1 k
    q = np.maximum(1 - p, model.factor.jitter)
    one_w, y_w = k @ K_inv_1, k @ K_inv_y  # 1' w and y' w
    u_w, r_w = one_w - p, y_w - target * p  # with r = y - T k
    one_y = float(np.sum(K_inv_y))
    u_u = float(np.sum(K_inv_1)) - 2 * one_w + p + u_w**2 / q
    u_r = one_y - target * one_w - y_w + target * p + u_w * r_w / q
    r_r = float(model.values @ K_inv_y) - 2 * target * y_w + target**2 * p + r_w**2 / q
    c = u_r / np.maximum(u_u, MIN_VARIANCE)
    s2 = np.maximum((r_r - c * u_r) / n, MIN_VARIANCE)
    return -0.5 * (n * (1 + np.log(2 * math.pi * s2)) + model.factor.log_determinant + np.log(q))


def _inverse_diagonal(factor: CholeskyFactor) -> np.ndarray:
    """Diagonal of (L L')^-1, (n,)."""
    return np.asarray(np.sum(factor.solve_lower(np.eye(len(factor))) ** 2, axis=0))
