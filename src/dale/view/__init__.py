"""Plots, plot data and text summaries of a run, computed from its history."""

from dale.view.advice import Advice, advice
from dale.view.data import (
    CalibrationData,
    ContourData,
    ConvergenceData,
    CornerData,
    DirectionsData,
    ImportanceData,
    LengthScaleData,
    ParallelData,
    SliceData,
    TimelineData,
    calibration_data,
    contour_data,
    convergence_data,
    corner_data,
    directions_data,
    importance_data,
    length_scale_data,
    parallel_data,
    slice_data,
    timeline_data,
    to_json,
)
from dale.view.forecast import Forecast, forecast
from dale.view.predict import Predictions, predict
from dale.view.style import MatplotlibMissing, save
from dale.view.summary import summary
from dale.view.tolerances import Tolerances, parameter_tolerances
from dale.view.why import Why, why

__all__ = [
    "Advice",
    "CalibrationData",
    "ContourData",
    "ConvergenceData",
    "CornerData",
    "DirectionsData",
    "Forecast",
    "ImportanceData",
    "LengthScaleData",
    "MatplotlibMissing",
    "ParallelData",
    "Predictions",
    "SliceData",
    "TimelineData",
    "Tolerances",
    "Why",
    "advice",
    "calibration_data",
    "contour_data",
    "convergence_data",
    "corner_data",
    "directions_data",
    "forecast",
    "importance_data",
    "length_scale_data",
    "parallel_data",
    "parameter_tolerances",
    "predict",
    "save",
    "slice_data",
    "summary",
    "timeline_data",
    "to_json",
    "why",
]
