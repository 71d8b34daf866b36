"""Parameters from other notations: pairs of bounds, Optuna's distributions, ConfigSpace's hyperparameters.

Neither library is imported: an object of a library can exist only if the library has been imported already.
"""

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from dale.errors import SpaceError
from dale.space.float import Float
from dale.space.parameter import PARAMETER_TYPES, Conditional, Parameter

CHOICE_HINT = "; for a list of options, or a fixed value, use dale.Choice([...])"


def as_parameter(value: Any, context: str) -> Parameter:
    """Convert a pair of bounds or a distribution of Optuna or ConfigSpace; return a parameter unchanged."""
    if isinstance(value, Conditional):
        raise SpaceError(
            f"{context}: a conditional parameter requires a space with names, got {value!r}; use dale.Space"
        )
    if isinstance(value, Parameter):
        return value
    try:
        return _from_library(value) or _from_pair(value)
    except (SpaceError, TypeError) as error:
        raise type(error)(f"{context}: {error}") from None


def from_configuration_space(space: Any) -> dict[str, Any] | None:
    """The hyperparameters of a ``ConfigSpace.ConfigurationSpace`` by name; None for any other object."""
    cls = getattr(sys.modules.get("ConfigSpace"), "ConfigurationSpace", None)
    if cls is None or not isinstance(space, cls):
        return None
    if len(space.forbidden_clauses) > 0:
        raise SpaceError(
            f"the ConfigurationSpace has forbidden clauses, {list(space.forbidden_clauses)!r}, which dale does not "
            "support; remove them and raise an exception in the objective instead"
        )
    parameters = dict(space)
    for condition in space.conditions:
        name = condition.child.name
        parameters[name] = Conditional.of(as_parameter(parameters[name], f"parameter {name!r}"), _required(condition))
    return parameters


def _required(condition: Any) -> dict[str, Any]:
    """A condition of ConfigSpace as ``Parameter.when`` expects it."""
    kind = type(condition).__name__
    if kind == "EqualsCondition":
        return {condition.parent.name: [condition.value]}
    if kind == "InCondition":
        return {condition.parent.name: list(condition.values)}
    parts = [_required(part) for part in condition.components] if kind == "AndConjunction" else []
    required = {name: values for part in parts for name, values in part.items()}
    if not parts or len(required) < sum(map(len, parts)):
        raise SpaceError(
            "expected an EqualsCondition, an InCondition, or an AndConjunction of them on different parameters, got "
            f"{condition!r}; remove the condition and ignore the parameter in the objective instead"
        )
    return required


def is_sequence(value: Any) -> bool:
    """Whether a value is a sequence other than text, or an array with at least one dimension."""
    if isinstance(value, np.ndarray):
        return value.ndim > 0
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def is_collection(value: Any) -> bool:
    """Whether a value that should be one number is a collection."""
    return isinstance(value, list | tuple | dict | set) or (isinstance(value, np.ndarray) and value.ndim > 0)


def _from_library(value: Any) -> Parameter | None:
    """A parameter from an object of another library; None if the object is not from one that dale knows."""
    supported = []
    for parameter_type in PARAMETER_TYPES.values():
        for qualified_name, convert in parameter_type.converters.items():
            module, _, name = qualified_name.rpartition(".")
            cls = getattr(sys.modules.get(module), name, None)
            if isinstance(cls, type) and isinstance(value, cls):
                return convert(value)
            if cls is not None and type(value).__module__.split(".")[0] == module.split(".")[0]:
                supported.append(qualified_name)
    if supported:
        raise TypeError(f"expected one of {', '.join(supported)}, got {value!r}")
    return None


def _from_pair(value: Any) -> Float:
    if not is_sequence(value):
        raise TypeError(
            f"expected a pair (low, high) or a parameter such as dale.Float(0, 1), got {value!r}" + CHOICE_HINT
        )
    if len(value) != 2 or any(is_collection(v) for v in value):
        raise SpaceError(f"expected a pair (low, high), got {value!r}" + CHOICE_HINT)
    low, high = (v.item() if isinstance(v, np.generic) else v for v in value)
    try:
        return Float(low, high)
    except TypeError as error:
        raise TypeError(f"{error}{CHOICE_HINT}") from None
