"""The search space of a study, inferred from its trials: objectives of Optuna declare parameters while they run.

A parameter has the distribution that it has in the last finished trial with it, so a range that changes during a study
takes effect with the next trial. A parameter that some completed trials do not have is conditional: it is active where
another parameter, with few values, has one of the values that it had in all completed trials with it and in none
without it. Where there is no such parameter, or where dale has no such parameter type, Optuna samples the parameter on
its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from optuna.distributions import BaseDistribution
from optuna.trial import FrozenTrial, TrialState

from dale.errors import SpaceError
from dale.space.conditions import inactive
from dale.space.convert import as_parameter
from dale.space.parameter import Conditional, Parameter
from dale.space.space import Space

MAX_PARENT_VALUES = 16  # of a parameter that others may depend on


class Condition(NamedTuple):
    """A parameter is active where its parent has one of some values."""

    parent: str
    values: tuple[Any, ...]


def infer_search_space(trials: Sequence[FrozenTrial]) -> dict[str, BaseDistribution]:
    """The parameters that are sampled together, in alphabetical order."""
    last = {name: d for t in trials if t.state.is_finished() for name, d in t.distributions.items()}
    conditions = infer_conditions(trials, _parameters(last))
    return {name: last[name] for name in sorted(conditions)}


def as_dale_space(trials: Sequence[FrozenTrial], search_space: dict[str, BaseDistribution]) -> Space | None:
    """The space of some parameters with the conditions that the trials show; None if there is nothing to vary."""
    parameters = _parameters(search_space)
    conditions = infer_conditions(trials, parameters)
    if not conditions:
        return None
    return Space(
        {
            name: parameters[name]
            if condition is None
            else Conditional.of(parameters[name], {condition.parent: list(condition.values)})
            for name, condition in conditions.items()
        }
    )


def active_values(params: dict[str, Any], space: Space) -> dict[str, Any]:
    """The values of a trial that belong to active parameters of a space."""
    values = {name: params[name] for name in space.names if name in params}
    for name in list(inactive(values, space.conditions)):
        values.pop(name, None)
    return values


def infer_conditions(trials: Sequence[FrozenTrial], parameters: dict[str, Parameter]) -> dict[str, Condition | None]:
    """The condition of each parameter, None if it is always active; without those that no condition explains.

    A failed or pruned trial may have ended before it asked for all of its parameters, so only completed ones count,
    except while there are none.
    """
    complete = [t for t in trials if t.state is TrialState.COMPLETE]
    shown = complete or [t for t in trials if t.state.is_finished() and t.params]
    having = {name: [name in t.params for t in shown] for name in parameters}
    found: dict[str, Condition | None] = {name: None for name, has in having.items() if all(has)}
    parents = sorted((n for n in parameters if _may_be_parent(parameters[n])), key=lambda n: _rank(n, parameters[n]))
    left = [name for name, has in having.items() if any(has) and not all(has)]
    n_before = -1
    while len(found) > n_before:  # a parent may be conditional itself: then it is found before its children
        n_before = len(found)
        for name in [name for name in left if name not in found]:
            for parent in [p for p in parents if p in found and p != name]:
                values = _separating(shown, having[name], parent)
                if values is not None:
                    permitted = tuple(v for v in values if _has(parameters[parent], v))
                    if permitted:
                        found[name] = Condition(parent, permitted)
                        break
    return found


def _separating(trials: Sequence[FrozenTrial], has_child: Sequence[bool], parent: str) -> tuple[Any, ...] | None:
    """The values of a parent with which a child occurs; None if the child also occurs without one of them, or not."""
    with_child: dict[float, Any] = {}  # by the number that a storage keeps for a value; options may not be hashable
    without: set[float] = set()
    for trial, has in zip(trials, has_child, strict=True):
        if parent in trial.params:
            value = trial.params[parent]
            number = trial.distributions[parent].to_internal_repr(value)
            if has:
                with_child[number] = value
            else:
                without.add(number)
        elif has:
            return None
    return tuple(with_child.values()) if without.isdisjoint(with_child) else None


def _parameters(search_space: dict[str, BaseDistribution]) -> dict[str, Parameter]:
    """Those that vary, as far as dale has such parameters: integers beyond 2**53, for example, it does not have."""
    parameters = {}
    for name, distribution in search_space.items():
        if not distribution.single():
            try:
                parameters[name] = as_parameter(distribution, f"parameter {name!r}")
            except (SpaceError, TypeError):
                continue
    return parameters


def _may_be_parent(parameter: Parameter) -> bool:
    return parameter.cardinality is not None and parameter.cardinality <= MAX_PARENT_VALUES


def _rank(name: str, parameter: Parameter) -> tuple[bool, int, str]:
    """Options before numbers, few values before many: these separate two sets of trials by chance less often."""
    return parameter.is_numeric, parameter.cardinality or 0, name


def _has(parameter: Parameter, value: Any) -> bool:
    try:
        parameter.check(value, "value")
    except (SpaceError, TypeError):
        return False
    return True
