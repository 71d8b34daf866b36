"""Acquisition functions: how much an evaluation is worth, from a model's prediction and the best value so far."""

from dale.acquisition.base import Acquisition, Partials, SecondOrderAcquisition, SecondPartials, maximize_acquisition
from dale.acquisition.confidence_bound import LowerConfidenceBound
from dale.acquisition.expected_improvement import ExpectedImprovement, LogExpectedImprovement
from dale.acquisition.feasibility import Feasibility
from dale.acquisition.probability_of_improvement import ProbabilityOfImprovement

__all__ = [
    "Acquisition",
    "ExpectedImprovement",
    "Feasibility",
    "LogExpectedImprovement",
    "LowerConfidenceBound",
    "Partials",
    "ProbabilityOfImprovement",
    "SecondOrderAcquisition",
    "SecondPartials",
    "maximize_acquisition",
]
