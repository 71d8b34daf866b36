"""Local minima and trust regions on the axes of the page, so that a browser can draw their ellipses for any pair.

Coordinates t are fractions of the axes: 0 at the lower bound of a parameter and 1 at the upper one. From coordinates u
of the unit cube, t = (u - a) / w, with a and a + w the codes of the bounds (of an integer, the centers of its outer
cells). Around a minimum with Hessian H in the cube, the objective rises by t' W H W t / 2, with W = diag(w). The
projection of a region {c + D S z, |z| <= 1} is the ellipse of the block of the matrix W^-1 D^2 S S' W^-1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dale._arrays import Matrix, Vector
from dale.history.closed_regions import closed_regions
from dale.history.local_minimum import LocalMinimum
from dale.models.ellipsoid import Ellipsoid
from dale.view.report.numbers import significant
from dale.view.report.words import text_of
from dale.view.run_view import RunView
from dale.view.tolerances import acceptable_rise, cube_hessian, parameter_tolerances

MAX_REGIONS = 12  # the last ones
MAX_MINIMA = 20


def minima_of(view: RunView) -> dict[str, Any]:
    """The local minima with errors, tolerances and Hessians."""
    rise = acceptable_rise(view.values)
    minima = view.result.local_minima
    return {
        "rise": significant([rise])[0],
        "leftOut": max(len(minima) - MAX_MINIMA, 0),
        "list": [_minimum(view, minimum, rise) for minimum in minima[:MAX_MINIMA]],
    }


def _minimum(view: RunView, minimum: LocalMinimum, rise: float) -> dict[str, Any]:
    offset, width = _axes(view)
    tolerances = parameter_tolerances(minimum, rise)
    params = minimum.params
    values = list(params) if isinstance(params, np.ndarray) else [params[name] for name in view.space.names]
    H = cube_hessian(minimum, view.space) * np.outer(width, width)
    return {
        "value": f"{minimum.fun:.6g}",
        "error": f"{minimum.error:.1g}",
        "fun": minimum.fun,
        "converged": minimum.converged,
        "condition": significant([minimum.condition], 3)[0],
        "points": minimum.n_points,
        "params": [f"{v:.5g}" if isinstance(v, float) else text_of(v) for v in values],
        "individual": significant(tolerances.individual, 4),
        "joint": significant(tolerances.joint, 4),
        "at": significant((_codes(view, view.space.encode(params)) - offset) / width),
        "hessian": [significant(row, 6) for row in H],
    }


def regions_of(view: RunView) -> list[dict[str, Any]]:
    """The last closed regions, and the region of the last local step."""
    found = [
        (Ellipsoid(view.trials[closed.center].unit_x, closed.radius), closed.center, True)
        for closed in closed_regions(view.trials)
    ][-MAX_REGIONS:]
    steps = [t.reason.step for t in view.trials if t.reason.step is not None]
    if steps:
        step = steps[-1]
        shape = None if step.shape is None else np.array(step.shape)
        found.append((Ellipsoid(view.trials[step.center].unit_x, step.radius, shape), step.center, False))
    return [_region(view, region, center, closed) for region, center, closed in found]


def _region(view: RunView, region: Ellipsoid, center: int, closed: bool) -> dict[str, Any]:
    offset, width = _axes(view)
    S = np.eye(len(region.center)) if region.shape is None else region.shape
    columns = [view.space.columns(name) for name in view.space.names]
    single = [c.start if c.stop - c.start == 1 else 0 for c in columns]
    block = region.radius**2 * (S @ S.T)[np.ix_(single, single)] / np.outer(width, width)
    return {
        "center": center,
        "closed": closed,
        "at": significant((_codes(view, region.center) - offset) / width),
        "matrix": [significant(row, 6) for row in block],
    }


def _codes(view: RunView, x: Vector) -> Vector:
    """Coordinate of each parameter, in the user's order; NaN where it has none or several."""
    columns = [x[view.space.columns(name)] for name in view.space.names]
    return np.array([c[0] if len(c) == 1 else np.nan for c in columns])


def _axes(view: RunView) -> tuple[Vector, Matrix]:
    """a and w of each parameter; NaN for those without a numeric axis."""
    ends = np.full((len(view.space.names), 2), np.nan)
    for i, name in enumerate(view.space.names):
        parameter = view.space.parameters[name]
        if parameter.is_numeric and view.space.n_coordinates(name) == 1:
            axis = parameter.axis(2).tolist()
            ends[i] = [parameter.encode(parameter.check(v, name))[0] for v in (axis[0], axis[-1])]
    return ends[:, 0], ends[:, 1] - ends[:, 0]
