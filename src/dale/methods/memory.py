"""What a run remembers from one proposal to the next, to save time."""

from __future__ import annotations

from typing import Any, TypeVar

T = TypeVar("T")


class Memory:
    """One thing of each kind. Every proposal is a function of the history: forgetting changes the time taken only."""

    def __init__(self) -> None:
        self._kept: dict[type, Any] = {}

    def of(self, kind: type[T]) -> T:
        """The one of this kind, made empty when it is first asked for."""
        if kind not in self._kept:
            self._kept[kind] = kind()
        kept: T = self._kept[kind]
        return kept
