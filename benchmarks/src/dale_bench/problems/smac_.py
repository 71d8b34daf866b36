"""SMAC (Lindauer et al. 2022): EI with a random forest, its recommendation for integers and options."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from dale.space.choice import Choice
from dale.space.float import Float
from dale.space.int import Int
from dale.space.space import Space
from dale_bench.peers.environment import quiet, seeded_numpy
from dale_bench.problems.problem import Task


@quiet()
def smac(task: Task, seed: int) -> None:
    """`HyperparameterOptimizationFacade` with its defaults for exact values; it ends when it finds no new point."""
    from smac import HyperparameterOptimizationFacade, Scenario
    from smac.main.exceptions import ConfigurationSpaceExhaustedException
    from smac.runhistory.dataclasses import TrialValue

    space = task.space
    with tempfile.TemporaryDirectory() as directory, seeded_numpy(seed):
        scenario = Scenario(
            configuration_space(space, seed),
            output_directory=Path(directory),
            deterministic=True,
            n_trials=task.budget,
            seed=seed,
        )
        facade = HyperparameterOptimizationFacade(scenario, _not_called, logging_level=False, overwrite=True)
        while True:
            try:
                trial = facade.ask()
            except ConfigurationSpaceExhaustedException:
                return
            values = dict(trial.config)
            params = space.check(values if space.named else [values[name] for name in space.names])
            facade.tell(trial, TrialValue(cost=task(params).value), save=False)


def _not_called(config: Any, seed: int = 0) -> float:
    """A target function, which SMAC requires also where its `ask` and `tell` are used."""
    raise NotImplementedError


def configuration_space(space: Space, seed: int) -> Any:
    """A space as ConfigSpace's; its conditions too."""
    from ConfigSpace import AndConjunction, ConfigurationSpace, InCondition

    found = ConfigurationSpace(seed=seed)
    found.add([_hyperparameter(name, parameter) for name, parameter in space.parameters.items()])
    for name, required in space.conditions.items():
        conditions = [InCondition(found[name], found[p], list(permitted.options)) for p, permitted in required.items()]
        found.add(conditions[0] if len(conditions) == 1 else AndConjunction(*conditions))
    return found


def _hyperparameter(name: str, parameter: Any) -> Any:
    from ConfigSpace import CategoricalHyperparameter, OrdinalHyperparameter
    from ConfigSpace import UniformFloatHyperparameter as FloatHyperparameter
    from ConfigSpace import UniformIntegerHyperparameter as IntegerHyperparameter

    if isinstance(parameter, Choice):
        kind = OrdinalHyperparameter if parameter.ordered else CategoricalHyperparameter
        return kind(name, list(parameter.options))
    if isinstance(parameter, Int) and parameter.step == 1:
        return IntegerHyperparameter(name, parameter.low, parameter.high, log=parameter.log)
    if isinstance(parameter, Float) and parameter.step is None:
        return FloatHyperparameter(name, parameter.low, parameter.high, log=parameter.log)
    grid = [parameter.decode(parameter.encode_index(k)) for k in range(parameter.cardinality)]
    return OrdinalHyperparameter(name, grid)
