"""Ellipsoids in the unit cube: the regions of local models, and the coordinates that these use.

An ellipsoid with center c, radius D and shape S (d, d), a matrix of determinant 1, is the set of x with |z| <= 1, where

    z = S^-1 (x - c) / D,   x = c + D S z.

Without a shape, S = I, it is a ball. The nearest-neighbour ball of Alg. 3 is not defined in the paper: ours has the
point whose neighbours were taken as its center and reaches to the farthest of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import minimize_scalar

from dale._arrays import Matrix, Vector

RTOL = 1e-14  # the neighbour that defines the radius of a ball lies in it, whatever the rounding error of its distance


@dataclass(frozen=True, eq=False)
class Ellipsoid:
    """All points x with ``|z| <= 1``.

    Attributes:
        center: c, (d,).
        radius: D.
        shape: S, (d, d), invertible; None for a ball.

    Examples:
        >>> ball = Ellipsoid(np.array([0.5, 0.5]), 0.1)
        >>> ball.contains(np.array([[0.55, 0.5], [0.7, 0.5]]))
        array([ True, False])
    """

    center: Vector
    radius: float
    shape: Matrix | None = None

    @cached_property
    def _inverse_shape(self) -> Matrix | None:
        return None if self.shape is None else np.asarray(np.linalg.inv(self.shape), dtype=float)

    def to_local(self, X: Matrix) -> Matrix:
        """z of points (..., d) of the cube."""
        Z = (X - self.center) / self.radius
        return Z if self._inverse_shape is None else Z @ self._inverse_shape.T

    def nearest_first(self, X: Matrix) -> np.ndarray:
        """Rows of points (n, d) of the cube by their distance from the center, (n,)."""
        return np.argsort(np.linalg.norm(self.to_local(X), axis=1), kind="stable")

    def to_cube(self, Z: Matrix) -> Matrix:
        """x of local coordinates (..., d)."""
        return self.center + self.radius * (Z if self.shape is None else Z @ self.shape.T)

    def hessian_to_cube(self, hessian: Matrix) -> Matrix:
        """The second derivatives by x, S^-T H S^-1 / D^2, of those by z, H (d, d)."""
        inverse = np.eye(len(self.center)) if self._inverse_shape is None else self._inverse_shape
        return np.asarray(inverse.T @ hessian @ inverse / self.radius**2)

    @property
    def reach(self) -> float:
        """Half the side of the box in local coordinates that contains every step within the cube."""
        norm = 1.0 if self._inverse_shape is None else float(np.max(np.sum(np.abs(self._inverse_shape), axis=1)))
        return norm / self.radius

    def contains(self, X: Matrix) -> np.ndarray:
        """Which of the points (..., d) are inside."""
        if self.shape is None:
            return np.asarray(np.linalg.norm(X - self.center, axis=-1) <= (1 + RTOL) * self.radius)
        return np.asarray(np.linalg.norm(self.to_local(X), axis=-1) <= 1 + RTOL)

    def distance(self, X: Matrix) -> Vector:
        """Distance of points (..., d) to the set; 0 inside. Of a shaped ellipsoid, a lower bound of the distance.

        The bound is ``D s (|z| - 1)`` with s the smallest singular value of S: a step of norm h changes z by at most
        h / (D s).
        """
        if self.shape is None:
            return np.maximum(np.linalg.norm(X - self.center, axis=-1) - self.radius, 0.0)
        smallest = float(np.linalg.svd(self.shape, compute_uv=False)[-1])
        return self.radius * smallest * np.maximum(np.linalg.norm(self.to_local(X), axis=-1) - 1, 0.0)

    def overlaps(self, other: Ellipsoid) -> bool:
        """Whether the two sets have a point in common. Of shaped ellipsoids: False only if they have none.

        Two balls are compared exactly. Otherwise K(t) < 0 for some t in (0, 1) proves that the sets are disjoint:

            K(t) = 1 - v' (P / (1 - t) + Q / t)^-1 v,   P = D^2 S S',   Q the same of the other,   v = c - other's c.

        K is convex, so the search for its minimum fails only for sets that almost touch. Reference: Gilitschenski &
        Hanebeck, "A Robust Computational Test for Overlap of Two Arbitrary-dimensional Ellipsoids", FUSION 2012.
        """
        v = self.center - other.center
        if self.shape is None and other.shape is None:
            return bool(np.linalg.norm(v) <= self.radius + other.radius)
        P, Q = self._covariance, other._covariance

        def K(t: float) -> float:
            return 1 - float(v @ np.linalg.solve(P / (1 - t) + Q / t, v))

        return bool(minimize_scalar(K, bounds=(0.0, 1.0), method="bounded", options={"xatol": 1e-9}).fun >= 0)

    @property
    def _covariance(self) -> Matrix:
        """D^2 S S'."""
        S = np.eye(len(self.center)) if self.shape is None else self.shape
        return self.radius**2 * S @ S.T
