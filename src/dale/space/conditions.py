"""When parameters are active: the conditions of a space, in order, and what they say about a point.

An inactive parameter has no value, and the objective does not get it. In the cube its coordinates then rest in the
middle, wherever the point came from, so that the models see what the objective sees: points that differ in inactive
parameters only are one.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dale.errors import SpaceError
from dale.space.choice import Choice
from dale.space.parameter import Parameter, described

REST = 0.5  # where the coordinates of inactive parameters stand
Conditions = dict[str, dict[str, Choice]]  # of each conditional parameter: its parents, and the values they may have


Written = Mapping[str, Sequence[tuple[str, Sequence[Any]]]]  # as they came from ``when``


def checked(parameters: Mapping[str, Parameter], written: Written) -> Conditions:
    """The conditions with values in their proper types, parents before children; an error if they make no sense."""
    conditions = {}
    for name, wanted in written.items():
        for parent, _ in wanted:
            if parent not in parameters:
                raise SpaceError(
                    f"parameter {name!r} is active when {described(wanted)}, but there is no parameter {parent!r}; "
                    f"the space has {', '.join(map(repr, parameters))}"
                )
            if parameters[parent].cardinality is None:
                raise SpaceError(
                    f"parameter {name!r} cannot depend on {parent!r}, which has no end of values, got "
                    f"{parameters[parent]!r}; wanted a Choice, an Int or a Float with steps"
                )
        what = f"{name!r} is active when {described(wanted)}, but"
        conditions[name] = {
            parent: Choice([parameters[parent].check(value, f"{what} {parent!r}") for value in values])
            for parent, values in wanted
        }
    return {name: conditions[name] for name in _parents_first(conditions)}


def _parents_first(conditions: Conditions) -> list[str]:
    order: list[str] = []

    def visit(name: str, children: tuple[str, ...]) -> None:
        if name in children:
            circle = " -> ".join((*children[children.index(name) :], name))
            raise SpaceError(f"the conditions run in a circle, got {circle}; leave one of them out")
        if name not in order:
            for parent in conditions[name]:
                if parent in conditions:
                    visit(parent, (*children, name))
            order.append(name)

    for name in sorted(conditions):
        visit(name, ())
    return order


def inactive(values: Mapping[str, Any], conditions: Conditions) -> Iterator[str]:
    """Names of the parameters that the values of others switch off, parents before children."""
    off: set[str] = set()
    for name, wanted in conditions.items():
        if any(parent in off or parent not in values or not may.has(values[parent]) for parent, may in wanted.items()):
            off.add(name)
            yield name
