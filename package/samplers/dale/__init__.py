"""The package that OptunaHub loads."""

from .sampler import DaleSampler

__all__ = ["DaleSampler"]
