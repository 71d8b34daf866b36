"""Plots of a run, available as ``dale.plot``. Requires ``pip install 'dale[plot]'``.

Each function takes a result, an optimizer, a stored run or the path of a store, and returns a matplotlib figure that a
notebook shows. ``style="dark"`` is for dark pages.
"""

from dale.view.plot.landscape import contour, slice  # noqa: A004 (always called dale.plot.slice)
from dale.view.plot.pairs import corner, parallel
from dale.view.plot.predictions import calibration
from dale.view.plot.progress import convergence, length_scale, timeline
from dale.view.plot.sensitivity import directions, importance

__all__ = [
    "calibration",
    "contour",
    "convergence",
    "corner",
    "directions",
    "importance",
    "length_scale",
    "parallel",
    "slice",
    "timeline",
]
