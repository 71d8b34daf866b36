"""Entropy search with BoTorch: PES (Hernández-Lobato et al. 2014) and MES (Wang & Jegelka 2017).

PES maximises the information about the location of the optimum: locations are drawn by maximising posterior paths
(Matheron's rule), and expectation propagation (EP) computes the effect of knowing each. EP may fail. MES, which
maximises the information about the value of the optimum, then selects the point. The number of such steps is logged
and stored in `objective.notes["mes_for_pes"]`. Both have a given noise of almost zero, with which they get further on
Branin than with inferred noise (three seeds each).

The gradients of BoTorch's PES are sometimes NaN, and its documentation recommends finite differences. `_maximize`
computes them in one call for all starts.
"""

import logging
from typing import Any

import numpy as np
from scipy import optimize

from dale._arrays import Matrix, Vector
from dale_bench.contender import Objective
from dale_bench.peers.botorch_ import RAW_SAMPLES, RESTARTS, Model, best_point, box, dimension, fit_noise_free, loop
from dale_bench.peers.environment import quiet

OPTIMA = 10  # draws of the optimum; BoTorch's default for MES
EP_ITERATIONS = 50  # BoTorch's default 250 gives the same runs on Branin (three seeds) and is slower
VALUE_CANDIDATES = 1000  # points at which MES draws the maximum
MAX_ITERATIONS = 20
DIFFERENCE = 1e-4
NEARBY = 0.01  # distance of some of the starts from the drawn optima

logger = logging.getLogger(__name__)


class EPFailed(ArithmeticError):
    """Expectation propagation gave no usable acquisition."""


@quiet()
def pes(objective: Objective, seed: int) -> None:
    """Predictive entropy search with hyperparameters fitted at each step; MES if EP fails."""
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
            logger.info("EP failed at %d of %d steps, where MES selected the point", failures, steps)
        objective.notes.update(mes_for_pes=failures, steps=steps)


@quiet()
def mes(objective: Objective, seed: int) -> None:
    """Max-value entropy search with hyperparameters fitted at each step."""
    loop(objective, seed, fit_noise_free, propose_mes)


def propose_pes(model: Model) -> Vector:
    """The point with the most information about the location of the optimum.

    Raises:
        EPFailed: The draws or the propagation failed, or the acquisition function is not finite.
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
        return _maximize(acquisition, starts.numpy())
    except (RuntimeError, InputDataError, NotPSDError) as error:  # torch.linalg.LinAlgError is a RuntimeError
        raise EPFailed(str(error)) from error


def propose_mes(model: Model) -> Vector:
    """The point with the most information about the value of the optimum."""
    import torch
    from botorch.acquisition.max_value_entropy_search import qMaxValueEntropy

    d = dimension(model)
    return best_point(qMaxValueEntropy(model, torch.rand(VALUE_CANDIDATES, d, dtype=torch.double)), d)


def _maximize(acquisition: Any, starts: Matrix) -> Vector:
    """Maximise by L-BFGS-B from the best starts (n, d), all together, with finite differences."""
    values = _values(acquisition, starts)
    best = starts[np.argsort(-values)[:RESTARTS]]  # (k, d)
    k, d = best.shape

    def negative_sum(flat: Vector) -> tuple[float, Vector]:
        """Minus the sum of the acquisition over the k points, and its gradient, in one call of k (d + 1) points."""
        U = flat.reshape(k, 1, d)
        steps = np.where(U < 0.5, DIFFERENCE, -DIFFERENCE)  # inward
        points = np.concatenate([U, U + steps * np.eye(d)], axis=1)  # (k, 1 + d, d)
        values = _values(acquisition, points.reshape(-1, d)).reshape(k, 1 + d)
        gradients = (values[:, 1:] - values[:, :1]) / steps[:, 0]
        return -float(values[:, 0].sum()), -gradients.ravel()

    options = {"maxiter": MAX_ITERATIONS, "maxfun": 2 * MAX_ITERATIONS}
    found = optimize.minimize(
        negative_sum, best.ravel(), jac=True, method="L-BFGS-B", bounds=[(0.0, 1.0)] * best.size, options=options
    )
    ends = found.x.reshape(k, d)
    return np.asarray(ends[np.argmax(_values(acquisition, ends))])


def _values(acquisition: Any, points: Matrix) -> Vector:
    """The acquisition function at points (n, d)."""
    import torch

    with torch.no_grad():
        values = acquisition(torch.tensor(points).unsqueeze(-2)).numpy()
    if not np.all(np.isfinite(values)):
        raise EPFailed("the acquisition function is not finite at some points")
    return np.asarray(values)
