"""Which way an objective is optimised: the one place where the sign of its values changes.

Everything that a user sees has the sign of the user's objective: ``Trial.value``, predictions, plots, stores. Models
and methods minimise: they see ``Trial.loss`` and ``Observations.y``, the negated values of a maximised objective.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, TypeVar

from dale._arrays import Vector

Values = TypeVar("Values", float, Vector)


class Direction(StrEnum):
    """Whether an objective is minimised or maximised, and the words for it.

    Examples:
        >>> Direction.MAXIMIZE.loss(3.0), Direction.MINIMIZE.loss(3.0)
        (-3.0, 3.0)
        >>> Direction.MAXIMIZE.optimum
        'maximum'
    """

    MINIMIZE = "minimize"
    MAXIMIZE = "maximize"

    def loss(self, values: Values) -> Values:
        """Values of the objective as the models see them: lower is better."""
        return values if self is Direction.MINIMIZE else 0.0 - values  # no negative zero

    def from_loss(self, losses: Values) -> Values:
        """What the models see as values of the objective."""
        return self.loss(losses)  # which is its own inverse

    @property
    def optimum(self) -> str:
        """What is searched for."""
        return "minimum" if self is Direction.MINIMIZE else "maximum"

    @property
    def optima(self) -> str:
        """Several of them."""
        return "minima" if self is Direction.MINIMIZE else "maxima"

    @property
    def better(self) -> str:
        """What a better value is than a worse one."""
        return "lower" if self is Direction.MINIMIZE else "higher"

    @property
    def best(self) -> str:
        """What the best of several values is."""
        return "lowest" if self is Direction.MINIMIZE else "highest"

    @property
    def worse_side(self) -> str:
        """Where values are worse than another one."""
        return "above" if self is Direction.MINIMIZE else "below"

    @property
    def better_side(self) -> str:
        """Where values are better than another one."""
        return "below" if self is Direction.MINIMIZE else "above"

    @property
    def gain(self) -> str:
        """A change for the better."""
        return "reduction" if self is Direction.MINIMIZE else "increase"

    @property
    def decline(self) -> str:
        """A change for the worse."""
        return "rise" if self is Direction.MINIMIZE else "drop"


def check_direction(direction: Any) -> Direction:
    """The direction that the user gives, as text or as it is."""
    if isinstance(direction, str) and direction in tuple(Direction):
        return Direction(direction)
    raise ValueError(f'direction: expected "minimize" or "maximize", got {direction!r}')
