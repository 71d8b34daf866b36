"""Policies that choose the length-scale of a global model."""

from typing import Any

from dale._lazy import on_first_use
from dale.methods.length_scale.alpha_ratio import AlphaRatio, Denominator
from dale.methods.length_scale.fixed import Fixed
from dale.methods.length_scale.floor import length_scale_floor
from dale.methods.length_scale.leave_one_out import LeaveOneOut
from dale.methods.length_scale.maximum_likelihood import MaximumLikelihood
from dale.methods.length_scale.policy import (
    LengthScaleChoice,
    LengthScaleContext,
    LengthScalePolicy,
    PastProposal,
    SearchContext,
    SpatialModel,
    StoredAlphaContext,
)

__all__ = [
    "AlphaRatio",
    "Criterion",
    "Denominator",
    "Ensemble",
    "Fixed",
    "LeaveOneOut",
    "LengthScaleChoice",
    "LengthScaleContext",
    "LengthScalePolicy",
    "MaximumLikelihood",
    "OneStage",
    "PastProposal",
    "SearchContext",
    "SpartanLengthScales",
    "SpatialModel",
    "StoredAlphaContext",
    "TreedLengthScales",
    "UpperBounded",
    "length_scale_floor",
]

_ON_FIRST_USE = {  # name: module
    "Criterion": "one_stage",
    "Ensemble": "ensemble",
    "OneStage": "one_stage",
    "SpartanLengthScales": "spartan",
    "TreedLengthScales": "treed",
    "UpperBounded": "upper_bounded",
}


def __getattr__(name: str) -> Any:
    return on_first_use(__name__, _ON_FIRST_USE, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
