"""Covariance functions. Stationary ones are correlations; the model holds their variance."""

from typing import Any

from dale._lazy import on_first_use
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
    "Spartan",
    "SquaredExponential",
    "StationaryKernel",
    "quadratic_features",
]

_ON_FIRST_USE = {  # name: module
    "Spartan": "spartan",
}


def __getattr__(name: str) -> Any:
    return on_first_use(__name__, _ON_FIRST_USE, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
