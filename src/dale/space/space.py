"""Several parameters together: points of the user <-> points of the unit cube."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np
from scipy.optimize import Bounds

from dale.arrays import Matrix, Vector, frozen
from dale.errors import SpaceError
from dale.space.float import Float
from dale.space.parameter import Parameter
from dale.trial import NamedParams, Params


class Space:
    """The set of points to search: ``Space(lr=Float(1e-5, 1e-1, log=True), width=(1.0, 9.0))``.

    Coordinates of the cube stand in the alphabetical order of the names, so that a run does not depend on the order in
    which the parameters were written. Points shown to the user keep the order in which they were written.

    Args:
        parameters: A mapping, for names that are no Python identifiers.
        named: Parameters by name; a pair ``(lower, upper)`` stands for ``Float(lower, upper)``.
    """

    def __init__(self, parameters: Mapping[str, Any] | None = None, /, **named: Any) -> None:
        given = {**(parameters or {}), **named}
        for name in given:
            if not isinstance(name, str):
                raise TypeError(f"a parameter's name must be a string, got {name!r}")
        self._set({name: _as_parameter(value, f"parameter {name!r}") for name, value in given.items()}, named=True)

    @classmethod
    def from_pairs(cls, pairs: Sequence[Any] | Matrix) -> Space:
        """A space without names, from pairs of bounds as SciPy's global optimizers take them."""
        space = cls.__new__(cls)
        space._set({f"x{i}": _as_parameter(p, f"bounds {i}") for i, p in enumerate(pairs)}, named=False)
        return space

    def _set(self, parameters: dict[str, Parameter], *, named: bool) -> None:
        if not parameters:
            raise SpaceError(
                "the space is empty; wanted at least one parameter with its bounds, such as [(-5, 10), (0, 15)]"
            )
        self.parameters = parameters
        self.named = named
        order = sorted(parameters) if named else list(parameters)
        ends = np.cumsum([parameters[name].width for name in order])
        self.dimension = int(ends[-1])
        self._columns = {
            name: slice(int(end) - parameters[name].width, int(end)) for name, end in zip(order, ends, strict=True)
        }

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters' names as the user wrote them; ``x0, x1, ...`` in a space without names."""
        return tuple(self.parameters)

    def check(self, params: Any) -> Params:
        """A point of the user's in its proper types, or an error that says what is wrong with it."""
        values = self._check(params)
        return NamedParams(values) if self.named else frozen(list(values.values()))

    def encode(self, params: Any) -> Vector:
        """A point of the user's, checked, to the unit cube."""
        point = np.empty(self.dimension)
        for name, value in self._check(params).items():
            point[self._columns[name]] = self.parameters[name].encode(value)
        return frozen(point)

    def decode(self, point: Vector) -> Params:
        """A point of the unit cube to what the objective takes."""
        values = {name: p.decode(point[self._columns[name]]) for name, p in self.parameters.items()}
        return NamedParams(values) if self.named else frozen(list(values.values()))

    def as_array(self, params: Params) -> Vector:
        """A point as an array in the user's order and units; of objects where not all values are numbers."""
        values = list(params.values()) if isinstance(params, Mapping) else list(params)
        if all(isinstance(v, Real) for v in values):
            return frozen(values)
        objects = np.empty(len(values), dtype=object)
        objects[:] = values
        objects.flags.writeable = False
        return objects

    def snap(self, point: Vector) -> Vector:
        """The point of the cube that the objective really sees when it is given this one."""
        return self.encode(self.decode(point))

    def hessian(self, params: Params, cube_hessian: Matrix) -> Matrix:
        """Second derivatives of the cube in the user's units and order, where the first ones vanish."""
        values = dict(params) if isinstance(params, Mapping) else dict(zip(self.names, params, strict=True))
        columns = np.concatenate([np.arange(self.dimension)[self._columns[name]] for name in self.names])
        slopes = np.concatenate([self.parameters[name].slope(values[name]) for name in self.names])
        return cube_hessian[np.ix_(columns, columns)] * np.outer(slopes, slopes)

    def _check(self, params: Any) -> dict[str, Any]:
        if self.named:
            return self._check_mapping(params)
        if isinstance(params, Mapping | str):
            raise TypeError(f"this space has no names: wanted a sequence of {len(self.names)} numbers, got {params!r}")
        try:
            values = list(params)
        except TypeError:
            raise TypeError(f"wanted a sequence of {len(self.names)} numbers, got {params!r}") from None
        if len(values) != len(self.names) or any(_is_several(v) for v in values):
            raise SpaceError(f"wanted {len(self.names)} numbers, one for each pair of bounds, got {params!r}")
        return {
            n: self.parameters[n].check(v, f"coordinate {i}")
            for i, (n, v) in enumerate(zip(self.names, values, strict=True))
        }

    def _check_mapping(self, params: Any) -> dict[str, Any]:
        if not isinstance(params, Mapping):
            raise TypeError(f"this space has names: wanted a mapping with {_listed(self.names)}, got {params!r}")
        unknown = [str(n) for n in params if n not in self.parameters]
        missing = [n for n in self.names if n not in params]
        if unknown or missing:
            raise SpaceError(
                "; ".join(
                    ([f"unknown parameter {_listed(unknown)}"] if unknown else [])
                    + ([f"missing parameter {_listed(missing)}"] if missing else [])
                )
                + f"; the space has {_listed(self.names)}"
            )
        return {n: self.parameters[n].check(params[n], f"parameter {n!r}") for n in self.names}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Space) and self.named == other.named and self.parameters == other.parameters

    def __hash__(self) -> int:
        return hash((self.named, frozenset(self.parameters.items())))

    def __repr__(self) -> str:
        if self.named:
            return "Space(" + ", ".join(f"{n}={p!r}" for n, p in self.parameters.items()) + ")"
        return f"Space.from_pairs({list(self.parameters.values())!r})"


