"""Branin and Hartmann-6, moved and rotated for each seed, with Gaussian noise.

The std of the noise is a fraction of the std of the function over its box, computed from 4096 points of an unscrambled
Sobol sequence.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from dale.space.space import Space
from dale_bench.functions import Function, get
from dale_bench.problems.problem import Problem

VARIANT = ":moved:rotated"
FUNCTIONS = ("branin", "hart6")
PERCENT = (5, 20)
LOG2_SAMPLES = 12


def std_over_box(function: Function) -> float:
    """Standard deviation of the function over its box."""
    from scipy.stats import qmc

    points = qmc.Sobol(function.dimension, scramble=False).random_base2(LOG2_SAMPLES)
    return float(np.std(function.true(function.from_cube(points))))


def on_a_box(name: str, function: Function, description: str, noisy: Callable[[Any], float] | None = None) -> Problem:
    """A test function as a problem, including its noise; or with other values than those of the function."""
    return Problem(
        name,
        Space.from_pairs(function.bounds),
        lambda x: float(function.true(x)),
        function.minimum,
        function.minimisers[0],
        function.budget,
        description,
        noisy=function.fun if function.noise else noisy,
        source=function.source,
    )


def build(base: str, percent: int, seed: int) -> Problem:
    """The function of a seed with noise."""
    function = get(base + VARIANT, seed)
    noise = percent / 100 * std_over_box(function)
    description = f"{function.name} with noise of {percent} % of its standard deviation"
    return on_a_box(f"{base}_noise{percent}", replace(function, noise=noise), description)


def plain(base: str, seed: int) -> Problem:
    """The function of a seed without noise."""
    function = get(base + VARIANT, seed)
    return on_a_box(base, function, function.name)


PROBLEMS = {f"{base}_noise{percent}": partial(build, base, percent) for base in FUNCTIONS for percent in PERCENT}
