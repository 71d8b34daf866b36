"""Swing-up of gymnasium's Pendulum-v1 with a controller of five parameters, from three fixed starts.

Below the angle `switch` from the top, a PD controller holds the pendulum; elsewhere the controller adds energy until
the pendulum has `target` times the energy of the top. Value: mean cost of a step (angle, speed, torque), as gymnasium
defines it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dale.space.float import Float
from dale.space.space import Space
from dale_bench.real.problem import Real

STARTS = (0, 1, 2)  # seeds of gymnasium
STEPS = 150
TORQUE = 2.0  # the largest that the environment applies
GRAVITY = 15.0  # 3 g / (2 l): the pendulum accelerates with GRAVITY sin(angle)

SPACE = Space(
    gain=Float(1e-2, 1e1, log=True),
    target=(0.5, 1.5),
    switch=(0.05, 1.5),
    stiffness=Float(1.0, 100.0, log=True),
    damping=Float(0.1, 30.0, log=True),
)


def torque(params: Mapping[str, Any], cosine: float, sine: float, speed: float) -> float:
    """The controller."""
    angle = np.arctan2(sine, cosine)  # 0 at the top
    if abs(angle) < params["switch"]:
        wanted = -params["stiffness"] * angle - params["damping"] * speed
    else:
        energy = speed**2 / 2 + GRAVITY * cosine  # GRAVITY at rest at the top
        wanted = params["gain"] * (params["target"] * GRAVITY - energy) * speed
    return float(np.clip(wanted, -TORQUE, TORQUE))


def value(params: Mapping[str, Any]) -> float:
    """Mean cost of a step."""
    import gymnasium

    environment = gymnasium.make("Pendulum-v1", disable_env_checker=True).unwrapped
    total = 0.0
    for seed in STARTS:
        state = environment.reset(seed=seed)[0]
        for _ in range(STEPS):
            state, reward, *_ = environment.step(np.array([torque(params, *map(float, state))]))
            total -= float(reward)
    environment.close()
    return total / (STEPS * len(STARTS))


PROBLEM = Real(
    "pendulum",
    SPACE,
    80,
    "swing-up of gymnasium's pendulum: a controller of 5 parameters",
    value,
    modules=("gymnasium",),
)
