"""What every kind of parameter can do."""

from typing import Any, Protocol, runtime_checkable

from dale.arrays import Vector


@runtime_checkable
class Parameter(Protocol):
    """One kind of parameter: its values and the ``width`` coordinates of the unit cube that stand for one of them.

    A real number takes one coordinate; an unordered choice may take one for each option. ``decode`` is defined on the
    whole cube and always gives an allowed value; ``encode(decode(u))`` is the point that the objective really sees,
    which for rounded kinds is not ``u``.
    """

    @property
    def width(self) -> int:
        """Number of coordinates of the cube."""
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

    def slope(self, value: Any) -> Vector:
        """Derivative of the coordinates by the value, (width,): turns Hessians of the cube into the user's units."""
        ...
