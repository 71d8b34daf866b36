"""BADS in Python (Acerbi & Ma 2017; Singh & Acerbi 2024): a mesh search guided by a local Gaussian process."""

from typing import Any

import numpy as np

from dale_bench.contender import Objective
from dale_bench.peers.environment import quiet, restarts

PLAUSIBLE = 0.05, 0.95  # in each coordinate; BADS needs a range narrower than the box


@quiet()
def bads(objective: Objective, seed: int) -> None:
    """BADS from a uniform random start, restarted when it has converged; with noise in its noisy mode.

    With noise, it recommends the incumbent of its last iteration, and its result after a restart.
    """
    from pybads import BADS

    rng = np.random.default_rng(seed)
    d = objective.dimension
    low, high = PLAUSIBLE
    for _ in restarts(objective):
        options = {
            "display": "off",
            "show_tips": False,
            "uncertainty_handling": objective.is_noisy,
            "max_fun_evals": objective.budget,
            "random_seed": int(rng.integers(2**31)),
        }
        before = len(objective.regrets)
        solver = BADS(
            objective, rng.random(d), np.zeros(d), np.ones(d), np.full(d, low), np.full(d, high), options=options
        )
        try:
            solver.optimize()
        finally:
            if objective.is_noisy:
                _recommend(objective, solver.iteration_history, before)


def _recommend(objective: Objective, history: Any, before: int) -> None:
    """The incumbents of a start of BADS, which began after so many evaluations; none before its first iteration."""
    if history.get("func_count") is None:
        return
    for n, x in zip(history.get("func_count"), history.get("x"), strict=True):
        if n is not None and before + int(n) <= len(objective.regrets):
            objective.recommend(np.ravel(x), after=before + int(n))
