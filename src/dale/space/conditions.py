"""The conditions of a space: which parameters are active at a point.

An inactive parameter has no value, and the objective does not receive it. Its coordinates in the unit cube are always
``INACTIVE``, so the models see what the objective sees: points that differ only in inactive parameters are the same
point.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dale.errors import SpaceError
from dale.space.choice import Choice
from dale.space.parameter import Parameter, format_conditions

INACTIVE = 0.5  # coordinates of inactive parameters
Conditions = dict[str, dict[str, Choice]]  # for each conditional parameter: its parents and their permitted values


def check_conditions(
    parameters: Mapping[str, Parameter], conditions: Mapping[str, Sequence[tuple[str, Sequence[Any]]]]
) -> Conditions:
    """Conditions as ``Parameter.when`` collects them, with checked values, sorted so that parents precede children."""
    checked = {}
    for name, required in conditions.items():
        for parent, _ in required:
            if parent not in parameters:
                raise SpaceError(
                    f"parameter {name!r} is active when {format_conditions(required)}, but there is no parameter "
                    f"{parent!r}; the space has {', '.join(map(repr, parameters))}"
                )
            if parameters[parent].cardinality is None:
                raise SpaceError(
                    f"parameter {name!r} cannot depend on {parent!r}, which is continuous; expected a Choice, an Int "
                    f"or a Float with a step, got {parameters[parent]!r}"
                )
        context = f"parameter {name!r} is active when {format_conditions(required)}:"
        checked[name] = {
            parent: Choice([parameters[parent].check(value, f"{context} {parent!r}") for value in values])
            for parent, values in required
        }
    return {name: checked[name] for name in _parents_first(checked)}


def _parents_first(conditions: Conditions) -> list[str]:
    order: list[str] = []

    def visit(name: str, children: tuple[str, ...]) -> None:
        if name in children:
            cycle = " -> ".join((*children[children.index(name) :], name))
            raise SpaceError(f"the conditions form a cycle, {cycle}; remove one of them")
        if name not in order:
            for parent in conditions[name]:
                if parent in conditions:
                    visit(parent, (*children, name))
            order.append(name)

    for name in sorted(conditions):
        visit(name, ())
    return order


def inactive(values: Mapping[str, Any], conditions: Conditions) -> Iterator[str]:
    """Names of the parameters that are inactive given the values of their parents; parents precede children."""
    found: set[str] = set()
    for name, required in conditions.items():
        if any(p in found or p not in values or not permitted.has(values[p]) for p, permitted in required.items()):
            found.add(name)
            yield name
