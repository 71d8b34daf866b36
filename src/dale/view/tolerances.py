"""How far each parameter can move from a local minimum before the objective degrades.

Near a minimum with Hessian H the objective rises by dx' H dx / 2. For an acceptable rise, parameter i may move by

    individual:     sqrt(2 rise / H_ii),         all other parameters fixed;
    joint:          sqrt(2 rise (H^-1)_ii),      all other parameters re-optimised.

The joint tolerance is never smaller. If it is much larger, the other parameters can compensate for parameter i.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dale._arrays import Matrix, Vector
from dale.history.minima import LocalMinimum
from dale.space.space import Space

RELATIVE_RISE = 0.01  # acceptable rise, relative to the range of the observed values
ELLIPSE_POINTS = 181


@dataclass(frozen=True, eq=False)
class Tolerances:
    """How far each parameter can move, in the user's units, before the objective has risen by ``rise``.

    Attributes:
        rise: The acceptable rise of the objective.
        individual: Tolerances with all other parameters fixed, (d,); NaN for a fixed parameter.
        joint: Tolerances with all other parameters re-optimised, (d,); NaN for a fixed parameter.

    Examples:
        >>> import dale
        >>> from dale.view import parameter_tolerances
        >>> result = dale.minimize(lambda x: 2 * (x[0] - 1) ** 2, [(-2, 2)], budget=10, seed=0)
        >>> print(parameter_tolerances(result.local_minima[0], rise=0.5).individual.round(3))
        [0.5]
    """

    rise: float
    individual: Vector
    joint: Vector


def acceptable_rise(values: Vector) -> float:
    """The fraction ``RELATIVE_RISE`` of the range of the values (n,)."""
    return RELATIVE_RISE * float(np.ptp(values)) if len(values) else 0.0


def parameter_tolerances(minimum: LocalMinimum, rise: float) -> Tolerances:
    """The tolerances of each parameter at a local minimum, for a rise of the objective by ``rise``."""
    d = np.sqrt(np.diag(minimum.hessian))
    free = np.flatnonzero(np.isfinite(d))  # NaN: a fixed parameter
    # Normalise to a unit diagonal before inverting: parameters may be of order 1e-9 and 1e9 in the same problem.
    normalised = (minimum.hessian / np.outer(d, d))[np.ix_(free, free)]
    individual, joint = np.sqrt(2 * rise) / d, np.full(len(d), np.nan)
    joint[free] = individual[free] * np.sqrt(np.diag(np.linalg.inv(normalised)))
    return Tolerances(rise, individual, joint)


def ellipse(minimum: LocalMinimum, space: Space, rise: float) -> Matrix:
    """Contour at ``rise`` above a local minimum of two parameters: a closed curve (m, 2) in the user's units.

    The model was fitted in the unit cube, so the curve is an ellipse there; on a logarithmic axis it is distorted.
    It is NaN outside the bounds.
    """
    parameters = list(space.parameters.values())
    derivatives = np.concatenate([p.derivative(v) for p, v in zip(parameters, minimum.x, strict=True)])
    center = np.concatenate([p.encode(v) for p, v in zip(parameters, minimum.x, strict=True)])
    L = np.linalg.cholesky(minimum.hessian / np.outer(derivatives, derivatives))  # of the Hessian in the unit cube
    angle = np.linspace(0, 2 * np.pi, ELLIPSE_POINTS)
    circle = np.sqrt(2 * rise) * np.vstack([np.cos(angle), np.sin(angle)])
    points = center + np.linalg.solve(L.T, circle).T  # |L'(x - center)|^2 = 2 rise
    curve = np.array([[p.decode(u[i : i + 1]) for i, p in enumerate(parameters)] for u in points], dtype=float)
    curve[np.any((points < 0) | (points > 1), axis=1)] = np.nan
    return curve
