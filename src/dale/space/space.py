"""Several parameters together: points of the user <-> points of the unit cube."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.optimize import Bounds

from dale._arrays import Matrix, Vector, frozen
from dale.errors import SpaceError
from dale.space.conditions import REST, Conditions, checked, inactive
from dale.space.convert import as_parameter, configuration, is_sequence, is_several
from dale.space.enumeration import groups
from dale.space.float import Float
from dale.space.int import Int
from dale.space.parameter import Conditional, Parameter, described
from dale.space.point import FrozenParams, Params


class Space:
    """The set of points to search: ``Space(lr=Float(1e-5, 1e-1, log=True), depth=Int(1, 12), width=(1.0, 9.0))``.

    Coordinates of the cube stand in the alphabetical order of the names, so that a run does not depend on the order in
    which the parameters were written. Points shown to the user keep the order in which they were written.

    Args:
        parameters: A mapping, for names that are no Python identifiers.
        named: Parameters by name; a pair ``(lower, upper)`` stands for ``Float(lower, upper)``.

    Attributes:
        parameters: By name, in the order in which the user wrote them.
        conditions: Of those that are active only where others have given values, parents first.
        named: Whether the user gave names.
        dimension: Number of coordinates of the cube; fixed parameters have none.
        continuous: Which coordinates move freely, (dimension,).
        ordered: Along which coordinates values stand in an order, (dimension,); not where others depend on them.
        cardinality: Number of different points; None where it is not finite.
        cells: How far it is along each coordinate from one value to the next, (dimension,); 0 where it moves freely.
        of_numbers: Whether all parameters are numbers.
    """

    def __init__(self, parameters: Mapping[str, Any] | None = None, /, **named: Any) -> None:
        given = {**(parameters or {}), **named}
        for name in given:
            if not isinstance(name, str):
                raise TypeError(f"a parameter's name must be a string, got {name!r}")
        written = {name: value.conditions for name, value in given.items() if isinstance(value, Conditional)}
        given |= {name: given[name].parameter for name in written}
        parameters = {name: as_parameter(value, f"parameter {name!r}") for name, value in given.items()}
        self._set(parameters, checked(parameters, written), named=True)

    @classmethod
    def from_pairs(cls, pairs: Sequence[Any] | Matrix) -> Space:
        """A space without names, from pairs of bounds as SciPy's global optimizers take them."""
        space = cls.__new__(cls)
        space._set({f"x{i}": as_parameter(p, f"bounds {i}") for i, p in enumerate(pairs)}, {}, named=False)
        return space

    @classmethod
    def from_toml(cls, path: str | os.PathLike[str]) -> Space:
        """A space from a TOML file, a table for each parameter; docs/problems.md has the keys."""
        from dale.space.toml import parameters_of

        parameters = parameters_of(path)
        try:
            return cls(parameters)
        except (SpaceError, TypeError) as error:
            raise SpaceError(f"{os.fspath(path)}: {error}") from None

    def _set(self, parameters: dict[str, Parameter], conditions: Conditions, *, named: bool) -> None:
        if not parameters:
            raise SpaceError(
                "the space is empty; wanted at least one parameter with its bounds, such as [(-5, 10), (0, 15)]"
            )
        self.parameters = parameters
        self.conditions = conditions
        self.named = named
        order = sorted(parameters) if named else list(parameters)
        ends = np.cumsum([parameters[name].width for name in order])
        self.dimension = int(ends[-1])
        if self.dimension == 0:
            raise SpaceError(
                f"bounds are equal, or options single, in all of {_listed(list(parameters))}: there is nothing to "
                "search; let one parameter vary, or evaluate the objective once"
            )
        self._columns = {
            name: slice(int(end) - parameters[name].width, int(end)) for name, end in zip(order, ends, strict=True)
        }
        widths = [parameters[name].width for name in order]
        self.continuous = np.repeat([parameters[name].continuous for name in order], widths)
        self._parents = {parent for wanted in conditions.values() for parent in wanted}
        self.cells = np.repeat([1 / (parameters[name].cardinality or math.inf) for name in order], widths)
        self.ordered = np.repeat([parameters[n].ordered and n not in self._parents for n in order], widths)
        self.continuous.flags.writeable = self.ordered.flags.writeable = False
        counts = [p.cardinality for p in parameters.values()]
        self._groups = [] if None in counts else groups(parameters, conditions, order)
        self.cardinality = None if None in counts else math.prod(group.count for group in self._groups)
        self.of_numbers = all(isinstance(p, Float | Int) for p in parameters.values())

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters' names as the user wrote them; ``x0, x1, ...`` in a space without names."""
        return tuple(self.parameters)

    def check(self, params: Any) -> Params:
        """A point of the user's in its proper types, or an error that says what is wrong with it."""
        return self.as_params(self._check(params))

    def encode(self, params: Any) -> Vector:
        """A point of the user's, checked, to the unit cube."""
        return self.read(params)[1]

    def read(self, params: Any) -> tuple[Params, Vector]:
        """A point of the user's both ways: as ``check`` and as ``encode`` give it."""
        values = self._check(params)
        point = np.full(self.dimension, REST)
        for name, value in values.items():
            point[self._columns[name]] = self.parameters[name].encode(value)
        return self.as_params(values), frozen(point)

    def decode(self, point: Vector) -> Params:
        """A point of the unit cube to what the objective takes."""
        values = {name: p.decode(point[self._columns[name]]) for name, p in self.parameters.items()}
        for name in inactive(values, self.conditions):
            del values[name]
        return self.as_params(values)

    def as_array(self, params: Params) -> Vector:
        """A point as an array in the user's order and units; of objects, as they are, where one is of options.

        What is inactive is NaN, and None among objects.
        """
        nothing = np.nan if self.of_numbers else None
        values = [params.get(n, nothing) for n in self.names] if isinstance(params, Mapping) else list(params)
        if self.of_numbers:
            return frozen(values)
        objects = np.empty(len(values), dtype=object)
        for i, value in enumerate(values):  # options may be lists
            objects[i] = value
        objects.flags.writeable = False
        return objects

    def snap(self, point: Vector) -> Vector:
        """The point of the cube that the objective really sees when it is given this one."""
        return self.encode(self.decode(point))

    def snap_all(self, points: Matrix) -> Matrix:
        """``snap`` for points (n, dimension), to the last bit."""
        snapped = np.empty((len(points), self.dimension))
        for name, columns in self._columns.items():
            snapped[:, columns] = self.parameters[name].snap(points[:, columns])
        return np.where(self.active(snapped), snapped, REST) if self.conditions else snapped

    def active(self, points: Matrix) -> np.ndarray:
        """Which coordinates of points (n, dimension), as ``snap_all`` leaves them, are of active parameters."""
        on = {name: np.ones(len(points), dtype=bool) for name in self._columns}
        for name, wanted in self.conditions.items():
            for parent, may in wanted.items():
                places = np.array([self.parameters[parent].encode(value) for value in may.options])
                there = np.all(points[:, None, self._columns[parent]] == places, axis=2)
                on[name] &= on[parent] & np.any(there, axis=1)
        widths = [self.parameters[name].width for name in self._columns]
        return np.repeat(np.array(list(on.values())), widths, axis=0).T

    def decode_all(self, points: Matrix) -> Matrix:
        """``as_array(decode(point))`` for points (n, dimension) of a space of numbers, to the last bit."""
        values = np.empty((len(points), len(self.names)))
        for j, (name, parameter) in enumerate(self.parameters.items()):
            u = points[:, self._columns[name]]
            if isinstance(parameter, Float) and parameter.straight:
                x = np.clip(
                    parameter.lower + u[:, 0] * (parameter.upper - parameter.lower), parameter.lower, parameter.upper
                )
                values[:, j] = np.where(u[:, 0] >= 1.0, parameter.upper, np.where(u[:, 0] <= 0.0, parameter.lower, x))
            else:
                values[:, j] = [parameter.decode(row) for row in u]
        return values

    def point(self, k: int) -> Vector:
        """Point number k of a finite space, in the cube; the last coordinates count fastest."""
        if self.cardinality is None or not 0 <= k < self.cardinality:
            raise IndexError(f"point {k} of a space of {self.cardinality} points")
        point = np.full(self.dimension, REST)
        for group in reversed(self._groups):
            k, number = divmod(k, group.count)
            for name, digit in group.point(number):
                point[self._columns[name]] = self.parameters[name].place(digit)
        return frozen(point)

    def hessian(self, params: Params, cube_hessian: Matrix) -> Matrix:
        """Second derivatives of the cube in the user's units, where the first ones vanish.

        A row and a column for each parameter, in the user's order: of whole numbers and steps, along the line that they
        lie on; NaN for choices and for what is fixed.
        """
        values = dict(params) if isinstance(params, Mapping) else dict(zip(self.names, params, strict=True))
        columns = [min(self._columns[name].start, self.dimension - 1) for name in self.names]
        slopes = [
            s[0] if len(s) == 1 else np.nan for s in (self.parameters[n].derivative(values[n]) for n in self.names)
        ]
        return cube_hessian[np.ix_(columns, columns)] * np.outer(slopes, slopes)

    def as_params(self, values: dict[str, Any]) -> Params:
        """Values by name, in their proper types, as the objective takes them."""
        return FrozenParams(values) if self.named else self.as_array(values)

    def _check(self, params: Any) -> dict[str, Any]:
        if self.named:
            return self._check_mapping(params)
        wanted = f"{len(self.names)} {'numbers' if self.of_numbers else 'values'}"
        if isinstance(params, Mapping | str):
            raise TypeError(f"this space has no names: wanted a sequence of {wanted}, got {params!r}")
        try:
            values = list(params)
        except TypeError:
            raise TypeError(f"wanted a sequence of {wanted}, got {params!r}") from None
        if len(values) != len(self.names) or (self.of_numbers and any(is_several(v) for v in values)):
            raise SpaceError(f"wanted {wanted}, one for each pair of bounds, got {params!r}")
        return {
            n: self.parameters[n].check(v, f"coordinate {i}")
            for i, (n, v) in enumerate(zip(self.names, values, strict=True))
        }

    def _check_mapping(self, params: Any) -> dict[str, Any]:
        if not isinstance(params, Mapping):
            raise TypeError(f"this space has names: wanted a mapping with {_listed(self.names)}, got {params!r}")
        unknown = [str(n) for n in params if n not in self.parameters]
        parents = [n for n in self.names if n in self._parents and n in params]
        typed = {n: self.parameters[n].check(params[n], f"parameter {n!r}") for n in parents}
        off = list(inactive(typed, self.conditions))
        missing = [n for n in self.names if n not in params and n not in off]
        if unknown or missing:
            raise SpaceError(
                "; ".join(
                    ([f"unknown parameter {_listed(unknown)}"] if unknown else [])
                    + ([f"missing parameter {_listed(missing)}"] if missing else [])
                )
                + f"; the space has {_listed(self.names)}"
            )
        given = [n for n in self.names if n in off and n in params]
        if given:
            raise SpaceError(
                f"parameter {given[0]!r} = {params[given[0]]!r} is inactive here: it has a value only where "
                f"{described((n, may.options) for n, may in self.conditions[given[0]].items())}; leave it out"
            )
        return {n: self.parameters[n].check(params[n], f"parameter {n!r}") for n in self.names if n not in off}

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Space)
            and self.named == other.named
            and self.parameters == other.parameters
            and self.conditions == other.conditions
        )

    def __hash__(self) -> int:
        return hash((self.named, frozenset(self.parameters.items())))

    def __repr__(self) -> str:
        if self.named:
            return "Space(" + ", ".join(f"{n}={self.written(n)!r}" for n in self.names) + ")"
        return f"Space.from_pairs({list(self.parameters.values())!r})"

    def written(self, name: str) -> Parameter | Conditional:
        """A parameter as a user writes it."""
        if name not in self.conditions:
            return self.parameters[name]
        wanted = {parent: list(may.options) for parent, may in self.conditions[name].items()}
        return Conditional.of(self.parameters[name], wanted)


def as_space(space: Any) -> Space:
    """A ``Space`` from whatever a user writes.

    A ``Space``; a mapping of names to parameters, pairs of bounds or Optuna's distributions; ConfigSpace's
    ``ConfigurationSpace``; SciPy's ``Bounds``; a sequence of pairs or parameters.
    """
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
    configured = configuration(space)
    if configured is not None or isinstance(space, Mapping):
        return Space(space if configured is None else configured)
    if not is_sequence(space):
        raise TypeError(
            "a space is a sequence of (lower, upper) pairs, a scipy.optimize.Bounds, a mapping or a dale.Space, "
            f"got {space!r}"
        )
    return Space.from_pairs(space)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(repr(n) for n in names)
