"""How far each parameter can move from a local minimum before the objective degrades.

Near a minimum with Hessian H the objective rises by dx' H dx / 2. Near a maximum, H is minus the Hessian, and a rise is
a drop. For an acceptable rise, parameter i may move by

    individual:     sqrt(2 rise / H_ii),         all other parameters fixed;
    joint:          sqrt(2 rise (H^-1)_ii),      all other parameters re-optimised.

The joint tolerance is never smaller. If it is much larger, the other parameters can compensate for parameter i.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dale._arrays import Matrix, Vector
from dale.history.local_minimum import LocalMinimum, with_unit_diagonal
from dale.space.parameter import Parameter
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
    free, d, normalised = with_unit_diagonal(minimum.curvature)
    individual, joint = np.sqrt(2 * rise) / d, np.full(len(d), np.nan)
    joint[free] = individual[free] * np.sqrt(np.diag(np.linalg.inv(normalised)))
    return Tolerances(rise, individual, joint)


def cube_hessian(minimum: LocalMinimum, space: Space) -> Matrix:
    """The curvature in the unit cube, one row for each parameter in the user's order; NaN without a derivative."""
    values = _by_name(minimum, space)
    derivatives = [space.parameters[name].derivative(values[name]) for name in space.names]
    du_dx = np.array([d[0] if len(d) == 1 else np.nan for d in derivatives])
    return minimum.curvature / np.outer(du_dx, du_dx)


def ellipse(minimum: LocalMinimum, space: Space, rise: float, names: Sequence[str]) -> Matrix:
    """Contour at ``rise`` above a local minimum along two parameters, a closed curve (m, 2) in the user's units.

    All other parameters are fixed. The model was fitted in the unit cube, so the curve is an ellipse there; on a
    logarithmic axis it is distorted. It is NaN outside the bounds, and along a parameter without derivatives.
    """
    rows = [space.names.index(name) for name in names]
    H = cube_hessian(minimum, space)[np.ix_(rows, rows)]
    if not np.all(np.isfinite(H)):
        return np.full((ELLIPSE_POINTS, 2), np.nan)
    values, parameters = _by_name(minimum, space), [space.parameters[name] for name in names]
    center = np.concatenate([p.encode(values[name]) for name, p in zip(names, parameters, strict=True)])
    L = np.linalg.cholesky(H)
    angle = np.linspace(0, 2 * np.pi, ELLIPSE_POINTS)
    circle = np.sqrt(2 * rise) * np.vstack([np.cos(angle), np.sin(angle)])
    return on_axis(center + np.linalg.solve(L.T, circle).T, parameters)  # |L'(x - center)|^2 = 2 rise


def on_axis(points: Matrix, parameters: Sequence[Parameter]) -> Matrix:
    """Coordinates (m, k) of numeric parameters in the user's units, not rounded to integers; NaN outside the cube."""
    columns = []
    for u, parameter in zip(np.clip(points, 0, 1).T, parameters, strict=True):
        if parameter.cardinality is None:
            columns.append(np.array(parameter.decode_all(u[:, None]), dtype=float))
            continue
        values = parameter.axis(ELLIPSE_POINTS)
        codes = [float(parameter.encode(parameter.check(v, "value"))[0]) for v in values.tolist()]
        columns.append(np.interp(u, codes, values))
    curve = np.column_stack(columns)
    curve[np.any((points < 0) | (points > 1), axis=1)] = np.nan
    return curve


def _by_name(minimum: LocalMinimum, space: Space) -> Mapping[str, Any]:
    params = minimum.params
    return params if isinstance(params, Mapping) else dict(zip(space.names, params, strict=True))
