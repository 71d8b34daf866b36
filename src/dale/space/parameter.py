"""What every kind of parameter can do; and parameters that are active only where others have given values.

``Float(0, 1).when(kernel="poly")`` makes a ``Conditional`` of any kind of parameter.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from dale._arrays import Matrix, Vector
from dale.errors import SpaceError


@runtime_checkable
class Parameter(Protocol):
    """One kind of parameter: its values and the ``width`` coordinates of the unit cube that stand for one of them.

    A number takes one coordinate, an unordered choice one for each option, a fixed value none. ``decode`` is defined on
    the whole cube and always gives an allowed value; ``encode(decode(u))`` is the point that the objective really sees,
    which for rounded kinds is not ``u``.
    """

    @property
    def width(self) -> int:
        """Number of coordinates of the cube."""
        ...

    @property
    def continuous(self) -> bool:
        """Whether coordinates move freely, not from value to value."""
        ...

    @property
    def ordered(self) -> bool:
        """Whether values stand in an order along a coordinate, so that between two of them lies what is between."""
        ...

    @property
    def cardinality(self) -> int | None:
        """Number of values; None where it is not finite. One value has no coordinates."""
        ...

    def check(self, value: Any, name: str) -> Any:
        """The value in its proper type, or a ``SpaceError`` that calls the parameter by its name."""
        ...

    def encode(self, value: Any) -> Vector:
        """Value to coordinates, (width,)."""
        ...

    def decode(self, coordinates: Vector) -> Any:
        """Coordinates, (width,), to the value they stand for."""
        ...

    def place(self, k: int) -> Vector:
        """Coordinates, (width,), of value number k, where the number of values is finite."""
        ...

    def snap(self, coordinates: Matrix) -> Matrix:
        """``encode(decode(u))`` for each row of (n, width), to the last bit."""
        ...

    def derivative(self, value: Any) -> Vector:
        """Derivative of the coordinates by the value, (width,): turns Hessians of the cube into the user's units.

        NaN where nothing can be derived by the value.
        """
        ...


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
