"""What a run is about, as plain data: the space, the seed, the method, the noise and the constraints.

A store belongs to one problem. Callables cannot be stored: of a constraint its qualified name is kept, so a function
that was edited and kept its name is not noticed, and neither is another objective, unless it is a command: its words
are kept, to be compared and shown, and never to be run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from scipy.optimize import LinearConstraint, NonlinearConstraint

from dale.errors import StoreError
from dale.methods.base import Method
from dale.space.parameter import PARAMETER_TYPES, Parameter
from dale.space.space import Space
from dale.store.codec import as_json, described, is_whole, plain, restored

MOST_SHOWN = 5  # differences that an error lists
NOT_THERE = object()


def problem_of(
    space: Space,
    seed: int | None,
    method: Method,
    noise: float | None,
    constraints: Any,
    objective: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """A problem as plain data; a seed of None is one that is yet to be taken, an objective of None is not told."""
    told = {} if objective is None else {"objective": dict(objective)}
    return {
        "space": space_data(space),
        "seed": seed,
        "method": {
            "name": method.name,
            "revision": method.revision,
            "settings": _settings(method.changed_settings()),
        },
        "noise": "auto" if noise is None else noise,
        "constraints": [_constraint(c) for c in _each(constraints)],
        **told,
    }


def differences(stored: Any, given: Any, path: tuple[str, ...] = ()) -> Iterator[str]:
    """Describe what differs between the problem of a store and another one.

    The order of the parameters does not count. Neither does a key of the store that this version does not write, nor
    an objective or a seed that only one of them has.
    """
    if isinstance(stored, Mapping) and isinstance(given, Mapping):
        if not _has_names(path):
            for key in ("object", "kind", "type", "name"):  # the rest of two different things differs anyway
                one, other = stored.get(key), given.get(key)
                if one != other:
                    yield f"{'.'.join(path)} is {_named(one)} in the store and {_named(other)} here"
                    return
        for key in [*given, *(k for k in stored if k not in given and not _is_schema(path))]:
            if path or key not in ("seed", "objective") or (stored.get(key) is not None and given[key] is not None):
                yield from differences(stored.get(key, NOT_THERE), given.get(key, NOT_THERE), (*path, key))
    elif stored is NOT_THERE or given is NOT_THERE or as_json(stored) != as_json(given):
        yield f"{'.'.join(path)} is {_said(stored)} in the store and {_said(given)} here"


def _has_names(path: tuple[str, ...]) -> bool:
    """Whether the keys of the mapping at this place of a problem are names that a user has chosen."""
    return path in (("space", "parameters"), ("space", "conditions")) or path[:1] == ("objective",)


def _is_schema(path: tuple[str, ...]) -> bool:
    """Whether the keys of the mapping at this place are the format's own: more of them may come."""
    return path in ((), ("space",), ("method",)) or (path[:2] == ("space", "parameters") and len(path) == 3)


def space_data(space: Space) -> dict[str, Any]:
    """A space as plain data."""
    return {
        "named": space.named,
        "parameters": {name: _parameter(parameter) for name, parameter in space.parameters.items()},
        "conditions": {
            name: [
                [parent, [_condition_value(space.parameters[parent], value) for value in permitted.options]]
                for parent, permitted in sorted(required.items())
            ]
            for name, required in sorted(space.conditions.items())
        },
    }


def space_from(data: Mapping[str, Any]) -> Space:
    """The space that data stand for; options that no file can hold are stand-ins."""
    parameters = {name: _parameter_from(name, p) for name, p in data["parameters"].items()}
    if not data["named"]:
        return Space.from_pairs(list(parameters.values()))
    conditions = data["conditions"]
    written: dict[str, Any] = {
        name: _conditional(parameter, conditions[name], parameters) if name in conditions else parameter
        for name, parameter in parameters.items()
    }
    return Space(written)


def _parameter(parameter: Parameter) -> dict[str, Any]:
    kind = type(parameter).__name__
    if PARAMETER_TYPES.get(kind) is not type(parameter):
        return {"kind": plain(parameter)}
    return {"kind": kind, **{name: _setting(value) for name, value in parameter.settings.items()}}


def _setting(value: Any) -> Any:
    return [plain(v) for v in value] if isinstance(value, list | tuple) else plain(value)


def _parameter_from(name: str, data: Mapping[str, Any]) -> Parameter:
    kind = data["kind"]
    if not isinstance(kind, str) or kind not in PARAMETER_TYPES:
        raise StoreError(
            f"parameter {name!r} has a type that is not registered, {described(kind)}; import the module that defines "
            "it, or open the run with its space: dale.open(path, space)"
        )
    settings = {key: _setting_from(value) for key, value in data.items() if key != "kind"}
    parameter: Parameter = PARAMETER_TYPES[kind](**settings)
    return parameter


def _setting_from(data: Any) -> Any:
    return [restored(v, k) for k, v in enumerate(data)] if isinstance(data, list) else restored(data)


def _condition_value(parent: Parameter, value: Any) -> Any:
    """A value of a parent: the value itself if JSON can hold it, else what the parent stores for it."""
    data = plain(value)
    return data if is_whole(data) else {"json": plain(parent.to_json(value))}


def _conditional(parameter: Any, required: Sequence[Any], parameters: Mapping[str, Parameter]) -> Any:
    """A conditional parameter; the values of its parents are the same objects as the values of the parents."""
    return parameter.when({p: [_condition_value_from(parameters[p], v) for v in values] for p, values in required})


def _condition_value_from(parent: Parameter, data: Any) -> Any:
    if isinstance(data, Mapping) and "json" in data:
        return parent.from_json(restored(data["json"]))
    return restored(data)


def _settings(value: Any) -> Any:
    """Settings of a method as plain data; mappings, of nested settings, stay mappings."""
    return {key: _settings(v) for key, v in value.items()} if isinstance(value, Mapping) else plain(value)


def _each(constraints: Any) -> Sequence[Any]:
    if constraints is None:
        return []
    return constraints if isinstance(constraints, Sequence) else [constraints]


def _constraint(constraint: Any) -> Any:
    if isinstance(constraint, LinearConstraint):
        A = constraint.A.toarray() if hasattr(constraint.A, "toarray") else constraint.A
        return {"kind": "LinearConstraint", "A": plain(A), "lb": plain(constraint.lb), "ub": plain(constraint.ub)}
    if isinstance(constraint, NonlinearConstraint):
        kind, fun = "NonlinearConstraint", plain(constraint.fun)
        return {"kind": kind, "fun": fun, "lb": plain(constraint.lb), "ub": plain(constraint.ub)}
    return plain(constraint)


def _named(data: Any) -> str:
    return data if isinstance(data, str) else _said(data)


def _said(data: Any) -> str:
    """Data as an error shows them."""
    if data is NOT_THERE:
        return "absent"
    if isinstance(data, list):
        return f"[{', '.join(map(_said, data))}]"
    if isinstance(data, Mapping) and "kind" in data:
        inner = ", ".join(f"{k}={_said(v)}" for k, v in data.items() if k != "kind")
        return f"{data['kind'] if isinstance(data['kind'], str) else _said(data['kind'])}({inner})"
    text = described(data)
    return text if len(text) <= 200 else f"{text[:200]}..."
