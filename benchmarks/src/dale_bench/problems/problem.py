"""A problem, and a task that counts the evaluations of a run on it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from dale._arrays import Vector
from dale.space.point import Params
from dale.space.space import Space
from dale_bench.contender import Spent

FEASIBILITY_TOLERANCE = 1e-8  # larger constraint values count as violated; COBYQA has a similar tolerance
MIN_REGRET = 1e-6  # with constraints, the possible effect of the tolerance; smaller regrets count as this


class Failed(Exception):
    """The evaluation failed."""


class Outcome(NamedTuple):
    """The result of an evaluation: the value, and the constraints if there are any."""

    value: float
    constraints: tuple[float, ...] = ()


@dataclass(frozen=True, eq=False)
class Problem:
    """An objective on a space of any kind, with its minimum.

    Attributes:
        name: A short name, unique among its kind.
        space: The search space.
        true: The objective without noise, which determines the regret.
        minimum: The minimum of `true` over all feasible points.
        minimiser: A feasible point with this value.
        budget: Evaluations of a run.
        description: One line.
        constraints: The outcome constraints at a point, feasible if all are at most 0; None if there are none.
        noisy: The objective with noise; None if there is no noise.
        source: The reference.
        tolerance: Constraints above this are violated.
        fails: Whether an evaluation at a point fails; None if none does. Constraints are then not reported.
        is_rough: Whether the noise is always the same at a point, so that no evaluation needs to be repeated.
    """

    name: str
    space: Space
    true: Callable[[Any], float]
    minimum: float
    minimiser: Any
    budget: int
    description: str
    constraints: Callable[[Any], Vector] | None = None
    noisy: Callable[[Any], float] | None = None
    source: str = "dale"
    tolerance: float = FEASIBILITY_TOLERANCE
    fails: Callable[[Any], bool] | None = None
    is_rough: bool = False

    @property
    def reports_constraints(self) -> bool:
        """Whether an outcome contains constraints."""
        return self.constraints is not None and self.fails is None

    @property
    def min_regret(self) -> float:
        """Smaller regrets count as this."""
        return 0.0 if self.constraints is None or self.tolerance == 0 else MIN_REGRET

    def regret(self, params: Params) -> float:
        """The true value of a point minus the minimum; infinite if the point is infeasible."""
        return self.regret_of(Outcome(self.true(params), self._constraints_at(params)))

    def observe(self, params: Params) -> Outcome:
        """The value, with noise if there is any, and the constraints at a point. Raises ``Failed`` if it fails."""
        value = float((self.noisy or self.true)(params))
        if self.fails is not None and self.fails(params):
            raise Failed(f"{self.name} failed")
        return Outcome(value, self._constraints_at(params) if self.reports_constraints else ())

    def regret_of(self, outcome: Outcome) -> float:
        """The value of an outcome without noise minus the minimum; infinite if it is infeasible."""
        return max(outcome.value - self.minimum, self.min_regret) if self._feasible(outcome.constraints) else math.inf

    def violates(self, params: Params) -> bool:
        """Whether a point violates a constraint."""
        return not self._feasible(self._constraints_at(params))

    def _feasible(self, constraints: tuple[float, ...]) -> bool:
        return all(constraint <= self.tolerance for constraint in constraints)

    def _constraints_at(self, params: Params) -> tuple[float, ...]:
        return () if self.constraints is None else tuple(self.constraints(params).tolist())


class Task:
    """A problem that counts, times and records its evaluations. Contenders see nothing else.

    The regret of a run after an evaluation is that of its best point: the feasible point with the lowest observed
    value, unless the contender recommends another.
    """

    def __init__(self, problem: Problem, budget: int) -> None:
        self.problem = problem
        self.space = problem.space
        self.dimension = len(problem.space.names)
        self.budget = budget
        self.regrets: list[float] = []  # of the recommended point, after each evaluation
        self.observed: list[float] = []  # of the point with the lowest observed value
        self.times: list[float] = []  # ends of the evaluations on a simulated clock, if there is one
        self.seconds_inside = 0.0
        self.notes: dict[str, int] = {}
        self.n_failed = 0  # evaluations that failed or violated a constraint
        self._lowest = math.inf

    def __call__(self, params: Params) -> Outcome:
        """Evaluate a point of the space. Raises ``Spent`` if no budget is left, ``Failed`` if the evaluation fails."""
        if len(self.regrets) >= self.budget:
            raise Spent
        begun = time.perf_counter()
        problem = self.problem
        value = regret = math.inf  # if it fails
        try:
            outcome = problem.observe(params)
            value = outcome.value
            regret = problem.regret_of(outcome) if problem.noisy is None else problem.regret(params)
        finally:
            self._record(value, regret)
            self.seconds_inside += time.perf_counter() - begun
        return outcome

    def _record(self, value: float, regret: float) -> None:
        self.n_failed += regret == math.inf
        if value < self._lowest and regret < math.inf:
            self._lowest = value
            self.observed.append(regret)
        else:
            self.observed.append(self.observed[-1] if self.observed else math.inf)
        self.regrets.append(self.observed[-1])

    def recommend(self, params: Params, after: int | None = None) -> None:
        """Recommend a point.

        Args:
            params: The point.
            after: The number of evaluations from which on it is recommended; None for all so far.
        """
        first = len(self.regrets) - 1 if after is None else max(after - 1, 0)
        self.regrets[first:] = [self.problem.regret(params)] * (len(self.regrets) - first)

    @property
    def curve(self) -> list[float]:
        """The regret of the run after each evaluation."""
        return self.regrets
