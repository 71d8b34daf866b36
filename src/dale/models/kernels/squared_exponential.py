"""The squared-exponential kernel (eq. 6): k(x, x') = exp(-|x - x'|^2 / (2 l^2))."""

from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist

from dale._arrays import Matrix, Vector
from dale.models.kernels.base import LengthScale, check_length_scale, scaled


@dataclass(frozen=True)
class SquaredExponential:
    """Correlation of eq. 6; the model holds sigma_f^2.

    Attributes:
        length_scale: One for all dimensions, or a tuple with one for each.

    Examples:
        >>> SquaredExponential(0.5)(np.zeros((1, 2)), np.array([[0.0, 0.0], [0.5, 0.0]])).round(4)
        array([[1.    , 0.6065]])
    """

    length_scale: LengthScale

    def __post_init__(self) -> None:
        check_length_scale(self.length_scale)

    def __call__(self, A: Matrix, B: Matrix) -> Matrix:
        """Correlations (m, n)."""
        return np.exp(-0.5 * cdist(scaled(A, self.length_scale), scaled(B, self.length_scale), "sqeuclidean"))

    def diagonal(self, A: Matrix) -> Vector:
        """Ones (m,)."""
        return np.ones(len(A))

    def gradient(self, x: Vector, B: Matrix, k: Vector) -> Matrix:
        """-k (x - b) / l^2, (n, d)."""
        return -k[:, None] * (x - B) / np.square(self.length_scale)

    def gradients(self, A: Matrix, B: Matrix, k: Matrix) -> np.ndarray:
        """``gradient`` at points A (m, d), given k (m, n): (m, n, d)."""
        return -k[:, :, None] * self._steps(A, B)

    def hessians(self, A: Matrix, B: Matrix, k: Matrix, weights: Matrix) -> np.ndarray:
        """Sum of w k ((a - b) (a - b)' / l^4 - I / l^2), (m, d, d)."""
        steps, w = self._steps(A, B), weights * k
        identity = np.eye(A.shape[1]) / np.square(self.length_scale)
        return np.asarray(
            (steps * w[:, :, None]).transpose(0, 2, 1) @ steps - np.sum(w, axis=1)[:, None, None] * identity
        )

    def _steps(self, A: Matrix, B: Matrix) -> np.ndarray:
        return (A[:, None, :] - B) / np.square(self.length_scale)
