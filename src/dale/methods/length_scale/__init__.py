"""Policies that choose the length-scale of a global model."""

from dale.methods.length_scale.alpha_ratio import AlphaRatio, Denominator
from dale.methods.length_scale.fixed import Fixed
from dale.methods.length_scale.floor import length_scale_floor
from dale.methods.length_scale.leave_one_out import LeaveOneOut
from dale.methods.length_scale.maximum_likelihood import MaximumLikelihood
from dale.methods.length_scale.policy import (
    LengthScaleChoice,
    LengthScaleContext,
    LengthScalePolicy,
    StoredAlphaContext,
)

__all__ = [
    "AlphaRatio",
    "Denominator",
    "Fixed",
    "LeaveOneOut",
    "LengthScaleChoice",
    "LengthScaleContext",
    "LengthScalePolicy",
    "MaximumLikelihood",
    "StoredAlphaContext",
    "length_scale_floor",
]
