"""The contenders on real problems, in their own form of a space, and where each applies.

dale            all
Optuna TPE      all; a conditional parameter is suggested only where it is active
Optuna GP       all; inactive parameters are suggested and not used, because it would draw conditional ones at random
scikit-optimize no constraints and no failures; inactive parameters as with Optuna GP; steps as integers
BADS            numbers, no constraints, no failures; it does not know integers, which are rounded
COBYQA          exact values and real numbers, no failures
random          all

Recommendations with noise: dale its `best` (lowest posterior mean), Optuna and random the lowest observed value
(Optuna's `best_trial`), BADS its incumbent in noisy mode, scikit-optimize its `expected_minimum`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dale.space.choice import Choice
from dale.space.conditions import inactive
from dale.space.int import Int
from dale.space.point import Params
from dale.space.space import Space
from dale_bench.contender import Contender
from dale_bench.contenders import CONTENDERS
from dale_bench.peers import optuna_, scipy_
from dale_bench.peers.environment import quiet, seeded_numpy
from dale_bench.problems import contenders
from dale_bench.problems.on_cube import on_cube
from dale_bench.problems.problem import Failed, Outcome, Task
from dale_bench.real.problem import NOISY, NoisyTask, Real

SKOPT_INITIAL_POINTS = 10  # its default
SKOPT_NOISE = 1e-10  # for exact values


class Unconditional:
    """A task for contenders that know no conditions: all parameters are active, and inactive ones are not used."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.problem = task.problem
        self.budget = task.budget
        self.space = Space(dict(task.space.parameters))

    def __call__(self, params: Params) -> Outcome:
        """Evaluate a point of the unconditional space."""
        return self.task(self.active(params))

    def active(self, params: Params) -> Params:
        """The point of the task's space."""
        values = dict(self.space.by_name(params))
        for name in inactive(values, self.task.space.conditions):
            del values[name]
        return self.task.space.check(values)


@quiet()
def tpe(task: Task, seed: int) -> None:
    """TPESampler, Optuna's default."""
    import optuna

    if not task.space.conditions:
        contenders.tpe(task, seed)
        return

    def evaluate(trial: Any) -> float | None:
        values: dict[str, Any] = {}
        for name, p in task.space.parameters.items():
            conditions = task.space.conditions.get(name, {})
            if all(parent in values and permitted.has(values[parent]) for parent, permitted in conditions.items()):
                values[name] = _suggest(trial, name, p)
        try:
            return task(task.space.check(values)).value
        except Failed:
            return None

    optuna_.loop(optuna.samplers.TPESampler(seed=seed), {}, evaluate)


def _suggest(trial: Any, name: str, p: Any) -> Any:
    if isinstance(p, Choice):
        return trial.suggest_categorical(name, list(p.options))
    suggest = trial.suggest_int if isinstance(p, Int) else trial.suggest_float
    return suggest(name, p.low, p.high, log=p.log, step=p.step)


def gp(task: Task, seed: int) -> None:
    """GPSampler, with the setting for exact values if they are exact."""
    contenders.gp(Unconditional(task), seed)  # type: ignore[arg-type]


@quiet()
def skopt(task: Task, seed: int) -> None:
    """`gp_minimize` with expected improvement; with a given noise of almost zero if the values are exact."""
    import skopt as library

    flat = Unconditional(task)
    dimensions = [_dimension(p) for p in flat.space.parameters.values()]
    checkpoints = (task.budget // 2, task.budget)

    def point(x: list[Any]) -> Params:
        named = zip(flat.space.parameters.items(), x, strict=True)
        return flat.space.check({name: _value(p, value) for (name, p), value in named})

    def recommend(result: Any) -> None:
        if isinstance(task, NoisyTask) and len(result.func_vals) in checkpoints and result.models:
            task.recommend(flat.active(point(library.expected_minimum(result, random_state=seed)[0])))

    with seeded_numpy(seed):
        library.gp_minimize(
            lambda x: flat(point(x)).value,
            dimensions,
            acq_func="EI",
            noise=SKOPT_NOISE if task.problem.noisy is None else "gaussian",
            n_calls=task.budget,
            n_initial_points=min(SKOPT_INITIAL_POINTS, task.budget),
            random_state=seed,
            callback=recommend,
        )


def _dimension(p: Any) -> Any:
    from skopt.space import Categorical, Integer, Real

    prior = "log-uniform" if getattr(p, "log", False) else "uniform"
    if isinstance(p, Choice):
        return Categorical(list(range(len(p.options))))
    if p.cardinality is None:
        return Real(p.low, p.high, prior=prior)
    return Integer(p.low, p.high, prior=prior) if _is_plain(p) else Integer(0, p.cardinality - 1)


def _value(p: Any, value: Any) -> Any:
    """A value of scikit-optimize in the form of the parameter."""
    if isinstance(p, Choice):
        return p.options[int(value)]
    if p.cardinality is None:
        return float(np.clip(value, p.low, p.high))
    return int(value) if _is_plain(p) else p.decode(p.encode_index(int(value)))


def _is_plain(p: Any) -> bool:
    return isinstance(p, Int) and p.step == 1


def cobyqa(task: Task, seed: int) -> None:
    """COBYQA, with the constraints if there are any."""
    if task.problem.constraints is not None:
        contenders.cobyqa(task, seed)
    else:
        on_cube(scipy_.cobyqa)(task, seed)


@dataclass(frozen=True)
class Entry:
    """A contender, and where it takes part.

    Attributes:
        contender: The contender.
        obstacle: Why it does not apply to a problem; an empty text if it does.
    """

    contender: Contender
    obstacle: Callable[[Real], str] = lambda real: ""


def _needs_plain_values(real: Real) -> str:
    return "constraints" if real.constraints is not None else "failures" if real.fails else ""


def _needs_numbers(real: Real) -> str:
    return "options" if real.has_options else _needs_plain_values(real)


def _needs_exact_real_numbers(real: Real) -> str:
    if real.kind == NOISY:
        return "noise"
    return "options" if real.has_options else "" if real.is_continuous else "steps"


ENTRIES: dict[str, Entry] = {
    entry.contender.name: entry
    for entry in (
        Entry(contenders.DALE),
        Entry(replace(CONTENDERS["optuna_tpe"], run=tpe)),
        Entry(replace(CONTENDERS["optuna_gp"], run=gp)),
        Entry(replace(CONTENDERS["skopt"], run=skopt), _needs_plain_values),
        Entry(contenders.BADS, _needs_numbers),
        Entry(replace(CONTENDERS["cobyqa"], run=cobyqa), _needs_exact_real_numbers),
        Entry(contenders.RANDOM),
    )
}
