"""Fit of reaction kinetics at three temperatures: A <-> B -> C, first order, with Arrhenius's law.

Six parameters: for each of the three reactions its rate at 350 K and its activation energy E,

    k(T) = k exp(-E / R (1 / T - 1 / 350 K)),     y' = K(T) y,     y(0) = (1, 0, 0).

The data are concentrations of all three species at 8 times with noise of std 0.01, drawn once. Value: root mean square
error divided by this std, so that the best value is about 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.linalg import expm

from dale._arrays import Matrix
from dale.space.float import Float
from dale.space.space import Space
from dale_bench.functions.function import stream
from dale_bench.real.data import root_mean_square
from dale_bench.real.problem import Real

TEMPERATURES = (330.0, 350.0, 370.0)  # K
TIMES = np.arange(1, 9)  # minutes
R = 8.314e-3  # kJ / (mol K)
STD = 0.01
TRUE = {"forward": 0.6, "backward": 0.25, "product": 0.3, "E_forward": 65.0, "E_backward": 90.0, "E_product": 45.0}

SPACE = Space(
    {name: Float(1e-2, 1e1, log=True) for name in ("forward", "backward", "product")},
    **{name: Float(20.0, 150.0) for name in ("E_forward", "E_backward", "E_product")},
)


def concentrations(params: Mapping[str, Any]) -> Matrix:
    """Concentrations, (temperatures * times, 3)."""
    rows = []
    for temperature in TEMPERATURES:
        factor = -(1 / temperature - 1 / 350.0) / R
        f, b, p = (params[k] * np.exp(factor * params[f"E_{k}"]) for k in ("forward", "backward", "product"))
        step = expm(np.array([[-f, b, 0.0], [f, -b - p, 0.0], [0.0, p, 0.0]]))  # one minute
        y = np.array([1.0, 0.0, 0.0])
        for _ in TIMES:
            y = step @ y
            rows.append(y)
    return np.array(rows)


@lru_cache
def measured() -> Matrix:
    """The data."""
    exact = concentrations(TRUE)
    return exact + STD * stream(0, "kinetics").standard_normal(exact.shape)


def value(params: Mapping[str, Any]) -> float:
    """Misfit in units of the noise."""
    return root_mean_square((concentrations(params) - measured()) / STD)


PROBLEM = Real("kinetics", SPACE, 100, "fit of 3 reaction rates and 3 activation energies", value)
