"""Plot data as JSON data, for pages and other programs."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from enum import Enum
from typing import Any

import numpy as np


def to_json(data: Any) -> Any:
    """Plot data, or any part of it, as JSON data: dataclasses as mappings, arrays as lists, NaN and infinity as None.

    Examples:
        >>> import dale
        >>> from dale.view import convergence_data
        >>> result = dale.minimize(lambda x: x[0] ** 2, [(-1, 2)], budget=3, seed=0)
        >>> to_json(convergence_data(result))["trial"]
        [0, 1, 2]
    """
    if dataclasses.is_dataclass(data) and not isinstance(data, type):
        return {field.name: to_json(getattr(data, field.name)) for field in dataclasses.fields(data)}
    if isinstance(data, Enum):
        return str(data)
    if data is None or isinstance(data, bool | str | int):
        return data
    if isinstance(data, np.bool_ | np.integer | np.ndarray):
        return to_json(data.tolist()) if isinstance(data, np.ndarray) else data.item()
    if isinstance(data, float | np.floating):
        return float(data) if math.isfinite(data) else None
    if isinstance(data, Mapping):
        return {str(key): to_json(value) for key, value in data.items()}
    if isinstance(data, tuple | list):
        return [to_json(value) for value in data]
    raise TypeError(f"expected plot data, got {type(data).__name__}")
