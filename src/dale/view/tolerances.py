"""How sharp a minimum is, in terms a user can act on.

Around a minimum the objective rises by dx' H dx / 2. For a rise that is still acceptable, parameter i may move

    alone:          sqrt(2 rise / H_ii),         all others held where they are;
    followed:       sqrt(2 rise (H^-1)_ii),      all others moving along the valley with it.

The second is never smaller; where it is much larger, the parameters can make up for each other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dale._arrays import Matrix, Vector
from dale.history.result import LocalMinimum
from dale.space.space import Space

RISE = 0.01  # of the range of the values seen: what still counts as "as good as the minimum"
CORNERS = 181  # of the polygon that stands for an ellipse


@dataclass(frozen=True, eq=False)
class Sharpness:
    """How far each parameter may move, in the user's units, before the objective has risen by ``rise``."""

    rise: float
    alone: Vector  # (d,)
    followed: Vector  # (d,)


def acceptable_rise(values: Vector) -> float:
    """``RISE`` of the range of the values (n,)."""
    return RISE * float(np.ptp(values)) if len(values) else 0.0


def sharpness(minimum: LocalMinimum, rise: float) -> Sharpness:
    """The moves that cost ``rise``."""
    d = np.sqrt(np.diag(minimum.hessian))
    moving = np.flatnonzero(np.isfinite(d))  # not those that are fixed
    unit = (minimum.hessian / np.outer(d, d))[np.ix_(moving, moving)]  # no units: 1e-9 and 1e9 may be in one
    alone, followed = np.sqrt(2 * rise) / d, np.full(len(d), np.nan)
    followed[moving] = alone[moving] * np.sqrt(np.diag(np.linalg.inv(unit)))
    return Sharpness(rise, alone, followed)


def ellipse(minimum: LocalMinimum, space: Space, rise: float) -> Matrix:
    """Where the quadratic of a two-parameter minimum has risen by ``rise``: a closed line, (m, 2), in the user's units.

    It is drawn in the cube, where the quadratic was fitted, so that it bends with a logarithmic axis; NaN outside.
    """
    parameters = list(space.parameters.values())
    gradients = np.concatenate([p.derivative(v) for p, v in zip(parameters, minimum.x, strict=True)])
    center = np.concatenate([p.encode(v) for p, v in zip(parameters, minimum.x, strict=True)])
    L = np.linalg.cholesky(minimum.hessian / np.outer(gradients, gradients))
    angle = np.linspace(0, 2 * np.pi, CORNERS)
    circle = np.sqrt(2 * rise) * np.vstack([np.cos(angle), np.sin(angle)])
    points = center + np.linalg.solve(L.T, circle).T  # |L'(x - center)|^2 = 2 rise
    line = np.array([[p.decode(u[i : i + 1]) for i, p in enumerate(parameters)] for u in points], dtype=float)
    line[np.any((points < 0) | (points > 1), axis=1)] = np.nan
    return line
