"""Standard problems with outcome constraints, feasible if all are at most 0."""

from __future__ import annotations

import numpy as np

from dale._arrays import Vector
from dale.space.space import Space
from dale_bench.problems.mixed import vessel_constraints, vessel_cost
from dale_bench.problems.problem import Problem


def gardner(x: Vector) -> float:
    """A linear function plus a sine."""
    return float(np.sin(x[0]) + x[1])


def gardner_constraints(x: Vector) -> Vector:
    """Two small feasible regions, 1.6 % of the box."""
    return np.array([np.sin(x[0]) * np.sin(x[1]) + 0.95])


def gramacy(x: Vector) -> float:
    """A linear function; only the constraints are difficult."""
    return float(x[0] + x[1])


def gramacy_constraints(x: Vector) -> Vector:
    """A sinusoidal boundary and a circle."""
    wavy = 1.5 - x[0] - 2 * x[1] - 0.5 * np.sin(2 * np.pi * (x[0] ** 2 - 2 * x[1]))
    return np.array([wavy, x[0] ** 2 + x[1] ** 2 - 1.5])


def spring(x: Vector) -> float:
    """Weight of a spring under tension or compression: wire and coil diameter, number of coils."""
    d, D, n = x
    return float((n + 2) * D * d**2)


def spring_constraints(x: Vector) -> Vector:
    """Deflection, shear stress, surge frequency and outer diameter."""
    d, D, n = x
    return np.array(
        [
            1 - D**3 * n / (71785 * d**4),
            (4 * D**2 - d * D) / (12566 * (D * d**3 - d**4)) + 1 / (5108 * d**2) - 1,
            1 - 140.45 * d / (D**2 * n),
            (d + D) / 1.5 - 1,
        ]
    )


def vessel(x: Vector) -> float:
    """Cost of a pressure vessel, in thousands: shell, head, radius, length."""
    return float(vessel_cost(*x))


def vessel_constraint_values(x: Vector) -> Vector:
    """Thickness of shell and head, volume."""
    return vessel_constraints(*x)


PROBLEMS = (
    Problem(
        "gardner",
        Space.from_pairs([(0.0, 6.0)] * 2),
        gardner,
        float(np.arcsin(0.95)) - 1,  # the lowest feasible y is at sin(x) = -1
        np.array([1.5 * np.pi, np.arcsin(0.95)]),
        40,
        "sin(x) + y on two small feasible regions",
        gardner_constraints,
        source="Gardner et al. (2014), simulation 2",
    ),
    Problem(
        "gramacy",
        Space.from_pairs([(0.0, 1.0)] * 2),
        gramacy,
        0.5997880520100676,  # minimised along the first constraint
        np.array([0.1951226824318147, 0.4046653695782529]),
        40,
        "x + y above a sinusoidal boundary and inside a circle",
        gramacy_constraints,
        source="Gramacy et al. (2016)",
    ),
    Problem(
        "spring",
        Space.from_pairs([(0.05, 2.0), (0.25, 1.3), (2.0, 15.0)]),
        spring,
        0.012665232788319415,  # minimised along the first two constraints
        np.array([0.05168906108275143, 0.3567177397991516, 11.288965751630295]),
        60,
        "weight of a coil spring, four constraints, 0.7 % of the box feasible",
        spring_constraints,
        source="Arora (1989), after Belegundu (1982); best known 0.012665",
    ),
    Problem(
        "vessel",
        Space.from_pairs([(0.0625, 6.1875)] * 2 + [(10.0, 200.0)] * 2),
        vessel,
        5.885332773616461,  # all three constraints are active at length 200
        np.array([0.7781686413751054, 0.38464916262790183, 40.319618724098724, 200.0]),
        80,
        "cost of a pressure vessel with continuous plate thickness, three constraints",
        vessel_constraint_values,
        source="Sandgren (1990), without steps; best known 5885.333",
    ),
)
