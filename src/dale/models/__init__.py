"""Gaussian processes: exact, small, specialised."""

from dale.models.base import PointPrediction, Prediction
from dale.models.cholesky import Factor, GrowingFactor
from dale.models.gaussian_process import Posterior, Prior, closed_form_prior
from dale.models.likelihood import leave_one_out, log_leave_one_out_density, log_marginal_likelihood
from dale.models.mixed_global_local import LocalQuadratic, MixedGlobalLocalPosterior
from dale.models.noisy_gp import NoisyFit, fit_noise

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
