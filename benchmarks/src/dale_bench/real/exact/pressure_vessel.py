"""The cheapest pressure vessel: plates in steps of a sixteenth of an inch, and three outcome constraints.

Shell and head must be thick enough for the radius, and the volume large enough. Value: cost in thousands; best known
6.0597.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dale._arrays import Vector
from dale.space.space import Space
from dale_bench.problems.mixed import PLATES, vessel_constraints, vessel_cost
from dale_bench.real.problem import Real

SPACE = Space({"shell": PLATES, "head": PLATES, "radius": (10.0, 200.0), "length": (10.0, 200.0)})


def value(params: Mapping[str, Any]) -> float:
    """Cost."""
    return float(vessel_cost(*(params[name] for name in SPACE.names)))


def constraints(params: Mapping[str, Any]) -> Vector:
    """Thickness of shell and head, volume."""
    return vessel_constraints(*(params[name] for name in SPACE.names))


PROBLEM = Real(
    "pressure_vessel",
    SPACE,
    80,
    "cost of a pressure vessel: plates in steps, 3 constraints",
    value,
    constraints=constraints,
    source="Sandgren (1990)",
)
