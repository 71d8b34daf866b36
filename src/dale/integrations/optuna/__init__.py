"""dale as a sampler of Optuna: its storages, workers, pruners and dashboard, with dale's proposals."""

from dale.integrations.optuna.sampler import DaleSampler

__all__ = ["DaleSampler"]
