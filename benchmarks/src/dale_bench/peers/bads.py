"""BADS in Python (Acerbi & Ma 2017; Singh & Acerbi 2024): a mesh search guided by a local Gaussian process."""

import numpy as np

from dale_bench.contender import Objective
from dale_bench.peers.environment import quiet, restarts

PLAUSIBLE = 0.05, 0.95  # in each coordinate; BADS needs a range narrower than the box


@quiet()
def bads(objective: Objective, seed: int) -> None:
    """BADS without noise from a uniform random start, restarted when it has converged."""
    from pybads import BADS

    rng = np.random.default_rng(seed)
    d = objective.dimension
    low, high = PLAUSIBLE
    for _ in restarts(objective):
        options = {
            "display": "off",
            "show_tips": False,
            "uncertainty_handling": False,
            "max_fun_evals": objective.budget,
            "random_seed": int(rng.integers(2**31)),
        }
        BADS(
            objective, rng.random(d), np.zeros(d), np.ones(d), np.full(d, low), np.full(d, high), options=options
        ).optimize()
