"""dale's methods as contenders, and EI with the paper's "optimal" hyperparameters, which need the objective itself."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial

import numpy as np

from dale import methods
from dale.acquisition import (
    ConfidenceSchedule,
    LogLowerConfidenceBound,
    LogMaxValueEntropy,
    LogProbabilityOfImprovement,
)
from dale.methods.base import Method
from dale.methods.length_scale import Ensemble, OneStage, UpperBounded
from dale.methods.length_scale.alpha_ratio import AlphaRatio, Denominator
from dale.methods.length_scale.fixed import Fixed
from dale.methods.length_scale.leave_one_out import LeaveOneOut
from dale.methods.length_scale.maximum_likelihood import MaximumLikelihood
from dale.models.gaussian_process import GaussianProcess, Prior
from dale.models.kernels.squared_exponential import SquaredExponential
from dale.models.likelihood import GRID, best_of, log_leave_one_out_density
from dale.optimizer import Optimizer
from dale_bench.contender import Contender, Objective
from dale_bench.functions import ILLUSTRATION, get

OPTIMAL_SAMPLES = 1000  # Rem. 4


def ask_and_tell(make: Callable[[Objective], Method], objective: Objective, seed: int) -> None:
    """Run one of dale's methods until the budget is spent."""
    optimizer = Optimizer([(0.0, 1.0)] * objective.dimension, seed=seed, method=make(objective))
    while True:
        trial = optimizer.ask()
        optimizer.tell(trial, objective(trial.x))
        if objective.is_noisy and optimizer.best is not None:
            objective.recommend(optimizer.best.x)


@lru_cache(maxsize=32)
def optimal_hyperparameters(name: str, seed: int, samples: int = OPTIMAL_SAMPLES) -> tuple[float, Prior]:
    """Rem. 4: length-scale by exhaustive LOO-CV on random samples of the objective, mean and variance by ML.

    Args:
        name: The function.
        seed: The function's seed.
        samples: The number of samples; the paper uses 1000.
    """
    function = get(name, seed)
    X = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(1000,))).random((samples, function.dimension))
    y = function.true(function.from_cube(X))
    z = (y - y.mean()) / y.std()
    scores, priors = [], []
    for length_scale in GRID:  # one model at a time, because each has a matrix of a million numbers
        posterior = GaussianProcess.fit(SquaredExponential(length_scale), X, z)
        scores.append(log_leave_one_out_density(posterior))
        priors.append(posterior.prior)
    i = best_of(np.array(scores))
    mean, variance = priors[i]
    return GRID[i], Prior(float(y.mean() + y.std() * mean), float(y.var() * variance))


def _optimal(objective: Objective, samples: int = OPTIMAL_SAMPLES) -> Method:
    function = objective.function
    varies = ":" in function.name or function.name in ILLUSTRATION  # a different function for each seed
    return methods.ei(Fixed(*optimal_hyperparameters(function.name, function.seed if varies else 0, samples)))


def _contender(name: str, label: str, make: Callable[[Objective], Method]) -> Contender:
    return Contender(name, partial(ask_and_tell, make), label)


AR = AlphaRatio(denominator=Denominator.STORED)
# What the paper discusses or could be combined with (docs/related.md).
RELATED = (
    _contender("one_stage", "one stage, likelihood", lambda _: methods.ei(OneStage())),
    _contender("goal_seeking_ei", "one stage, goal-seeking EI", lambda _: methods.ei(OneStage("expected_improvement"))),
    _contender("upper_bounded", "EI ML, upper bound", lambda _: methods.ei(UpperBounded())),
    _contender("ensemble", "EI ensemble", lambda _: methods.ei(Ensemble())),
    _contender("spartan", "Spartan", lambda _: methods.spartan()),
    _contender("treed", "treed", lambda _: methods.treed()),
    _contender("lcb_schedule", "LCB ML, schedule", lambda _: methods.lcb(beta=ConfidenceSchedule())),
    _contender(
        "ar_lcb",
        "LCB AR, schedule",
        lambda _: methods.ei(AR, acquisition=LogLowerConfidenceBound(ConfidenceSchedule())),
    ),
    _contender("ar_pi", "PI AR", lambda _: methods.ei(AR, acquisition=LogProbabilityOfImprovement())),
    _contender("ar_mes", "MES AR", lambda _: methods.ei(AR, acquisition=LogMaxValueEntropy())),
    _contender("ml_pi", "PI ML", lambda _: methods.ei(acquisition=LogProbabilityOfImprovement())),
    _contender("ml_mes", "MES ML", lambda _: methods.ei(acquisition=LogMaxValueEntropy())),
    _contender(
        "paper_lcb", "LCB AR + MGL", lambda _: methods.paper(acquisition=LogLowerConfidenceBound(ConfidenceSchedule()))
    ),
)
OURS = (
    _contender("default", "dale", lambda _: methods.default()),
    _contender("paper", "EI AR + MGL (paper)", lambda _: methods.paper()),
    _contender("ar", "EI AR", lambda _: methods.ei(AlphaRatio(denominator=Denominator.STORED))),
    _contender("ei_optimal", "EI optimal", _optimal),
    _contender("ei_optimal300", "EI optimal (300 samples)", partial(_optimal, samples=300)),
    _contender("ei_loo", "EI LOO-CV", lambda _: methods.ei(LeaveOneOut())),
    _contender("ei_ml", "EI ML", lambda _: methods.ei(MaximumLikelihood())),
    _contender("lcb", "LCB ML", lambda _: methods.lcb()),
    Contender("imgpo", partial(ask_and_tell, lambda _: methods.imgpo()), "IMGPO", starts_at_center=True),
    *RELATED,
)