def as_space(space: Any) -> Space:
    """A ``Space`` from whatever a user writes: a ``Space``, a mapping, SciPy ``Bounds`` or a sequence of pairs."""
    if isinstance(space, Space):
        return space
    if isinstance(space, Bounds):
        try:
            lower, upper = np.broadcast_arrays(np.atleast_1d(space.lb), np.atleast_1d(space.ub))
        except ValueError:
            raise SpaceError(
                f"Bounds with lb of shape {np.shape(space.lb)} and ub of shape {np.shape(space.ub)}"
            ) from None
        return Space.from_pairs(list(zip(lower.tolist(), upper.tolist(), strict=True)))
    if isinstance(space, Mapping):
        return Space(space)
    if not _is_sequence(space):
        raise TypeError(
            "a space is a sequence of (lower, upper) pairs, a scipy.optimize.Bounds, a mapping or a dale.Space, "
            f"got {space!r}"
        )
    return Space.from_pairs(space)


def _as_parameter(value: Any, what: str) -> Parameter:
    if isinstance(value, Parameter) and not isinstance(value, type):
        return value
    if not _is_sequence(value):
        raise TypeError(f"{what}: wanted a pair (lower, upper) or a parameter such as dale.Float(0, 1), got {value!r}")
    if len(value) != 2 or any(_is_several(v) for v in value):
        raise SpaceError(f"{what}: wanted a pair (lower, upper), got {value!r}")
    lower, upper = (v.item() if isinstance(v, np.generic) else v for v in value)
    try:
        return Float(lower, upper)
    except (SpaceError, TypeError) as error:
        raise type(error)(f"{what}: {error}") from None


def _listed(names: Sequence[str]) -> str:
    return ", ".join(repr(n) for n in names)


def _is_sequence(value: Any) -> bool:
    """Whether a value may be a list of pairs or a pair: text is not, nor is an array of no dimension."""
    if isinstance(value, np.ndarray):
        return value.ndim > 0
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def _is_several(value: Any) -> bool:
    """Whether a value that should be one number is a collection."""
    return isinstance(value, list | tuple | dict | set) or (isinstance(value, np.ndarray) and value.ndim > 0)
