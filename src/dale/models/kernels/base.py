"""What every kernel can do, and what the stationary ones share."""

from typing import Protocol

import numpy as np

from dale._arrays import Matrix, Vector

LengthScale = float | tuple[float, ...]  # one for all dimensions, or one for each


class Kernel(Protocol):
    """k(x, x') on points of the unit cube."""

    def __call__(self, A: Matrix, B: Matrix) -> Matrix:
        """Covariances of points A (m, d) with points B (n, d): (m, n)."""
        ...

    def diagonal(self, A: Matrix) -> Vector:
        """k(x, x) at points A (m, d): (m,)."""
        ...


class StationaryKernel(Kernel, Protocol):
    """A correlation function: k(x, x) = 1."""

    @property
    def length_scale(self) -> LengthScale:
        """Distance over which the correlation falls."""
        ...

    def gradient(self, x: Vector, B: Matrix, k: Vector) -> Matrix:
        """d k(x, b_j) / d x for one point x (d,), given k (n,) = k(x, B): (n, d)."""
        ...

    def gradients(self, A: Matrix, B: Matrix, k: Matrix) -> np.ndarray:
        """``gradient`` at points A (m, d), given k (m, n) = k(A, B): (m, n, d)."""
        ...

    def hessians(self, A: Matrix, B: Matrix, k: Matrix, weights: Matrix) -> np.ndarray:
        """Second derivatives of sum_j w_j k(a, b_j) at points A (m, d), weights (n,) or (m, n): (m, d, d)."""
        ...


def scaled(A: Matrix, length_scale: LengthScale) -> Matrix:
    """Points in units of the length-scale."""
    return A / np.asarray(length_scale)


def check_length_scale(length_scale: LengthScale) -> None:
    """Refuse what is no length."""
    if not np.all(np.isfinite(length_scale)) or not np.all(np.asarray(length_scale) > 0):
        raise ValueError(f"a length-scale must be positive and finite, got {length_scale!r}")
