"""A parameter from whatever a user writes for one, distributions of Optuna's and ConfigSpace's included.

Neither library is imported: what was made with one of them shows that it is there already.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dale.errors import SpaceError
from dale.space.choice import Choice
from dale.space.float import Float
from dale.space.int import Int
from dale.space.parameter import Conditional, Parameter

OPTIONS = "; for options to choose from, or a fixed value, write dale.Choice([...])"

OPTUNA: dict[str, Callable[[Any], Parameter]] = {
    "FloatDistribution": lambda d: Float(d.low, d.high, log=d.log, step=d.step),
    "IntDistribution": lambda d: Int(d.low, d.high, log=d.log, step=1 if d.low == d.high else d.step),
    "CategoricalDistribution": lambda d: Choice(d.choices),
}
CONFIG_SPACE: dict[str, Callable[[Any], Parameter]] = {
    "UniformFloatHyperparameter": lambda h: Float(h.lower, h.upper, log=h.log),
    "UniformIntegerHyperparameter": lambda h: Int(h.lower, h.upper, log=h.log),
    "CategoricalHyperparameter": lambda h: Choice(h.choices),
    "OrdinalHyperparameter": lambda h: Choice(h.sequence, ordered=True),
    "Constant": lambda h: Choice([h.value]),
}


def as_parameter(value: Any, what: str) -> Parameter:
    """A parameter, a pair of bounds, or a distribution of Optuna's or ConfigSpace's as a parameter."""
    if isinstance(value, Conditional):
        raise SpaceError(f"{what}: a conditional parameter needs a space with names, got {value!r}; use dale.Space")
    if isinstance(value, Parameter) and not isinstance(value, type):
        return value
    try:
        foreign = _from("optuna.distributions", OPTUNA, value) or _from("ConfigSpace", CONFIG_SPACE, value)
        return foreign or _from_pair(value)
    except (SpaceError, TypeError) as error:
        raise type(error)(f"{what}: {error}") from None


def configuration(space: Any) -> dict[str, Any] | None:
    """The hyperparameters of a ``ConfigSpace.ConfigurationSpace`` by name; None for anything else."""
    kind = getattr(sys.modules.get("ConfigSpace"), "ConfigurationSpace", None)
    if kind is None or not isinstance(space, kind):
        return None
    if len(space.forbidden_clauses) > 0:
        raise SpaceError(
            f"the ConfigurationSpace has forbidden clauses, got {list(space.forbidden_clauses)!r}; dale knows none: "
            "leave them out, and let the objective fail what they rule out"
        )
    parameters = dict(space)
    for condition in space.conditions:
        name = condition.child.name
        parameters[name] = Conditional.of(as_parameter(parameters[name], f"parameter {name!r}"), _wanted(condition))
    return parameters


def _wanted(condition: Any) -> dict[str, Any]:
    """A condition of ConfigSpace's as ``when`` takes it."""
    kind = type(condition).__name__
    if kind == "EqualsCondition":
        return {condition.parent.name: [condition.value]}
    if kind == "InCondition":
        return {condition.parent.name: list(condition.values)}
    parts = [_wanted(part) for part in condition.components] if kind == "AndConjunction" else []
    wanted = {name: values for part in parts for name, values in part.items()}
    if not parts or len(wanted) < sum(map(len, parts)):
        raise SpaceError(
            f"the ConfigurationSpace has the condition {condition!r}; dale knows EqualsCondition, InCondition and "
            "AndConjunction of them on different parameters: leave it out, and let the objective ignore what it rules"
        )
    return wanted


def is_sequence(value: Any) -> bool:
    """Whether a value may be a list of pairs or a pair: text is not, nor is an array of no dimension."""
    if isinstance(value, np.ndarray):
        return value.ndim > 0
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def is_several(value: Any) -> bool:
    """Whether a value that should be one number is a collection."""
    return isinstance(value, list | tuple | dict | set) or (isinstance(value, np.ndarray) and value.ndim > 0)


def _from(module: str, kinds: Mapping[str, Callable[[Any], Parameter]], value: Any) -> Parameter | None:
    """What a distribution of a library that is loaded stands for; None if the value is none of them."""
    library = sys.modules.get(module)
    for name, convert in kinds.items():
        kind = getattr(library, name, None)
        if isinstance(kind, type) and isinstance(value, kind):
            return convert(value)
    if library is not None and type(value).__module__.split(".")[0] == module.split(".")[0]:
        raise TypeError(f"wanted one of {', '.join(kinds)} of {module}, got {value!r}")
    return None


def _from_pair(value: Any) -> Float:
    if not is_sequence(value):
        raise TypeError(
            f"wanted a pair (lower, upper) or a parameter such as dale.Float(0, 1), got {value!r}" + OPTIONS
        )
    if len(value) != 2 or any(is_several(v) for v in value):
        raise SpaceError(f"wanted a pair (lower, upper), got {value!r}" + OPTIONS)
    lower, upper = (v.item() if isinstance(v, np.generic) else v for v in value)
    try:
        return Float(lower, upper)
    except TypeError as error:
        raise TypeError(f"{error}{OPTIONS}") from None
