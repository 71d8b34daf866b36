"""Branin's function: two parameters, three minima of the same depth, and so a picture of the whole search."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dale._arrays import Vector
from dale.cli.demo.problem import Problem
from dale.history.result import Result
from dale.space.space import Space
from dale.view.plot import convergence_figure, landscape_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SPACE = Space.from_pairs([(-5, 10), (0, 15)])
MINIMUM = 10 / (8 * math.pi)
MINIMISERS = np.array([[-math.pi, 12.275], [math.pi, 2.275], [3 * math.pi, 2.475]])
NEAR = 0.5  # how close a predicted minimum is to a true one to be the same; the sides are 15 long


def branin(x: Vector) -> float:
    """(x1 - 5.1 x0^2 / (4 pi^2) + 5 x0 / pi - 6)^2 + 10 (1 - 1 / (8 pi)) cos x0 + 10."""
    bend = x[1] - 5.1 / (4 * math.pi**2) * x[0] ** 2 + 5 / math.pi * x[0] - 6
    return float(bend**2 + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x[0]) + 10)


def verdict(result: Result) -> str:
    """The best value against the true minimum, and how many of the three minima have been seen."""
    predicted = [m.x for m in result.local_minima]
    located = sum(any(np.linalg.norm(x - p) < NEAR for p in predicted) for x in MINIMISERS)
    return (
        f"The true minimum is {MINIMUM:.6g}, at three points. The best value is {(result.fun or 0.0) - MINIMUM:.1e} "
        f"above it; {located} of the three show in the data as local minima."
    )


def figures(result: Result) -> dict[str, Figure]:
    """How the search went, and the landscape it saw."""
    return {
        "branin-convergence.png": convergence_figure(result, MINIMUM, title="Branin's function", objective="value"),
        "branin-landscape.png": landscape_figure(result, SPACE, branin, objective="value"),
    }


PROBLEM = Problem(
    about="""\
2. A textbook problem: Branin's function
   Two parameters and three minima of the same depth. It is known everywhere, so that the pictures can show
   what was learnt beside what is true.""",
    space=SPACE,
    objective=branin,
    budget=60,
    verdict=verdict,
    figures=figures,
)
