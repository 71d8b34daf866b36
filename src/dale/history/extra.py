"""Further results of an evaluation that a run keeps with the trial: JSON data that no model reads."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from dale.space.point import FrozenDict, short_repr

MAX_BYTES, MAX_LEVELS = 65_536, 20  # of the extra values of a trial as JSON
EXPECTED = "None, a bool, an int, a finite float, a str, or lists and dicts of these"


class Extra(FrozenDict):
    """Read-only extra values of a trial, by name. Lists in it are tuples."""

    _refusal = "the extra values of a trial are read-only; make a copy with dict(trial.extra)"


def check_extra(extra: Any) -> Extra:
    """Extra values as a read-only mapping of plain Python values; an empty one for None.

    Examples:
        >>> check_extra({"rmse": np.float32(0.5), "steps": [1, 2]})
        {'rmse': 0.5, 'steps': (1, 2)}
        >>> check_extra({"rmse": float("nan")})
        Traceback (most recent call last):
        ...
        ValueError: extra['rmse']: expected a finite number, got nan; use None or leave it out
    """
    if extra is None:
        return Extra()
    if not isinstance(extra, Mapping):
        raise TypeError(f"extra: expected a mapping, such as {{'rmse': 0.3}}, got {short_repr(extra)}")
    checked = _plain_mapping(extra, "extra", MAX_LEVELS)
    if (size := _size(checked)) > MAX_BYTES:
        largest = max(checked, key=lambda key: _size(checked[key]))
        raise ValueError(
            f"extra: expected at most {MAX_BYTES} bytes as JSON, got {size}, most of them in {largest!r}; write large "
            "data to a file, and keep its path"
        )
    return checked


def _size(data: Any) -> int:
    return len(json.dumps(data))


def _plain_mapping(mapping: Mapping[Any, Any], where: str, levels: int) -> Extra:
    for key in mapping:
        if not isinstance(key, str):
            raise TypeError(f"{where}: expected strings as keys, got {short_repr(key)}; use str(key)")
    items = mapping.items()
    return Extra({str.__str__(key): _plain(value, f"{where}[{short_repr(key)}]", levels - 1) for key, value in items})


def _plain(value: Any, where: str, levels: int) -> Any:
    """A value as JSON has it, with tuples for lists; ``levels`` is how deep it may be nested."""
    if value is None or isinstance(value, bool | np.bool_):
        return None if value is None else bool(value)
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        if not math.isfinite(value):
            raise ValueError(f"{where}: expected a finite number, got {float(value)!r}; use None or leave it out")
        return float(value)
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, list | tuple | Mapping) and levels == 0:
        raise ValueError(f"{where}: expected at most {MAX_LEVELS} levels of lists and dicts, got more; flatten them")
    if isinstance(value, list | tuple):
        return tuple(_plain(item, f"{where}[{i}]", levels - 1) for i, item in enumerate(value))
    if isinstance(value, Mapping):
        return _plain_mapping(value, where, levels)
    hint = "use value.tolist()" if hasattr(value, "tolist") else "convert it, or write it to a file and keep its path"
    raise TypeError(f"{where}: expected {EXPECTED}, got {short_repr(value)}; {hint}")
