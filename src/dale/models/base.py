"""What a model believes about the objective at some points: what every model that is climbed on has to tell."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dale._arrays import Matrix, Vector


class PredictionDerivatives(NamedTuple):
    """Mean and standard deviation at m points, each (m,), with gradients (m, d) and second derivatives (m, d, d)."""

    mean: Vector
    std: Vector
    mean_gradient: Matrix
    std_gradient: Matrix
    mean_hessian: np.ndarray
    std_hessian: np.ndarray


def root_of_variance(variance: Vector, gradient: Matrix, hessian: np.ndarray) -> tuple[Vector, Matrix, np.ndarray]:
    """Root of a variance with its derivatives, from HALF of those of the variance: q' / s, (q'' - s' s'^T) / s.

    Where the variance is 0 the root has a kink: no derivatives.
    """
    root = np.sqrt(np.maximum(variance, 0.0))
    inverse = np.divide(1.0, root, out=np.zeros_like(root), where=root > 0)
    root_slope = gradient * inverse[:, None]
    bend = hessian - root_slope[:, :, None] * root_slope[:, None, :]
    return root, root_slope, bend * inverse[:, None, None]


class Prediction(NamedTuple):
    """Mean and standard deviation at m points, each (m,)."""

    mean: Vector
    std: Vector


class PointPrediction(NamedTuple):
    """Mean and standard deviation at one point, with their gradients (d,)."""

    mean: float
    std: float
    mean_gradient: Vector
    std_gradient: Vector
