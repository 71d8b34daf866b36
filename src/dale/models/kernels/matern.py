"""The Matern-5/2 kernel: k = (1 + s + s^2 / 3) exp(-s) with s = sqrt(5) |x - x'| / l, twice differentiable."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist

from dale._arrays import Matrix, Vector
from dale.models.kernels.base import LengthScale, check_length_scale, scaled


@dataclass(frozen=True)
class Matern52:
    """Matern correlation with smoothness 5/2.

    Attributes:
        length_scale: One for all dimensions, or a tuple with one for each.

    Examples:
        >>> Matern52(0.5)(np.zeros((1, 2)), np.array([[0.0, 0.0], [0.5, 0.0]])).round(4)
        array([[1.   , 0.524]])
    """

    length_scale: LengthScale

    def __post_init__(self) -> None:
        check_length_scale(self.length_scale)

    def __call__(self, A: Matrix, B: Matrix) -> Matrix:
        """Correlations (m, n)."""
        s = math.sqrt(5) * cdist(scaled(A, self.length_scale), scaled(B, self.length_scale))
        return (1 + s + s**2 / 3) * np.exp(-s)

    def diagonal(self, A: Matrix) -> Vector:
        """Ones (m,)."""
        return np.ones(len(A))

    def gradient(self, x: Vector, B: Matrix, k: Vector) -> Matrix:
        """-(5/3) (1 + s) exp(-s) (x - b) / l^2, (n, d); smooth at s = 0, because dk/ds has a factor s."""
        step = (x - B) / np.asarray(self.length_scale)
        s = math.sqrt(5) * np.linalg.norm(step, axis=1)
        return -(5 / 3) * ((1 + s) * np.exp(-s))[:, None] * step / np.asarray(self.length_scale)

    def gradients(self, A: Matrix, B: Matrix, k: Matrix) -> np.ndarray:
        """``gradient`` at points A (m, d), given k (m, n): (m, n, d)."""
        rows = [self.gradient(a, B, k_a) for a, k_a in zip(A, k, strict=True)]
        return np.array(rows).reshape(len(A), *B.shape)

    def hessians(self, A: Matrix, B: Matrix, k: Matrix, weights: Matrix) -> np.ndarray:
        """Sum of w (5/3) exp(-s) (5 (a - b) (a - b)' / l^4 - (1 + s) I / l^2), (m, d, d)."""
        l = np.asarray(self.length_scale, dtype=float)
        steps = (A[:, None, :] - B) / l
        s = math.sqrt(5) * np.linalg.norm(steps, axis=2)
        w = (5 / 3) * weights * np.exp(-s)
        steps = steps / l
        identity = np.eye(A.shape[1]) / l**2
        outer = (steps * w[:, :, None]).transpose(0, 2, 1) @ steps
        return np.asarray(5 * outer - np.sum(w * (1 + s), axis=1)[:, None, None] * identity)
