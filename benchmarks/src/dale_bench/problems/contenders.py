"""The contenders of each kind of problem: dale, and the peers that support it.

All get a `Task` on a space in their own form: Optuna its distributions, BoTorch and COBYQA the unit cube. No contender
knows the budget or the noise. Those with a setting for exact values get it if the values are exact.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import numpy as np
from scipy import optimize

from dale._arrays import Vector
from dale.methods.base import Method
from dale.optim.sampling import latin_hypercube
from dale.optimizer import Optimizer
from dale.space.choice import Choice
from dale.space.conditions import inactive
from dale.space.float import Float
from dale.space.int import Int
from dale.space.point import Params
from dale.space.space import Space
from dale_bench.contender import Contender
from dale_bench.contenders import CONTENDERS, label
from dale_bench.peers import OURS, bads, botorch_, optuna_, scipy_
from dale_bench.peers.environment import quiet, seeded_torch
from dale_bench.problems import cma_margin, equal, smac_
from dale_bench.problems.on_cube import on_cube
from dale_bench.problems.problem import Failed, Outcome, Task
from dale_bench.scale.simulation import Farm, simulate

ROUNDING = 1e-14  # of a point of the cube
SIGMA = 0.5  # std of the logarithm of an evaluation's time, with asynchronous workers


def ask_and_tell(task: Task, seed: int, method: Method | None = None, noise: float | Literal["auto"] = "auto") -> None:
    """dale with its defaults. With noise it recommends its `best`. Failures are recorded as such."""
    optimizer = Optimizer(task.space, seed=seed, method=method, noise=noise)
    while True:
        trial = optimizer.ask()
        try:
            value, constraints = task(trial.params)
        except Failed as failure:
            optimizer.fail(trial, str(failure))
            continue
        outcomes: dict[str, Any] = {"constraints": constraints} if constraints else {}
        optimizer.tell(trial, value, **outcomes)
        if task.problem.noisy is not None and optimizer.best is not None:
            task.recommend(optimizer.best.params)


def interpolating(task: Task, seed: int) -> None:
    """dale with ``noise=0``, which takes all values as exact and smooth."""
    ask_and_tell(task, seed, noise=0.0)


def told(task: Task, seed: int) -> None:
    """dale, which receives the values and the constraints also where evaluations would fail."""
    task.problem = replace(task.problem, fails=None)
    ask_and_tell(task, seed)


def by_hand(choose: Callable[[Space], tuple[str, ...]], task: Task, seed: int) -> None:
    """dale without equalities: some parameters are computed from the others, their bounds are input constraints."""
    space, names = task.space, choose(task.space)
    R, r = equal.eliminated(space, names)
    low, high = np.array([[space.parameters[name].decode(u) for name in names] for u in np.eye(2)[:, :1]])[::-1]
    others = [name for name in space.names if name not in names]
    reduced = Space({name: space.parameters[name] for name in others})
    optimizer = Optimizer(reduced, seed=seed, constraints=optimize.LinearConstraint(R, low - r, high - r))
    while True:
        trial = optimizer.ask()
        computed = np.clip(r + R @ trial.x, low, high)
        optimizer.tell(trial, task({**trial.params, **dict(zip(names, computed.tolist(), strict=True))}).value)


def determined(space: Space) -> tuple[str, ...]:
    """The parameters that dale determines by equalities."""
    return () if space.equalities is None else space.equalities.determined


def first(space: Space) -> tuple[str, ...]:
    """As many parameters, the first ones."""
    return space.names[: len(determined(space))]


def workers(count: int, sigma: float, task: Task, seed: int) -> None:
    """dale with several workers. An evaluation takes one unit of time on average, an ask takes none.

    If all evaluations take the same time (sigma = 0), every round is an ``ask(count)`` followed by as many tells.
    """
    optimizer = Optimizer(task.space, seed=seed)
    farm = Farm(count, float(np.exp(-(sigma**2) / 2)), task.budget, sigma, seed=seed)
    record = simulate(farm, optimizer, lambda x: task(x).value, clock=lambda: 0.0)
    task.times.extend(record.times)


def random(task: Task, seed: int) -> None:
    """Uniform random points: numbers on their scale, options with equal probability."""
    rng = np.random.default_rng(seed)
    while True:
        with suppress(Failed):
            task(task.space.decode(rng.random(task.space.dimension)))


@quiet()
def tpe(task: Task, seed: int) -> None:
    """TPESampler, Optuna's default."""
    import optuna

    _sample(task, optuna.samplers.TPESampler(seed=seed, **_constraint_setting(task)))


@quiet()
def gp(task: Task, seed: int) -> None:
    """GPSampler, with the setting for exact values if they are exact."""
    import optuna

    exact = task.problem.noisy is None
    with seeded_torch(seed):
        _sample(task, optuna.samplers.GPSampler(seed=seed, deterministic_objective=exact, **_constraint_setting(task)))


def _constraint_setting(task: Task) -> dict[str, Any]:
    """The setting that passes the constraints to a sampler, if there are any."""
    return {"constraints_func": lambda t: t.user_attrs["constraints"]} if task.problem.reports_constraints else {}


def _sample(task: Task, sampler: Any) -> None:
    space = task.space

    def evaluate(trial: Any) -> float | None:
        try:
            value, constraints = task(suggested(space, trial) if space.conditions else _params(space, trial.params))
        except Failed:
            return None
        if constraints:
            trial.set_user_attr("constraints", list(constraints))
        return value

    optuna_.loop(sampler, {} if space.conditions else distributions(space), evaluate)


