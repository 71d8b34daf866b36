"""What models predict, and what every model offers.

Shapes: m points in d dimensions; mean and std (m,), gradients (m, d), Hessians (m, d, d).
"""

from __future__ import annotations

from typing import NamedTuple, Protocol, Self

import numpy as np

from dale._arrays import Matrix, Vector


class Prediction(NamedTuple):
    """Mean and standard deviation at m points, each (m,)."""

    mean: Vector
    std: Vector


class PredictionGradient(NamedTuple):
    """Mean and standard deviation at one point, with their gradients (d,)."""

    mean: float
    std: float
    mean_gradient: Vector
    std_gradient: Vector


class PredictionDerivatives(NamedTuple):
    """Mean and standard deviation at m points, with their gradients and Hessians."""

    mean: Vector
    std: Vector
    mean_gradient: Matrix
    std_gradient: Matrix
    mean_hessian: np.ndarray
    std_hessian: np.ndarray


class Model(Protocol):
    """A probabilistic model of a function, given observations.

    ``GaussianProcess`` takes points of the unit cube. ``TaylorModel`` takes points in the coordinates of its region and
    predicts differences to the value at the center.
    """

    def predict(self, X: Matrix, /) -> Prediction:
        """Mean and std at points X (m, d)."""
        ...

    def derivatives(self, X: Matrix, /) -> PredictionDerivatives:
        """Mean and std at points X (m, d), with first and second derivatives."""
        ...

    def condition(self, X: Matrix, y: Vector, /) -> Self:
        """A new model with more observations X (k, d), y (k,), such as fantasies at pending points."""
        ...


def std_with_derivatives(variance: Vector, gradient: Matrix, hessian: np.ndarray) -> tuple[Vector, Matrix, np.ndarray]:
    """The square root of a variance q with its derivatives, from HALF of those of q: q' / s and (q'' - s' s'^T) / s.

    Where the variance is 0 the root has a kink: its derivatives are 0.
    """
    std = np.sqrt(np.maximum(variance, 0.0))
    inverse = np.divide(1.0, std, out=np.zeros_like(std), where=std > 0)
    std_gradient = gradient * inverse[:, None]
    std_hessian = hessian - std_gradient[:, :, None] * std_gradient[:, None, :]
    return std, std_gradient, std_hessian * inverse[:, None, None]
