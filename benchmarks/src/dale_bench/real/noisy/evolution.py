"""Settings of a small evolution strategy: its first step size, how fast the step size adapts, and its population.

The strategy, (mu/mu, lambda) with self-adaptation of the step size, minimises an ellipsoid in five dimensions with
condition 100 from a random start, with 240 evaluations. Value: log10 of the best value that it finds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dale.space.float import Float
from dale.space.int import Int
from dale.space.space import Space
from dale_bench.real.problem import Real

DIMENSION, EVALUATIONS = 5, 240
WEIGHTS = 10.0 ** np.linspace(0, 2, DIMENSION)
FLOOR = 1e-12

SPACE = Space(
    step=Float(1e-3, 1e1, log=True),
    adaptation=Float(1e-2, 3.0, log=True),
    population=Int(4, 60, log=True),
    selected=(0.1, 0.9),
)


def value(params: Mapping[str, Any], rng: np.random.Generator) -> float:
    """Log10 of the best value of one run of the strategy."""
    n = params["population"]
    parents = max(int(params["selected"] * n), 1)
    mean, step, best = rng.uniform(-2.0, 2.0, DIMENSION), params["step"], np.inf
    for _ in range(EVALUATIONS // n):
        steps = step * np.exp(params["adaptation"] * rng.standard_normal(n))
        points = mean + steps[:, None] * rng.standard_normal((n, DIMENSION))
        values = points**2 @ WEIGHTS
        chosen = np.argsort(values)[:parents]
        best = min(best, values[chosen[0]])
        mean = points[chosen].mean(axis=0)
        step = np.exp(np.log(steps[chosen]).mean())
    return float(np.log10(max(best, FLOOR)))


PROBLEM = Real("evolution", SPACE, 60, "settings of an evolution strategy; log10 of its result", value, 1000)
