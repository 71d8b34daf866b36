"""A contender: any method or solver that evaluates an objective on the unit cube until the budget is spent."""

from __future__ import annotations

import importlib.util
import itertools
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from typing import Any, Protocol

import numpy as np

from dale._arrays import Vector
from dale_bench.functions import Function


class Spent(BaseException):
    """The budget is spent. Not an ``Exception``, so that the error handling of a solver does not catch it."""


class Counted(Protocol):
    """The part of an objective that the runner reads: the evaluations so far and their regrets."""

    dimension: int
    regrets: list[float]
    seconds_inside: float
    notes: dict[str, int]

    @property
    def curve(self) -> list[float]:
        """The regret of the run after each evaluation."""
        ...


class Objective:
    """A benchmark function on the unit cube that counts, times and records its evaluations.

    Contenders see nothing else: they call it with a point u (d,) and get a float.
    """

    def __init__(self, function: Function, budget: int) -> None:
        self.function = function
        self.dimension = function.dimension
        self.budget = budget
        self.regrets: list[float] = []
        self.seconds_inside = 0.0
        self.notes: dict[str, int] = {}  # counts that a contender reports, such as its failures
        self.recommended: list[float] = []  # with noise, the regret of the recommended point after each evaluation
        self._lowest = math.inf

    def __call__(self, u: Vector) -> float:
        """The value at u, including noise if the function has any. Raises ``Spent`` if no budget is left."""
        if len(self.regrets) >= self.budget:
            raise Spent
        begun = time.perf_counter()
        x = self.function.from_cube(np.clip(np.asarray(u, dtype=float), 0.0, 1.0))
        value = float(self.function.fun(x))
        self.regrets.append(self._regret(x, value))
        if self.is_noisy:
            is_lowest = value < self._lowest
            self.recommended.append(self.regrets[-1] if is_lowest else self.recommended[-1])
            self._lowest = min(value, self._lowest)
        self.seconds_inside += time.perf_counter() - begun
        return value

    def recommend(self, u: Vector, after: int | None = None) -> None:
        """Recommend a point; without recommendations, it is the point with the lowest value.

        Args:
            u: The point.
            after: The number of evaluations from which on it is recommended; None for all so far.
        """
        begun = time.perf_counter()
        x = self.function.from_cube(np.clip(np.asarray(u, dtype=float), 0.0, 1.0))
        first = len(self.regrets) - 1 if after is None else max(after - 1, 0)
        self.recommended[first:] = [self._regret(x)] * (len(self.regrets) - first)
        self.seconds_inside += time.perf_counter() - begun

    @property
    def is_noisy(self) -> bool:
        """Whether the values have noise."""
        return self.function.noise != 0

    def _regret(self, x: Vector, value: float | None = None) -> float:
        """The regret at x, from its value where that is exact."""
        true = value if value is not None and not self.is_noisy else float(self.function.true(x))
        return max(true - self.function.minimum, 0.0)

    @property
    def curve(self) -> list[float]:
        """The best regret so far after each evaluation."""
        return list(itertools.accumulate(self.regrets, min))


@dataclass(frozen=True)
class Contender:
    """A method or solver with its name in tables.

    Attributes:
        name: A short, unique name.
        run: ``run(objective, seed)`` evaluates the objective repeatedly; it may return early. The objective is an
            `Objective`, or a `Task` in the benchmarks of `dale_bench.problems`.
        label: The name in figures and tables.
        peer: Whether it is other software than dale.
        modules: The modules that it imports.
        distributions: The packages whose versions are recorded with each run.
        starts_at_center: Whether it evaluates the center of the box first. On functions that have their minimum there,
            this would be an unfair advantage.
    """

    name: str
    run: Callable[[Any, int], None]
    label: str = ""
    peer: bool = False
    modules: tuple[str, ...] = ()
    distributions: tuple[str, ...] = ("dale", "numpy", "scipy")
    starts_at_center: bool = False

    @property
    def missing(self) -> tuple[str, ...]:
        """The modules that are not installed."""
        return tuple(m for m in self.modules if importlib.util.find_spec(m) is None)

    @property
    def versions(self) -> dict[str, str]:
        """The versions of its packages."""
        return {name: metadata.version(name) for name in self.distributions}
