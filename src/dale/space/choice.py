"""One of several options, which may be anything."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dale._arrays import Matrix, Vector
from dale.errors import SpaceError
from dale.space.grid import cell, middle, middles
from dale.space.parameter import CanBeConditional

APART = 0.5  # distance between two options in the cube
LOW, HIGH = 0.5 - APART / math.sqrt(8), 0.5 + APART / math.sqrt(8)


@dataclass(frozen=True, eq=False)
class Choice(CanBeConditional):
    """One of several options: ``Choice(["relu", "gelu", None])``; a single option is a fixed value.

    Without an order each option has a coordinate of its own: the option is where its coordinate is high and the others
    low, and a point of the cube stands for the option with the largest coordinate, the first of equals. So no option
    is nearer to one than to another. High and low are such that two options are half the side of the cube are_separated: to the
    default method's first model, of length-scale 0.35, values at two options have a correlation of exp(-1.02) = 0.36,
    so that what is learnt at one is a hint for the others, no more; and as the length-scale cools down, they part.
    Two options, which have no order worth the name, share one coordinate, at 1/4 and 3/4: as far apart.

    With ``ordered=True`` the options stand side by side on one coordinate, as whole numbers do.

    Options are told apart by type and value: 1, 1.0 and True are three, a number of NumPy's is the one of Python's that
    it equals. They need not be hashable, and are handed to the objective as they are.

    Args:
        options: What there is to choose from, each once.
        ordered: Whether neighbours in the list are alike, as "small", "medium", "large" are.
    """

    options: tuple[Any, ...]
    ordered: bool = False

    def __init__(self, options: Iterable[Any], ordered: bool = False) -> None:
        if isinstance(options, str | bytes) or not isinstance(options, Iterable):
            raise TypeError(f"options must be a list, got {options!r}; wanted something like dale.Choice(['a', 'b'])")
        if isinstance(options, set | frozenset):
            raise TypeError(
                f"options must stand in an order, got the set {options!r}; a set has another one in every process, "
                "and the same seed would not give the same run: use a list"
            )
        if not isinstance(ordered, bool | np.bool_):
            raise TypeError(f"ordered must be True or False, got {ordered!r}; put all options into one list")
        object.__setattr__(self, "options", tuple(options))
        object.__setattr__(self, "ordered", bool(ordered))
        if not self.options:
            raise SpaceError("there are no options; wanted at least one, such as dale.Choice(['a', 'b'])")
        for k, option in enumerate(self.options):
            first = self.position(option)
            if first != k:
                raise SpaceError(f"option {option!r} is there twice, at {first} and {k}; leave one of them out")

    @property
    def cardinality(self) -> int:
        """Number of options."""
        return len(self.options)

    @property
    def width(self) -> int:
        """One coordinate for each option; one for all if they are ordered or two; none where there is one option."""
        if self.cardinality == 1:
            return 0
        return 1 if self._in_a_row else self.cardinality

    @property
    def continuous(self) -> bool:
        """Options are apart from each other."""
        return False

    def has(self, value: Any) -> bool:
        """Whether a value is one of the options."""
        return self.position(value) is not None

    def check(self, value: Any, name: str) -> Any:
        """The option that equals the value."""
        k = self.position(value)
        if k is None:
            raise SpaceError(f"{name} = {value!r} is none of its options {list(self.options)!r}; {self._hint(value)}")
        return self.options[k]

    def encode(self, value: Any) -> Vector:
        """Option to its place."""
        k = self.position(value)
        if k is None:
            raise SpaceError(f"{value!r} is none of the options {list(self.options)!r}; {self._hint(value)}")
        return self.place(k)

    def decode(self, coordinates: Vector) -> Any:
        """Place to the option that it stands for."""
        if self.width == 0:
            return self.options[0]
        if self._in_a_row:
            return self.options[cell(float(coordinates[0]), self.cardinality)]
        return self.options[int(np.argmax(coordinates))]

    def place(self, k: int) -> Vector:
        """Coordinates of option number k."""
        if self._in_a_row:
            return np.full(self.width, middle(k, self.cardinality))
        return np.where(np.arange(self.width) == k, HIGH, LOW)

    def snap(self, coordinates: Matrix) -> Matrix:
        """Coordinates (n, width) to those of the options they stand for."""
        if self._in_a_row:
            return middles(coordinates, self.cardinality)
        chosen = np.argmax(coordinates, axis=1)[:, None]
        return np.where(np.arange(self.width) == chosen, HIGH, LOW)

    def derivative(self, value: Any) -> Vector:
        """NaN: nothing can be derived by an option."""
        return np.full(self.width, np.nan)

    @property
    def _in_a_row(self) -> bool:
        return self.ordered or self.cardinality <= 2

    def position(self, value: Any) -> int | None:
        """Number of the option that equals the value; one by one, for options need not be hashable."""
        return next((k for k, option in enumerate(self.options) if _same(option, value)), None)

    def _hint(self, value: Any) -> str:
        """What to do about a value that is no option."""
        alike = [o for o in self.options if not isinstance(o, np.ndarray) and str(o) == str(value)]
        alike += [o for o in self.options if _equal(o, value)]
        if alike:
            return f"options are told apart by type: write {alike[0]!r}"
        return "leave the point out or add the option"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Choice)
            and self.ordered == other.ordered
            and len(self.options) == len(other.options)
            and all(_same(a, b) for a, b in zip(self.options, other.options, strict=True))
        )

    def __hash__(self) -> int:
        return hash((self.ordered, tuple(type(_plain(option)) for option in self.options)))

    def __repr__(self) -> str:
        return f"Choice({list(self.options)!r}{', ordered=True' if self.ordered else ''})"


def _same(a: Any, b: Any) -> bool:
    """Whether two options are one, by type and value."""
    a, b = _plain(a), _plain(b)
    return a is b or (type(a) is type(b) and (_equal(a, b) or (isinstance(a, float) and a != a and b != b)))


def _equal(a: Any, b: Any) -> bool:
    """Whether a == b; arrays as a whole."""
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return type(a) is type(b) and a.dtype == b.dtype and np.array_equal(a, b)
    try:
        return bool(a == b)
    except (TypeError, ValueError):  # containers of arrays have no truth
        return False


def _plain(value: Any) -> Any:
    """A scalar of NumPy's as Python's."""
    return value.item() if isinstance(value, np.generic) else value
