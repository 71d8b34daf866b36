"""Points as the user sees them: an array, or a read-only mapping of names to values; and their text in messages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

import numpy as np

from dale._arrays import Vector

MAX_REPR = 1000  # characters of a value in a message
Params = Vector | Mapping[str, Any]  # an array in a space without names, a mapping in a space with names


class FrozenDict(dict[str, Any]):
    """A read-only mapping, because it is part of the history; ``dict`` makes a copy."""

    _refusal = "this mapping is read-only; make a copy with dict(mapping)"

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError(self._refusal)

    __setitem__ = __delitem__ = __ior__ = update = pop = popitem = clear = setdefault = _refuse

    def __reduce__(self) -> tuple[type[FrozenDict], tuple[dict[str, Any]]]:
        return type(self), (dict(self),)


class FrozenParams(FrozenDict):
    """Read-only parameters by name."""

    _refusal = "the parameters of a trial are read-only; make a copy with dict(params)"


def by_name(params: Params, names: Iterable[str]) -> Mapping[str, Any]:
    """The values of a point by name; without those of inactive parameters.

    Examples:
        >>> dict(by_name(np.array([1, 2]), ["x0", "x1"])) == {"x0": 1, "x1": 2}
        True
    """
    return params if isinstance(params, Mapping) else dict(zip(names, params, strict=True))


def point_key(params: Params) -> bytes | tuple[str, ...]:
    """The numbers of a point, bit for bit: equal keys of points with the same options are the same point.

    Examples:
        >>> point_key({"a": 0.1 + 0.2}) == point_key({"a": 0.3}), point_key({"a": 0.3}) == point_key({"a": 0.3})
        (False, True)
    """
    if isinstance(params, np.ndarray):
        return params.tobytes()
    numbers = ((name, value) for name, value in params.items() if isinstance(value, int | float))
    return tuple(f"{name}={float.hex(value) if isinstance(value, float) else value}" for name, value in numbers)


def short_repr(value: Any) -> str:
    """``repr`` of any object for a message: shortened if it is long, the type if ``repr`` fails."""
    try:
        is_long = type(value) in (str, bytes, bytearray, list, tuple) and len(value) > MAX_REPR
        text = repr(value[:MAX_REPR] if is_long else value)  # that of hundreds of megabytes takes gigabytes
    except Exception:  # raised by the user's class
        return f"<{type(value).__name__}, whose repr failed>"
    return text if len(text) <= MAX_REPR else f"{text[:MAX_REPR]}..."


def format_point(params: Params) -> str:
    """A point as short text: ``a=1.5, b=0.2`` or ``(1.5, 0.2)``."""
    if isinstance(params, np.ndarray):
        return "(" + ", ".join(map(_format, params)) + ")"
    return ", ".join(f"{name}={_format(v)}" for name, v in params.items())


def _format(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
