"""A real problem, exact or noisy, and the noisy task, whose true means are estimated apart from the run.

The true minimum of a real problem is not known. The tables compare values, and the "regrets" of a `Task` are values.

Noise: evaluation i of a run draws from its own random stream, which depends on the problem, the seed of the run and i
only, so that a run is reproducible, and two contenders receive the same streams. The true mean of a point is the mean
of many replicates with other streams, which are the same for all points and contenders (common random numbers).
"""

from __future__ import annotations

import math
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from dale._arrays import Vector
from dale.space.choice import Choice
from dale.space.point import Params
from dale.space.space import Space
from dale_bench.contender import Spent
from dale_bench.functions.function import stream
from dale_bench.problems.problem import Outcome, Problem, Task

EXACT, NOISY = "exact", "noisy"
UNKNOWN_MINIMUM = 0.0  # all values of exact problems are positive, so that a regret is a value


@dataclass(frozen=True, eq=False)
class Real:
    """A real problem.

    Attributes:
        name: A short, unique name.
        space: The search space.
        budget: Evaluations of a run.
        description: One line.
        value: The objective: ``value(params)``, or ``value(params, rng)`` if it is noisy.
        replicates: The number of evaluations in the estimate of a true mean; 0 if the problem is exact.
        constraints: The outcome constraints at a point, feasible if all are at most 0; None if there are none.
        fails: Whether evaluations can fail, with ``Failed``.
        modules: The modules that it imports beyond NumPy and SciPy.
        source: The reference.
    """

    name: str
    space: Space
    budget: int
    description: str
    value: Callable[..., float]
    replicates: int = 0
    constraints: Callable[[Any], Vector] | None = None
    fails: bool = False
    modules: tuple[str, ...] = ()
    source: str = "dale"

    @property
    def kind(self) -> str:
        """Exact or noisy."""
        return NOISY if self.replicates else EXACT

    @property
    def has_options(self) -> bool:
        """Whether a parameter is not a number, or not always active."""
        return bool(self.space.conditions) or any(isinstance(p, Choice) for p in self.space.parameters.values())

    @property
    def is_continuous(self) -> bool:
        """Whether all parameters are real numbers without steps."""
        return all(p.cardinality is None for p in self.space.parameters.values())

    @property
    def missing(self) -> tuple[str, ...]:
        """The modules that are not installed."""
        return tuple(m for m in self.modules if find_spec(m) is None)

    def task(self, seed: int, budget: int | None = None) -> Task:
        """The task of a run; the seed determines its noise."""
        noisy = self.value if self.kind == NOISY else None
        problem = Problem(
            self.name,
            self.space,
            self.value,
            UNKNOWN_MINIMUM,
            None,
            budget or self.budget,
            self.description,
            self.constraints,
            noisy,
        )
        return Task(problem, problem.budget) if noisy is None else NoisyTask(problem, problem.budget, seed)

    def true_mean(self, params: Params) -> Mean:
        """The mean of a noisy value at a point, estimated from `replicates` values."""
        values = [self.value(params, stream(i, f"{self.name}:truth")) for i in range(self.replicates)]
        return Mean(float(np.mean(values)), float(np.std(values, ddof=1) / math.sqrt(len(values))))


class Mean(NamedTuple):
    """A mean and its standard error."""

    value: float
    error: float


class NoisyTask(Task):
    """A noisy task. It records the observed values and the recommended points, and estimates no true mean."""

    def __init__(self, problem: Problem, budget: int, seed: int) -> None:
        super().__init__(problem, budget)
        self.seed = seed
        self.recommended: list[Params] = []  # after each evaluation

    def __call__(self, params: Params) -> Outcome:
        """Evaluate a point with the random stream of this evaluation. Raises ``Spent`` if no budget is left."""
        if len(self.regrets) >= self.budget:
            raise Spent
        begun = time.perf_counter()
        value = float(self.problem.true(params, evaluation_stream(self.problem.name, self.seed, len(self.regrets))))  # type: ignore[call-arg]
        self.recommended.append(params if value < self._lowest else self.recommended[-1])
        self._lowest = min(value, self._lowest)
        self.regrets.append(value)
        self.seconds_inside += time.perf_counter() - begun
        return Outcome(value)

    def recommend(self, params: Params, after: int | None = None) -> None:
        """Recommend a point; without recommendations, it is the point with the lowest observed value.

        Args:
            params: The point.
            after: The number of evaluations from which on it is recommended; None for all so far.
        """
        first = len(self.regrets) - 1 if after is None else max(after - 1, 0)
        self.recommended[first:] = [params] * (len(self.regrets) - first)


def evaluation_stream(name: str, seed: int, index: int) -> np.random.Generator:
    """The random stream of one evaluation of a run."""
    return np.random.default_rng(np.random.SeedSequence([seed, zlib.crc32(name.encode()), index]))
