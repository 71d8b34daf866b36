"""The maximum of a function on a box, from many starting points.

All starting points are evaluated in one call: quasi-random ones, and some around a center at several distances. From
the best few, L-BFGS-B with analytic gradients searches for the local maxima. A maximum at a forbidden point is dropped,
and another search takes its place. Next to a forbidden set the function may be large without a maximum, so most of the
best starts may lie there; the other searches begin at starts that are better than all others near them.

Examples:
    >>> starts = starting_points(np.random.default_rng(0), Box.unit(1))
    >>> found = maximize(lambda A: -((A[:, 0] - 0.3) ** 2), lambda x: (-((x[0] - 0.3) ** 2), -2 * (x - 0.3)),
    ...                  starts, Box.unit(1))
    >>> found.x.round(6)
    array([0.3])
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.spatial import cKDTree

from dale._arrays import Matrix, Vector
from dale.optim.sampling import sobol

SOBOL_POWER = 9  # 2^9 quasi-random points
NEAR_POINTS = 64  # around the center
NEAR_DISTANCES = (0.2, 0.05, 0.01)  # standard deviations, in sides of the box
N_STARTS = 4  # points from which local maxima are searched
MAX_OTHERS = 32  # searches in place of those that end at a forbidden point
MAX_STEPS = 60  # of each search
NOT_FINITE = 1e300  # in place of minus a value that is not finite: L-BFGS-B needs finite ones


class Maximum(NamedTuple):
    """A point (d,) and the value there."""

    x: Vector
    value: float


class Box(NamedTuple):
    """All x with low <= x <= high, each (d,)."""

    low: Vector
    high: Vector

    @classmethod
    def unit(cls, dimension: int) -> Box:
        """The unit cube."""
        return cls(np.zeros(dimension), np.ones(dimension))


def starting_points(rng: np.random.Generator, box: Box, center: Vector | None = None) -> Matrix:
    """Points (m, d) of the box: a Sobol net with a random shift, and normal ones around the center."""
    side, dimension = box.high - box.low, len(box.low)
    net = box.low + side * ((sobol(dimension, SOBOL_POWER) + rng.random(dimension)) % 1.0)
    if center is None:
        return net
    distance = np.resize(NEAR_DISTANCES, NEAR_POINTS)[:, None] * side
    near = center + distance * rng.standard_normal((NEAR_POINTS, dimension))
    return np.vstack([net, np.clip(near, box.low, box.high)])


def maximize(
    values: Callable[[Matrix], Vector],
    value_and_gradient: Callable[[Vector], tuple[float, Vector]],
    starts: Matrix,
    box: Box,
    allowed: Callable[[Matrix], np.ndarray] | None = None,
) -> Maximum | None:
    """The largest local maximum on a box.

    Args:
        values: The function at points (m, d).
        value_and_gradient: The function and its gradient (d,) at one point.
        starts: Starting points, (m, d).
        box: Where the point must lie.
        allowed: Which of points (m, d) may be returned.

    Returns:
        The best maximum found at an allowed point; the best start if there is none; None if no start is allowed and has
        a value.
    """
    if allowed is not None:
        starts = starts[allowed(starts)]
    start_values = values(starts) if len(starts) else np.empty(0)
    order = np.argsort(-start_values, kind="stable")
    order = order[start_values[order] > -np.inf]
    starts, start_values = starts[order], start_values[order]  # best first
    if len(starts) == 0:
        return None

    def negative(x: Vector) -> tuple[float, Vector]:
        value, gradient = value_and_gradient(x)
        if not np.isfinite(value):  # without a gradient, so that the search ends here
            return NOT_FINITE, np.zeros_like(x)
        return -value, -gradient

    def maxima(indices: Iterable[int]) -> Iterator[Maximum]:
        """Those at allowed points, from one start after the other."""
        for i in indices:
            found = minimize(
                negative,
                starts[i],
                jac=True,
                method="L-BFGS-B",
                bounds=list(zip(*box, strict=True)),
                options={"maxiter": MAX_STEPS, "ftol": 1e-15, "gtol": 1e-9},
            )
            better = -found.fun > start_values[i]
            end = Maximum(found.x, -float(found.fun)) if better else Maximum(starts[i], float(start_values[i]))
            if allowed is None or allowed(end.x[None, :])[0]:
                yield end

    ends = list(maxima(range(min(N_STARTS, len(starts)))))
    if len(ends) < min(N_STARTS, len(starts)):
        others = [i for i in _peaks(starts) if i >= N_STARTS][:MAX_OTHERS]
        ends += itertools.islice(maxima(others), N_STARTS - len(ends))
    return max(ends, key=lambda end: end.value, default=Maximum(starts[0], float(start_values[0])))


def _peaks(starts: Matrix) -> np.ndarray:
    """Which starts (m, d), best first, are better than all others near them: indices."""
    n_near = min(2 * starts.shape[1] + 1, len(starts))  # with the start itself
    _, near = cKDTree(starts).query(starts, range(1, n_near + 1))
    return np.flatnonzero(np.min(near, axis=1) == np.arange(len(starts)))
