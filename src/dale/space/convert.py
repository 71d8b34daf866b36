"""Parameters from other notations: pairs of bounds, objects of Optuna, ConfigSpace and scikit-optimize, Ax's mappings.

No library is imported: an object of a library can exist only if the library has been imported already.
"""

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dale.errors import SpaceError
from dale.space.choice import Choice
from dale.space.float import Float
from dale.space.int import Int
from dale.space.parameter import PARAMETER_TYPES, Conditional, Parameter

AX_TYPES = {"range": {"bounds", "log_scale"}, "choice": {"values", "is_ordered", "dependents"}, "fixed": {"value"}}
AX_SHARED = {"name", "type", "value_type"}
CHOICE_HINT = "; for a list of options, or a fixed value, use dale.Choice([...])"


def as_parameter(value: Any, context: str) -> Parameter:
    """Convert a pair of bounds or an object of another library; return a parameter unchanged."""
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


def from_ax(space: Any) -> dict[str, Any] | None:
    """The parameters of Ax's list of mappings, by name; None for any other object."""
    if not isinstance(space, list | tuple) or not space or not all(_is_ax(entry) for entry in space):
        return None
    parameters: dict[str, Any] = {entry["name"]: _from_ax(entry) for entry in space}
    for entry in space:
        required: dict[str, list[Any]] = {}
        for value, children in (entry.get("dependents") or {}).items():
            for child in children:
                required.setdefault(child, []).append(value)
        for child, values in required.items():
            if child not in parameters:
                raise SpaceError(f"parameter {entry['name']!r} has the dependent {child!r}, which is not in the list")
            parameters[child] = parameters[child].when({entry["name"]: values})
    return parameters


def _is_ax(entry: Any) -> bool:
    return isinstance(entry, Mapping) and {"name", "type"} <= entry.keys()


def _from_ax(entry: Mapping[str, Any]) -> Parameter:
    name, kind = entry["name"], entry["type"]
    unknown = entry.keys() - AX_TYPES.get(kind, set()) - AX_SHARED
    if kind not in AX_TYPES or unknown:
        raise SpaceError(
            f"parameter {name!r}: expected one of Ax's types {', '.join(map(repr, AX_TYPES))} with the keys that dale "
            f"knows, got type {kind!r}{f' and {sorted(unknown)}' if unknown else ''}"
        )
    if kind == "fixed":
        return Choice([entry["value"]])
    if kind == "choice":
        return Choice(entry["values"], ordered=bool(entry.get("is_ordered")))
    low, high = entry["bounds"]
    are_int = isinstance(low, int) and isinstance(high, int)
    is_int = entry.get("value_type", "int" if are_int else "float") == "int"
    return (Int if is_int else Float)(low, high, log=bool(entry.get("log_scale")))


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
