"""Parameters that are held: their values are given, and proposals move in the slice of the space that is left."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dale._arrays import Matrix, Vector, frozen
from dale.errors import SpaceError
from dale.space.point import Params, by_name, short_repr
from dale.space.space import Space


@dataclass(frozen=True, eq=False)
class Held:
    """The values of the parameters that are held.

    Attributes:
        space: The whole space.
        values: By name, as the user gave them.
        columns: Which coordinates represent them, (d,).
        point: A point of the cube with these values, (d,); its other coordinates have no meaning.

    Examples:
        >>> import dale
        >>> held = Held.of({"x": 0.25}, dale.Space(x=(0, 1), y=(0, 1)))
        >>> held.applied_to(np.array([[0.5, 0.5]]))
        array([[0.25, 0.5 ]])
    """

    space: Space
    values: Mapping[str, Any]
    columns: np.ndarray
    point: Vector

    @classmethod
    def of(cls, fixed: Any, space: Space) -> Held:
        """Check the values that a user gives, by name.

        Raises:
            SpaceError: A name is unknown, a value is not in the space, or no parameter is left to choose.
            TypeError: It is no mapping.
        """
        if not isinstance(fixed, Mapping) or not fixed:
            raise TypeError(
                f"fixed: expected the values of some parameters by name, such as {{'x0': 1.0}}, got {fixed!r}"
            )
        columns, point, values = np.zeros(space.dimension, dtype=bool), np.zeros(space.dimension), {}
        for name, value in fixed.items():
            _check_name(name, space)
            values[name] = space.parameters[name].check(value, name)
            columns[space.columns(name)] = True
            point[space.columns(name)] = space.parameters[name].encode(values[name])
        if columns.all():
            raise SpaceError("fixed: expected values of some of the parameters, got all of them; use ask(at=...)")
        return cls(space, values, columns, frozen(point))

    def __str__(self) -> str:
        return ", ".join(f"{name} = {short_repr(value)}" for name, value in self.values.items())

    def applied_to(self, X: Matrix) -> Matrix:
        """Points (m, d) with the held coordinates instead of their own."""
        return np.where(self.columns, self.point, X)

    def contains(self, X: Matrix) -> np.ndarray:
        """Which points (m, d) have these values, (m,)."""
        return np.asarray(np.all(X[:, self.columns] == self.point[self.columns], axis=1))

    def read(self, params: Params) -> tuple[Params, Vector]:
        """A point with the given values to the last digit, as the objective receives it and in the cube."""
        return self.space.read(self.space.as_params({**by_name(params, self.space.names), **self.values}))


def _check_name(name: Any, space: Space) -> None:
    if name not in space.names:
        raise SpaceError(f"fixed: expected names out of {', '.join(map(repr, space.names))}, got {name!r}")
    if name in space.conditions:
        raise SpaceError(f"fixed: {name!r} is conditional; hold the parameter that it depends on instead")
    if space.equalities is not None and name in space.equalities.determined:
        raise SpaceError(f"fixed: the equalities determine {name!r}; hold other parameters")
