"""The best points of log EI on a box, for any model that tells its beliefs with their derivatives."""

from __future__ import annotations

import math
from typing import NamedTuple, Protocol

import numpy as np

from dale._arrays import Vector
from dale.models.base import PredictionDerivatives
from dale.optim.projected_newton import FunctionValues

LOG_SQRT_2PI = 0.5 * math.log(2 * math.pi)
TINY = float(np.finfo(float).tiny)
FARTHEST = 1e150  # |u| beyond this overflows when it is squared


def chain_rule(beliefs: PredictionDerivatives, promise: Acquisition, bends: Curvature) -> FunctionValues:
    """Minus a function of mean and std, with its derivatives by the coordinates."""
    m, s = beliefs.mean_gradient, beliefs.std_gradient
    (value, by_mean, by_std), (twice, both, std_twice) = promise, bends
    with np.errstate(invalid="ignore", over="ignore"):
        gradient = by_mean[:, None] * m + by_std[:, None] * s
        along = twice[:, None] * m + both[:, None] * s
        across = both[:, None] * m + std_twice[:, None] * s
        hessian = (
            by_mean[:, None, None] * beliefs.mean_hessian
            + by_std[:, None, None] * beliefs.std_hessian
            + along[:, :, None] * m[:, None, :]
            + across[:, :, None] * s[:, None, :]
        )
    usable = np.isfinite(hessian).all(axis=(1, 2))
    return FunctionValues(
        np.where(usable & np.isfinite(gradient).all(axis=1), -value, np.nan),
        -gradient,
        np.where(usable[:, None, None], -hessian, 0.0),
    )


class Acquisition(NamedTuple):
    """Values and partial derivatives by mean and std, all of the shape of the arguments."""

    value: Vector
    by_mean: Vector
    by_std: Vector


class Curvature(NamedTuple):
    """Second partial derivatives, all of the shape of the arguments."""

    by_mean_twice: Vector
    by_both: Vector
    by_std_twice: Vector


class AcquisitionFunction(Protocol):
    """A function of mean, std and best."""

    def __call__(self, mean: Vector, std: Vector, best: float) -> Acquisition:
        """The promise, larger is better."""
        ...


def _standardized_gain(gain: Vector, std: Vector) -> tuple[np.ndarray, Vector, Vector]:
    """Where the outcome is certain, stds without 0, and u = gain / std, kept where its square is finite.

    A std that is nothing beside a gain is none: u beyond the largest float would lose the gain.
    """
    with np.errstate(over="ignore"):
        sure = (std <= 0) | (gain > FARTHEST * std)
        safe = np.where(sure, 1.0, std)
        return sure, safe, np.clip(gain / safe, -FARTHEST, FARTHEST)
