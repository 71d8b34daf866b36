"""Sums of kernels: a trend with ripples on it, and functions that are sums over their coordinates."""

from dataclasses import dataclass

import numpy as np

from dale._arrays import Matrix, Vector
from dale.models.kernels.base import LengthScale, StationaryKernel, check_length_scale


@dataclass(frozen=True)
class AdditiveSquaredExponential:
    """The mean over the coordinates of exp(-(x_i - x'_i)^2 / (2 l^2)): functions that are sums over the coordinates.

    Attributes:
        length_scale: One for all dimensions.

    Examples:
        >>> AdditiveSquaredExponential(0.5)(np.zeros((1, 2)), np.array([[0.5, 0.0]])).round(4)
        array([[0.8033]])
    """

    length_scale: float

    def __post_init__(self) -> None:
        check_length_scale(self.length_scale)

    def __call__(self, A: Matrix, B: Matrix) -> Matrix:
        """Correlations (m, n)."""
        return np.asarray(np.mean(self._terms(A, B), axis=2))

    def diagonal(self, A: Matrix) -> Vector:
        """Ones (m,)."""
        return np.ones(len(A))

    def gradient(self, x: Vector, B: Matrix, k: Vector) -> Matrix:
        """By x, (n, d)."""
        return self.gradients(x[None, :], B, np.empty(0))[0]

    def gradients(self, A: Matrix, B: Matrix, k: Matrix) -> np.ndarray:
        """At points A (m, d): (m, n, d)."""
        d = A.shape[1]
        return np.asarray(-self._terms(A, B) * (A[:, None, :] - B) / (d * self.length_scale**2))

    def hessians(self, A: Matrix, B: Matrix, k: Matrix, weights: Matrix) -> np.ndarray:
        """Diagonal matrices, (m, d, d)."""
        d, l2 = A.shape[1], self.length_scale**2
        steps = A[:, None, :] - B
        second = self._terms(A, B) * (steps**2 / l2 - 1) / (d * l2)
        weights = np.broadcast_to(weights, (len(A), len(B)))
        return np.asarray(np.sum(weights[:, :, None] * second, axis=1)[:, :, None] * np.eye(d))

    def _terms(self, A: Matrix, B: Matrix) -> np.ndarray:
        return np.asarray(np.exp(-0.5 * ((A[:, None, :] - B) / self.length_scale) ** 2))


@dataclass(frozen=True)
class WeightedSum:
    """A sum of kernels with weights that add up to 1.

    Attributes:
        parts: Pairs of a weight and a kernel.
    """

    parts: tuple[tuple[float, StationaryKernel], ...]

    @property
    def length_scale(self) -> LengthScale:
        """That of the last part, the shortest."""
        return self.parts[-1][1].length_scale

    def __call__(self, A: Matrix, B: Matrix) -> Matrix:
        """Correlations (m, n)."""
        return np.asarray(sum(w * k(A, B) for w, k in self.parts))

    def diagonal(self, A: Matrix) -> Vector:
        """Ones (m,)."""
        return np.ones(len(A))

    def gradient(self, x: Vector, B: Matrix, k: Vector) -> Matrix:
        """By x, (n, d)."""
        return np.asarray(sum(w * part.gradient(x, B, part(x[None, :], B)[0]) for w, part in self.parts))

    def gradients(self, A: Matrix, B: Matrix, k: Matrix) -> np.ndarray:
        """At points A (m, d): (m, n, d)."""
        return np.asarray(sum(w * part.gradients(A, B, part(A, B)) for w, part in self.parts))

    def hessians(self, A: Matrix, B: Matrix, k: Matrix, weights: Matrix) -> np.ndarray:
        """Of the weighted sums, (m, d, d)."""
        return np.asarray(sum(w * part.hessians(A, B, part(A, B), weights) for w, part in self.parts))
