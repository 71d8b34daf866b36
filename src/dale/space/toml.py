"""Parameters from a TOML file, for users who do not write Python. The keys are the arguments of the classes.

constraints = ["rate + width <= 4"]    input constraints: a list of text; any other value is a parameter of this name
rate = [0, 1]                          a pair of bounds is a Float, as everywhere

[width]                                so are low and high without a type
low = 1
high = 5

[layers]
type = "int"
low = 1
high = 12

[kernel]
options = ["linear", "poly"]

[degree]
type = "int"
low = 2
high = 6
when = {kernel = "poly"}
"""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from collections.abc import Mapping
from inspect import Parameter as Argument
from inspect import signature
from numbers import Real
from pathlib import Path
from typing import Any

from dale.errors import SpaceError, unreadable
from dale.space.parameter import PARAMETER_TYPES, Conditional, Parameter

SYNONYMS = {  # keys of other libraries
    "lower": "low", "min": "low", "upper": "high", "max": "high", "values": "options", "scale": "log", "kind": "type",
}  # fmt: skip
STRING_OR_COMMENT = re.compile(
    r'''"""(?:\\.|[^\\])*?"""|\'{3}.*?\'{3}|"(?:\\.|[^"\\\n])*"|'[^'\n]*'|\#[^\n]*''', re.DOTALL
)
LONG_KEY = re.compile(r"(?<![\w-])(?:[\w-]++\s*+\.\s*+){16}")  # tomllib needs time quadratic in the parts of a key
EXPECTED = 'expected a pair of bounds, [0.0, 1.0], or a table with type = "float", low = 0 and high = 1'


def read_toml(path: str | os.PathLike[str]) -> tuple[dict[str, Parameter | Conditional], tuple[str, ...]]:
    """The parameters that a file describes, by name, in its order, and its input constraints."""
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
        if LONG_KEY.search(STRING_OR_COMMENT.sub("_", text)):
            raise RecursionError
        tables = tomllib.loads(text)
        repr(tables)  # as the messages below show them
    except OSError as error:
        expected = "the path of a TOML file with the parameters, for example: rate = [0.0, 1.0]"
        raise unreadable(path, error, expected) from None
    except ValueError as error:
        raise SpaceError(f"{os.fspath(path)} is not a valid TOML file: {error}") from None
    except RecursionError:
        raise SpaceError(f"{os.fspath(path)} is nested too deeply; expected a table for each parameter") from None
    constraints = _take_constraints(tables, path)
    parameters = {name: _parameter(value, f"{os.fspath(path)}: parameter {name!r}") for name, value in tables.items()}
    return parameters, constraints


def _take_constraints(tables: dict[str, Any], path: str | os.PathLike[str]) -> tuple[str, ...]:
    """The input constraints of a file, taken out of its tables; a pair or a table is a parameter of this name."""
    value = tables.get("constraints")
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or (texts and not any(isinstance(text, str) for text in texts)):
        return ()
    del tables["constraints"]
    for text in texts:
        if not isinstance(text, str):
            raise SpaceError(f"{os.fspath(path)}: constraints: expected text, such as 'a + b <= 4', got {text!r}")
    return tuple(texts)


def _parameter(value: Any, where: str) -> Parameter | Conditional:
    if isinstance(value, list):
        return _pair(value, where)
    if not isinstance(value, Mapping):
        raise SpaceError(f"{where}: {EXPECTED}, got {value!r}; for a fixed value, use options = [{value!r}]")
    table = dict(value)
    if "choices" in table:  # the earlier name
        if "options" in table:
            raise SpaceError(f"{where}: expected the key 'options' only, got 'choices' too; remove it")
        table["options"] = table.pop("choices")
    _check_keys(table, where)
    kind = _type(table, where)
    arguments = signature(_types()[kind]).parameters
    for key in table:
        if key not in (*arguments, "type", "when"):
            raise SpaceError(f'{where}: unexpected key {key!r}; type = "{kind}" has the keys {", ".join(arguments)}')
    for key, argument in arguments.items():
        if argument.default is Argument.empty and key not in table:
            raise SpaceError(f'{where}: missing key {key!r}, which type = "{kind}" requires')
    parameter = _make(kind, {key: table[key] for key in table if key not in ("type", "when")}, where)
    if "when" not in table:
        return parameter
    try:
        return Conditional.of(parameter, table["when"])
    except (SpaceError, TypeError) as error:
        raise SpaceError(f"{where}, key 'when': {error}") from None


def _types() -> dict[str, type[Any]]:
    return {name.lower(): parameter_type for name, parameter_type in PARAMETER_TYPES.items()}


def _check_keys(table: Mapping[str, Any], where: str) -> None:
    """Check that all keys are known, and that those that several types share have values of the right type."""
    known = dict.fromkeys(["type", *(key for t in _types().values() for key in signature(t).parameters), "when"])
    expected = {
        "log": (bool, "true or false"),
        "ordered": (bool, "true or false"),
        "options": (list, 'a list, such as ["a", "b"]'),
        "when": (Mapping, 'a table of other parameters and their values, such as {kernel = "poly"}'),
    }
    for key, value in table.items():
        if key not in known:
            close = difflib.get_close_matches(key, known, n=1)
            meant = SYNONYMS.get(key.lower(), close[0] if close else None)
            hint = "" if meant is None else f" (did you mean {meant!r}?)"
            raise SpaceError(f"{where}: unknown key {key!r}{hint}; the keys are {', '.join(known)}")
        if key in expected and not isinstance(value, expected[key][0]):
            raise SpaceError(f"{where}, key {key!r}: expected {expected[key][1]}, got {value!r}")


def _pair(value: list[Any], where: str) -> Parameter:
    if len(value) != 2 or not all(isinstance(bound, Real) and not isinstance(bound, bool) for bound in value):
        raise SpaceError(f"{where}: {EXPECTED}, got {value!r}; for a list of options, use options = [...]")
    return _make("float", {"low": value[0], "high": value[1]}, where)


def _type(table: Mapping[str, Any], where: str) -> str:
    """The type as it is written, or the one that the keys imply."""
    if "type" in table:
        kind = table["type"]
        if not isinstance(kind, str) or kind not in _types():
            raise SpaceError(f"{where}, key 'type': expected one of {', '.join(map(repr, _types()))}, got {kind!r}")
        return kind
    if "options" in table:
        return "choice"
    if "low" in table or "high" in table:
        return "float"  # as a pair of bounds, with or without decimal points
    raise SpaceError(f"{where}: the type is missing; add the key 'type': {', '.join(map(repr, _types()))}")


def _make(kind: str, settings: Mapping[str, Any], where: str) -> Parameter:
    try:
        parameter: Parameter = _types()[kind](**settings)
    except (SpaceError, TypeError) as error:
        raise SpaceError(f"{where}: {error}") from None
    return parameter
