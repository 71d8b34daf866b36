"""Python objects as JSON, and back where possible. Code is never stored.

None, booleans, integers, strings and finite floats are stored as they are; Python writes a float with enough digits to
restore every bit. Everything else becomes a mapping with one of these keys:

    {"float": "nan"}  {"list": [...]}  {"tuple": [...]}  {"dict": [[key, value], ...]}  {"array": [...], "dtype": "..."}
    {"object": qualified name, "fields": {...}}     a dataclass
    {"object": qualified name}                      a function, a class, or an object with Python's default repr
    {"object": qualified name, "text": "..."}       any other object, with its repr

Objects of the last three kinds cannot be restored; an ``OpaqueValue`` with the same repr takes their place. Names do
not include the module, because the module that is ``__main__`` in one process is imported by name in another.
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

MAX_ARRAY_BYTES = 2**26  # of an array that is restored; those of options are small
MEMORY_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")  # part of some reprs; differs in every process


@dataclass(frozen=True)
class OpaqueValue:
    """Takes the place of an object that cannot be stored.

    Attributes:
        text: The repr of the object.
        index: Its index among the options of a choice, so that two options with the same repr stay different.

    Examples:
        >>> from_json(to_json(len))
        len
        >>> type(from_json(to_json(len))).__name__
        'OpaqueValue'
    """

    text: str
    index: int = 0

    def __repr__(self) -> str:
        return self.text


def dump_json(data: Any) -> str:
    """Write JSON data as ASCII text; the same data always gives the same text."""
    return json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))


def load_json(text: str) -> Any:
    """Read JSON data; infinity and NaN, which ``dump_json`` does not write, are an error."""
    return json.loads(text, parse_constant=_refuse)


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def to_json(value: Any) -> Any:
    """Encode any object as JSON data."""
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or type(value) in (bool, int, str):
        return value
    if type(value) is float:
        return value if math.isfinite(value) else {"float": repr(value)}
    if type(value) in (list, tuple):
        return {type(value).__name__: [to_json(v) for v in value]}
    if type(value) is dict:
        return {"dict": [[to_json(k), to_json(v)] for k, v in value.items()]}
    if type(value) is np.ndarray and value.dtype.kind in "biufU":
        return {"array": to_json(value.tolist()), "dtype": str(value.dtype)}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {f.name: to_json(getattr(value, f.name)) for f in dataclasses.fields(value) if f.repr}
        return {"object": type(value).__qualname__, "fields": fields}
    if hasattr(value, "__qualname__"):
        return {"object": value.__qualname__}
    if getattr(type(value), "__repr__", None) is object.__repr__:  # shows only the module and the memory address
        return {"object": type(value).__qualname__}
    return {"object": type(value).__qualname__, "text": MEMORY_ADDRESS.sub("", repr(value))}


def from_json(data: Any, index: int = 0) -> Any:
    """Restore an object from JSON data; an ``OpaqueValue`` with this index where that is impossible."""
    if not isinstance(data, Mapping):
        return data
    if "float" in data:
        return float(data["float"])
    if "list" in data:
        return [from_json(v) for v in data["list"]]
    if "tuple" in data:
        return tuple(from_json(v) for v in data["tuple"])
    if "dict" in data:
        return {from_json(k): from_json(v) for k, v in data["dict"]}
    if "array" in data:
        return _array(from_json(data["array"]), np.dtype(data["dtype"]))
    return OpaqueValue(describe(data), index)


def _array(values: Any, dtype: np.dtype[Any]) -> np.ndarray:
    """An array. Text has a fixed width, so that few characters of JSON may ask for any amount of memory."""
    if dtype.kind not in "biufU" or np.size(np.array(values, dtype=object)) * dtype.itemsize > MAX_ARRAY_BYTES:
        raise ValueError(f"expected an array of at most {MAX_ARRAY_BYTES} bytes, got one of {dtype}")
    return np.array(values, dtype=dtype)


def is_lossless(data: Any) -> bool:
    """Whether ``from_json`` restores the object itself."""
    if isinstance(data, Mapping):
        return "object" not in data and all(is_lossless(v) for v in data.values())
    return not isinstance(data, list) or all(is_lossless(v) for v in data)


def describe(data: Any) -> str:
    """Format JSON data as the repr of the object that they encode."""
    if not isinstance(data, Mapping) or data.keys() & {"float", "list", "tuple", "dict", "array"}:
        return repr(from_json(data))
    if "object" not in data:
        return str(dict(data))
    if "fields" in data:
        return f"{data['object']}({', '.join(f'{k}={describe(v)}' for k, v in data['fields'].items())})"
    return str(data.get("text", data["object"]))
