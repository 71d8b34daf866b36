"""The squared-exponential kernel (eq. 6): k(x, x') = exp(-|x - x'|^2 / (2 l^2))."""

from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist

from dale.arrays import Matrix, Vector
from dale.kernels.kernel import LengthScale, check_length_scale, scaled


@dataclass(frozen=True)
class SquaredExponential:
    """Correlation of eq. 6; sigma_f^2 is the model's. One length-scale, or a tuple with one for each dimension."""

    length_scale: LengthScale

    def __post_init__(self) -> None:
        check_length_scale(self.length_scale)

    def __call__(self, A: Matrix, B: Matrix) -> Matrix:
        """Correlations (m, n)."""
        return np.exp(-0.5 * cdist(scaled(A, self.length_scale), scaled(B, self.length_scale), "sqeuclidean"))

    def diagonal(self, A: Matrix) -> Vector:
        """Ones (m,)."""
        return np.ones(len(A))

    def slope(self, x: Vector, B: Matrix, k: Vector) -> Matrix:
        """-k (x - b) / l^2, (n, d)."""
        return -k[:, None] * (x - B) / np.square(self.length_scale)
