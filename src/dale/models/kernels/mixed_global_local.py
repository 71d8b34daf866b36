"""The Mixed-Global-Local kernel (Def. 2, eq. 18).

    k_MGL(x, x') = k_q(x, x')             both in the same region U_i
                   sigma_f^2 k_s(x, x')   both outside all regions
                   0                      otherwise

As a matrix it is block diagonal once the points are sorted by region, so the posterior falls apart into one model for
each region and one for the outside: ``MixedGlobalLocalPosterior`` (``models/mixed_global_local.py``), which the paper's
method uses, too. This dense form is the definition, against which the tests compare the decoupled one.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dale._arrays import Matrix, Vector
from dale.models.ellipsoid import Ellipsoid
from dale.models.kernels.base import StationaryKernel
from dale.models.kernels.quadratic import Quadratic


def region_of(balls: Sequence[Ellipsoid], A: Matrix) -> np.ndarray:
    """Number of the ball each point (m, d) is in; -1 outside all of them."""
    number = np.full(len(A), -1)
    for i, ball in enumerate(balls):
        number[ball.contains(A)] = i
    return number


@dataclass(frozen=True, eq=False)
class MixedGlobalLocal:
    """k_MGL for pairwise disjoint balls.

    Attributes:
        outside: k_s, a correlation function.
        balls: The regions U_i.
        variance: sigma_f^2 of the outside.

    Examples:
        >>> from dale.models.kernels.squared_exponential import SquaredExponential
        >>> kernel = MixedGlobalLocal(SquaredExponential(0.3), (Ellipsoid(np.array([0.2]), 0.1),))
        >>> kernel(np.array([[0.2], [0.7]]), np.array([[0.7]])).round(3)
        array([[0.],
               [1.]])
    """

    outside: StationaryKernel
    balls: tuple[Ellipsoid, ...]
    variance: float = 1.0

    def __post_init__(self) -> None:
        for i, ball in enumerate(self.balls):
            if any(ball.overlaps(other) for other in self.balls[:i]):
                raise ValueError(f"balls: expected pairwise disjoint regions, but region {i} overlaps an earlier one")

    def region_of(self, A: Matrix) -> np.ndarray:
        """Number of the region each point (m, d) is in; -1 outside."""
        return region_of(self.balls, A)

    def __call__(self, A: Matrix, B: Matrix) -> Matrix:
        """Covariances (m, n)."""
        in_a, in_b = self.region_of(A), self.region_of(B)
        same = in_a[:, None] == in_b[None, :]
        both_outside = same & (in_a[:, None] == -1)
        local = np.where(same, Quadratic()(A, B), 0.0)
        return np.where(both_outside, self.variance * self.outside(A, B), local)

    def diagonal(self, A: Matrix) -> Vector:
        """k(x, x), (m,)."""
        return np.where(self.region_of(A) == -1, self.variance, Quadratic().diagonal(A))
