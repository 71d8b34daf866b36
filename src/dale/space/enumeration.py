"""The different points of a finite space, counted and numbered, where parameters may be conditional.

Parameters that depend on each other form a group, and the groups are independent: their numbers of points multiply.
Within a group the values of the parents decide which others are active. Each value that a condition names is a branch
of its own, all other values of a parent are one together, for they switch on the same parameters. A branch is a
product of digits again, so nothing is ever listed but the branches.
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
class Digits:
    """Numbers of some values of a parameter: all of ``first``, ``first + 1``, ... but those left out."""

    first: int
    end: int
    without: tuple[int, ...] = ()  # in order

    @property
    def count(self) -> int:
        """How many there are."""
        return self.end - self.first - len(self.without)

    def number(self, k: int) -> int:
        """Number k of them."""
        digit = self.first + k
        for gap in self.without:
            digit += digit >= gap
        return digit


Branch = dict[str, Digits]  # the parameters that are active, in the order in which they count


@dataclass(frozen=True)
class Group:
    """Parameters that depend on each other, or a single one."""

    branches: tuple[Branch, ...]

    @property
    def count(self) -> int:
        """Number of different points."""
        return sum(map(_size, self.branches))

    def point(self, k: int) -> Iterator[tuple[str, int]]:
        """The active parameters of point number k, with the number of the value of each."""
        for branch in self.branches:
            if k < _size(branch):
                for name, digits in reversed(branch.items()):
                    k, digit = divmod(k, digits.count)
                    yield name, digits.number(digit)
                return
            k -= _size(branch)


def groups(parameters: Mapping[str, Parameter], conditions: Conditions, order: Sequence[str]) -> list[Group]:
    """The groups of a finite space, those that come first in the order of the coordinates first."""
    group_of = {name: {name} for name in order}
    for name, wanted in conditions.items():
        for parent in wanted:
            if group_of[name] is not group_of[parent]:
                group_of[parent] |= group_of[name]
                for member in group_of[name]:
                    group_of[member] = group_of[parent]
    parents_first = [name for name in order if name not in conditions] + list(conditions)
    seen: list[set[str]] = []
    for name in order:
        if all(group_of[name] is not group for group in seen):
            seen.append(group_of[name])
    return [Group(_branches([n for n in parents_first if n in g], parameters, conditions)) for g in seen]


def _branches(names: Sequence[str], parameters: Mapping[str, Parameter], conditions: Conditions) -> tuple[Branch, ...]:
    """What may be active together, for names with parents before their children."""
    named: dict[str, set[int]] = {name: set() for name in names}  # digits that conditions name
    taken = {
        (child, parent): {_digit(parameters[parent], value) for value in may.options}
        for child in names
        for parent, may in conditions.get(child, {}).items()
    }
    for (_, parent), digits in taken.items():
        named[parent] |= digits
    branches: list[Branch] = [{}]
    for name in names:
        longer: list[Branch] = []
        for branch in branches:
            if any(
                parent not in branch or branch[parent].without or branch[parent].first not in taken[name, parent]
                for parent in conditions.get(name, {})
            ):
                longer.append(branch)
                continue
            n, own = parameters[name].cardinality or 1, sorted(named[name])
            parts = [Digits(k, k + 1) for k in own] + [Digits(0, n, tuple(own))]
            longer += [{**branch, name: part} for part in parts if part.count > 0]
        branches = longer
    return tuple(branches)


def _digit(parameter: Parameter, value: object) -> int:
    """Number of a value of a parameter that has finitely many."""
    n, place = parameter.cardinality or 1, parameter.encode(value)
    if parameter.width == 1:  # they stand in a row
        return bisect_left(range(n), float(place[0]), key=lambda k: float(parameter.place(k)[0]))
    return next(k for k in range(n) if np.array_equal(parameter.place(k), place))


def _size(branch: Branch) -> int:
    return math.prod(digits.count for digits in branch.values())
