"""Balance a pole on a cart in gusts of wind: four gains of a linear controller.

Each evaluation has a random start and random gusts. Value: mean over 250 steps of 20 ms of the squared angle and
position and a small cost of the force; after a fall, each step costs 1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from dale.space.space import Space
from dale_bench.real.problem import Real

STEPS, DT = 250, 0.02
CART, POLE, HALF_LENGTH, GRAVITY = 1.0, 0.1, 0.5, 9.8
MAX_FORCE, GUST = 10.0, 3.0  # N
FALLEN, TRACK = 0.5, 2.4  # rad, m

SPACE = Space(position=(-5.0, 20.0), speed=(-5.0, 20.0), angle=(0.0, 100.0), turn=(0.0, 30.0))


def value(params: Mapping[str, Any], rng: np.random.Generator) -> float:
    """Mean cost of a step of one simulation."""
    kx, kv, ka, kw = (params[name] for name in SPACE.names)
    x, v, a, w = rng.uniform(-0.1, 0.1, 4).tolist()
    gusts = (GUST * rng.standard_normal(STEPS)).tolist()
    cost = 0.0
    for step, gust in enumerate(gusts):
        if abs(a) > FALLEN or abs(x) > TRACK:
            return (cost + STEPS - step) / STEPS
        force = min(max(kx * x + kv * v + ka * a + kw * w, -MAX_FORCE), MAX_FORCE)
        cost += 10 * a * a + 0.1 * x * x + 1e-3 * force * force
        s, c = math.sin(a), math.cos(a)
        push = (force + gust + POLE * HALF_LENGTH * w * w * s) / (CART + POLE)
        turning = (GRAVITY * s - c * push) / (HALF_LENGTH * (4 / 3 - POLE * c * c / (CART + POLE)))
        moving = push - POLE * HALF_LENGTH * turning * c / (CART + POLE)
        x, v, a, w = x + DT * v, v + DT * moving, a + DT * w, w + DT * turning
    return cost / STEPS


PROBLEM = Real("cart_pole", SPACE, 60, "gains of a controller that balances a pole in gusts of wind", value, 1000)
