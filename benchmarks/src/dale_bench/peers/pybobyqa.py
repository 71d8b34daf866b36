"""Py-BOBYQA (Cartis et al. 2019): interpolated quadratics in a trust region, with restarts to leave local minima."""

import numpy as np

from dale_bench.contender import Objective
from dale_bench.peers.environment import quiet, restarts, seeded_numpy

INITIAL_RADIUS = 0.2
FINAL_RADIUS = 1e-8


@quiet()
def bobyqa(objective: Objective, seed: int) -> None:
    """Its mode for global minima from a uniform random start, restarted when it stops."""
    import pybobyqa

    rng = np.random.default_rng(seed)
    d = objective.dimension
    with seeded_numpy(seed):  # its restarts use numpy's global generator
        for _ in restarts(objective):
            pybobyqa.solve(
                objective,
                rng.random(d),
                bounds=(np.zeros(d), np.ones(d)),
                rhobeg=INITIAL_RADIUS,
                rhoend=FINAL_RADIUS,
                maxfun=objective.budget,
                seek_global_minimum=True,
                do_logging=False,
            )
