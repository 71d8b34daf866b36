"""A problem of the demo."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dale.history.result import Result
from dale.space.space import Space

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Problem:
    """An optimization problem with a known solution, and how to present it.

    Attributes:
        name: Name of its files.
        description: Introduction for a reader who does not know the problem.
        space: Search space.
        objective: Function to minimise.
        budget: Number of evaluations.
        comparison: Compares a result with the known solution, in words.
        figures: Draws the plots of a result, by file name.
    """

    name: str
    description: str
    space: Space
    objective: Callable[[Any], float]
    budget: int
    comparison: Callable[[Result], str]
    figures: Callable[[Result], dict[str, Figure]]
