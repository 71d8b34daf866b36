"""Covariance functions. Stationary ones are correlations; the model holds their variance."""

from dale.models.kernels.base import Kernel, KernelFactory, LengthScale, StationaryKernel
from dale.models.kernels.matern import Matern52
from dale.models.kernels.mixed_global_local import MixedGlobalLocal
from dale.models.kernels.quadratic import Quadratic, quadratic_features
from dale.models.kernels.squared_exponential import SquaredExponential

__all__ = [
    "Kernel",
    "KernelFactory",
    "LengthScale",
    "Matern52",
    "MixedGlobalLocal",
    "Quadratic",
    "SquaredExponential",
    "StationaryKernel",
    "quadratic_features",
]
