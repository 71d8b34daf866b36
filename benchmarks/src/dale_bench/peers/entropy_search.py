"""Entropy search with BoTorch: PES (Hernández-Lobato et al. 2014) and MES (Wang & Jegelka 2017).

PES asks where an evaluation tells most about the place of the optimum: places are drawn by maximising posterior paths
(Matheron's rule), and expectation propagation (EP) works out what knowing each would change. EP may fail. Then MES,
which asks about the value of the optimum instead, chooses that one point; how often goes to the log of this module
and to `objective.notes["mes_for_pes"]`, which the rows keep. Both are told that there is next to no noise,
which on Branin gets them further than inferring it (three seeds each).

The slopes of BoTorch's PES are NaN now and then, and its documentation recommends finite differences. `_climb` takes
them in one call for all starts instead of one by one.
"""

import logging
from typing import Any

import numpy as np
from scipy import optimize

from dale._arrays import Matrix, Vector
from dale_bench.contender import Objective
from dale_bench.peers.botorch_ import RAW_SAMPLES, RESTARTS, Model, best_point, box, dimension, fit_noise_free, loop
from dale_bench.peers.surroundings import quiet

OPTIMA = 10  # draws of the optimum, BoTorch's default for MES
EP_ITERATIONS = 50  # BoTorch's 250 gave the same runs on Branin (three seeds), slower
VALUE_CANDIDATES = 1000  # points at which MES draws the largest value
CLIMB_STEPS = 20
DIFFERENCE = 1e-4
NEARBY = 0.01  # starts for the climb: uniform points, and points this far from the drawn optima

logger = logging.getLogger(__name__)


class EPFailed(ArithmeticError):
    """Expectation propagation gave no usable acquisition."""


@quiet()
def pes(objective: Objective, seed: int) -> None:
    """Predictive entropy search, hyperparameters fitted anew at each step; MES where EP fails."""
    steps = failures = 0

    def propose(model: Model) -> Vector:
        nonlocal steps, failures
        steps += 1
        try:
            return propose_pes(model)
        except EPFailed:
            failures += 1
            return propose_mes(model)

    try:
        loop(objective, seed, fit_noise_free, propose)
    finally:
        if failures:
            logger.info("EP failed at %d of %d steps: MES chose those points", failures, steps)
        objective.notes.update(mes_for_pes=failures, steps=steps)


@quiet()
def mes(objective: Objective, seed: int) -> None:
    """Max-value entropy search, hyperparameters fitted anew at each step."""
    loop(objective, seed, fit_noise_free, propose_mes)


def propose_pes(model: Model) -> Vector:
    """The point that tells most about where the optimum is.

    Raises:
        EPFailed: The draws or the propagation broke down, or the acquisition is not a number.
    """
    import torch
    from botorch.acquisition.predictive_entropy_search import qPredictiveEntropySearch
    from botorch.acquisition.utils import get_optimal_samples
    from botorch.exceptions import InputDataError
    from linear_operator.utils.errors import NotPSDError

    d = dimension(model)
    try:
        optima, _ = get_optimal_samples(model, box(d), OPTIMA, raw_samples=RAW_SAMPLES, num_restarts=RESTARTS)
        acquisition = qPredictiveEntropySearch(model, optima, max_ep_iterations=EP_ITERATIONS)
        nearby = (optima + NEARBY * torch.randn_like(optima)).clamp(0, 1)
        starts = torch.cat([torch.rand(RAW_SAMPLES, d, dtype=torch.double), nearby])
        return _climb(acquisition, starts.numpy())
    except (RuntimeError, InputDataError, NotPSDError) as error:  # torch.linalg.LinAlgError is a RuntimeError
        raise EPFailed(str(error)) from error


def propose_mes(model: Model) -> Vector:
    """The point that tells most about how good the optimum is."""
    import torch
    from botorch.acquisition.max_value_entropy_search import qMaxValueEntropy

    d = dimension(model)
    return best_point(qMaxValueEntropy(model, torch.rand(VALUE_CANDIDATES, d, dtype=torch.double)), d)


def _climb(acquisition: Any, starts: Matrix) -> Vector:
    """The best point of L-BFGS-B from the best starts (n, d), all climbing together on finite differences."""
    values = _values(acquisition, starts)
    best = starts[np.argsort(-values)[:RESTARTS]]  # (k, d)
    k, d = best.shape

    def descent(flat: Vector) -> tuple[float, Vector]:
        """Minus the sum over the climbers of the acquisition, and its slope, in one call of k (d + 1) points."""
        U = flat.reshape(k, 1, d)
        steps = np.where(U < 0.5, DIFFERENCE, -DIFFERENCE)  # inward
        points = np.concatenate([U, U + steps * np.eye(d)], axis=1)  # (k, 1 + d, d)
        values = _values(acquisition, points.reshape(-1, d)).reshape(k, 1 + d)
        slopes = (values[:, 1:] - values[:, :1]) / steps[:, 0]
        return -float(values[:, 0].sum()), -slopes.ravel()

    options = {"maxiter": CLIMB_STEPS, "maxfun": 2 * CLIMB_STEPS}
    found = optimize.minimize(
        descent, best.ravel(), jac=True, method="L-BFGS-B", bounds=[(0.0, 1.0)] * best.size, options=options
    )
    ends = found.x.reshape(k, d)
    return np.asarray(ends[np.argmax(_values(acquisition, ends))])


def _values(acquisition: Any, points: Matrix) -> Vector:
    """The acquisition at points (n, d)."""
    import torch

    with torch.no_grad():
        values = acquisition(torch.tensor(points).unsqueeze(-2)).numpy()
    if not np.all(np.isfinite(values)):
        raise EPFailed("the acquisition is not a number at some points")
    return np.asarray(values)
