"""What a method is: a function of the history, with settings."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from dale.arrays import Vector
from dale.methods.history import History
from dale.methods.memory import Memory
from dale.trial import Reason


class Proposal(NamedTuple):
    """The next point (d,) of the unit cube and why it was chosen."""

    point: Vector
    reason: Reason


class Method(Protocol):
    """Proposes the next evaluation."""

    def propose(self, history: History, seed: int, memory: Memory) -> Proposal:
        """The next point: a function of the history and the seed. ``memory`` saves time and changes nothing."""
        ...
