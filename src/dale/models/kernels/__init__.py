"""Covariance functions. Stationary ones are correlations: their variance is the model's, in closed form."""

from dale.models.kernels.base import Kernel, StationaryKernel
from dale.models.kernels.matern import Matern52
from dale.models.kernels.mixed_global_local import MixedGlobalLocal
from dale.models.kernels.quadratic import Quadratic, quadratic_features
from dale.models.kernels.squared_exponential import SquaredExponential

__all__ = [
    "Kernel",
    "Matern52",
    "MixedGlobalLocal",
    "Quadratic",
    "SquaredExponential",
    "StationaryKernel",
    "quadratic_features",
]
