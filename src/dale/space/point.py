"""TODO docstring."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

import numpy as np

from dale._arrays import Vector

MOST_SHOWN = 1000  # letters of a value in a message
Params = Vector | Mapping[str, Any]  # an array in a space without names, a mapping in one with names


class FrozenParams(dict[str, Any]):
    """Parameters by name that cannot be changed, for they are part of the history; copy them with ``dict(params)``."""

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError(
            "the parameters of a trial are part of the history and cannot be changed; copy them with dict()"
        )

    __setitem__ = __delitem__ = __ior__ = update = pop = popitem = clear = setdefault = _refuse

    def __reduce__(self) -> tuple[type[FrozenParams], tuple[dict[str, Any]]]:
        return FrozenParams, (dict(self),)


def short_repr(value: Any) -> str:
    """What an objective returned, as messages show it: cut where it is long, by its type where it cannot say."""
    try:
        text = repr(value)
    except Exception:  # its own code
        return f"<{type(value).__name__} that cannot be shown>"
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}..."


def format_point(params: Params) -> str:
    """A point as a person writes it: ``a=1.5, b=0.2`` or ``(1.5, 0.2)``."""
    if isinstance(params, np.ndarray):
        return "(" + ", ".join(map(_describe, params)) + ")"
    return ", ".join(f"{name}={_describe(v)}" for name, v in params.items())


def _describe(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
