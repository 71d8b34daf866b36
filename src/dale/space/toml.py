"""Parameters from a TOML file: what ``dale.Space(...)`` says in Python, for those who write none.

rate = [0.0, 1.0]                      a pair is a Float, as everywhere

[layers]
type = "int"
low = 1
high = 12

[kernel]
choices = ["linear", "poly"]

[degree]
type = "int"
low = 2
high = 6
when = {kernel = "poly"}
"""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Mapping
from numbers import Real
from pathlib import Path
from typing import Any

from dale.errors import SpaceError
from dale.space.choice import Choice
from dale.space.float import Float
from dale.space.int import Int
from dale.space.parameter import Conditional, Parameter

TYPES = {  # which keys a parameter of each type has, and which of them it needs
    "float": (("low", "high", "log", "step"), ("low", "high")),
    "int": (("low", "high", "log", "step"), ("low", "high")),
    "choice": (("choices", "ordered"), ("choices",)),
}
KEYS = ("type", "low", "high", "log", "step", "choices", "ordered", "when")
ELSEWHERE = {  # what others call them
    "lower": "low", "min": "low", "upper": "high", "max": "high", "options": "choices", "values": "choices",
    "scale": "log", "kind": "type",
}  # fmt: skip
EXAMPLE = 'wanted a pair of bounds, [0.0, 1.0], or a table with type = "float", low = 0 and high = 1'


def parameters_of(path: str | os.PathLike[str]) -> dict[str, Parameter | Conditional]:
    """The parameters that a file describes, by name and in its order."""
    try:
        tables = tomllib.loads(Path(path).read_text(encoding="utf-8-sig"))
    except ValueError as error:
        raise SpaceError(f"{os.fspath(path)} is no TOML file: {error}") from None
    return {name: _parameter(written, f"{os.fspath(path)}: parameter {name!r}") for name, written in tables.items()}


def _parameter(written: Any, where: str) -> Parameter | Conditional:
    if isinstance(written, list):
        return _pair(written, where)
    if not isinstance(written, Mapping):
        raise SpaceError(f"{where} is {written!r}; {EXAMPLE}; for a fixed value, choices = [{written!r}]")
    for key in written:
        if key not in KEYS:
            raise SpaceError(f"{where} has the unknown key {key!r}{_meant(key)}; the keys are {', '.join(KEYS)}")
    kind = _type(written, where)
    known, needed = TYPES[kind]
    for key in written:
        if key not in (*known, "type", "when"):
            raise SpaceError(f'{where} has the key {key!r}, which type = "{kind}" does not take: {", ".join(known)}')
    for key in needed:
        if key not in written:
            raise SpaceError(f'{where} has no key {key!r}, which type = "{kind}" needs')
    settings = {key: _checked(key, value, where) for key, value in written.items() if key not in ("type", "when")}
    parameter = _made(kind, settings, where)
    if "when" not in written:
        return parameter
    try:
        return Conditional.of(parameter, _checked("when", written["when"], where))
    except (SpaceError, TypeError) as error:
        raise SpaceError(f"{where}, key 'when': {error}") from None


def _pair(written: list[Any], where: str) -> Parameter:
    if len(written) != 2 or not all(_is_number(bound) for bound in written):
        raise SpaceError(f"{where} is {written!r}; {EXAMPLE}; for options, choices = [...]")
    return _made("float", {"low": written[0], "high": written[1]}, where)


def _type(written: Mapping[str, Any], where: str) -> str:
    """The type as it is written, or the only one that it can be."""
    if "type" in written:
        kind = written["type"]
        if not isinstance(kind, str) or kind not in TYPES:
            raise SpaceError(f"{where}, key 'type': wanted one of {', '.join(map(repr, TYPES))}, got {kind!r}")
        return kind
    if "choices" in written:
        return "choice"
    if any(isinstance(written.get(key), float) for key in ("low", "high", "step")):
        return "float"
    raise SpaceError(f"{where} may be of more than one type; add the key 'type': {', '.join(map(repr, TYPES))}")


def _checked(key: str, value: Any, where: str) -> Any:
    wanted = {
        "log": (isinstance(value, bool), "true or false"),
        "ordered": (isinstance(value, bool), "true or false"),
        "choices": (isinstance(value, list), 'a list of options, ["a", "b"]'),
        "when": (isinstance(value, Mapping), 'a table of other parameters and their values, {kernel = "poly"}'),
    }
    fine, what = wanted.get(key, (_is_number(value), "a number"))
    if not fine:
        raise SpaceError(f"{where}, key {key!r}: wanted {what}, got {value!r}")
    return value


def _made(kind: str, settings: Mapping[str, Any], where: str) -> Parameter:
    try:
        if kind == "choice":
            return Choice(settings["choices"], ordered=settings.get("ordered", False))
        more = {key: settings[key] for key in ("log", "step") if key in settings}
        return (Float if kind == "float" else Int)(settings["low"], settings["high"], **more)
    except (SpaceError, TypeError) as error:
        raise SpaceError(f"{where}: {error}") from None


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _meant(key: str) -> str:
    close = difflib.get_close_matches(key, KEYS, n=1)
    meant = ELSEWHERE.get(key.lower(), close[0] if close else None)
    return "" if meant is None else f" (did you mean {meant!r}?)"
