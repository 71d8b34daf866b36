"""Samplers of Optuna (Akiba et al. 2019) on d uniform floats: Gaussian process, Parzen estimators, CMA-ES, and dale."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from dale_bench.contender import Objective
from dale_bench.peers.environment import quiet, seeded_torch


@quiet()
def gp(objective: Objective, seed: int) -> None:
    """GPSampler with the setting for exact values."""
    import optuna

    with seeded_torch(seed):
        _sample(objective, optuna.samplers.GPSampler(seed=seed, deterministic_objective=True))


@quiet()
def tpe(objective: Objective, seed: int) -> None:
    """TPESampler, Optuna's default."""
    import optuna

    _sample(objective, optuna.samplers.TPESampler(seed=seed))


@quiet()
def cma(objective: Objective, seed: int) -> None:
    """CmaEsSampler with its defaults."""
    import optuna

    _sample(objective, optuna.samplers.CmaEsSampler(seed=seed))


@quiet()
def dale(objective: Objective, seed: int) -> None:
    """DaleSampler: dale's default method through Optuna."""
    from dale.integrations.optuna import DaleSampler

    _sample(objective, DaleSampler(seed=seed))


def _sample(objective: Objective, sampler: Any) -> None:
    import optuna

    names = [f"u{i}" for i in range(objective.dimension)]
    distributions = {name: optuna.distributions.FloatDistribution(0.0, 1.0) for name in names}
    loop(sampler, distributions, lambda trial: objective(np.array([trial.params[name] for name in names])))


def loop(sampler: Any, distributions: dict[str, Any], evaluate: Callable[[Any], float | None]) -> None:
    """Ask, evaluate, tell, until the budget is spent. A trial without a value fails."""
    import optuna

    with _silent():
        study = optuna.create_study(sampler=sampler)
        while True:
            trial = study.ask(distributions)
            value = evaluate(trial)
            study.tell(trial, value, state=optuna.trial.TrialState.FAIL if value is None else None)


@contextmanager
def _silent() -> Iterator[None]:
    """Without log messages: Optuna logs every trial."""
    import optuna

    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        yield
    finally:
        optuna.logging.set_verbosity(verbosity)
