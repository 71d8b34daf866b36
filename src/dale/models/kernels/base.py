"""What every kernel offers, and what stationary kernels share."""

from collections.abc import Callable
from typing import Any, Protocol

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
        """Hessians of sum_j w_j k(a, b_j) at points A (m, d), weights (n,) or (m, n): (m, d, d)."""
        ...


KernelFactory = Callable[[LengthScale], StationaryKernel]  # such as the class SquaredExponential


def scaled(A: Matrix, length_scale: LengthScale) -> Matrix:
    """Points in units of the length-scale."""
    return A / np.asarray(length_scale)


def check_length_scale(length_scale: LengthScale) -> None:
    """Raise an error unless this is a length-scale."""
    if not np.all(np.isfinite(length_scale)) or not np.all(np.asarray(length_scale) > 0):
        raise ValueError(f"length_scale: expected a positive finite number, got {length_scale!r}")


def check_kernel(kernel: Any) -> None:
    """Raise an error unless this makes stationary kernels from length-scales."""
    try:
        made = kernel(1.0)
    except TypeError:
        made = None
    if not all(callable(getattr(made, name, None)) for name in ("gradient", "gradients", "hessians")):
        raise TypeError(
            f"kernel: expected a kernel class such as dale.models.kernels.SquaredExponential, got {kernel!r}"
        )
