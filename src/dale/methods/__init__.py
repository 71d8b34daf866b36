"""The methods, ready to use: each a set of parts that can be swapped or left out.

dale.minimize(f, bounds, budget=60, method=dale.methods.paper())
"""

from dale.acquisition.base import AcquisitionFunction
from dale.acquisition.confidence_bound import lower_confidence_bound
from dale.acquisition.expected_improvement import log_expected_improvement
from dale.methods.base import Method, Proposal
from dale.methods.bayesian_optimization import BayesianOptimization
from dale.methods.default.method import DefaultMethod
from dale.methods.imgpo import IMGPO
from dale.methods.length_scale.alpha_ratio import AlphaRatio
from dale.methods.length_scale.maximum_likelihood import MaximumLikelihood
from dale.methods.length_scale.policy import LengthScalePolicy
from dale.methods.region_identification import RegionIdentification

__all__ = [
    "IMGPO",
    "BayesianOptimization",
    "DefaultMethod",
    "Method",
    "Proposal",
    "default",
    "ei",
    "imgpo",
    "lcb",
    "paper",
]


def paper() -> BayesianOptimization:
    """Wabersich & Toussaint as printed: EI, alpha-ratio cool down, MGL kernel, and the constants of their Sec. 4."""
    return BayesianOptimization(length_scale=AlphaRatio(), regions=RegionIdentification())


def default() -> DefaultMethod:
    """What ``minimize`` uses when no method is named: a cooled global model and local Taylor models."""
    return DefaultMethod()


def ei(length_scale: LengthScalePolicy | None = None) -> BayesianOptimization:
    """Plain expected improvement on one global model; by default with the maximum-likelihood length-scale."""
    return _global_only(length_scale, log_expected_improvement)


def lcb(length_scale: LengthScalePolicy | None = None) -> BayesianOptimization:
    """The lower confidence bound on one global model; by default with the maximum-likelihood length-scale."""
    return _global_only(length_scale, lower_confidence_bound)


def imgpo() -> IMGPO:
    """Kawaguchi, Kaelbling & Lozano-Perez: a tree of boxes, pruned by a Gaussian process; nothing random about it."""
    return IMGPO()


def _global_only(length_scale: LengthScalePolicy | None, acquisition: AcquisitionFunction) -> BayesianOptimization:
    return BayesianOptimization(length_scale=length_scale or MaximumLikelihood(), regions=None, acquisition=acquisition)
