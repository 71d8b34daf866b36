"""Any Python object as plain data that JSON can hold, and back as far as this is possible; code is never stored.

None, truth values, whole numbers, text and finite floats are themselves: Python writes a float with as many digits as
give it back to the last bit. Everything else is a mapping with one telling key:

    {"float": "nan"}  {"list": [...]}  {"tuple": [...]}  {"dict": [[key, value], ...]}  {"array": [...], "dtype": "..."}
    {"object": qualified name, "fields": {...}}     a dataclass
    {"object": qualified name}                      a function, a class, or an object that does not describe itself
    {"object": qualified name, "text": "..."}       anything else, as it describes itself

Objects of the last three kinds do not come back: a ``StandIn`` does, which looks like them. No module is part of a
name: what is ``__main__`` today is imported tomorrow.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")  # of an object in memory: another one in every process


@dataclass(frozen=True)
class StandIn:
    """In place of an object that no file can hold.

    Attributes:
        text: What it looked like.
        number: Its place among the options, so that two that look alike are two.
    """

    text: str
    number: int = 0

    def __repr__(self) -> str:
        return self.text


def as_json(data: Any) -> str:
    """Data as JSON in ASCII, the same text for the same data."""
    return json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))


def plain(value: Any) -> Any:
    """An object as plain data."""
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or type(value) in (bool, int, str):
        return value
    if type(value) is float:
        return value if math.isfinite(value) else {"float": repr(value)}
    if type(value) in (list, tuple):
        return {type(value).__name__: [plain(v) for v in value]}
    if type(value) is dict:
        return {"dict": [[plain(k), plain(v)] for k, v in value.items()]}
    if type(value) is np.ndarray and value.dtype.kind in "biufU":
        return {"array": plain(value.tolist()), "dtype": str(value.dtype)}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value) if f.repr}
        return {"object": type(value).__qualname__, "fields": fields}
    if hasattr(value, "__qualname__"):
        return {"object": value.__qualname__}
    if (
        getattr(type(value), "__repr__", None) is object.__repr__
    ):  # which says where its class is from, and nothing else
        return {"object": type(value).__qualname__}
    return {"object": type(value).__qualname__, "text": ADDRESS.sub("", repr(value))}


def restored(data: Any, number: int = 0) -> Any:
    """The object that plain data stand for, or something that looks like it."""
    if not isinstance(data, Mapping):
        return data
    if "float" in data:
        return float(data["float"])
    if "list" in data:
        return [restored(v) for v in data["list"]]
    if "tuple" in data:
        return tuple(restored(v) for v in data["tuple"])
    if "dict" in data:
        return {restored(k): restored(v) for k, v in data["dict"]}
    if "array" in data:
        return np.array(restored(data["array"]), dtype=data["dtype"])
    return StandIn(described(data), number)


def is_whole(data: Any) -> bool:
    """Whether the object itself comes back."""
    if isinstance(data, Mapping):
        return "object" not in data and all(is_whole(v) for v in data.values())
    return not isinstance(data, list) or all(is_whole(v) for v in data)


def described(data: Any) -> str:
    """Plain data in the words of Python; a mapping without a telling key as it is."""
    if not isinstance(data, Mapping) or data.keys() & {"float", "list", "tuple", "dict", "array"}:
        return repr(restored(data))
    if "object" not in data:
        return str(dict(data))
    if "fields" in data:
        return f"{data['object']}({', '.join(f'{k}={described(v)}' for k, v in data['fields'].items())})"
    return str(data.get("text", data["object"]))
