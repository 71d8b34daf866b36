"""Covariance functions. Stationary ones are correlations: their variance is the model's, in closed form."""

from dale.kernels.kernel import Kernel, StationaryKernel
from dale.kernels.matern import Matern52
from dale.kernels.mixed_global_local import MixedGlobalLocal
from dale.kernels.quadratic import Quadratic, quadratic_features
from dale.kernels.squared_exponential import SquaredExponential

__all__ = [
    "Kernel",
    "Matern52",
    "MixedGlobalLocal",
    "Quadratic",
    "SquaredExponential",
    "StationaryKernel",
    "quadratic_features",
]
