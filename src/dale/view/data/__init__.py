"""The numbers behind the plots, computed from the trials alone, in the user's names and units."""

from dale.view.data.axes import Axis
from dale.view.data.export import to_json
from dale.view.data.landscape import ContourData, Region, SliceData, contour_data, slice_data
from dale.view.data.pairs import (
    CornerData,
    Dependence,
    PairDependence,
    ParallelData,
    corner_data,
    parallel_data,
)
from dale.view.data.predictions import CalibrationData, Record, calibration_data
from dale.view.data.progress import (
    ConvergenceData,
    LengthScaleData,
    TimelineData,
    convergence_data,
    length_scale_data,
    timeline_data,
)
from dale.view.data.sensitivity import DirectionsData, ImportanceData, directions_data, importance_data

__all__ = [
    "Axis",
    "CalibrationData",
    "ContourData",
    "ConvergenceData",
    "CornerData",
    "Dependence",
    "DirectionsData",
    "ImportanceData",
    "LengthScaleData",
    "PairDependence",
    "ParallelData",
    "Record",
    "Region",
    "SliceData",
    "TimelineData",
    "calibration_data",
    "contour_data",
    "convergence_data",
    "corner_data",
    "directions_data",
    "importance_data",
    "length_scale_data",
    "parallel_data",
    "slice_data",
    "timeline_data",
    "to_json",
]
