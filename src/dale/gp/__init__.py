"""Gaussian processes: exact, small, specialised."""

from dale.gp.cholesky import Factor
from dale.gp.evidence import leave_one_out, log_leave_one_out_density, log_marginal_likelihood
from dale.gp.growing import GrowingFactor
from dale.gp.local_quadratic import LocalQuadratic
from dale.gp.mixed_global_local import MixedGlobalLocalPosterior
from dale.gp.noise import NoisyFit, fit_noise
from dale.gp.posterior import PointPrediction, Posterior, Prediction, Prior, closed_form_prior

__all__ = [
    "Factor",
    "GrowingFactor",
    "LocalQuadratic",
    "MixedGlobalLocalPosterior",
    "NoisyFit",
    "PointPrediction",
    "Posterior",
    "Prediction",
    "Prior",
    "closed_form_prior",
    "fit_noise",
    "leave_one_out",
    "log_leave_one_out_density",
    "log_marginal_likelihood",
]
