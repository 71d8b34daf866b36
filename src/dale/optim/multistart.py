"""The best point of a function on a box. It knows no model: it gets a function, starting points and bounds.

Many points are looked at in one call (quasi-random ones, and some around a center at several distances); the best few
are climbed from with L-BFGS-B and analytic gradients.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

from dale._arrays import Matrix, Vector
from dale.optim.sampling import sobol

SOBOL_POWER = 9  # 2^9 quasi-random points
NEAR_POINTS = 64  # around the center
NEAR_DISTANCES = (0.2, 0.05, 0.01)  # standard deviations, in sides of the box
CLIMBS = 4
CLIMB_STEPS = 60


class Found(NamedTuple):
    """The best point (d,) and the function there."""

    x: Vector
    value: float


class Box(NamedTuple):
    """All x with lower <= x <= upper, each (d,)."""

    lower: Vector
    upper: Vector

    @classmethod
    def unit(cls, dimension: int) -> Box:
        """The unit cube."""
        return cls(np.zeros(dimension), np.ones(dimension))


def starting_points(rng: np.random.Generator, box: Box, center: Vector | None = None) -> Matrix:
    """Points (m, d) of the box: a randomly shifted Sobol net, and a cloud around the center."""
    side, dimension = box.upper - box.lower, len(box.lower)
    net = box.lower + side * ((sobol(dimension, SOBOL_POWER) + rng.random(dimension)) % 1.0)
    if center is None:
        return net
    distance = np.resize(NEAR_DISTANCES, NEAR_POINTS)[:, None] * side
    cloud = center + distance * rng.standard_normal((NEAR_POINTS, dimension))
    return np.vstack([net, np.clip(cloud, box.lower, box.upper)])


def maximise(
    values: Callable[[Matrix], Vector],
    value_and_gradient: Callable[[Vector], tuple[float, Vector]],
    starts: Matrix,
    box: Box,
    allowed: Callable[[Matrix], np.ndarray] | None = None,
) -> Found | None:
    """Largest value on the box.

    Args:
        values: The function at points (m, d).
        value_and_gradient: The function and its gradient (d,) at one point.
        starts: Where to look first, (m, d).
        box: Where the point must lie.
        allowed: Which of points (m, d) may be returned; a climb that ends elsewhere counts as its start.

    Returns:
        The best point, or None if none of the starts is allowed or has a value.
    """
    if allowed is not None:
        starts = starts[allowed(starts)]
    level = values(starts) if len(starts) else np.empty(0)
    order = np.argsort(-level, kind="stable")[:CLIMBS]
    order = order[level[order] > -np.inf]
    if len(order) == 0:
        return None

    def downhill(x: Vector) -> tuple[float, Vector]:
        value, gradient = value_and_gradient(x)
        if not np.isfinite(value):  # a certain loss: flat, so that the climb ends here
            return 1e300, np.zeros_like(x)
        return -value, -gradient

    bounds = list(zip(*box, strict=True))
    best = Found(starts[order[0]], float(level[order[0]]))
    for i in order:
        found = minimize(
            downhill,
            starts[i],
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            options={"maxiter": CLIMB_STEPS, "ftol": 1e-15, "gtol": 1e-9},
        )
        if -found.fun > best.value and (allowed is None or allowed(found.x[None, :])[0]):
            best = Found(found.x, -float(found.fun))
    return best
