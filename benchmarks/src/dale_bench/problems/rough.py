"""Functions whose values are exact, but scatter from point to point, as those of a simulation on a mesh.

Each value is that of a smooth function plus a normal number that is always the same at a point. Its std is a fraction
of the std of the function over its box. The regret is that of the smooth function at the best point.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from dale_bench.functions import get
from dale_bench.functions.function import Noise
from dale_bench.problems.noisy import VARIANT, on_a_box, std_over_box
from dale_bench.problems.problem import Problem

FUNCTIONS = ("branin", "hart3", "levy4", "hart6")
PERCENT = (1, 10)


def build(base: str, percent: int, seed: int) -> Problem:
    """The function of a seed with scatter."""
    function = get(base + VARIANT, seed)
    std, name = percent / 100 * std_over_box(function), f"{base}_rough{percent}"

    def rough(x: Any) -> float:
        return float(function.true(x)) + std * Noise(seed, name).draw(np.asarray(x, dtype=np.float64))

    description = f"{function.name} with scatter of {percent} % of its standard deviation"
    return replace(on_a_box(name, function, description, rough), is_rough=True)


PROBLEMS = {f"{base}_rough{percent}": partial(build, base, percent) for base in FUNCTIONS for percent in PERCENT}
