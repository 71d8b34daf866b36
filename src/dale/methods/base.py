"""What a method is: a function of the history, with settings.

What a run remembers from one proposal to the next, to save time.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
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
    """Proposes the next evaluation. A run is stored with its name, revision and changed settings."""

    @property
    def name(self) -> str:
        """Identifies the method in a stored run."""
        ...

    @property
    def revision(self) -> int:
        """Rises whenever the same history gives another proposal than before."""
        ...

    def changed_settings(self) -> Mapping[str, Any]:
        """The settings that differ from their defaults: a new setting with a default changes no stored run."""
        ...

    def propose(self, history: History, seed: int, cache: Cache) -> Proposal:
        """The next point: a function of the history and the seed. ``memory`` saves time and changes nothing."""
        ...


def changed_settings(settings: Any) -> dict[str, Any]:
    """The fields of a dataclass that differ from their defaults; those without a default always count.

    A field that is a dataclass itself becomes a mapping of its ``type`` and its own changed settings.
    """
    values = {field: getattr(settings, field.name) for field in dataclasses.fields(settings)}
    return {field.name: _nested(value) for field, value in values.items() if value != _default(field)}


def _default(field: dataclasses.Field[Any]) -> Any:
    return field.default if field.default_factory is dataclasses.MISSING else field.default_factory()


def _nested(value: Any) -> Any:
    if not dataclasses.is_dataclass(value) or isinstance(value, type):
        return value
    return {"type": type(value).__name__, **changed_settings(value)}


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
