"""The cheapest welded beam that carries a load at its end: weld and bar, five outcome constraints.

The weld has thickness h and length l, the bar height t and thickness b (inches). Limits on the shear stress of the
weld, the bending stress of the bar, the weld compared with the bar, the deflection and the buckling load; each
constraint is relative to its limit. Value: cost; best known 1.7249.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from dale._arrays import Vector
from dale.space.space import Space
from dale_bench.real.problem import Real

LOAD, LENGTH = 6000.0, 14.0  # lb, in
E, G = 30e6, 12e6  # moduli, psi
SHEAR_LIMIT, BENDING_LIMIT, DEFLECTION_LIMIT = 13600.0, 30000.0, 0.25  # psi, psi, in

SPACE = Space(h=(0.1, 2.0), l=(0.1, 10.0), t=(0.1, 10.0), b=(0.1, 2.0))


def value(params: Mapping[str, Any]) -> float:
    """Cost of weld material and bar."""
    h, l, t, b = (params[name] for name in "hltb")
    return float(1.10471 * h**2 * l + 0.04811 * t * b * (LENGTH + l))


def constraints(params: Mapping[str, Any]) -> Vector:
    """Shear stress, bending stress, h - b, deflection, buckling."""
    h, l, t, b = (params[name] for name in "hltb")
    direct = LOAD / (math.sqrt(2) * h * l)
    arm = math.sqrt(l**2 / 4 + ((h + t) / 2) ** 2)
    inertia = 2 * math.sqrt(2) * h * l * (l**2 / 12 + ((h + t) / 2) ** 2)
    torsion = LOAD * (LENGTH + l / 2) * arm / inertia
    shear = math.sqrt(direct**2 + direct * torsion * l / arm + torsion**2)
    bending = 6 * LOAD * LENGTH / (b * t**2)
    deflection = 4 * LOAD * LENGTH**3 / (E * t**3 * b)
    buckling = 4.013 * E * math.sqrt(t**2 * b**6 / 36) / LENGTH**2 * (1 - t / (2 * LENGTH) * math.sqrt(E / (4 * G)))
    return np.array(
        [
            math.log(shear / SHEAR_LIMIT),  # stresses vary over many decades
            math.log(bending / BENDING_LIMIT),
            h - b,
            math.log(deflection / DEFLECTION_LIMIT),
            1 - buckling / LOAD,
        ]
    )


PROBLEM = Real(
    "welded_beam",
    SPACE,
    80,
    "cost of a welded beam: 5 constraints",
    value,
    constraints=constraints,
    source="Ragsdell & Phillips (1976); formulas as in Coello (2000)",
)
