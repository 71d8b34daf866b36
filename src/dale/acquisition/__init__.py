"""Acquisition functions: how much an evaluation is worth, from a model's prediction and the best value so far."""

from typing import Any

from dale._lazy import on_first_use
from dale.acquisition.base import (
    Acquisition,
    AcquisitionState,
    AdaptiveAcquisition,
    Partials,
    Quantity,
    SecondOrderAcquisition,
    SecondPartials,
    maximize_acquisition,
)
from dale.acquisition.confidence_bound import ConfidenceSchedule, LogLowerConfidenceBound, LowerConfidenceBound
from dale.acquisition.expected_improvement import ExpectedImprovement, LogExpectedImprovement
from dale.acquisition.feasibility import Feasibility
from dale.acquisition.probability_of_improvement import LogProbabilityOfImprovement, ProbabilityOfImprovement

__all__ = [
    "Acquisition",
    "AcquisitionState",
    "AdaptiveAcquisition",
    "ConfidenceSchedule",
    "ExpectedImprovement",
    "Feasibility",
    "LogExpectedImprovement",
    "LogLowerConfidenceBound",
    "LogMaxValueEntropy",
    "LogProbabilityOfImprovement",
    "LowerConfidenceBound",
    "Partials",
    "ProbabilityOfImprovement",
    "Quantity",
    "SecondOrderAcquisition",
    "SecondPartials",
    "maximize_acquisition",
]

_ON_FIRST_USE = {  # name: module
    "LogMaxValueEntropy": "max_value_entropy",
}


def __getattr__(name: str) -> Any:
    return on_first_use(__name__, _ON_FIRST_USE, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
