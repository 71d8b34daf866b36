"""Probabilistic models of the objective and of its constraints: Gaussian processes and local Taylor polynomials."""

from typing import Any

from dale._lazy import on_first_use
from dale.models.base import Model, Prediction, PredictionDerivatives, PredictionGradient
from dale.models.cholesky import CholeskyFactor, IncrementalCholesky
from dale.models.constraint_gp import fit_constraints
from dale.models.ellipsoid import Ellipsoid
from dale.models.gaussian_process import GaussianProcess, Prior, maximum_likelihood_prior
from dale.models.likelihood import (
    conditional_log_likelihood,
    leave_one_out,
    log_leave_one_out_density,
    log_marginal_likelihood,
)
from dale.models.mixed_global_local import LocalQuadratic, MixedGlobalLocalPosterior
from dale.models.noisy_gp import NoisyFit, NoisyGP, fit_noise
from dale.models.preprocessing import Neighbourhood
from dale.models.quadratic_fit import QuadraticFit
from dale.models.taylor import TaylorModel
from dale.models.transforms import Asinh, Log1p, Standardize

__all__ = [
    "Asinh",
    "CholeskyFactor",
    "Ellipsoid",
    "GaussianProcess",
    "IncrementalCholesky",
    "LocalQuadratic",
    "Log1p",
    "MixedGlobalLocalPosterior",
    "Model",
    "Neighbourhood",
    "NoisyFit",
    "NoisyGP",
    "Prediction",
    "PredictionDerivatives",
    "PredictionGradient",
    "Prior",
    "QuadraticFit",
    "Standardize",
    "TaylorModel",
    "TreeSettings",
    "TreedGaussianProcess",
    "conditional_log_likelihood",
    "fit_constraints",
    "fit_noise",
    "leave_one_out",
    "log_leave_one_out_density",
    "log_marginal_likelihood",
    "maximum_likelihood_prior",
]

_ON_FIRST_USE = {  # name: module
    "TreeSettings": "treed",
    "TreedGaussianProcess": "treed",
}


def __getattr__(name: str) -> Any:
    return on_first_use(__name__, _ON_FIRST_USE, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
