"""Numbers of the page as JSON data, rounded where more digits would only make the page larger."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from dale._arrays import Matrix, Vector

DIGITS = 4  # of values on a grid, relative to their range


def exact(values: Iterable[Any]) -> list[float | None]:
    """Numbers as they are; None for None, NaN and infinity."""
    return [None if v is None or not math.isfinite(v) else float(v) for v in values]


def significant(values: Iterable[Any], digits: int = 7) -> list[float | None]:
    """Numbers with some significant digits; None for None, NaN and infinity."""
    return [None if v is None or not math.isfinite(v) else _shortest(float(f"{v:.{digits}g}")) for v in values]


def on_grid(values: Vector | Matrix, digits: int = DIGITS) -> list[float | None]:
    """All values of a grid, row by row, rounded to a fraction of their range: a large offset keeps its variation."""
    flat = np.asarray(values, dtype=float).ravel()
    finite = flat[np.isfinite(flat)]
    width = float(np.ptp(finite)) if len(finite) else 0.0
    if not (math.isfinite(width) and width > 0):
        return significant(flat)
    places = digits - math.floor(math.log10(width))
    return [None if not math.isfinite(v) else _shortest(round(v, places)) for v in flat.tolist()]


def _shortest(value: float) -> float:
    """A whole number as an integer, which is shorter in JSON."""
    return int(value) if value.is_integer() and abs(value) < 1e15 else value
