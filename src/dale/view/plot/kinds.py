"""The plots by name, for ``result.plot("slice")`` and ``dale plot run.db slice``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dale.view.plot.landscape import contour, slice  # noqa: A004 (the name of a plot)
from dale.view.plot.pairs import corner, parallel
from dale.view.plot.predictions import calibration
from dale.view.plot.progress import convergence, length_scale, timeline
from dale.view.plot.sensitivity import directions, importance

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KINDS: dict[str, Callable[..., Figure]] = {
    "convergence": convergence,
    "slice": slice,
    "contour": contour,
    "corner": corner,
    "parallel": parallel,
    "importance": importance,
    "directions": directions,
    "length_scale": length_scale,
    "calibration": calibration,
    "timeline": timeline,
}


def plot_of_kind(run: Any, kind: str = "convergence", **options: Any) -> Figure:
    """The plot of this kind; ``options`` are those of the function of this name."""
    name = kind.replace("-", "_") if isinstance(kind, str) else kind
    if name not in KINDS:
        raise ValueError(f"kind: expected one of {', '.join(map(repr, KINDS))}, got {kind!r}")
    return KINDS[name](run, **options)
