"""Who takes part in each kind of problem: dale, and peers where they can.

All get a `Task` on a space, as the software takes it: Optuna the distributions, BoTorch and COBYQA the unit cube.
Nobody is told the budget or the noise; who knows a setting for exact values gets it where they are exact.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from scipy import optimize

from dale._arrays import Vector
from dale.optim.sampling import latin_hypercube
from dale.optimizer import Optimizer
from dale.space.choice import Choice
from dale.space.float import Float
from dale.space.int import Int
from dale.space.point import Params
from dale.space.space import Space
from dale_bench.contender import Contender
from dale_bench.contenders import CONTENDERS
from dale_bench.peers import botorch_, optuna_, scipy_
from dale_bench.peers.surroundings import quiet, seeded_torch
from dale_bench.problems.problem import Outcome, Task
from dale_bench.scale.simulation import Farm, simulate

SIGMA = 0.5  # spread of the logarithm of an evaluation's time, where workers do not wait for each other


def ask_and_tell(task: Task, seed: int) -> None:
    """dale as it comes. With noise it recommends its `best`."""
    optimizer = Optimizer(task.space, seed=seed)
    while True:
        trial = optimizer.ask()
        value, constraints = task(trial.params)
        known: dict[str, Any] = {"constraints": constraints} if constraints else {}
        optimizer.tell(trial, value, **known)
        if task.problem.noisy is not None and optimizer.best is not None:
            task.recommend(optimizer.best.params)


def workers(count: int, sigma: float, task: Task, seed: int) -> None:
    """dale with so many workers, whose evaluations take one unit of time in the mean; asking takes none.

    Where all take the same time (sigma = 0), every round is an ``ask(count)`` followed by that many tells.
    """
    optimizer = Optimizer(task.space, seed=seed)
    farm = Farm(count, float(np.exp(-(sigma**2) / 2)), task.budget, sigma, seed=seed)
    record = simulate(farm, optimizer, lambda x: task(x).value, clock=lambda: 0.0)
    task.times.extend(record.times)


def random(task: Task, seed: int) -> None:
    """Points drawn uniformly: of numbers on their scale, of options alike."""
    rng = np.random.default_rng(seed)
    while True:
        task(task.space.decode(rng.random(task.space.dimension)))


@quiet()
def tpe(task: Task, seed: int) -> None:
    """TPESampler, Optuna's default."""
    import optuna

    _sample(task, optuna.samplers.TPESampler(seed=seed, **_told(task)))


@quiet()
def gp(task: Task, seed: int) -> None:
    """GPSampler, told that values are exact where they are."""
    import optuna

    exact = task.problem.noisy is None
    with seeded_torch(seed):
        _sample(task, optuna.samplers.GPSampler(seed=seed, deterministic_objective=exact, **_told(task)))


def _told(task: Task) -> dict[str, Any]:
    """The setting by which a sampler learns of constraints, where there are any."""
    return {} if task.problem.constraints is None else {"constraints_func": lambda t: t.user_attrs["constraints"]}


def _sample(task: Task, sampler: Any) -> None:
    def evaluate(trial: Any) -> float:
        value, constraints = task(_params(task.space, trial.params))
        if constraints:
            trial.set_user_attr("constraints", list(constraints))
        return value

    optuna_.loop(sampler, distributions(task.space), evaluate)


def distributions(space: Space) -> dict[str, Any]:
    """A space as Optuna's distributions."""
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    found: dict[str, Any] = {}
    for name, p in space.parameters.items():
        if isinstance(p, Choice):
            found[name] = CategoricalDistribution(list(p.options))
        elif isinstance(p, Int):
            found[name] = IntDistribution(p.low, p.high, log=p.log, step=p.step)
        elif isinstance(p, Float):
            found[name] = FloatDistribution(p.low, p.high, log=p.log, step=p.step)
    return found


@quiet()
def botorch(task: Task, seed: int) -> None:
    """`SingleTaskGP` with its defaults, which infer the noise, and log noisy EI after 2 d points of a Latin hypercube.

    It recommends the point with the best posterior mean among those evaluated.
    """
    space, d = task.space, task.space.dimension
    with seeded_torch(seed):
        X = list(latin_hypercube(2 * d, d, np.random.default_rng(seed)))
        y = [task(space.decode(u)).value for u in X]
        while True:
            model = botorch_.fit(X, y)
            mean = model.posterior(model.train_inputs[0]).mean  # of -y
            task.recommend(space.decode(X[int(mean.argmax())]))
            if len(y) >= task.budget:  # saves a last proposal that nobody would evaluate
                return
            X.append(_propose_noisy(model))
            y.append(task(space.decode(X[-1])).value)


def _propose_noisy(model: botorch_.Model) -> Vector:
    """The point of the best log noisy EI over the points seen."""
    from botorch.acquisition.logei import qLogNoisyExpectedImprovement

    acquisition = qLogNoisyExpectedImprovement(model, model.train_inputs[0], prune_baseline=True)
    return botorch_.best_point(acquisition, botorch_.dimension(model))


@quiet()
def cobyqa(task: Task, seed: int) -> None:
    """COBYQA with nonlinear constraints; it asks for them after the objective: at one point, one evaluation."""
    known: dict[bytes, Outcome] = {}

    def outcome(u: Vector) -> Outcome:
        key = u.tobytes()
        if key not in known:
            known[key] = task(task.space.decode(u))
        return known[key]

    kept = optimize.NonlinearConstraint(lambda u: np.array(outcome(u).constraints), -np.inf, 0.0)
    scipy_.cobyqa_loop(task, lambda u: outcome(u).value, task.space.dimension, seed, constraints=kept)


def _params(space: Space, values: Mapping[str, Any]) -> Params:
    """A point by names as the space has it."""
    return space.check(values if space.named else [values[name] for name in space.names])


DALE, RANDOM = replace(CONTENDERS["default"], run=ask_and_tell), replace(CONTENDERS["random"], run=random)
TPE, GP = replace(CONTENDERS["optuna_tpe"], run=tpe), replace(CONTENDERS["optuna_gp"], run=gp)
NEI = replace(CONTENDERS["botorch"], name="botorch_nei", label="BoTorch log NEI", run=botorch)
COBYQA = replace(CONTENDERS["cobyqa"], run=cobyqa)

MIXED = (DALE, TPE, GP, RANDOM)
NOISY = (DALE, GP, NEI, RANDOM)
CONSTRAINED = (DALE, TPE, GP, COBYQA, RANDOM)
SEQUENTIAL = "one"
PARALLEL = (
    Contender(SEQUENTIAL, partial(workers, 1, 0.0), "one after the other"),
    Contender("batch4", partial(workers, 4, 0.0), "batches of 4"),
    Contender("batch8", partial(workers, 8, 0.0), "batches of 8"),
    Contender("workers4", partial(workers, 4, SIGMA), "4 workers"),
    Contender("workers8", partial(workers, 8, SIGMA), "8 workers"),
)
