"""The observations at a proposal: n points of a multimodal function, as in the middle of a run.

Two thirds of the points cover the cube, and one third approaches the minimum. The last few are dale's proposals, so
that its state is that of a run and not only of added points. With noise, the first points are evaluated twice: noise is
found by replicates.
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
REPLICATES = 2  # number of points that are evaluated twice, with noise
SAMPLE = 256  # random points, whose values have the std that noise is relative to


def objective(d: int, seed: int) -> Function:
    """Levy's function in d dimensions, moved and rotated."""
    return get(f"levy{d}:moved:rotated" if d > 1 else "levy1:moved", seed)


def observed(n: int, d: int, seed: int, method: Method | None = None, noise: float = 0.0) -> Optimizer:
    """An Optimizer on the unit cube with n observations.

    Args:
        n: Number of observations.
        d: Number of dimensions.
        seed: Of the function, the points, the noise and the optimizer.
        method: The method; None for the default one.
        noise: Std of the noise, in units of the std of values at random points.
    """
    function, rng = objective(d, seed), np.random.default_rng([seed, 1])
    exact = function.on_cube()
    std = noise * float(np.std([exact(u) for u in rng.random((SAMPLE, d))])) if noise else 0.0

    def value(u: Vector) -> float:
        return exact(u) + (std * rng.standard_normal() if std else 0.0)

    own, replicates = min(OWN_ASKS, n // 2), REPLICATES if std else 0
    optimizer = Optimizer([(0.0, 1.0)] * d, seed=seed, method=method)
    U = points(n - own - replicates, function.to_cube(function.minimisers[0]), np.random.default_rng(seed))
    for u in np.vstack([U[:replicates], U]):
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
