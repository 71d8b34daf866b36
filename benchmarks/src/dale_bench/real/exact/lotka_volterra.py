"""Fit of the Lotka-Volterra equations to the lynx and hare pelts of the Hudson's Bay Company, 1900 to 1920.

Six parameters: the four rates, and the populations of 1900, which the counts only estimate. Value: root mean square of
log(model / pelts).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

from dale._arrays import Vector
from dale.space.float import Float
from dale.space.space import Space
from dale_bench.functions.real import LOG_PELTS, YEARS
from dale_bench.real.data import root_mean_square
from dale_bench.real.problem import Real

RATES = ("birth", "predation", "growth", "death")
WORST = 10.0  # the misfit where the integration fails, or is larger

SPACE = Space(
    birth=Float(0.1, 2.0, log=True),
    predation=Float(1e-3, 1e-1, log=True),
    growth=Float(1e-3, 1e-1, log=True),
    death=Float(0.1, 2.0, log=True),
    hare=Float(10.0, 100.0, log=True),
    lynx=Float(1.0, 20.0, log=True),
)


def value(params: Mapping[str, Any]) -> float:
    """Misfit; u and v are the logarithms of hare and lynx."""
    a, b, c, m = (params[name] for name in RATES)

    def derivative(_: float, z: Vector) -> tuple[float, float]:
        return a - b * np.exp(z[1]), c * np.exp(z[0]) - m

    start = np.log([params["hare"], params["lynx"]])
    run = solve_ivp(derivative, (YEARS[0], YEARS[-1]), start, method="LSODA", t_eval=YEARS, rtol=1e-8, atol=1e-8)
    return min(root_mean_square(run.y - LOG_PELTS), WORST) if run.success else WORST


PROBLEM = Real(
    "lotka_volterra",
    SPACE,
    100,
    "fit of a predator-prey model to pelts: 4 rates and 2 initial populations",
    value,
    source="Elton & Nicholson (1942); Howard (2009)",
)
