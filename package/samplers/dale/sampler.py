"""The sampler, which is part of dale."""

from dale.integrations.optuna import DaleSampler

__all__ = ["DaleSampler"]
