"""Transforms of outcomes, with their inverses: what models see in place of the values of the objective."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dale._arrays import Matrix, Vector

MIN_SKEWNESS = 5.0  # ratio of (highest - median) to (median - lowest) above which values are log-transformed
MAX_EXPONENT = 700.0  # exp of more overflows


@dataclass(frozen=True)
class Standardize:
    """z = ((y - lowest) / width - mean) / std: values with mean 0 and std 1, so that y -> a y + b changes no search.

    In two steps because one is not safe: the variance of values around 1e-310 or 1e200 underflows or overflows, that of
    values between 0 and 1 does not. Halves are used because the width itself may overflow.
    """

    lowest: float
    half_width: float
    mean: float
    std: float

    @classmethod
    def of(cls, y: Vector) -> Standardize:
        """From finite values (n,), at least one.

        Examples:
            >>> standardize = Standardize.of(np.array([1.0, 3.0]))
            >>> standardize(np.array([1.0, 3.0])), standardize.inverse(1.0)
            (array([-1.,  1.]), 3.0)
        """
        lowest = float(np.min(y))
        half_width = float(np.max(y)) / 2 - lowest / 2
        if half_width == 0:
            half_width = float(np.max(y)) - lowest  # half of the smallest float is 0
        if half_width == 0:
            return cls(lowest, 1.0, 0.0, 1.0)
        t = (y / 2 - lowest / 2) / half_width
        return cls(lowest, half_width, float(np.mean(t)), float(np.std(t)) or 1.0)

    def __call__(self, y: Vector) -> Vector:
        """Standardised values."""
        return ((y / 2 - self.lowest / 2) / self.half_width - self.mean) / self.std

    def above_lowest(self, y: Vector) -> Vector:
        """Standardised values minus that of the lowest: close to it they keep digits that ``__call__`` loses."""
        return (y / 2 - self.lowest / 2) / self.half_width / self.std

    @property
    def resolution_at_lowest(self) -> float:
        """Rounding error of values near the lowest, standardised."""
        return float(np.finfo(float).eps) * (abs(self.lowest) / 2 / self.half_width) / self.std

    @property
    def resolution(self) -> float:
        """Rounding error of the values, standardised: large where they vary little around a large value."""
        largest = max(abs(self.lowest) / 2, abs(self.lowest / 2 + self.half_width))
        return float(np.finfo(float).eps) * (largest / self.half_width) / self.std

    def inverse(self, z: float) -> float:
        """The value y of a standardised one."""
        return self.lowest + 2 * (z * self.std + self.mean) * self.half_width

    @property
    def log_scale(self) -> float:
        """Logarithm of ``inverse_scale(1.0)``, which may overflow or underflow."""
        return math.log(2) + math.log(self.std) + math.log(self.half_width)

    def inverse_scale(self, z: float) -> float:
        """The difference of values of a difference of standardised ones."""
        return 2 * z * self.std * self.half_width


@dataclass(frozen=True)
class Log1p:
    """v = log(1 + (z - lowest) / scale): compresses values that extend far above their median.

    Attributes:
        lowest: The value that becomes 0.
        scale: Distance above it from which values are compressed.

    Examples:
        >>> Log1p(lowest=1.0, scale=2.0)(np.array([1.0, 1.0 + 2.0 * np.expm1(3.0)]))
        array([0., 3.])
    """

    lowest: float
    scale: float

    def __call__(self, z: Vector) -> Vector:
        """v of values z >= lowest."""
        return np.log1p((z - self.lowest) / self.scale)

    def inverse(self, v: float) -> float:
        """z of a transformed value."""
        return self.lowest + self.scale * math.expm1(min(v, MAX_EXPONENT))

    def inverse_slope(self, v: float) -> float:
        """dz / dv at a transformed value."""
        return self.scale * math.exp(min(v, MAX_EXPONENT))

    def inverse_slopes(self, z: Vector) -> Vector:
        """The same at values z (n,) before the transform; below the lowest one, that of the lowest."""
        return np.maximum(self.scale + z - self.lowest, self.scale)


def skewness_transform(z: Vector) -> Log1p | None:
    """The transform of values (n,) that extend much farther above their median than below it; None if they do not."""
    lowest, median, highest = float(np.min(z)), float(np.median(z)), float(np.max(z))
    return Log1p(lowest, median - lowest) if highest - median > MIN_SKEWNESS * (median - lowest) > 0 else None


@dataclass(frozen=True, eq=False)
class Asinh:
    """v = asinh(c / scale): keeps the sign, and compresses values far from 0, such as those of a constraint.

    Attributes:
        scales: One for each column, (q,): the median size, so that outliers do not matter.

    Examples:
        >>> Asinh.of(np.array([[-2.0], [0.0], [2.0]]))(np.array([[2.0 * np.sinh(1.0)]]))
        array([[1.]])
    """

    scales: Vector

    @classmethod
    def of(cls, values: Matrix) -> Asinh:
        """From values (n, q)."""
        median = np.median(np.abs(values), axis=0)
        largest = np.max(np.abs(values), axis=0)
        return cls(np.where(median > 0, median, np.where(largest > 0, largest, 1.0)))

    def __call__(self, values: Matrix) -> Matrix:
        """v of values (n, q)."""
        return np.arcsinh(values / self.scales)

    def inverse(self, v: Matrix) -> Matrix:
        """Values of transformed ones (n, q)."""
        return self.scales * np.sinh(v)
