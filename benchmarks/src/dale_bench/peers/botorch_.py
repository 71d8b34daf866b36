"""BoTorch (Balandat et al. 2020): a Gaussian process fitted at each step, log EI (Ament et al. 2023).

The Gaussian process infers its noise. The inferred noise has a lower bound, at which the method stalls; `logei_fixed`
sets the noise to almost zero instead. BoTorch maximises, so values have the opposite sign in this module and in those
that use it.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dale._arrays import Vector
from dale.optim.sampling import latin_hypercube
from dale_bench.contender import Objective
from dale_bench.peers.environment import quiet, seeded_torch

INITIAL_POINTS = 3
RESTARTS = 4
RAW_SAMPLES = 256
KNOWN_NOISE = 1e-10  # times the variance of y

Model = Any  # a fitted botorch.models.SingleTaskGP
Acquisition = Any
Fit = Callable[[Sequence[Vector], Sequence[float]], Model]


@quiet()
def logei(objective: Objective, seed: int) -> None:
    """`SingleTaskGP` with its defaults, log EI."""
    loop(objective, seed, fit, propose_logei)


@quiet()
def logei_fixed(objective: Objective, seed: int) -> None:
    """The same with a given noise of almost zero."""
    loop(objective, seed, fit_noise_free, propose_logei)


def loop(objective: Objective, seed: int, fit: Fit, propose: Callable[[Model], Vector]) -> None:
    """A Latin hypercube of three points, then repeatedly fit, propose and evaluate."""
    with seeded_torch(seed):
        X = list(latin_hypercube(INITIAL_POINTS, objective.dimension, np.random.default_rng(seed)))
        y = [objective(u) for u in X]
        while len(y) < objective.budget:  # saves a last proposal that would not be evaluated
            X.append(propose(fit(X, y)))
            y.append(objective(X[-1]))


def fit(X: Sequence[Vector], y: Sequence[float], **settings: Any) -> Model:
    """A Gaussian process of -y at the points X, with fitted hyperparameters."""
    import torch
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from botorch.models.transforms import Standardize
    from gpytorch.mlls import ExactMarginalLogLikelihood

    values = -torch.tensor(y, dtype=torch.double).unsqueeze(-1)  # (n, 1)
    model = SingleTaskGP(torch.tensor(np.array(X)), values, outcome_transform=Standardize(m=1), **settings)
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    return model


def fit_noise_free(X: Sequence[Vector], y: Sequence[float]) -> Model:
    """The same with given instead of inferred noise."""
    import torch

    variance = float(np.var(y)) or 1.0  # if all values are equal, any scale works
    return fit(X, y, train_Yvar=torch.full((len(y), 1), KNOWN_NOISE * variance, dtype=torch.double))


def propose_logei(model: Model) -> Vector:
    """The point with the largest log EI."""
    from botorch.acquisition import LogExpectedImprovement

    best = model.outcome_transform.untransform(model.train_targets)[0].max()
    return best_point(LogExpectedImprovement(model, best_f=best), dimension(model))


def best_point(acquisition: Acquisition, d: int) -> Vector:
    """The maximiser of the acquisition function, found by BoTorch."""
    from botorch.optim import optimize_acqf

    point, _ = optimize_acqf(acquisition, box(d), q=1, num_restarts=RESTARTS, raw_samples=RAW_SAMPLES)
    return np.asarray(point[0].numpy())


def dimension(model: Model) -> int:
    """The dimension of the model's inputs."""
    return int(model.train_inputs[0].shape[-1])


def box(d: int) -> Any:
    """The unit cube as a tensor (2, d)."""
    import torch

    return torch.tensor([[0.0] * d, [1.0] * d], dtype=torch.double)
