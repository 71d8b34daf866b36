"""The search space: converts points between the user's units and the unit cube."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.optimize import Bounds

from dale._arrays import Matrix, Vector, frozen
from dale._views import Html
from dale.errors import SpaceError
from dale.space.conditions import INACTIVE, Conditions, check_conditions, inactive
from dale.space.convert import as_parameter, from_ax, from_configuration_space, is_collection, is_sequence
from dale.space.enumeration import groups
from dale.space.equalities import Equalities, Equality
from dale.space.expressions import parse_constraint
from dale.space.parameter import Conditional, Parameter, format_conditions
from dale.space.point import FrozenParams, Params
from dale.space.toml import read_toml


class Space(Html):
    """The set of points to search.

    The coordinates of the unit cube are in the alphabetical order of the names, so a run does not depend on the order
    in which the parameters were written. Points shown to the user keep the written order.

    Args:
        parameters: The parameters as a mapping, for names that are not Python identifiers.
        named: The parameters by name; a pair ``(low, high)`` means ``Float(low, high)``.

    Attributes:
        parameters: The parameters by name, in the user's order.
        conditions: The conditions of the conditional parameters, parents before children.
        named: Whether the user gave names.
        constraints: Input constraints as text, from a TOML file; ``minimize`` and ``Optimizer`` apply them.
        equalities: Linear equalities, solved for the parameters that they determine; None for none.
        dimension: Number of coordinates of the cube; parameters that are fixed or determined by equalities have none.
        continuous: Which coordinates vary continuously, (dimension,).
        ordered: Along which coordinates the values are ordered, (dimension,); False where conditions depend on them.
        spacing: Distance between neighbouring values along each coordinate, (dimension,); 0 for continuous ones.
        cardinality: Number of different points; None if it is not finite.
        is_numeric: Whether all parameters are numeric.

    Examples:
        >>> import dale
        >>> space = dale.Space(lr=dale.Float(1e-5, 1e-1, log=True), depth=dale.Int(1, 12), width=(1.0, 9.0))
        >>> space.names, space.dimension
        (('lr', 'depth', 'width'), 3)
    """

    def __init__(self, parameters: Mapping[str, Any] | None = None, /, **named: Any) -> None:
        if not isinstance(parameters, Mapping | None):
            raise TypeError(
                "expected parameters by name, such as dale.Space(a=(0, 1)), or a mapping of them; for bounds without "
                f"names use dale.Space.from_pairs([(0, 1), (0, 1)]); got {parameters!r}"
            )
        given = {**(parameters or {}), **named}
        for name in given:
            if not isinstance(name, str):
                raise TypeError(f"the name of a parameter must be a string, got {name!r}")
        conditions = {name: value.conditions for name, value in given.items() if isinstance(value, Conditional)}
        given |= {name: given[name].parameter for name in conditions}
        parameters = {name: as_parameter(value, f"parameter {name!r}") for name, value in given.items()}
        self._set(parameters, check_conditions(parameters, conditions), named=True)

    @classmethod
    def from_pairs(cls, pairs: Sequence[Any] | Matrix) -> Space:
        """A space without names, from pairs of bounds as in SciPy; parameters are accepted too.

        Examples:
            ``dale.Space.from_pairs([(-5, 10), (0, 15)])``
        """
        space = cls.__new__(cls)
        space._set({f"x{i}": as_parameter(p, f"bounds {i}") for i, p in enumerate(pairs)}, {}, named=False)
        return space

    @classmethod
    def from_toml(cls, path: str | os.PathLike[str]) -> Space:
        """A space from a TOML file with one table for each parameter; docs/problems.md lists the keys.

        ``constraints = ["a + b <= 4"]`` at the top of the file adds input constraints.

        Examples:
            ``dale.Space.from_toml("space.toml")``
        """
        parameters, constraints = read_toml(path)
        try:
            space = cls(parameters)
            for text in constraints:
                parse_constraint(text, space.names)
        except (SpaceError, TypeError) as error:
            raise SpaceError(f"{os.fspath(path)}: {error}") from None
        space.constraints = constraints
        return space

    def subject_to(self, equalities: Iterable[Equality]) -> Space:
        """This space with further linear equalities: the parameters that they determine take no coordinates.

        Raises:
            SpaceError: They are not supported, contradict each other, or leave no point within the bounds.
        """
        known = () if self.equalities is None else self.equalities.rows
        ordered = {name: self.parameters[name] for name in self._columns}
        solved = Equalities.of([*known, *equalities], ordered, self.conditions)
        space = Space.__new__(Space)
        space._set(self.parameters, self.conditions, named=self.named, equalities=solved)
        space.constraints = self.constraints
        return space

    def _set(
        self,
        parameters: dict[str, Parameter],
        conditions: Conditions,
        *,
        named: bool,
        equalities: Equalities | None = None,
    ) -> None:
        if not parameters:
            raise SpaceError("expected at least one parameter, such as [(-5, 10), (0, 15)], got an empty space")
        self.parameters = parameters
        self.conditions = conditions
        self.named = named
        self.constraints: tuple[str, ...] = ()
        self.equalities = equalities
        determined = () if equalities is None else equalities.determined
        order = sorted(parameters) if named else list(parameters)
        sizes = [0 if name in determined else parameters[name].n_coordinates for name in order]
        ends = np.cumsum(sizes).tolist()
        self.dimension: int = ends[-1]
        if self.dimension == 0:
            how = "determined by the equalities" if determined else "fixed"
            raise SpaceError(
                f"all parameters are {how}, {_join(list(parameters))}; expected at least one with more than one value"
            )
        self._columns = {name: slice(end - n, end) for name, n, end in zip(order, sizes, ends, strict=True)}
        self._parents = {parent for required in conditions.values() for parent in required}
        self.continuous = np.repeat([parameters[name].continuous for name in order], sizes)
        self.ordered = np.repeat([parameters[n].ordered and n not in self._parents for n in order], sizes)
        self.spacing = np.repeat([1 / (parameters[name].cardinality or math.inf) for name in order], sizes)
        for array in (self.continuous, self.ordered, self.spacing):
            array.flags.writeable = False
        others = [name for name in order if name not in determined]
        finite = all(parameters[name].cardinality is not None for name in others)
        self._groups = groups(parameters, conditions, others) if finite else []
        self.cardinality = math.prod(group.count for group in self._groups) if finite else None
        self.is_numeric = all(p.is_numeric for p in parameters.values())

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters in the user's order; ``x0, x1, ...`` in a space without names."""
        return tuple(self.parameters)

    def columns(self, name: str) -> slice:
        """The coordinates of the unit cube that represent a parameter; none if it is fixed or determined."""
        return self._columns[name]

    def n_coordinates(self, name: str) -> int:
        """Number of coordinates that represent a parameter; 0 if it is fixed or determined by equalities."""
        return self._columns[name].stop - self._columns[name].start

    def check(self, params: Any) -> Params:
        """Return a point in the user's units with its proper types, or raise a ``SpaceError`` or ``TypeError``."""
        return self.as_params(self._check(params))

    def encode(self, params: Any) -> Vector:
        """Check a point in the user's units and convert it to the unit cube."""
        return self.read(params)[1]

    def read(self, params: Any) -> tuple[Params, Vector]:
        """Return the results of both ``check`` and ``encode``."""
        values = self._check(params)
        point = np.full(self.dimension, INACTIVE)
        for name, value in values.items():
            if self.n_coordinates(name) > 0:
                point[self._columns[name]] = self.parameters[name].encode(value)
        return self.as_params(values), frozen(point)

    def decode(self, point: Vector) -> Params:
        """Convert a point of the unit cube to what the objective receives.

        Parameters that equalities determine may be outside of their bounds, which are input constraints then.
        """
        if self.equalities is not None:
            values = {name: column[0] for name, column in self.decode_columns(point[None, :]).items()}
        else:
            values = {name: p.decode(point[self._columns[name]]) for name, p in self.parameters.items()}
        for name in inactive(values, self.conditions):
            del values[name]
        return self.as_params(values)

    def as_array(self, params: Params) -> Vector:
        """A point as an array in the user's order and units; an array of objects if not all parameters are numeric.

        Inactive parameters are NaN, or None in an array of objects.
        """
        missing = np.nan if self.is_numeric else None
        values = [params.get(n, missing) for n in self.names] if isinstance(params, Mapping) else list(params)
        if self.is_numeric:
            return frozen(values)
        objects = np.empty(len(values), dtype=object)
        for i, value in enumerate(values):  # one by one, because options may be lists
            objects[i] = value
        objects.flags.writeable = False
        return objects

    def snap(self, point: Vector) -> Vector:
        """The point of the cube that the objective evaluates for this one: ``encode(decode(point))``."""
        return frozen(self.snap_all(point[None, :])[0])

    def snap_all(self, points: Matrix) -> Matrix:
        """Apply ``snap`` to points (n, dimension), bit for bit."""
        snapped = np.empty((len(points), self.dimension))
        for name, columns in self._columns.items():
            if self.n_coordinates(name) > 0:
                snapped[:, columns] = self.parameters[name].snap(points[:, columns])
        return np.where(self.active(snapped), snapped, INACTIVE) if self.conditions else snapped

    def active(self, points: Matrix) -> np.ndarray:
        """Which coordinates of snapped points (n, dimension) belong to active parameters, (n, dimension)."""
        is_active = {name: np.ones(len(points), dtype=bool) for name in self._columns}
        for name, required in self.conditions.items():
            for parent, permitted in required.items():
                codes = np.array([self.parameters[parent].encode(value) for value in permitted.options])
                matches = np.all(points[:, None, self._columns[parent]] == codes, axis=2)
                is_active[name] &= is_active[parent] & np.any(matches, axis=1)
        sizes = [self.n_coordinates(name) for name in self._columns]
        return np.repeat(np.array(list(is_active.values())), sizes, axis=0).T

    def decode_columns(self, points: Matrix) -> dict[str, list[Any]]:
        """Values of each parameter at points (n, dimension), by name in the user's order, as if all were active."""
        if self.equalities is None:
            return {name: p.decode_all(points[:, self._columns[name]]) for name, p in self.parameters.items()}
        others = [name for name in self.names if name not in self.equalities.determined]
        columns = {name: self.parameters[name].decode_all(points[:, self._columns[name]]) for name in others}
        values = [columns[name] for name in self.equalities.free]
        solved = self.equalities.solve(np.array(values).reshape(len(values), len(points)).T).T.tolist()
        columns |= dict(zip(self.equalities.determined, solved, strict=True))
        return {name: columns[name] for name in self.names}

    def encode_index(self, k: int) -> Vector:
        """Point number k of a finite space, in the cube; the last coordinate varies fastest."""
        if self.cardinality is None or not 0 <= k < self.cardinality:
            raise IndexError(f"expected the index of one of {self.cardinality} points, got {k}")
        point = np.full(self.dimension, INACTIVE)
        for group in reversed(self._groups):
            k, j = divmod(k, group.count)
            for name, index in group.point(j):
                point[self._columns[name]] = self.parameters[name].encode_index(index)
        return frozen(point)

    def hessian(self, params: Params, cube_hessian: Matrix) -> Matrix:
        """Convert a Hessian in the unit cube to the user's units, at a point where the gradient vanishes.

        It has one row and one column for each parameter, in the user's order. For integers and steps, the derivatives
        are along the line through their values. Choices, and parameters that are fixed or determined by equalities,
        have NaN.
        """
        values = self.by_name(params)
        columns = [min(self._columns[name].start, self.dimension - 1) for name in self.names]
        derivatives = [self.parameters[name].derivative(values[name]) for name in self.names]
        du_dx = [d[0] if self.n_coordinates(n) == 1 else np.nan for n, d in zip(self.names, derivatives, strict=True)]
        return cube_hessian[np.ix_(columns, columns)] * np.outer(du_dx, du_dx)

    def by_name(self, params: Params) -> Mapping[str, Any]:
        """A point in the user's units as a mapping, also in a space without names."""
        return params if isinstance(params, Mapping) else dict(zip(self.names, params, strict=True))

    def as_params(self, values: dict[str, Any]) -> Params:
        """Checked values by name, in the form that the objective receives."""
        return FrozenParams(values) if self.named else self.as_array(values)

    def _check(self, params: Any) -> dict[str, Any]:
        values = self._check_values(params)
        if self.equalities is not None:
            self.equalities.check(values)
        return values

    def _check_values(self, params: Any) -> dict[str, Any]:
        if self.named:
            return self._check_mapping(params)
        expected = f"{len(self.names)} {'numbers' if self.is_numeric else 'values'}"
        if isinstance(params, Mapping | str):
            raise TypeError(f"this space has no names: expected a sequence of {expected}, got {params!r}")
        try:
            values = list(params)
        except TypeError:
            raise TypeError(f"expected a sequence of {expected}, got {params!r}") from None
        if len(values) != len(self.names) or (self.is_numeric and any(is_collection(v) for v in values)):
            raise SpaceError(f"expected {expected}, one for each pair of bounds, got {params!r}")
        return {
            n: self.parameters[n].check(v, f"coordinate {i}")
            for i, (n, v) in enumerate(zip(self.names, values, strict=True))
        }

    def _check_mapping(self, params: Any) -> dict[str, Any]:
        if not isinstance(params, Mapping):
            raise TypeError(f"this space has names: expected a mapping with {_join(self.names)}, got {params!r}")
        unknown = [str(n) for n in params if n not in self.parameters]
        parents = [n for n in self.names if n in self._parents and n in params]
        checked = {n: self.parameters[n].check(params[n], f"parameter {n!r}") for n in parents}
        off = list(inactive(checked, self.conditions))
        missing = [n for n in self.names if n not in params and n not in off]
        if unknown or missing:
            raise SpaceError(
                "; ".join(
                    ([f"unknown parameter {_join(unknown)}"] if unknown else [])
                    + ([f"missing parameter {_join(missing)}"] if missing else [])
                )
                + f"; the space has {_join(self.names)}"
            )
        superfluous = [n for n in self.names if n in off and n in params]
        if superfluous:
            name = superfluous[0]
            conditions = format_conditions((n, permitted.options) for n, permitted in self.conditions[name].items())
            raise SpaceError(
                f"parameter {name!r} is inactive at this point, got {params[name]!r}; it is active only when "
                f"{conditions}: omit it"
            )
        return {n: self.parameters[n].check(params[n], f"parameter {n!r}") for n in self.names if n not in off}

    def declared(self, name: str) -> Parameter | Conditional:
        """A parameter with its conditions, as the user declares it."""
        if name not in self.conditions:
            return self.parameters[name]
        required = {parent: list(permitted.options) for parent, permitted in self.conditions[name].items()}
        return Conditional.of(self.parameters[name], required)

    def has_same_parameters(self, other: Space) -> bool:
        """Whether two spaces are equal but for their constraints and equalities."""
        return self.named == other.named and self.parameters == other.parameters and self.conditions == other.conditions

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Space)
            and self.has_same_parameters(other)
            and self.constraints == other.constraints
            and _rows(self) == _rows(other)
        )

    def __hash__(self) -> int:
        return hash((self.named, frozenset(self.parameters.items())))

    def __repr__(self) -> str:
        if self.named:
            return "Space(" + ", ".join(f"{n}={self.declared(n)!r}" for n in self.names) + ")"
        return f"Space.from_pairs({list(self.parameters.values())!r})"


