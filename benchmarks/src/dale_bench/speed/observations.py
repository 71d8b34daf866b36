"""The observations at a proposal: n points of a multimodal function, as in the middle of a run.

Two thirds of the points cover the cube, and one third approaches the minimum. The last few are dale's proposals, so
that its state is that of a run and not only of added points.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import qmc

from dale._arrays import Matrix, Vector
from dale.methods.base import Method
from dale.optimizer import Optimizer
from dale_bench.functions import Function, get

OWN_ASKS = 5  # number of proposals by dale
CLUSTERED = 1 / 3  # fraction of points close to the minimiser
MAX_DISTANCE, MIN_DISTANCE = 1e-1, 1e-3  # of these to the minimiser


def objective(d: int, seed: int) -> Function:
    """Levy's function in d dimensions, moved and rotated."""
    return get(f"levy{d}:moved:rotated" if d > 1 else "levy1:moved", seed)


def observed(n: int, d: int, seed: int, method: Method | None = None) -> Optimizer:
    """An Optimizer on the unit cube with n observations; None stands for the default method."""
    function = objective(d, seed)
    value = function.on_cube()
    own = min(OWN_ASKS, n // 2)
    optimizer = Optimizer([(0.0, 1.0)] * d, seed=seed, method=method)
    for u in points(n - own, function.to_cube(function.minimisers[0]), np.random.default_rng(seed)):
        optimizer.add(u, value(u))
    for _ in range(own):
        trial = optimizer.ask()
        optimizer.tell(trial, value(trial.x))
    return optimizer


def points(n: int, minimiser: Vector, rng: np.random.Generator) -> Matrix:
    """Points (n, d) of the cube: a shifted Sobol sequence, then points that approach the minimiser (d,)."""
    d = len(minimiser)
    clustered = int(CLUSTERED * n)
    n_sobol = n - clustered
    sobol = qmc.Sobol(d, scramble=False).random_base2(max(n_sobol - 1, 1).bit_length())[:n_sobol]
    steps = rng.standard_normal((clustered, d))
    steps *= np.geomspace(MAX_DISTANCE, MIN_DISTANCE, clustered)[:, None] / np.linalg.norm(steps, axis=1, keepdims=True)
    return np.vstack([(sobol + rng.random(d)) % 1.0, np.clip(minimiser + steps, 0.0, 1.0)])


def data(optimizer: Optimizer) -> tuple[Matrix, Vector]:
    """The points (n, d) and values (n,) of an optimizer."""
    complete = [trial for trial in optimizer.history if trial.value is not None]
    return np.array([trial.unit_x for trial in complete]), np.array([trial.value for trial in complete])
