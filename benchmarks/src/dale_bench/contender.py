"""What the benchmark runs: anything that asks an objective on the unit cube for values until the budget is spent."""

from __future__ import annotations

import importlib.util
import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from typing import Any, Protocol

import numpy as np

from dale._arrays import Vector
from dale_bench.functions import Function


class Spent(BaseException):
    """The budget is spent. Not an ``Exception``, so that a contender's own error handling lets it pass."""


class Counted(Protocol):
    """What the runner needs of what contenders evaluate: the runs so far, judged."""

    dimension: int
    regrets: list[float]
    seconds_inside: float
    notes: dict[str, int]

    @property
    def curve(self) -> list[float]:
        """Where the run stood after each evaluation."""
        ...


class Objective:
    """A benchmark function on the unit cube that counts, times and records its evaluations.

    Contenders see nothing but this: they call it with a point u (d,) and get a float.
    """

    def __init__(self, function: Function, budget: int) -> None:
        self.function = function
        self.dimension = function.dimension
        self.budget = budget
        self.regrets: list[float] = []
        self.seconds_inside = 0.0
        self.notes: dict[str, int] = {}  # what a contender wants counted, such as its failures

    def __call__(self, u: Vector) -> float:
        """The value at u, with the function's noise if it has any; raises ``Spent`` when there is no budget left."""
        if len(self.regrets) >= self.budget:
            raise Spent
        begun = time.perf_counter()
        x = self.function.from_cube(np.clip(np.asarray(u, dtype=float), 0.0, 1.0))
        value = float(self.function.fun(x))
        true = value if self.function.noise == 0 else float(self.function.true(x))
        self.regrets.append(max(true - self.function.minimum, 0.0))
        self.seconds_inside += time.perf_counter() - begun
        return value

    @property
    def curve(self) -> list[float]:
        """The best regret so far, after each evaluation."""
        return list(itertools.accumulate(self.regrets, min))


@dataclass(frozen=True)
class Contender:
    """A method under its name in tables.

    Attributes:
        name: Short and unique.
        run: ``run(objective, seed)`` evaluates the objective again and again; it may return early.
            An `Objective`, or what a benchmark of its own has in its place.
        label: How figures and tables call it.
        peer: Whether it is somebody else's software.
        modules: What has to be importable.
        distributions: Whose versions are recorded with each run.
        starts_at_center: Whether the box center is among its first points, worth an unfair lot on centered functions.
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
        """Modules that are not installed."""
        return tuple(m for m in self.modules if importlib.util.find_spec(m) is None)

    @property
    def versions(self) -> dict[str, str]:
        """Versions of what it is made of."""
        return {name: metadata.version(name) for name in self.distributions}
