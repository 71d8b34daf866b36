"""CMA-ES (Hansen & Ostermeier 2001) from pycma, restarted with increasing populations (IPOP, Auger & Hansen 2005)."""

import math

import numpy as np

from dale_bench.contender import Objective
from dale_bench.peers.environment import quiet, restarts, seeded_numpy

INITIAL_STD = 0.25  # of the sides of the cube; pycma recommends 0.2 to 0.3
GROWTH = 2  # of the population with each restart


@quiet()
def cma(objective: Objective, seed: int) -> None:
    """CMA-ES in the box from uniform random starts; the population doubles with each restart.

    With noise, it recommends the mean of its distribution after each generation.
    """
    import cma as pycma

    rng = np.random.default_rng(seed)
    d = objective.dimension
    population = 4 + int(3 * math.log(d))  # its default
    with seeded_numpy(seed):  # it seeds numpy's global generator, and uses it
        for start in restarts(objective):
            options = {
                "bounds": [0.0, 1.0],
                "popsize": population * GROWTH**start,
                "seed": int(rng.integers(1, 2**31)),  # 0 stands for the clock
                "verbose": -9,
                "verb_log": 0,
            }
            strategy = pycma.CMAEvolutionStrategy(rng.random(d), INITIAL_STD, options)
            while not strategy.stop():
                points = strategy.ask()
                strategy.tell(points, [objective(u) for u in points])
                if objective.is_noisy:
                    objective.recommend(strategy.result.xfavorite)
