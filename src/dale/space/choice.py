"""Categorical and ordinal parameters; the options may be any objects."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from dale._arrays import Matrix, Vector
from dale.errors import SpaceError
from dale.space.grid import cell_index, snap_to_centers
from dale.space.parameter import Parameter, parse_number, register_parameter

OPTION_DISTANCE = 0.5  # between two options in the unit cube
LOW, HIGH = 0.5 - OPTION_DISTANCE / math.sqrt(8), 0.5 + OPTION_DISTANCE / math.sqrt(8)
SCALARS = (str, int, float, bool, type(None))  # options of these types are found without comparing all
MAX_COORDINATES = 16  # more options than this share coordinates


@register_parameter
@dataclass(frozen=True, eq=False)
class Choice(Parameter):
    """One of several options; a single option is a fixed value.

    Unordered options have one coordinate each. An option is represented by a high value of its own coordinate and low
    values of the others, and a point of the cube decodes to the option with the largest coordinate, the first if there
    are several. So all options are equally far from each other. The distance between two options is half the side of
    the cube: for the initial model of the default method, with length-scale 0.35, the correlation between the values at
    two options is exp(-1.02) = 0.36. An observation of one option says something about the others, but not much, and
    less as the length-scale decreases. Two options share one coordinate, at 1/4 and 3/4, which is the same distance.

    More than 16 options share 16 coordinates: they are points on a sphere around the center of the cube, in random but
    fixed directions, and a point of the cube decodes to the option in the nearest direction. The root mean square
    distance of two options is the same as above.

    With ``ordered=True`` the options share one coordinate in their order, as integers do.

    Options are distinguished by type and value: 1, 1.0 and True are three options, but a NumPy scalar is equal to the
    Python number of the same value. Options need not be hashable. The objective receives them unchanged.

    Args:
        options: The options, each listed once.
        ordered: Whether neighbouring options are similar, as "small", "medium", "large" are.

    Examples:
        >>> Choice(["relu", "gelu", None])
        Choice(['relu', 'gelu', None])
    """

    options: tuple[Any, ...]
    ordered: bool = False

    converters: ClassVar[Mapping[str, Callable[[Any], Parameter]]] = {
        "optuna.distributions.CategoricalDistribution": lambda d: Choice(d.choices),
        "ConfigSpace.CategoricalHyperparameter": lambda h: Choice(h.choices),
        "ConfigSpace.OrdinalHyperparameter": lambda h: Choice(h.sequence, ordered=True),
        "ConfigSpace.Constant": lambda h: Choice([h.value]),
        "skopt.space.Categorical": lambda d: Choice(d.categories),
    }

    def __init__(self, options: Iterable[Any], ordered: bool = False) -> None:
        if isinstance(options, str | bytes) or not isinstance(options, Iterable):
            raise TypeError(f"options must be a list, such as dale.Choice(['a', 'b']), got {options!r}")
        if isinstance(options, set | frozenset):
            raise TypeError(
                f"options must be a list, got the set {options!r}; the order of a set differs between processes, "
                "so runs with the same seed would differ"
            )
        if not isinstance(ordered, bool | np.bool_):
            raise TypeError(f"ordered must be True or False, got {ordered!r}; put all options into one list")
        object.__setattr__(self, "options", tuple(options))
        object.__setattr__(self, "ordered", bool(ordered))
        if not self.options:
            raise SpaceError("expected at least one option, such as dale.Choice(['a', 'b']), got none")
        for k, option in enumerate(self.options):
            first = self.index(option)
            if first != k:
                raise SpaceError(
                    f"expected different options, got {option!r} at positions {first} and {k}; remove one of them"
                )

    @property
    def cardinality(self) -> int:
        """Number of options."""
        return len(self.options)

    @property
    def n_coordinates(self) -> int:
        """One for each option, up to a maximum; one for all if they are ordered or two; none for a single option."""
        if self.cardinality == 1:
            return 0
        return 1 if self._on_one_axis else min(self.cardinality, MAX_COORDINATES)

    def has(self, value: Any) -> bool:
        """Whether a value is one of the options."""
        return self.index(value) is not None

    def check(self, value: Any, name: str) -> Any:
        """Return the option that is equal to the value."""
        k = self.index(value)
        if k is None:
            raise SpaceError(f"{name} must be one of {list(self.options)!r}, got {value!r}; {self._suggestion(value)}")
        return self.options[k]

    def encode(self, value: Any) -> Vector:
        """Coordinates of an option."""
        return self.encode_index(self._index(value))

    def decode(self, coordinates: Vector) -> Any:
        """Option that the coordinates represent."""
        if self.n_coordinates == 0:
            return self.options[0]
        if self._on_one_axis:
            return self.options[cell_index(float(coordinates[0]), self.cardinality)]
        return self.options[int(self._nearest(coordinates[None, :])[0])]

    def encode_index(self, k: int) -> Vector:
        """Coordinates of option number k."""
        if self._on_one_axis:
            return super().encode_index(k)
        return self._codes[k].copy()

    def snap(self, coordinates: Matrix) -> Matrix:
        """Apply ``encode(decode(u))`` to each row."""
        if self._on_one_axis:
            return snap_to_centers(coordinates, self.cardinality)
        return self._codes[self._nearest(coordinates)]

    @cached_property
    def _codes(self) -> Matrix:
        """Coordinates of all options, (number of options, n_coordinates)."""
        if self.cardinality <= MAX_COORDINATES:
            return np.where(np.eye(self.cardinality, dtype=bool), HIGH, LOW)
        # RandomState, because its streams are the same in all versions of NumPy
        directions = np.random.RandomState(0).standard_normal((self.cardinality, MAX_COORDINATES))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        return np.asarray(0.5 + OPTION_DISTANCE / math.sqrt(2) * directions)

    def _nearest(self, coordinates: Matrix) -> np.ndarray:
        """Index of the option that each row represents; the first if there are several."""
        if self.cardinality <= MAX_COORDINATES:
            return np.argmax(coordinates, axis=1)
        return np.argmax((coordinates - 0.5) @ (self._codes - 0.5).T, axis=1)

    def to_json(self, value: Any) -> int:
        """Index of the option, so options may be any objects."""
        return self._index(value)

    def from_json(self, data: Any) -> Any:
        """Option of an index."""
        return self.options[data]

    def parse(self, cell: Any) -> Any:
        """The option that a cell equals, or has the text of, or equals as a number."""
        if self.has(cell):
            return cell
        matches = [option for option in self.options if str(option) == str(cell)]
        matches = matches or [option for option in self.options if str(option).strip() == str(cell)]
        matches = matches or [option for option in self.options if _is_number(option) and option == parse_number(cell)]
        if len(matches) > 1:
            raise SpaceError(f"{cell!r} matches several options, {matches!r}; use a data frame or a list of mappings")
        return matches[0] if matches else cell

    @property
    def examples(self) -> tuple[Any, ...]:
        """All options."""
        return self.options

    def index(self, value: Any) -> int | None:
        """Index of the option that is equal to the value; None if there is none."""
        value = _as_python(value)
        if type(value) in SCALARS and value == value:
            return self._scalars.get((type(value), value))
        return next((k for k, option in enumerate(self.options) if _same(option, value)), None)

    @cached_property
    def _scalars(self) -> dict[tuple[type, Any], int]:
        """Index of the first option with each scalar value."""
        python = map(_as_python, self.options)
        return {(type(o), o): k for k, o in reversed(list(enumerate(python))) if type(o) in SCALARS}

    def _index(self, value: Any) -> int:
        k = self.index(value)
        if k is None:
            raise SpaceError(f"expected one of {list(self.options)!r}, got {value!r}; {self._suggestion(value)}")
        return k

    @property
    def _on_one_axis(self) -> bool:
        return self.ordered or self.cardinality <= 2

    def _suggestion(self, value: Any) -> str:
        """What to do about a value that is not an option."""
        similar = [o for o in self.options if not isinstance(o, np.ndarray) and str(o) == str(value)]
        similar += [o for o in self.options if _equal(o, value)]
        if similar:
            return f"options are distinguished by type: use {similar[0]!r}"
        return "omit the point or add the option"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Choice)
            and self.ordered == other.ordered
            and len(self.options) == len(other.options)
            and all(_same(a, b) for a, b in zip(self.options, other.options, strict=True))
        )

    def __hash__(self) -> int:
        return hash((self.ordered, tuple(type(_as_python(option)) for option in self.options)))

    def __repr__(self) -> str:
        return f"Choice({list(self.options)!r}{', ordered=True' if self.ordered else ''})"


def _same(a: Any, b: Any) -> bool:
    """Whether two options are the same, by type and value."""
    a, b = _as_python(a), _as_python(b)
    return a is b or (type(a) is type(b) and (_equal(a, b) or (isinstance(a, float) and a != a and b != b)))


def _equal(a: Any, b: Any) -> bool:
    """Whether a == b; for arrays, in all elements."""
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return type(a) is type(b) and a.dtype == b.dtype and np.array_equal(a, b)
    try:
        return bool(a == b)
    except (TypeError, ValueError):  # containers of arrays have no truth value
        return False


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)


def _as_python(value: Any) -> Any:
    """A NumPy scalar as a Python scalar."""
    return value.item() if isinstance(value, np.generic) else value
