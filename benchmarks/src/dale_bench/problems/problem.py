"""What a problem is, and how a run on it is counted and judged."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dale._arrays import Vector
from dale.space.point import Params
from dale.space.space import Space
from dale_bench.contender import Spent

FEASIBLE = 1e-8  # a constraint above 0 by no more than this counts as kept; COBYQA asks for no more
LEAST_REGRET = 1e-6  # with constraints, less counts as this: it is what the tolerance may be worth


@dataclass(frozen=True, eq=False)
class Problem:
    """An objective over a space of any kind, with its minimum.

    Attributes:
        name: Short and unique among its kind.
        space: Where it is minimised.
        true: The objective without noise; regret is measured on it.
        minimum: The least value of `true` in the space, where all constraints are at most 0.
        minimiser: A point that attains it.
        budget: Evaluations of a run.
        words: One line about it.
        constraints: The black-box constraints at a point, feasible where all are at most 0; None where there are none.
        noisy: The objective as told, where there is noise; None where it is `true`.
        source: Where it comes from.
    """

    name: str
    space: Space
    true: Callable[[Any], float]
    minimum: float
    minimiser: Any
    budget: int
    words: str
    constraints: Callable[[Any], Vector] | None = None
    noisy: Callable[[Any], float] | None = None
    source: str = "dale"

    @property
    def least_regret(self) -> float:
        """Regrets below count as it."""
        return 0.0 if self.constraints is None else LEAST_REGRET

    def regret(self, params: Params) -> float:
        """How far a point is above the minimum, without noise; infinite where it breaks a constraint."""
        if self.constraints is not None and not np.all(self.constraints(params) <= FEASIBLE):
            return math.inf
        return max(self.true(params) - self.minimum, self.least_regret)


class Outcome(NamedTuple):
    """What an evaluation tells: the value, and the constraints where there are any."""

    value: float
    constraints: tuple[float, ...] = ()


class Task:
    """A problem that counts, times and judges its evaluations; all that contenders see.

    After each evaluation a run stands where its best point is: the lowest value told among those that keep the
    constraints, unless the contender recommends another.
    """

    def __init__(self, problem: Problem, budget: int) -> None:
        self.problem = problem
        self.space = problem.space
        self.dimension = len(problem.space.names)
        self.budget = budget
        self.regrets: list[float] = []  # of the recommended point, after each evaluation
        self.observed: list[float] = []  # of the point with the lowest value told
        self.times: list[float] = []  # when the evaluations were done, where somebody simulates that
        self.seconds_inside = 0.0
        self.notes: dict[str, int] = {}
        self._lowest = math.inf

    def __call__(self, params: Params) -> Outcome:
        """Evaluate a point of the space; raises ``Spent`` when there is no budget left."""
        if len(self.regrets) >= self.budget:
            raise Spent
        begun = time.perf_counter()
        problem = self.problem
        told = Outcome(
            float((problem.noisy or problem.true)(params)),
            () if problem.constraints is None else tuple(problem.constraints(params).tolist()),
        )
        regret = problem.regret(params)
        if told.value < self._lowest and regret < math.inf:
            self._lowest = told.value
            self.observed.append(regret)
        else:
            self.observed.append(self.observed[-1] if self.observed else math.inf)
        self.regrets.append(self.observed[-1])
        self.seconds_inside += time.perf_counter() - begun
        return told

    def recommend(self, params: Params) -> None:
        """Say which point is thought to be the best after the last evaluation."""
        self.regrets[-1] = self.problem.regret(params)

    @property
    def curve(self) -> list[float]:
        """Where the run stood after each evaluation."""
        return self.regrets
