"""The box of a problem: its own bounds, and an interval around the standard start where there is none.

An interval around the start x_0 has the length 10 max(1, |x_0|). The start divides it at a fraction t between 1/4 and
3/4, drawn for each variable from a generator whose seed is the name of the problem. Neither the start nor a minimiser
near it is therefore at the center of the box, where some solvers begin. A variable with one finite bound keeps it, and
the other end of the interval is that of the rule.
"""

from __future__ import annotations

import numpy as np

from dale._arrays import Vector
from dale_bench.functions.function import stream

LENGTH = 10.0  # of an interval, relative to max(1, |x_0|)
FRACTIONS = 0.25, 0.75  # where the start may divide an interval
SEED = 0


def box_of(name: str, start: Vector, low: Vector, high: Vector) -> tuple[Vector, Vector]:
    """The box of a problem.

    Args:
        name: The name of the problem, which determines the fractions.
        start: The standard start x_0 (d,); outside the bounds, the nearest point inside counts.
        low: Lower bounds (d,), minus infinity where there is none.
        high: Upper bounds (d,), infinity where there is none.
    """
    inside = np.clip(start, low, high)
    length = LENGTH * np.maximum(1.0, np.abs(inside))
    t = stream(SEED, name).uniform(*FRACTIONS, size=len(inside))
    below, above = inside - t * length, inside + (1.0 - t) * length
    return np.where(np.isfinite(low), low, below), np.where(np.isfinite(high), high, above)
