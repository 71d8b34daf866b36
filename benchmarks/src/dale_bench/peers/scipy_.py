"""SciPy's solvers, and uniform random points.

COBYQA: Ragonneau & Zhang (2022); DIRECT: Jones et al. (1993), in its locally biased form (Gablonsky & Kelley 2001),
which is SciPy's default; differential evolution: Storn & Price (1997).
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import optimize

from dale._arrays import Vector
from dale_bench.contender import Counted, Objective
from dale_bench.peers.environment import quiet, restarts

INITIAL_RADIUS = 0.2
FINAL_RADIUS = 1e-8
MAX_EVALUATIONS = 100_000  # of one start of COBYQA; the objective stops it earlier


@quiet()
def cobyqa(objective: Objective, seed: int) -> None:
    """COBYQA from uniform random starts, each run until the radius of its trust region is minimal."""
    cobyqa_loop(objective, objective, objective.dimension, seed)


def cobyqa_loop(counted: Counted, value: Callable[[Vector], float], d: int, seed: int, constraints: Any = ()) -> None:
    """The same on any function of the unit cube, with constraints in SciPy's form."""
    rng = np.random.default_rng(seed)
    options = {
        "initial_tr_radius": INITIAL_RADIUS,
        "final_tr_radius": FINAL_RADIUS,
        "maxfev": MAX_EVALUATIONS,
    }
    for _ in restarts(counted):
        optimize.minimize(
            value, rng.random(d), method="COBYQA", bounds=[(0.0, 1.0)] * d, constraints=constraints, options=options
        )


@quiet()
def direct(objective: Objective, seed: int) -> None:
    """DIRECT. It is deterministic, so the seed has no effect. It stops early if its boxes become too small."""
    optimize.direct(objective, [(0.0, 1.0)] * objective.dimension, maxfun=objective.budget + 1)


@quiet()
def differential_evolution(objective: Objective, seed: int) -> None:
    """Differential evolution with its defaults, restarted when the population has collapsed."""
    rng = np.random.default_rng(seed)
    for _ in restarts(objective):
        optimize.differential_evolution(objective, [(0.0, 1.0)] * objective.dimension, seed=rng)


def random(objective: Objective, seed: int) -> None:
    """Uniform random points, the baseline."""
    rng = np.random.default_rng(seed)
    while True:
        objective(rng.random(objective.dimension))
