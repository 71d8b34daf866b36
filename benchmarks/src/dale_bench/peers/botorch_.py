"""BoTorch (Balandat et al. 2020): a Gaussian process fitted anew at each step, log EI (Ament et al. 2023).

The process infers its noise, and what it infers has a floor that stalls it; `logei_fixed` says that there is none.
BoTorch maximises, so that inside this module and its neighbours values carry the opposite sign.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dale._arrays import Vector
from dale.optim.sampling import latin_hypercube
from dale_bench.contender import Objective
from dale_bench.peers.surroundings import quiet, seeded_torch

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
    """The same, told that there is next to no noise."""
    loop(objective, seed, fit_noise_free, propose_logei)


def loop(objective: Objective, seed: int, fit: Fit, propose: Callable[[Model], Vector]) -> None:
    """A Latin hypercube of three points, then again and again: fit, propose, evaluate."""
    with seeded_torch(seed):
        X = list(latin_hypercube(INITIAL_POINTS, objective.dimension, np.random.default_rng(seed)))
        y = [objective(u) for u in X]
        while len(y) < objective.budget:  # saves a last proposal that nobody would evaluate
            X.append(propose(fit(X, y)))
            y.append(objective(X[-1]))


def fit(X: Sequence[Vector], y: Sequence[float], **settings: Any) -> Model:
    """The Gaussian process of -y on the points X, at the best hyperparameters."""
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
    """The same with the noise given instead of inferred."""
    import torch

    variance = float(np.var(y)) or 1.0  # all values equal: any scale will do
    return fit(X, y, train_Yvar=torch.full((len(y), 1), KNOWN_NOISE * variance, dtype=torch.double))


def propose_logei(model: Model) -> Vector:
    """The point of the best log EI over the best value seen."""
    from botorch.acquisition import LogExpectedImprovement

    best = model.outcome_transform.untransform(model.train_targets)[0].max()
    return best_point(LogExpectedImprovement(model, best_f=best), dimension(model))


def best_point(acquisition: Acquisition, d: int) -> Vector:
    """Where BoTorch's search finds the acquisition largest."""
    from botorch.optim import optimize_acqf

    point, _ = optimize_acqf(acquisition, box(d), q=1, num_restarts=RESTARTS, raw_samples=RAW_SAMPLES)
    return np.asarray(point[0].numpy())


def dimension(model: Model) -> int:
    """The number of coordinates of its points."""
    return int(model.train_inputs[0].shape[-1])


def box(d: int) -> Any:
    """The unit cube as a tensor (2, d)."""
    import torch

    return torch.tensor([[0.0] * d, [1.0] * d], dtype=torch.double)
