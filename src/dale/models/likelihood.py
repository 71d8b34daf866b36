"""How well a Gaussian process explains its observations: marginal likelihood and leave-one-out, in closed form.

Log marginal likelihood, with K the correlation matrix (jitter included) and n observations:

    log p(y) = -(y - c)' K^-1 (y - c) / (2 s2) - log|K| / 2 - n log(2 pi s2) / 2

Leaving out one observation, with a = K^-1 (y - c) and b the diagonal of K^-1 (Rasmussen & Williams, eqs. 5.10-5.12):

    mean_i = y_i - a_i / b_i,   variance_i = s2 / b_i,   log density = sum_i log N(y_i; mean_i, variance_i)
"""

from __future__ import annotations

import math

import numpy as np

from dale._arrays import Vector
from dale.models.base import Prediction
from dale.models.cholesky import CholeskyFactor
from dale.models.gaussian_process import GaussianProcess

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


def log_leave_one_out_density(model: GaussianProcess) -> float:
    """Sum of the log densities of the observations under their leave-one-out predictions."""
    mean, std = leave_one_out(model)
    z = (model.values - mean) / std
    return float(-0.5 * np.sum(z**2 + np.log(2 * math.pi * std**2)))


def _inverse_diagonal(factor: CholeskyFactor) -> np.ndarray:
    """Diagonal of (L L')^-1, (n,)."""
    return np.asarray(np.sum(factor.solve_lower(np.eye(len(factor))) ** 2, axis=0))
