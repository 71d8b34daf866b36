"""A task with numbers only, as an objective on the unit cube."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dale._arrays import Vector
from dale.space.point import Params
from dale_bench.problems.problem import Task


class OnCube:
    """A task with numbers only, as an objective on the unit cube."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.dimension = task.space.dimension
        self.budget = task.budget
        self.regrets = task.regrets
        self.is_noisy = task.problem.noisy is not None and not task.problem.is_rough

    def __call__(self, u: Vector) -> float:
        """The value at a point u (d,)."""
        return self.task(self._params(u)).value

    def recommend(self, u: Vector, after: int | None = None) -> None:
        """Recommend a point, where values are noisy."""
        if self.is_noisy:
            self.task.recommend(self._params(u), after)

    def _params(self, u: Vector) -> Params:
        return self.task.space.decode(np.clip(np.asarray(u, dtype=float).ravel(), 0.0, 1.0))


def on_cube(peer: Callable[[Any, int], None]) -> Callable[[Task, int], None]:
    """A solver of objectives on the unit cube, as one of tasks."""
    return lambda task, seed: peer(OnCube(task), seed)
