"""What one more noisy evaluation can teach about the mean, and about which point has the lowest mean.

With the std s of the model and the std e of the noise, one more evaluation changes the mean by a normal variable of
std t = s^2 / sqrt(s^2 + e^2): almost s where the noise is small beside it, almost 0 where s is. Replacing s by t
rates an evaluation by what is learned from it, whatever its value. With w = s^2 + e^2,

    t' = s (s^2 + 2 e^2) / w^(3/2),   t'' = e^2 (2 e^2 - s^2) / w^(5/2).

The observation with the lowest mean is recommended in the end. With the means m_j of the observations j and of the
candidate itself, and their covariances c_j with the candidate, an evaluation there changes them by b_j Z, where
b_j = c_j / sqrt(s^2 + e^2) and Z is standard normal. So the expected reduction of the recommended mean, the knowledge
gradient, is

    min_j m_j - E[min_j (m_j + b_j Z)].

Another evaluation of the best observation is worth as much as it may show that another one is better.

Reference: Frazier, Powell & Dayanik, "The Knowledge-Gradient Policy for Correlated Normal Beliefs", INFORMS J. Comput.
2009.
"""

from __future__ import annotations

import numpy as np

from dale._arrays import Matrix, Vector
from dale.models.base import PredictionDerivatives

TINY = float(np.finfo(float).tiny)
N_NODES = 32  # of the Gauss-Hermite quadrature
ROUNDING = 1e-13  # smaller gains, in units of the means, are rounding errors


def std_reduction(std: Vector, noise_std: float) -> Vector:
    """t: how much one more evaluation may change a mean with this std."""
    return std**2 / np.sqrt(np.maximum(std**2 + noise_std**2, TINY))


def log_knowledge_gradient(means: Vector, candidate_means: Vector, changes: Matrix, own_changes: Vector) -> Vector:
    """Logarithm of the expected reduction of the lowest mean, for m candidates; -inf where there is none, (m,).

    Args:
        means: Of the n observations, (n,).
        candidate_means: Of the candidates, (m,).
        changes: b of the observations for each candidate, (m, n).
        own_changes: b of the candidates themselves, (m,).

    Examples:
        >>> log_knowledge_gradient(np.array([0.0]), np.array([0.0]), np.zeros((1, 1)), np.ones(1)).round(1)
        array([-0.9])
    """
    z, weights = np.polynomial.hermite_e.hermegauss(N_NODES)
    lowest, gain = float(np.min(means)), np.zeros(len(candidate_means))
    for node, weight in zip(z, weights / np.sum(weights), strict=True):
        at_node = np.minimum(np.min(means + node * changes, axis=1), candidate_means + node * own_changes)
        gain += weight * (lowest - at_node)
    with np.errstate(divide="ignore"):
        return np.log(np.where(gain > ROUNDING * np.max(np.abs(means), initial=1.0), gain, 0.0))


def with_std_reduction(derivatives: PredictionDerivatives, noise_std: float) -> PredictionDerivatives:
    """The same predictions with t in place of the std."""
    s, e2 = derivatives.std, noise_std**2
    w = np.maximum(s * s + e2, TINY)
    first = s * (s * s + 2 * e2) / w**1.5
    second = e2 * (2 * e2 - s * s) / w**2.5
    outer = derivatives.std_gradient[:, :, None] * derivatives.std_gradient[:, None, :]
    return derivatives._replace(
        std=std_reduction(s, noise_std),
        std_gradient=first[:, None] * derivatives.std_gradient,
        std_hessian=first[:, None, None] * derivatives.std_hessian + second[:, None, None] * outer,
    )