def as_space(space: Any) -> Space:
    """Convert any description of a space to a ``Space``.

    Args:
        space: A ``Space``; a mapping of names to parameters, pairs of bounds or Optuna distributions; a
            ``ConfigSpace.ConfigurationSpace``; Ax's list of mappings; a ``scipy.optimize.Bounds``; or a sequence of
            pairs, parameters or dimensions of scikit-optimize.
    """
    if isinstance(space, Space):
        return space
    if isinstance(space, Bounds):
        try:
            lower, upper = np.broadcast_arrays(np.atleast_1d(space.lb), np.atleast_1d(space.ub))
        except ValueError:
            raise SpaceError(
                f"expected lb and ub of Bounds to have the same shape, got {np.shape(space.lb)} and "
                f"{np.shape(space.ub)}"
            ) from None
        return Space.from_pairs(list(zip(lower.tolist(), upper.tolist(), strict=True)))
    configured = from_configuration_space(space) or from_ax(space)
    if configured is not None or isinstance(space, Mapping):
        return Space(space if configured is None else configured)
    if not is_sequence(space):
        raise TypeError(
            "expected a space: a sequence of (low, high) pairs, a scipy.optimize.Bounds, a mapping or a dale.Space, "
            f"got {space!r}"
        )
    return Space.from_pairs(space)


def _rows(space: Space) -> tuple[Equality, ...]:
    return () if space.equalities is None else space.equalities.rows


def _join(names: Sequence[str]) -> str:
    return ", ".join(repr(n) for n in names)
