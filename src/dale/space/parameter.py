"""The interface of a parameter type, the registry of types, and conditional parameters.

A parameter type is a subclass of ``Parameter`` that is registered with ``register_parameter``. Everything else that
dale does with a parameter (searching, stores, TOML files, tables, commands, plots) goes through this interface, so a
new type needs no change in any other module. ``Float(0, 1).when(kernel="poly")`` makes any parameter a ``Conditional``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any, ClassVar, TypeVar

import numpy as np

from dale._arrays import Matrix, Vector
from dale.errors import SpaceError
from dale.space.grid import cell_center

P = TypeVar("P", bound="Parameter")


class Parameter(ABC):
    """One parameter: its values, and the coordinates of the unit cube that represent them.

    A number takes one coordinate, an unordered choice one for each option (at most 16), a fixed value none. ``decode``
    is defined on the whole cube and always returns a valid value. ``encode(decode(u))`` is the point that the objective
    evaluates; for types that round, it differs from ``u``.

    A subclass implements the five abstract members, and overrides others where the default does not fit. The arguments
    of its constructor are its settings: each is an attribute of the same name, and a key of a TOML file.

    Examples:
        ``tests/space/test_new_parameter_type.py`` defines and uses a complete new type.

    Attributes:
        converters: Functions that make such a parameter from an object of another library, by the qualified name of
            the object's class: ``{"optuna.distributions.FloatDistribution": ...}``.
    """

    converters: ClassVar[Mapping[str, Callable[[Any], Parameter]]] = {}

    @property
    @abstractmethod
    def n_coordinates(self) -> int:
        """Number of coordinates in the unit cube; 0 if there is only one value."""

    @property
    @abstractmethod
    def cardinality(self) -> int | None:
        """Number of values; None if it is not finite."""

    @abstractmethod
    def check(self, value: Any, name: str) -> Any:
        """Return the value with its proper type.

        Raises:
            SpaceError: If it is not a value of this parameter; the message calls the parameter ``name``.
            TypeError: If it is not even of a suitable type.
        """

    @abstractmethod
    def encode(self, value: Any) -> Vector:
        """Coordinates of a value, (n_coordinates,)."""

    @abstractmethod
    def decode(self, coordinates: Vector) -> Any:
        """Value that the coordinates (n_coordinates,) represent."""

    @property
    def continuous(self) -> bool:
        """Whether the coordinates vary continuously."""
        return self.cardinality is None

    @property
    def ordered(self) -> bool:
        """Whether the values are ordered along one coordinate."""
        return True

    @property
    def is_numeric(self) -> bool:
        """Whether the values are real numbers, which ``float`` converts."""
        return False

    @property
    def is_linear(self) -> bool:
        """Whether the value is a number and a linear function of one coordinate: linear equalities may determine it."""
        return False

    @property
    def log(self) -> bool:
        """Whether the scale is logarithmic."""
        return False

    def encode_index(self, k: int) -> Vector:
        """Coordinates (n_coordinates,) of value number k of a finite type; by default the center of the kth cell."""
        return np.full(self.n_coordinates, cell_center(k, self.cardinality or 1))

    def snap(self, coordinates: Matrix) -> Matrix:
        """Apply ``encode(decode(u))`` to each row of (n, n_coordinates), bit for bit."""
        return np.array([self.encode(self.decode(u)) for u in coordinates]).reshape(coordinates.shape)

    def decode_all(self, coordinates: Matrix) -> list[Any]:
        """Apply ``decode`` to each row of (n, n_coordinates), bit for bit."""
        return [self.decode(u) for u in coordinates]

    def derivative(self, value: Any) -> Vector:
        """Derivative of the coordinates with respect to the value, (n_coordinates,); NaN if there is none.

        It converts Hessians in the unit cube to the user's units.
        """
        return np.full(self.n_coordinates, np.nan)

    @property
    def settings(self) -> dict[str, Any]:
        """Arguments of the constructor by name: ``type(self)(**self.settings)`` is equal to this parameter.

        A store keeps them. A sequence is restored as a list.
        """
        return {name: getattr(self, name) for name in signature(type(self)).parameters}

    def to_json(self, value: Any) -> Any:
        """Object that a store keeps for a value: preferably None, a bool, a number or a string."""
        return value

    def from_json(self, data: Any) -> Any:
        """Value for which ``to_json`` returned the data."""
        return data

    def parse(self, cell: Any) -> Any:
        """Value of a non-empty cell of a table, such as the text of a CSV file; ``check`` is called afterwards."""
        return parse_number(cell)

    def to_argument(self, value: Any) -> Any:
        """Object that a program receives for a value, as text or in a JSON file."""
        return value

    @property
    def examples(self) -> Sequence[Any]:
        """Some values; used to check in advance that values can be passed to a program."""
        return (self.decode(np.full(self.n_coordinates, 0.5)),)

    def axis(self, n: int) -> Vector:
        """At most n numbers for the axis of a plot, evenly spaced on the parameter's scale, both ends included."""
        u = np.tile(np.linspace(0, 1, n)[:, None], self.n_coordinates)
        return np.unique(np.array(self.decode_all(u), dtype=float))

    def when(self, conditions: Mapping[str, Any] | None = None, /, **named: Any) -> Conditional:
        """Return this parameter, active only where other parameters have given values.

        Several conditions must all hold; of a list of values, any one may. The objective does not receive a parameter
        that is inactive. The other parameters need a finite number of values; they may be conditional themselves.

        Args:
            conditions: The conditions as a mapping, for names that are not Python identifiers.
            named: For each other parameter, the value or the list of values that it must have.

        Examples:
            ``dale.Int(2, 5).when(kernel="poly")``
        """
        return Conditional.of(self, {**(conditions or {}), **named})


