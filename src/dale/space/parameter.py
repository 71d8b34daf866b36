"""What every kind of parameter can do."""

from typing import Any, Protocol, runtime_checkable

from dale.arrays import Matrix, Vector


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

    def slope(self, value: Any) -> Vector:
        """Derivative of the coordinates by the value, (width,): turns Hessians of the cube into the user's units.

        NaN where nothing can be derived by the value.
        """
        ...
