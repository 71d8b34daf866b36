"""Which parameters matter, over the whole space and near the best point, and in which combinations.

Near a minimum with Hessian H, in the unit cube, the objective rises by u' H u / 2; near a maximum, H is minus the
Hessian, and a rise is a drop. The eigenvectors of H with large
eigenvalues are stiff directions, in which a small move costs much; those with small eigenvalues are sloppy. Two
parameters i and j compensate for each other if their correlation (H^-1)_ij / sqrt((H^-1)_ii (H^-1)_jj) is close to 1
or -1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dale._arrays import Matrix, Vector
from dale.history.direction import Direction
from dale.view.run_view import RunView, view_of
from dale.view.tolerances import acceptable_rise, cube_hessian

STEP = 0.02  # of the finite differences that give a Hessian of the surrogate, in sides of the cube
LOCAL_MODEL, SURROGATE = "local model", "surrogate"


@dataclass(frozen=True, eq=False)
class LocalShape:
    """Second derivatives at a point, in the unit cube.

    Attributes:
        names: Numeric parameters with a derivative.
        hessian: Their second derivatives, in units of the objective per side of the cube, squared; their negatives if
            the objective is maximised.
        point: The point: values of these parameters in the user's units.
        model: ``"local model"`` of a local minimum, or ``"surrogate"`` where no local minimum was identified.
    """

    names: tuple[str, ...]
    hessian: Matrix
    point: Vector
    model: str


def local_shape(view: RunView, k: int = 0) -> LocalShape | None:
    """The shape of local minimum number k; at the best point, by the surrogate, if there are none.

    None if there is no such point, or no number to vary there. A number that others depend on does not count.
    """
    minima = view.result.local_minima
    if minima:
        H = cube_hessian(minima[k], view.space)
        free = np.flatnonzero(np.isfinite(np.diag(H)))
        names = tuple(view.space.names[i] for i in free)
        return LocalShape(names, H[np.ix_(free, free)], np.asarray(minima[k].x[free], dtype=float), LOCAL_MODEL)
    return None if view.best is None else _of_surrogate(view)


def _of_surrogate(view: RunView) -> LocalShape | None:
    best, space = view.best, view.space
    if best is None or not view.inliers:
        return None
    values = view.named(best)
    names = tuple(
        n
        for n in view.check_names(None)
        if n in values and space.parameters[n].is_numeric and space.ordered[space.columns(n).start]
    )
    if not names:
        return None
    columns = [space.columns(n).start for n in names]
    center, k = np.array(best.unit_x), len(names)
    center[columns] = np.clip(center[columns], STEP, 1 - STEP)
    steps = STEP * np.eye(len(center))[columns]
    corners = [
        center + a * steps[i] + b * steps[j]
        for i in range(k)
        for j in range(k)
        for a, b in ((1, 1), (1, -1), (-1, 1), (-1, -1))
    ]
    f = view.direction.loss(view.surrogate.mean(np.array(corners))).reshape(k, k, 4)
    H = (f[:, :, 0] - f[:, :, 1] - f[:, :, 2] + f[:, :, 3]) / (4 * STEP**2)
    return LocalShape(names, (H + H.T) / 2, np.array([float(values[n]) for n in names]), SURROGATE)


@dataclass(frozen=True, eq=False)
class ImportanceData:
    """Which parameters matter.

    Attributes:
        names: The parameters that vary and are not held.
        main: Fraction of the surrogate's variance that each explains alone, (G,).
        total: Fraction that each explains with all its interactions, (G,).
        pairs: Fraction that two explain together beyond their main effects, (G, G).
        near_best: Share of each parameter in the curvature at the best minimum, (G,): how much more a move of one
            parameter by a fraction of its range costs than the same move of another. NaN where there is no derivative.
        near_best_model: What the curvature comes from: ``"local model"`` or ``"surrogate"``; empty if there is none.
        explained: Fraction of the values' variance that the surrogate explains by leave-one-out predictions: how much
            the other numbers can be trusted.

    Examples:
        >>> import dale
        >>> from dale.view import importance_data
        >>> result = dale.minimize(lambda x: (x[0] - 1) ** 2 + 0.01 * x[1], [(-2, 2)] * 2, budget=15, seed=0)
        >>> importance_data(result).main.round(1)
        array([1., 0.])
    """

    names: tuple[str, ...]
    main: Vector
    total: Vector
    pairs: Matrix
    near_best: Vector
    near_best_model: str
    explained: float


def importance_data(run: Any, space: Any = None) -> ImportanceData:
    """Which parameters matter, by the surrogate over the whole space and by the Hessian near the best point."""
    view = view_of(run, space)
    model, names = view.surrogate, view.check_names(None)
    indices = view.sobol
    near, shape = np.full(len(names), np.nan), local_shape(view)
    if shape is not None:
        curvature = np.maximum(np.diag(shape.hessian), 0.0)
        share = curvature / np.sum(curvature) if np.sum(curvature) > 0 else curvature
        for name, value in zip(shape.names, share, strict=True):
            near[names.index(name)] = value
    return ImportanceData(
        names=names,
        main=indices.main,
        total=indices.total,
        pairs=indices.pairs,
        near_best=near,
        near_best_model="" if shape is None else shape.model,
        explained=model.explained,
    )


@dataclass(frozen=True, eq=False)
class DirectionsData:
    """Stiff and sloppy directions at a minimum, stiffest first.

    Attributes:
        names: The numeric parameters, (k,).
        point: Their values at the minimum, in the user's units, (k,).
        eigenvalues: Second derivative of the objective along each direction, in the unit cube, (k,).
        vectors: Directions as rows, (k, k): components along the parameters, in fractions of their ranges.
        tolerance: How far one can move along each direction before the objective is worse by ``rise``, in sides of the
            unit cube, (k,); infinite where it does not become worse.
        correlations: Correlations of the parameters, (k, k): close to 1 or -1 where one compensates for the other; NaN
            where the point is no minimum of the model.
        rise: 1 % of the range of the values.
        model: What the Hessian comes from: ``"local model"`` or ``"surrogate"``.
        sense: Whether the objective is minimised or maximised.

    Examples:
        >>> import dale
        >>> from dale.view import directions_data
        >>> result = dale.minimize(lambda x: (x[0] - x[1]) ** 2 + 0.01 * x[0] ** 2, [(-2, 2)] * 2, budget=25, seed=0)
        >>> data = directions_data(result)
        >>> bool(data.correlations[0, 1] > 0.9), bool(data.tolerance[1] > 5 * data.tolerance[0])
        (True, True)
    """

    names: tuple[str, ...]
    point: Vector
    eigenvalues: Vector
    vectors: Matrix
    tolerance: Vector
    correlations: Matrix
    rise: float
    model: str
    sense: Direction


def directions_data(run: Any, space: Any = None, *, minimum: int = 0) -> DirectionsData:
    """Stiff and sloppy directions.

    Args:
        run: A result, an optimizer, a stored run or the path of a store.
        space: Search space; needed only for a result that does not know it.
        minimum: Number of the local minimum, 0 for the best.
    """
    view = view_of(run, space)
    n = max(len(view.result.local_minima), 1)
    if not 0 <= minimum < n:
        optima = view.direction.optima
        raise ValueError(f"minimum: expected the number of one of {n} local {optima}, from 0, got {minimum!r}")
    shape = local_shape(view, minimum)
    if shape is None:
        raise ValueError("expected a feasible trial and a numeric parameter that is active there, got none")
    rise = acceptable_rise(view.values)
    eigenvalues, Q = np.linalg.eigh(shape.hessian)
    eigenvalues, vectors = eigenvalues[::-1], Q.T[::-1]
    signs = np.sign(vectors[np.arange(len(vectors)), np.argmax(np.abs(vectors), axis=1)])
    resolution = 1e-12 * float(np.max(np.abs(eigenvalues), initial=0.0))
    rises = eigenvalues > resolution
    with np.errstate(divide="ignore"):
        tolerance = np.where(rises, np.sqrt(2 * rise / np.where(rises, eigenvalues, 1.0)), np.inf)
    return DirectionsData(
        names=shape.names,
        point=shape.point,
        eigenvalues=eigenvalues,
        vectors=vectors * signs[:, None],
        tolerance=tolerance,
        correlations=_correlations(shape.hessian) if np.all(rises) else np.full(shape.hessian.shape, np.nan),
        rise=rise,
        model=shape.model,
        sense=view.direction,
    )


def _correlations(H: Matrix) -> Matrix:
    d = np.sqrt(np.diag(H))
    inverse = np.linalg.inv(H / np.outer(d, d))  # of a unit diagonal, so that units do not matter
    s = np.sqrt(np.diag(inverse))
    return np.asarray(inverse / np.outer(s, s))
