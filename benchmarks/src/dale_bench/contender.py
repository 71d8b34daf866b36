"""A contender: any method or solver that evaluates an objective on the unit cube until the budget is spent."""

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

    def __call__(self, u: Vector) -> float:
        """The value at u, including noise if the function has any. Raises ``Spent`` if no budget is left."""
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
