"""What a method is: a function of the history, with settings.

What a run remembers from one proposal to the next, to save time.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, TypeVar

from dale._arrays import Vector
from dale.history.history import History
from dale.history.reason import Reason

T = TypeVar("T")


class Proposal(NamedTuple):
    """The next point (d,) of the unit cube and why it was chosen."""

    point: Vector
    reason: Reason


class Method(Protocol):
    """Proposes the next evaluation."""

    def propose(self, history: History, seed: int, cache: Cache) -> Proposal:
        """The next point: a function of the history and the seed. ``memory`` saves time and changes nothing."""
        ...


class Cache:
    """One thing of each kind. Every proposal is a function of the history: forgetting changes the time taken only."""

    def __init__(self) -> None:
        self._kept: dict[type, Any] = {}

    def of(self, kind: type[T]) -> T:
        """The one of this kind, made empty when it is first asked for."""
        if kind not in self._kept:
            self._kept[kind] = kind()
        kept: T = self._kept[kind]
        return kept