PARAMETER_TYPES: dict[str, type[Any]] = {}  # subclasses of Parameter, by class name


def register_parameter(cls: type[P]) -> type[P]:
    """Class decorator that adds a parameter type to the registry, which stores and TOML files use.

    A store refers to the type by the name of the class, a TOML file by this name in lower case.
    """
    reserved = {"kind", "type", "when"} & set(signature(cls).parameters)
    if reserved:
        raise ValueError(f"a parameter type cannot have the setting {reserved.pop()!r}, which TOML files or stores use")
    known = PARAMETER_TYPES.setdefault(cls.__name__, cls)
    if (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
        raise ValueError(f"there is already a parameter type {cls.__name__!r}, in {known.__module__}; rename the class")
    PARAMETER_TYPES[cls.__name__] = cls
    return cls


def parse_number(cell: Any) -> Any:
    """The number that a text represents; other text, and any other object, unchanged."""
    if not isinstance(cell, str):
        return cell
    for parse in (int, float):
        try:
            return parse(cell)
        except ValueError:
            pass
    return cell


@dataclass(frozen=True)
class Conditional:
    """A parameter that is active only where other parameters have given values; ``Parameter.when`` returns it.

    Attributes:
        parameter: The parameter while it is active.
        conditions: Names of other parameters, in alphabetical order, each with the values that it may have.
    """

    parameter: Parameter
    conditions: tuple[tuple[str, tuple[Any, ...]], ...]

    @classmethod
    def of(cls, parameter: Parameter, conditions: Mapping[str, Any]) -> Conditional:
        """A parameter with conditions as a user writes them: a value, or a list of values, by name."""
        if not conditions:
            raise TypeError('when() expects at least one condition, such as when(kernel="poly")')
        values = {name: tuple(value) if isinstance(value, list) else (value,) for name, value in conditions.items()}
        for name in values:
            if not values[name]:
                raise SpaceError(f"expected at least one value in when({name}=...), got []; the condition never holds")
        return cls(parameter, tuple(sorted(values.items(), key=lambda pair: pair[0])))

    def when(self, conditions: Mapping[str, Any] | None = None, /, **named: Any) -> Conditional:
        """Add conditions on further parameters; all conditions must hold."""
        more = {**(conditions or {}), **named}
        for name, _ in self.conditions:
            if name in more:
                raise SpaceError(
                    f"there is already a condition on {name!r}; put all values that it may have into one list"
                )
        return Conditional.of(self.parameter, {**{name: list(v) for name, v in self.conditions}, **more})

    def __repr__(self) -> str:
        return f"{self.parameter!r}.when({format_conditions(self.conditions, ', ')})"


def format_conditions(conditions: Iterable[tuple[str, Sequence[Any]]], separator: str = " and ") -> str:
    """Conditions as text, as a user writes them."""
    return separator.join(f"{name}={(v[0] if len(v) == 1 else list(v))!r}" for name, v in conditions)
