"""The best points of log EI on a box, for any model that tells its beliefs with their derivatives."""

from __future__ import annotations

import math
from typing import NamedTuple, Protocol

import numpy as np

from dale._arrays import Vector
from dale.models.base import Beliefs
from dale.optim.projected_newton import Surface

LOG_SQRT_2PI = 0.5 * math.log(2 * math.pi)
TINY = float(np.finfo(float).tiny)
FARTHEST = 1e150  # |u| beyond this overflows when it is squared


def by_chain_rule(beliefs: Beliefs, promise: Acquisition, bends: Curvature) -> Surface:
    """Minus a function of mean and spread, with its derivatives by the coordinates."""
    m, s = beliefs.mean_slope, beliefs.spread_slope
    (value, by_mean, by_spread), (twice, both, spread_twice) = promise, bends
    with np.errstate(invalid="ignore", over="ignore"):
        slope = by_mean[:, None] * m + by_spread[:, None] * s
        along = twice[:, None] * m + both[:, None] * s
        across = both[:, None] * m + spread_twice[:, None] * s
        curvature = (
            by_mean[:, None, None] * beliefs.mean_curvature
            + by_spread[:, None, None] * beliefs.spread_curvature
            + along[:, :, None] * m[:, None, :]
            + across[:, :, None] * s[:, None, :]
        )
    usable = np.isfinite(curvature).all(axis=(1, 2))
    return Surface(
        np.where(usable & np.isfinite(slope).all(axis=1), -value, np.nan),
        -slope,
        np.where(usable[:, None, None], -curvature, 0.0),
    )


class Acquisition(NamedTuple):
    """Values and partial derivatives by mean and spread, all of the shape of the arguments."""

    value: Vector
    by_mean: Vector
    by_spread: Vector


class Curvature(NamedTuple):
    """Second partial derivatives, all of the shape of the arguments."""

    by_mean_twice: Vector
    by_both: Vector
    by_spread_twice: Vector


class AcquisitionFunction(Protocol):
    """A function of mean, spread and best."""

    def __call__(self, mean: Vector, spread: Vector, best: float) -> Acquisition:
        """The promise, larger is better."""
        ...


def _in_spreads(gain: Vector, spread: Vector) -> tuple[np.ndarray, Vector, Vector]:
    """Where the outcome is certain, spreads without 0, and u = gain / spread, kept where its square is finite.

    A spread that is nothing beside a gain is none: u beyond the largest float would lose the gain.
    """
    with np.errstate(over="ignore"):
        sure = (spread <= 0) | (gain > FARTHEST * spread)
        safe = np.where(sure, 1.0, spread)
        return sure, safe, np.clip(gain / safe, -FARTHEST, FARTHEST)
