"""The quadratic kernel (eq. 19): k_q(a, b) = (a'b + 1)^2, a prior over quadratic functions.

It is the covariance of phi(x)'w with w ~ N(0, I) and N_U = 1 + d + d (d + 1) / 2 features

    phi(x) = (1, sqrt(2) x_i, x_i^2, sqrt(2) x_i x_j for i < j),

so its Gram matrix has rank N_U at most: with more points it is singular, and the posterior is computed in weight space
(``models/mixed_global_local.py``).
"""

import math
from dataclasses import dataclass

import numpy as np

from dale._arrays import Matrix, Vector


@dataclass(frozen=True)
class Quadratic:
    """k_q of eq. 19; it has no parameters.

    Examples:
        >>> Quadratic()(np.array([[1.0, 2.0]]), np.array([[0.5, 0.0]]))
        array([[2.25]])
    """

    def __call__(self, A: Matrix, B: Matrix) -> Matrix:
        """Covariances (m, n)."""
        return np.square(A @ B.T + 1)

    def diagonal(self, A: Matrix) -> Vector:
        """``(|x|^2 + 1)^2``, (m,)."""
        return np.square(np.sum(A**2, axis=1) + 1)


def quadratic_features(A: Matrix) -> Matrix:
    """phi at points A (m, d): (m, N_U), with phi(x)'phi(x') = k_q(x, x')."""
    rows, columns = np.triu_indices(A.shape[1])
    products = A[:, rows] * A[:, columns] * np.where(rows == columns, 1.0, math.sqrt(2))
    return np.hstack([np.ones((len(A), 1)), math.sqrt(2) * A, products])
