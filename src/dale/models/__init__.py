"""Gaussian processes: exact, small, specialised."""

from dale.models.base import PointPrediction, Prediction
from dale.models.cholesky import CholeskyFactor, IncrementalCholesky
from dale.models.gaussian_process import GaussianProcess, Prior, maximum_likelihood_prior
from dale.models.likelihood import leave_one_out, log_leave_one_out_density, log_marginal_likelihood
from dale.models.mixed_global_local import LocalQuadratic, MixedGlobalLocalPosterior
from dale.models.noisy_gp import NoisyFit, fit_noise

__all__ = [
    "CholeskyFactor",
    "GaussianProcess",
    "IncrementalCholesky",
    "LocalQuadratic",
    "MixedGlobalLocalPosterior",
    "NoisyFit",
    "PointPrediction",
    "Prediction",
    "Prior",
    "fit_noise",
    "leave_one_out",
    "log_leave_one_out_density",
    "log_marginal_likelihood",
    "maximum_likelihood_prior",
]
