"""CMA-ES with margin (Hamano et al. 2022), from the package cmaes: CMA-ES for integers.

A lower bound on the probability of neighbouring integers keeps the distribution from collapsing onto one of them.
"""

from __future__ import annotations

import numpy as np

from dale._arrays import Matrix, Vector
from dale.space.int import Int
from dale.space.space import Space
from dale_bench.peers.environment import quiet, restarts
from dale_bench.problems.problem import Task

INITIAL_STD = 0.25  # of the sides of the cube
GROWTH = 2  # of the population with each restart


@quiet()
def cma_margin(task: Task, seed: int) -> None:
    """CMA-ES with margin from uniform random starts; the population doubles with each restart."""
    from cmaes import CMAwM

    rng = np.random.default_rng(seed)
    bounds, steps = grid(task.space)
    population: int | None = None  # its default
    for _ in restarts(task):
        strategy = CMAwM(
            task.space.snap(rng.random(len(steps))),
            INITIAL_STD,
            bounds,
            steps,
            seed=int(rng.integers(2**31)),
            population_size=population,
        )
        population = GROWTH * strategy.population_size
        while not strategy.should_stop():
            asked = [strategy.ask() for _ in range(strategy.population_size)]
            strategy.tell([(z, task(task.space.decode(u)).value) for u, z in asked])


def grid(space: Space) -> tuple[Matrix, Vector]:
    """The bounds (d, 2) and the steps (d,) of the values in the unit cube; a step of 0 stands for a continuous range.

    Integers are at the centers of equal cells. On a logarithmic scale their cells differ, so they are rounded only.
    """
    steps = space.spacing.copy()
    for name, parameter in space.parameters.items():
        if isinstance(parameter, Int) and parameter.log:
            steps[space.columns(name)] = 0.0
    return np.column_stack([steps / 2, 1 - steps / 2]), steps
