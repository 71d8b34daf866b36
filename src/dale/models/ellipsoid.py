"""A closed ball in the unit cube."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dale._arrays import Vector

SLACK = 1e-14  # relative; the neighbour that gave a ball its radius is in it, however its distance was summed up


@dataclass(frozen=True, eq=False)
class Ball:
    """All points no farther than ``radius`` from ``center`` (d,).

    The paper speaks of a nearest-neighbour ball without defining it; ours has the point whose neighbours were taken as
    its center and reaches to the farthest of them.
    """

    center: Vector
    radius: float

    def distance(self, points: Vector) -> Vector:
        """How far points (..., d) are from the ball; 0 inside."""
        return np.maximum(np.linalg.norm(points - self.center, axis=-1) - self.radius, 0.0)

    def contains(self, points: Vector) -> np.ndarray:
        """Which of the points (..., d) are in the ball."""
        return np.asarray(np.linalg.norm(points - self.center, axis=-1) <= (1 + SLACK) * self.radius)

    def overlaps(self, other: Ball) -> bool:
        """Whether the two closed balls have a point in common."""
        return bool(np.linalg.norm(self.center - other.center) <= self.radius + other.radius)
