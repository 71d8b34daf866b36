"""Match a damped oscillation, of which every evaluation measures new noisy values at new random times.

Value: root mean square difference between the curve of the parameters and 25 measurements, a sin(w t + p) exp(-k t)
plus Gaussian noise of std 0.3.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dale._arrays import Vector
from dale.space.float import Float
from dale.space.space import Space
from dale_bench.real.data import root_mean_square
from dale_bench.real.problem import Real

TRUE = {"amplitude": 2.0, "decay": 0.25, "frequency": 2.2, "phase": 0.6}
MEASUREMENTS, STD, END = 25, 0.3, 6.0

SPACE = Space(amplitude=(0.0, 4.0), decay=Float(0.03, 3.0, log=True), frequency=(0.5, 4.0), phase=(-1.5, 1.5))


def curve(params: Mapping[str, Any], t: Vector) -> Vector:
    """The oscillation."""
    wave = np.sin(params["frequency"] * t + params["phase"])
    return np.asarray(params["amplitude"] * wave * np.exp(-params["decay"] * t))


def value(params: Mapping[str, Any], rng: np.random.Generator) -> float:
    """Misfit to new measurements."""
    t = rng.uniform(0.0, END, MEASUREMENTS)
    measured = curve(TRUE, t) + STD * rng.standard_normal(MEASUREMENTS)
    return root_mean_square(curve(params, t) - measured)


PROBLEM = Real("curve_fit", SPACE, 60, "four parameters of a damped oscillation, measured anew each time", value, 1000)
