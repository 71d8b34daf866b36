"""Plots, plot data and text summaries of a run, computed from its history."""

from dale.view.data import ContourData, ConvergenceData, SliceData, contour_data, convergence_data, slice_data
from dale.view.plot import contour, convergence, slice  # noqa: A004 (always called dale.plot.slice)
from dale.view.style import MatplotlibMissing, save
from dale.view.summary import summary
from dale.view.tolerances import Tolerances, parameter_tolerances

__all__ = [
    "ContourData",
    "ConvergenceData",
    "MatplotlibMissing",
    "SliceData",
    "Tolerances",
    "contour",
    "contour_data",
    "convergence",
    "convergence_data",
    "parameter_tolerances",
    "save",
    "slice",
    "slice_data",
    "summary",
]
