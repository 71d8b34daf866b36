"""What the demo knows about each of its problems."""

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
    """A problem and what there is to say and to show about it.

    Attributes:
        about: What it is, for a reader who has never seen it.
        space: Where to search.
        objective: What to minimise.
        budget: Evaluations.
        verdict: The result against the truth, in words.
        figures: The pictures by file name, drawn when called.
    """

    about: str
    space: Space
    objective: Callable[[Any], float]
    budget: int
    verdict: Callable[[Result], str]
    figures: Callable[[Result], dict[str, Figure]]
