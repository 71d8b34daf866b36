"""Py-BOBYQA (Cartis et al. 2019): interpolated quadratics in a trust region, with restarts to leave local minima."""

import numpy as np

from dale_bench.contender import Objective
from dale_bench.peers.surroundings import quiet, restarts, seeded_numpy

FIRST_RADIUS = 0.2
LAST_RADIUS = 1e-8


@quiet()
def bobyqa(objective: Objective, seed: int) -> None:
    """Its mode for global minima from a uniform random start; from another when it has given up."""
    import pybobyqa

    rng = np.random.default_rng(seed)
    d = objective.dimension
    with seeded_numpy(seed):  # its own restarts draw from numpy's global generator
        for _ in restarts(objective):
            pybobyqa.solve(
                objective,
                rng.random(d),
                bounds=(np.zeros(d), np.ones(d)),
                rhobeg=FIRST_RADIUS,
                rhoend=LAST_RADIUS,
                maxfun=objective.budget,
                seek_global_minimum=True,
                do_logging=False,
            )
