"""Predictions at points that the user asks for: the objective, and whether a point is feasible and will be evaluated.

The objective is that of the surrogate of the plots (``surrogate.py``), which has the most probable length-scales. It is
better between observations than the method's own model, which is built to propose the next evaluation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sized
from dataclasses import dataclass
from typing import Any

import numpy as np

from dale._arrays import Matrix, Vector
from dale._computing import computing
from dale.acquisition.feasibility import Feasibility
from dale.space.point import short_repr
from dale.space.space import Space
from dale.space.table import points_of, rows_of
from dale.view.data.landscape import probability_of_feasibility
from dale.view.run_view import view_of


@dataclass(frozen=True, eq=False)
class Predictions:
    """What the models of a run predict at m points.

    Attributes:
        mean: The objective, (m,).
        std: Standard deviation of that prediction, without noise, (m,).
        feasible: Probability that the outcome constraints hold, (m,); 1 where there are none.
        fails: Probability that an evaluation fails, (m,); 0 if none has failed so far.
    """

    mean: Vector
    std: Vector
    feasible: Vector
    fails: Vector


@computing()
def predict(run: Any, points: Any, space: Any = None) -> Predictions:
    """What the models of a run predict at points.

    Args:
        run: A result, an optimizer, a stored run or the path of a store.
        points: A list of points as the objective receives them, an array (m, d) in a space without names, or a table
            with a column for each parameter, as ``Optimizer.add_all`` takes it.
        space: Search space; needed only for a result that does not know it.

    Raises:
        ValueError: No trial is complete, or a point is not in the space.

    Examples:
        >>> import dale
        >>> from dale.view import predict
        >>> result = dale.minimize(lambda x: (x[0] - 1) ** 2, [(-2, 2)], budget=12, seed=0)
        >>> predict(result, [[1.0], [2.0]]).mean.round(2) + 0
        array([0., 1.])
    """
    view = view_of(run, space)
    if not view.observations.has_value.any():
        raise ValueError("a prediction needs at least one completed trial, got none; evaluate a point first")
    X = _in_cube(points, view.space)
    prediction = view.surrogate.predict(X)
    feasible, failures = probability_of_feasibility(view, X), view.snapshot.failures
    return Predictions(
        prediction.mean,
        prediction.std,
        feasible if len(feasible) else np.ones(len(X)),
        np.zeros(len(X)) if failures is None else -np.expm1(Feasibility((), failures).log_probability(X)),
    )


def _in_cube(points: Any, space: Space) -> Matrix:
    """Points of the user's in the unit cube, (m, d)."""
    is_point = isinstance(points, Mapping) and not any(isinstance(v, Sized) for v in points.values())
    if is_point:
        raise ValueError(f"points: expected a list of points, got one, {short_repr(points)}; pass [point]")
    if not isinstance(points, list | tuple | np.ndarray):
        encoded = [point for _, point in points_of(rows_of(points), space)]
    elif len(points) and not any(isinstance(p, Mapping | list | tuple | np.ndarray) for p in points):
        raise ValueError(f"points: expected a list of points, got {short_repr(points)}; for one point, pass [point]")
    else:
        encoded = [space.read(p)[1] for p in points]
    return np.array(encoded).reshape(len(encoded), space.dimension)
