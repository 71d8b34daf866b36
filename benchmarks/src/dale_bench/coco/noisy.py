"""The problems of `bbob-noisy`: contenders get noisy values, and the noise-free ones determine the regret.

COCO returns noisy values only. Its logger writes the noise-free value minus the minimum, with ten digits, so the regret
of a point is that of a problem of its own with a logger, which is evaluated once. A new problem starts the random
numbers of the noise anew: every run has the same ones, and regrets are computed after the run.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dale._arrays import Vector
from dale_bench.contender import Objective
from dale_bench.functions.function import Function

SUITE = "bbob-noisy"
FIRST_FUNCTION = 101  # COCO's number of the first one
GROUPS = {"moderate": range(101, 107), "severe": range(107, 122), "severe, multimodal": range(122, 131)}
REGRET_COLUMN = 2  # of the logger's data


@dataclass(frozen=True, eq=False)
class NoisyFunction(Function):
    """A noisy problem of COCO as a function whose values have noise; ``true`` is its regret."""

    problem: Any = None

    def fun(self, x: Vector) -> float:
        """The noisy value at one point (d,)."""
        return float(self.problem(x))


def noisy_function(problem: Any, minimiser: Vector, source: str) -> NoisyFunction:
    """A noisy problem of COCO as a function."""
    return NoisyFunction(
        name=problem.id,
        low=problem.lower_bounds,
        high=problem.upper_bounds,
        true=NoiseFree(problem.id_function, problem.dimension, problem.id_instance),
        minimum=0.0,
        minimisers=minimiser[None],
        formula=problem.name,
        source=source,
        noise=np.nan,  # not constant
        problem=problem,
    )


class NoisyObjective(Objective):
    """An objective whose regrets are known after ``settle`` only; before, they are numbers of points."""

    def __init__(self, function: Function, budget: int) -> None:
        super().__init__(function, budget)
        self._points: list[Vector] = []

    def _regret(self, x: Vector, value: float | None = None) -> float:
        self._points.append(x)
        return float(len(self._points) - 1)

    def settle(self) -> None:
        """Compute the regrets."""
        for regrets in (self.regrets, self.recommended):
            points = [self._points[int(number)] for number in regrets]
            known = {point.tobytes(): float(self.function.true(point)) for point in points}
            regrets[:] = [known[point.tobytes()] for point in points]


@dataclass(frozen=True)
class NoiseFree:
    """The noise-free value minus the minimum of a problem, from COCO's logger.

    Attributes:
        function: The number of the function.
        dimension: The number of variables.
        instance: The number of the instance.
    """

    function: int
    dimension: int
    instance: int

    def __call__(self, x: Vector) -> Vector:
        """At a point (d,)."""
        import cocoex

        cocoex.log_level("warning")  # the logger announces each directory otherwise
        index = f"dimensions: {self.dimension} function_indices: {self.function - FIRST_FUNCTION + 1}"
        with tempfile.TemporaryDirectory(suffix="-data") as directory:  # COCO loses a u at the end of the name
            suite = cocoex.Suite(SUITE, f"instances: {self.instance}", index)
            problem = suite.get_problem(0)
            options = {"outer_folder": directory, "result_folder": "run", "algorithm_name": "noise-free"}
            observer = cocoex.Observer(SUITE, options)  # it must exist as long as the problem
            problem.observe_with(observer)
            problem(x)
            problem.free()
            (data,) = Path(directory).glob("run/data_*/*.dat")
            last = data.read_text(encoding="ascii").splitlines()[-1]
        return np.array(last.split()[REGRET_COLUMN], dtype=np.float64)
