"""Parameters that are active only where others have given values: ``Float(0, 1).when(kernel="poly")``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dale.errors import SpaceError
from dale.space.parameter import Parameter


@dataclass(frozen=True)
class Conditional:
    """A parameter that is active only where others have given values; what ``when`` of a parameter makes.

    Attributes:
        parameter: What it is where it is active.
        conditions: Names of other parameters in alphabetical order, each with the values that it may have.
    """

    parameter: Parameter
    conditions: tuple[tuple[str, tuple[Any, ...]], ...]

    @classmethod
    def of(cls, parameter: Parameter, written: Mapping[str, Any]) -> Conditional:
        """A parameter with conditions as a user writes them, where a list holds several values."""
        if not written:
            raise TypeError('when needs at least one condition, such as when(kernel="poly")')
        several = {name: tuple(value) if isinstance(value, list) else (value,) for name, value in written.items()}
        never = [name for name, values in several.items() if not values]
        if never:
            raise SpaceError(f"when({never[0]}=[]) never holds; wanted at least one value")
        return cls(parameter, tuple(sorted(several.items(), key=lambda pair: pair[0])))

    def when(self, conditions: Mapping[str, Any] | None = None, /, **named: Any) -> Conditional:
        """With more conditions, on other parameters: all must hold."""
        more = {**(conditions or {}), **named}
        twice = [name for name, _ in self.conditions if name in more]
        if twice:
            raise SpaceError(
                f"there is a condition on {twice[0]!r} already; write all values that it may have in one list"
            )
        return Conditional.of(self.parameter, {**{name: list(v) for name, v in self.conditions}, **more})

    def __repr__(self) -> str:
        return f"{self.parameter!r}.when({described(self.conditions, ', ')})"


class CanBeConditional:
    """What makes a conditional parameter of any kind of parameter."""

    def when(self: Any, conditions: Mapping[str, Any] | None = None, /, **named: Any) -> Conditional:
        """This parameter, active only where others have given values: ``Int(2, 5).when(kernel="poly")``.

        Several conditions must all hold; of a list of values, any one. Where the parameter is inactive, the objective
        does not get it. The others have finitely many values, and may be conditional themselves.

        Args:
            conditions: A mapping, for names that are no Python identifiers.
            named: Other parameters by name, and the value or the list of values that each may have.
        """
        return Conditional.of(self, {**(conditions or {}), **named})


def described(conditions: Iterable[tuple[str, Sequence[Any]]], between: str = " and ") -> str:
    """Conditions as a user writes them."""
    return between.join(f"{name}={(v[0] if len(v) == 1 else list(v))!r}" for name, v in conditions)
