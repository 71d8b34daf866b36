"""The problem of a run as JSON: space, seed, method, noise, constraints, direction and objective.

A store belongs to one problem. Code is not stored: a constraint is stored by its qualified name, so an edit of the
function goes unnoticed, and so does another objective. The arguments of a command are stored, but only to compare and
show them; nothing from a store is ever executed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from inspect import signature
from typing import Any

from scipy.optimize import LinearConstraint, NonlinearConstraint

from dale.errors import StoreError
from dale.history.direction import Direction
from dale.methods.base import Method
from dale.space.equalities import Equality
from dale.space.parameter import PARAMETER_TYPES, Parameter
from dale.space.space import Space
from dale.store.codec import describe, dump_json, from_json, is_lossless, to_json

MAX_SHOWN = 5  # differences listed in an error
MAX_SHOWN_CHARACTERS = 200  # of one value
ABSENT = object()
DEFAULTS = {"direction": str(Direction.MINIMIZE)}  # of keys that a stored problem may not have


def problem_to_json(
    space: Space,
    seed: int | None,
    method: Method,
    noise: float | None,
    constraints: Any,
    objective: Mapping[str, Any] | None = None,
    direction: Direction = Direction.MINIMIZE,
) -> dict[str, Any]:
    """A problem as JSON data.

    Args:
        space: The space.
        seed: None if it is not chosen yet.
        method: Stored as its name, revision and changed settings.
        noise: None for ``"auto"``.
        constraints: On the inputs, as given by the user; those of the space come first.
        objective: JSON data that describe it; None if unknown.
        direction: Whether it is minimised or maximised.
    """
    changed = {"direction": str(direction)} if direction is not Direction.MINIMIZE else {}
    return {
        "space": space_to_json(space),
        "seed": seed,
        "method": {
            "name": method.name,
            "revision": method.revision,
            "settings": _settings_to_json(method.changed_settings()),
        },
        "noise": "auto" if noise is None else noise,
        "constraints": [_constraint_to_json(c) for c in (*space.constraints, *_as_sequence(constraints))],
        **changed,
        **({} if objective is None else {"objective": dict(objective)}),
    }


def direction_of(problem: Mapping[str, Any]) -> Direction:
    """The direction of a stored problem."""
    return Direction(problem.get("direction", Direction.MINIMIZE))


def differences(stored: Any, given: Any, path: tuple[str, ...] = ()) -> Iterator[str]:
    """Describe the differences between a stored problem and the given one.

    These do not count: the order of the parameters, keys of the format that this version does not know, and a seed or
    an objective that is missing on one side.
    """
    if isinstance(stored, Mapping) and isinstance(given, Mapping):
        if not path:
            stored, given = {**DEFAULTS, **stored}, {**DEFAULTS, **given}
        if not _has_user_keys(path):
            for key in ("object", "kind", "type", "name"):  # if these differ, the rest differs anyway
                one, other = stored.get(key), given.get(key)
                if one != other:
                    yield f"{'.'.join(path)} is {_show_name(one)} in the store and {_show_name(other)} here"
                    return
        for key in [*given, *(k for k in stored if k not in given and not _has_format_keys(path))]:
            if path or key not in ("seed", "objective") or (stored.get(key) is not None and given[key] is not None):
                yield from differences(stored.get(key, ABSENT), given.get(key, ABSENT), (*path, key))
    elif stored is ABSENT or given is ABSENT or dump_json(stored) != dump_json(given):
        yield f"{'.'.join(path)} is {_show(stored)} in the store and {_show(given)} here"


def _has_user_keys(path: tuple[str, ...]) -> bool:
    """Whether the keys of the mapping at this path are names chosen by the user."""
    return path in (("space", "parameters"), ("space", "conditions")) or path[:1] == ("objective",)


def _has_format_keys(path: tuple[str, ...]) -> bool:
    """Whether the keys of the mapping at this path are those of the format, to which newer versions may add."""
    return path in ((), ("space",), ("method",)) or (path[:2] == ("space", "parameters") and len(path) == 3)


def space_to_json(space: Space) -> dict[str, Any]:
    """A space as JSON data."""
    return {
        "named": space.named,
        "parameters": {name: _parameter_to_json(parameter) for name, parameter in space.parameters.items()},
        "conditions": {
            name: [
                [parent, [_condition_value_to_json(space.parameters[parent], value) for value in permitted.options]]
                for parent, permitted in sorted(required.items())
            ]
            for name, required in sorted(space.conditions.items())
        },
        **({} if space.equalities is None else {"equalities": [_equality_to_json(e) for e in space.equalities.rows]}),
    }


def space_from_json(data: Mapping[str, Any]) -> Space:
    """A space from JSON data; options that cannot be restored become an ``OpaqueValue``."""
    return with_equalities(_space_without_equalities(data), data)


def with_equalities(space: Space, data: Mapping[str, Any]) -> Space:
    """A space with the equalities in JSON data of the same space."""
    rows = [Equality({name: float(c) for name, c in terms}, float(b)) for terms, b in data.get("equalities", [])]
    return space.subject_to(rows) if rows else space


def _equality_to_json(equality: Equality) -> Any:
    return [[[name, c] for name, c in equality.coefficients.items() if c != 0], equality.value]


def _space_without_equalities(data: Mapping[str, Any]) -> Space:
    parameters = {name: _parameter_from_json(name, p) for name, p in data["parameters"].items()}
    if not data["named"]:
        if data["conditions"]:
            raise ValueError("expected no conditions in a space without names")
        return Space.from_pairs(list(parameters.values()))
    conditions = data["conditions"]
    written: dict[str, Any] = {
        name: _conditional(parameter, conditions[name], parameters) if name in conditions else parameter
        for name, parameter in parameters.items()
    }
    return Space(written)


def _parameter_to_json(parameter: Parameter) -> dict[str, Any]:
    kind = type(parameter).__name__
    if PARAMETER_TYPES.get(kind) is not type(parameter):
        return {"kind": to_json(parameter)}
    return {"kind": kind, **{name: _setting_to_json(value) for name, value in parameter.settings.items()}}


def _setting_to_json(value: Any) -> Any:
    return [to_json(v) for v in value] if isinstance(value, list | tuple) else to_json(value)


def _parameter_from_json(name: str, data: Mapping[str, Any]) -> Parameter:
    kind = data["kind"]
    if not isinstance(kind, str) or kind not in PARAMETER_TYPES:
        raise StoreError(
            f"parameter {name!r} has a type that is not registered, {describe(kind)}; import the module that defines "
            "it, or open the run with its space: dale.open(path, space)"
        )
    known = signature(PARAMETER_TYPES[kind]).parameters
    parameter: Parameter = PARAMETER_TYPES[kind](**{k: _setting_from_json(v) for k, v in data.items() if k in known})
    return parameter


def _setting_from_json(data: Any) -> Any:
    return [from_json(v, k) for k, v in enumerate(data)] if isinstance(data, list) else from_json(data)


def _condition_value_to_json(parent: Parameter, value: Any) -> Any:
    """A value of a parent: the value itself if JSON can hold it, else what the parent stores for it."""
    data = to_json(value)
    return data if is_lossless(data) else {"json": to_json(parent.to_json(value))}


def _conditional(parameter: Any, conditions: Sequence[Any], parameters: Mapping[str, Parameter]) -> Any:
    """A conditional parameter, whose conditions hold the same objects as the options of its parents."""
    return parameter.when(
        {p: [_condition_value_from_json(parameters[p], v) for v in values] for p, values in conditions}
    )


def _condition_value_from_json(parent: Parameter, data: Any) -> Any:
    if isinstance(data, Mapping) and "json" in data:
        return parent.from_json(from_json(data["json"]))
    return from_json(data)


def _settings_to_json(value: Any) -> Any:
    """Settings of a method as JSON data; nested settings stay mappings."""
    return {key: _settings_to_json(v) for key, v in value.items()} if isinstance(value, Mapping) else to_json(value)


def _as_sequence(constraints: Any) -> Sequence[Any]:
    if constraints is None:
        return []
    return constraints if isinstance(constraints, Sequence) and not isinstance(constraints, str) else [constraints]


def _constraint_to_json(constraint: Any) -> Any:
    if isinstance(constraint, LinearConstraint):
        A = constraint.A.toarray() if hasattr(constraint.A, "toarray") else constraint.A
        return {"kind": "LinearConstraint", "A": to_json(A), "lb": to_json(constraint.lb), "ub": to_json(constraint.ub)}
    if isinstance(constraint, NonlinearConstraint):
        kind, fun = "NonlinearConstraint", to_json(constraint.fun)
        return {"kind": kind, "fun": fun, "lb": to_json(constraint.lb), "ub": to_json(constraint.ub)}
    return to_json(constraint)


def _show_name(data: Any) -> str:
    return data if isinstance(data, str) else _show(data)


def _show(data: Any) -> str:
    """JSON data as shown in an error."""
    if data is ABSENT:
        return "absent"
    if isinstance(data, list):
        return f"[{', '.join(map(_show, data))}]"
    if isinstance(data, Mapping) and "kind" in data:
        fields = ", ".join(f"{k}={_show(v)}" for k, v in data.items() if k != "kind")
        return f"{_show_name(data['kind'])}({fields})"
    text = describe(data)
    return text if len(text) <= MAX_SHOWN_CHARACTERS else f"{text[:MAX_SHOWN_CHARACTERS]}..."
