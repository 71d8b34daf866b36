"""Branin's function: two parameters and three global minima, so a contour plot shows the whole run."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dale._arrays import Vector
from dale.cli.demo.problem import Problem
from dale.history.result import Result
from dale.space.space import Space
from dale.view import plot

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SPACE = Space.from_pairs([(-5, 10), (0, 15)])
MINIMUM = 10 / (8 * math.pi)
MINIMISERS = np.array([[-math.pi, 12.275], [math.pi, 2.275], [3 * math.pi, 2.475]])
TOLERANCE = 0.5  # distance between a predicted and a true minimum; both parameters have a range of 15


def branin(x: Vector) -> float:
    """(x1 - 5.1 x0^2 / (4 pi^2) + 5 x0 / pi - 6)^2 + 10 (1 - 1 / (8 pi)) cos x0 + 10."""
    parabola = x[1] - 5.1 / (4 * math.pi**2) * x[0] ** 2 + 5 / math.pi * x[0] - 6
    return float(parabola**2 + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x[0]) + 10)


def comparison(result: Result) -> str:
    """Compare the best value with the true minimum, and count the minima that were found."""
    predicted = [m.x for m in result.local_minima]
    n_found = sum(any(np.linalg.norm(x - p) < TOLERANCE for p in predicted) for x in MINIMISERS)
    return (
        f"The true minimum is {MINIMUM:.6g}, at three points. The best value found is "
        f"{(result.fun or 0.0) - MINIMUM:.1e} above it. {n_found} of the 3 points are among the local minima above."
    )


def figures(result: Result) -> dict[str, Figure]:
    """The convergence of the run, and the surrogate next to the objective."""
    return {
        "branin-convergence.png": plot.convergence(result, MINIMUM, title="Branin's function", objective="value"),
        "branin-contour.png": plot.contour(result, SPACE, branin, objective="value"),
    }


PROBLEM = Problem(
    name="branin",
    description="""\
2. A textbook problem: Branin's function
   Two parameters, and three global minima of equal depth. The function is cheap, so the contour plot can show
   it next to the surrogate.""",
    space=SPACE,
    objective=branin,
    budget=60,
    comparison=comparison,
    figures=figures,
)
