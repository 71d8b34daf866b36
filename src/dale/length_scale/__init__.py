"""How the length-scale of the global model is chosen."""

from dale.length_scale.alpha_ratio import AlphaRatio
from dale.length_scale.fixed import Fixed
from dale.length_scale.floor import length_scale_floor
from dale.length_scale.leave_one_out import LeaveOneOut
from dale.length_scale.likelihood import MaximumLikelihood
from dale.length_scale.policy import Decision, LengthScalePolicy, Situation

__all__ = [
    "AlphaRatio",
    "Decision",
    "Fixed",
    "LeaveOneOut",
    "LengthScalePolicy",
    "MaximumLikelihood",
    "Situation",
    "length_scale_floor",
]