def suggested(space: Space, trial: Any) -> Params:
    """The point that a trial of Optuna suggests in a space with conditions: only active parameters are suggested."""
    values: dict[str, Any] = {}
    for name in (*(name for name in space.names if name not in space.conditions), *space.conditions):
        if name in inactive(values, space.conditions):
            continue
        p = space.parameters[name]
        if isinstance(p, Choice):
            values[name] = trial.suggest_categorical(name, list(p.options))
        elif isinstance(p, Int):
            values[name] = trial.suggest_int(name, p.low, p.high, log=p.log, step=p.step)
        elif isinstance(p, Float):
            values[name] = trial.suggest_float(name, p.low, p.high, log=p.log, step=p.step)
    return space.check(values)


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

    It recommends the evaluated point with the best posterior mean.
    """
    space, d = task.space, task.space.dimension
    with seeded_torch(seed):
        X = list(latin_hypercube(2 * d, d, np.random.default_rng(seed)))
        y = [task(space.decode(u)).value for u in X]
        while True:
            model = botorch_.fit(X, y)
            mean = model.posterior(model.train_inputs[0]).mean  # of -y
            task.recommend(space.decode(X[int(mean.argmax())]))
            if len(y) >= task.budget:  # saves a last proposal that would not be evaluated
                return
            X.append(_propose_noisy(model))
            y.append(task(space.decode(X[-1])).value)


def _propose_noisy(model: botorch_.Model) -> Vector:
    """The point with the largest log noisy EI."""
    from botorch.acquisition.logei import qLogNoisyExpectedImprovement

    acquisition = qLogNoisyExpectedImprovement(model, model.train_inputs[0], prune_baseline=True)
    return botorch_.best_point(acquisition, botorch_.dimension(model))


@quiet()
def cobyqa(task: Task, seed: int) -> None:
    """COBYQA with nonlinear constraints. Each request of the objective is one evaluation of the point.

    It requests the constraints afterwards, often several times, at the same point up to a rounding error. It may
    request them at a point outside the cube whose nearest point of the cube it has evaluated.
    """
    points: list[Vector] = []
    outcomes: list[Outcome] = []

    def value(u: Vector) -> float:
        outcomes.append(task(task.space.decode(u)))
        points.append(u.copy())
        return outcomes[-1].value

    def constraints(u: Vector) -> Vector:
        distance = np.max(np.abs(np.array(points) - np.clip(u, 0.0, 1.0)), axis=1)
        nearest = int(np.argmin(distance))
        if distance[nearest] > ROUNDING:
            raise RuntimeError(f"expected constraints at an evaluated point, got {u}")
        return np.array(outcomes[nearest].constraints)

    feasible = optimize.NonlinearConstraint(constraints, -np.inf, 0.0)
    scipy_.cobyqa_loop(task, value, task.space.dimension, seed, constraints=feasible)


def _params(space: Space, values: Mapping[str, Any]) -> Params:
    """A point in the form of the space."""
    return space.check(values if space.named else [values[name] for name in space.names])


DALE, RANDOM = replace(CONTENDERS["default"], run=ask_and_tell), replace(CONTENDERS["random"], run=random)
TPE, GP = replace(CONTENDERS["optuna_tpe"], run=tpe), replace(CONTENDERS["optuna_gp"], run=gp)
NEI = replace(CONTENDERS["botorch"], name="botorch_nei", label="BoTorch log NEI", run=botorch)
COBYQA = replace(CONTENDERS["cobyqa"], run=cobyqa)
COBYQA_IN_BOX = replace(CONTENDERS["cobyqa"], run=on_cube(scipy_.cobyqa))
BADS = replace(CONTENDERS["bads"], run=on_cube(bads.bads))
MARGIN = Contender("cma_margin", cma_margin.cma_margin, label("cma_margin"), True, ("cmaes",), (*OURS, "cmaes"))
SMAC = Contender("smac", smac_.smac, label("smac"), True, ("smac",), (*OURS, "smac", "ConfigSpace"))
TOLD = Contender("told", told, "dale (told)")
EXACT = Contender("noise0", interpolating, "dale (noise=0)")

MIXED = (DALE, TPE, GP, RANDOM)
INTEGERS = (*MIXED, MARGIN, SMAC)  # without options
NOISY = (DALE, GP, NEI, RANDOM)
ROUGH = (DALE, EXACT, TPE, BADS, COBYQA_IN_BOX, RANDOM)
CONSTRAINED = (DALE, TPE, GP, COBYQA, RANDOM)
FAILING = (DALE, TOLD, TPE, RANDOM)
EQUAL = (
    DALE,
    Contender("by_hand", partial(by_hand, determined), "same by hand"),
    Contender("first_by_hand", partial(by_hand, first), "first by hand"),
)
SEQUENTIAL = "sequential"
PARALLEL = (
    Contender(SEQUENTIAL, partial(workers, 1, 0.0), "sequential"),
    Contender("batch4", partial(workers, 4, 0.0), "batches of 4"),
    Contender("batch8", partial(workers, 8, 0.0), "batches of 8"),
    Contender("workers4", partial(workers, 4, SIGMA), "4 workers"),
    Contender("workers8", partial(workers, 8, SIGMA), "8 workers"),
)
