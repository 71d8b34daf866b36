"""Values with mean 0 and standard deviation 1: y -> a y + b must not change the search."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dale._arrays import Vector


@dataclass(frozen=True)
class Standardize:
    """z = ((y - lowest) / width - mean) / std, and back.

    In two steps because one is not safe: the variance of values around 1e-310 or 1e200 underflows or overflows, that of
    values between 0 and 1 does not. Halves are taken because the width itself may overflow.
    """

    lowest: float
    half_width: float
    mean: float
    std: float

    @classmethod
    def of(cls, y: Vector) -> Standardize:
        """From finite values (n,), at least one."""
        lowest = float(np.min(y))
        half_width = float(np.max(y)) / 2 - lowest / 2
        if half_width == 0:
            half_width = float(np.max(y)) - lowest  # the half of the least float is 0
        if half_width == 0:
            return cls(lowest, 1.0, 0.0, 1.0)
        t = (y / 2 - lowest / 2) / half_width
        return cls(lowest, half_width, float(np.mean(t)), float(np.std(t)) or 1.0)

    def __call__(self, y: Vector) -> Vector:
        """Standardised values."""
        return ((y / 2 - self.lowest / 2) / self.half_width - self.mean) / self.std

    def above_lowest(self, y: Vector) -> Vector:
        """Standardised values less that of the lowest: near it they keep digits that ``__call__`` has no room for."""
        return (y / 2 - self.lowest / 2) / self.half_width / self.std

    @property
    def resolution_at_lowest(self) -> float:
        """Rounding error of values near the lowest, standardised."""
        return float(np.finfo(float).eps) * (abs(self.lowest) / 2 / self.half_width) / self.std

    @property
    def resolution(self) -> float:
        """Rounding error of the values, standardised: large where a small variation sits on a large level."""
        largest = max(abs(self.lowest) / 2, abs(self.lowest / 2 + self.half_width))
        return float(np.finfo(float).eps) * (largest / self.half_width) / self.std

    def inverse(self, z: float) -> float:
        """The value that a standardised one stands for."""
        return self.lowest + 2 * (z * self.std + self.mean) * self.half_width

    def inverse_scale(self, z: float) -> float:
        """A difference of values."""
        return 2 * z * self.std * self.half_width
