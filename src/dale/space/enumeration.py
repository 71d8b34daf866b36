"""The different points of a finite space, counted and numbered; parameters may be conditional.

Parameters that depend on each other form a group. Groups are independent, so their numbers of points multiply. Within a
group, the values of the parents determine which other parameters are active: each value that a condition names is a
branch, and all other values of a parent form one branch together, because they activate the same parameters. A branch
is a product of ranges, so only the branches are listed, never the points.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dale.space.conditions import Conditions
from dale.space.parameter import Parameter


@dataclass(frozen=True)
class IndexRange:
    """Indices of some values of a parameter: first, first + 1, ..., end - 1, except some."""

    first: int
    end: int
    excluded: tuple[int, ...] = ()  # in ascending order

    @property
    def count(self) -> int:
        """Number of indices."""
        return self.end - self.first - len(self.excluded)

    def __getitem__(self, k: int) -> int:
        index = self.first + k
        for gap in self.excluded:
            index += index >= gap
        return index


Branch = dict[str, IndexRange]  # the active parameters; the last one varies fastest


@dataclass(frozen=True)
class Group:
    """Parameters that depend on each other, or a single one."""

    branches: tuple[Branch, ...]

    @property
    def count(self) -> int:
        """Number of different points."""
        return sum(map(_size, self.branches))

    def point(self, k: int) -> Iterator[tuple[str, int]]:
        """The active parameters of point number k, each with the index of its value."""
        for branch in self.branches:
            if k < _size(branch):
                for name, indices in reversed(branch.items()):
                    k, j = divmod(k, indices.count)
                    yield name, indices[j]
                return
            k -= _size(branch)


def groups(parameters: Mapping[str, Parameter], conditions: Conditions, order: Sequence[str]) -> list[Group]:
    """The groups of a finite space, in the order of their first coordinates."""
    group_of = {name: {name} for name in order}
    for name, required in conditions.items():
        for parent in required:
            if group_of[name] is not group_of[parent]:
                group_of[parent] |= group_of[name]
                for member in group_of[name]:
                    group_of[member] = group_of[parent]
    parents_first = [name for name in order if name not in conditions] + list(conditions)
    distinct: list[set[str]] = []
    for name in order:
        if all(group_of[name] is not group for group in distinct):
            distinct.append(group_of[name])
    return [Group(_branches([n for n in parents_first if n in g], parameters, conditions)) for g in distinct]


def _branches(names: Sequence[str], parameters: Mapping[str, Parameter], conditions: Conditions) -> tuple[Branch, ...]:
    """All combinations of active parameters; in ``names``, parents precede their children."""
    permitted = {
        (child, parent): {_index(parameters[parent], value) for value in values.options}
        for child in names
        for parent, values in conditions.get(child, {}).items()
    }
    in_conditions: dict[str, set[int]] = {name: set() for name in names}  # indices that conditions name
    for (_, parent), indices in permitted.items():
        in_conditions[parent] |= indices
    branches: list[Branch] = [{}]
    for name in names:
        extended: list[Branch] = []
        for branch in branches:
            if any(
                parent not in branch or branch[parent].excluded or branch[parent].first not in permitted[name, parent]
                for parent in conditions.get(name, {})
            ):
                extended.append(branch)
                continue
            n, own = parameters[name].cardinality or 1, sorted(in_conditions[name])
            parts = [IndexRange(k, k + 1) for k in own] + [IndexRange(0, n, tuple(own))]
            extended += [{**branch, name: part} for part in parts if part.count > 0]
        branches = extended
    return tuple(branches)


def _index(parameter: Parameter, value: object) -> int:
    """Index of a value of a finite parameter."""
    n, coordinates = parameter.cardinality or 1, parameter.encode(value)
    if parameter.n_coordinates == 1:  # the values are in ascending order
        return bisect_left(range(n), float(coordinates[0]), key=lambda k: float(parameter.encode_index(k)[0]))
    return next(k for k in range(n) if np.array_equal(parameter.encode_index(k), coordinates))


def _size(branch: Branch) -> int:
    return math.prod(indices.count for indices in branch.values())
