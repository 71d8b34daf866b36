"""The suites: their problems in the form of the benchmarks, and the methods that support them.

`bbob` and `bbob-noisy` problems are functions on the unit cube, for all methods and peers. `bbob-constrained` and
`bbob-mixint` problems are tasks on a space, for the methods of ``dale bench problems``. A point is feasible if no
constraint is above 0, as in COCO.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import chdir, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from dale._arrays import Vector
from dale.space.float import Float
from dale.space.int import Int
from dale.space.space import Space
from dale_bench.coco import noisy
from dale_bench.contender import Contender, Counted, Objective
from dale_bench.contenders import CONTENDERS
from dale_bench.functions.function import Function
from dale_bench.names import unknown
from dale_bench.problems.contenders import CONSTRAINED, INTEGERS
from dale_bench.problems.problem import Problem, Task

SOURCE = "COCO"
BEST_PARAMETER_FILE = "._bbob_problem_best_parameter.txt"  # written by COCO in the current directory
KNOWS_FUNCTIONS_BY_NAME = ("ei_optimal", "ei_optimal300")  # need one of dale-bench's own functions
BBOB_GROUPS = {
    "separable": range(1, 6),
    "moderate": range(6, 10),
    "ill-conditioned": range(10, 15),
    "multimodal": range(15, 20),
    "weak structure": range(20, 25),
}
CONSTRAINED_FUNCTIONS = (  # each with six numbers of constraints
    "sphere",
    "ellipsoid",
    "slope",
    "rotated ellipsoid",
    "discus",
    "bent cigar",
    "powers",
    "Rastrigin",
    "rotated Rastrigin",
)


@dataclass(frozen=True)
class Suite:
    """One of COCO's suites.

    Attributes:
        name: COCO's name.
        dimensions: The dimensions that the suite has.
        usual_dimensions: The dimensions of a run by default.
        groups: The functions of each group, by the group's name.
        contenders: The methods that support the suite.
    """

    name: str
    dimensions: tuple[int, ...]
    usual_dimensions: tuple[int, ...]
    groups: Mapping[str, range]
    contenders: tuple[Contender, ...]

    @property
    def functions(self) -> range:
        """The numbers of all functions."""
        groups = list(self.groups.values())
        return range(groups[0].start, groups[-1].stop)

    def contender(self, name: str) -> Contender:
        """The contender with this name, or with this label in the tables."""
        for contender in self.contenders:
            if name in (contender.name, contender.label):
                return contender
        raise unknown(f"method {name!r} for the suite {self.name!r}", name, (c.name for c in self.contenders))


def check_installed() -> None:
    """Raise an error if COCO's experiments module is not installed."""
    if find_spec("cocoex") is None:
        raise ValueError("expected the module cocoex, which is not installed; run: pip install './benchmarks[coco]'")


@contextmanager
def opened(suite: str, function: int, dimension: int, instance: int) -> Iterator[Any]:
    """A problem as an object of COCO, which is freed at the end."""
    import cocoex

    # The suite must exist as long as the problem.
    index = function - SUITES[suite].functions.start + 1
    several = cocoex.Suite(suite, f"instances: {instance}", f"dimensions: {dimension} function_indices: {index}")
    problem = several.get_problem(0)
    try:
        yield problem
    finally:
        problem.free()


def best_known(suite: str, function: int, dimension: int, instance: int) -> tuple[Vector, float]:
    """The minimiser and the minimum of a problem.

    COCO's only interface to the minimiser writes it to a file in the current directory, with 16 decimals.
    """
    with opened(suite, function, dimension, instance) as problem:
        with tempfile.TemporaryDirectory() as directory, chdir(directory):
            problem._best_parameter("print")
            x = np.array(Path(BEST_PARAMETER_FILE).read_text(encoding="ascii").split(), dtype=np.float64)
        return x, 0.0 if suite == noisy.SUITE else float(problem(x))


def objective_of(problem: Any, best: tuple[Vector, float], budget: int) -> Counted:
    """A problem of COCO as an objective that counts its evaluations: each is one evaluation of COCO's problem."""
    minimiser, minimum = best
    if problem.suite == noisy.SUITE.encode():
        return noisy.NoisyObjective(noisy.noisy_function(problem, minimiser, SOURCE), budget)
    if problem.number_of_constraints == 0 and problem.number_of_integer_variables == 0:
        low, high = problem.lower_bounds, problem.upper_bounds
        return Objective(Function(problem.id, low, high, problem, minimum, minimiser[None], problem.id, SOURCE), budget)
    return Task(
        Problem(
            name=problem.id,
            space=_space(problem),
            true=problem,
            minimum=minimum,
            minimiser=minimiser,
            budget=budget,
            description=problem.name,
            constraints=problem.constraint if problem.number_of_constraints else None,
            source=SOURCE,
            tolerance=0.0,
        ),
        budget,
    )


def _space(problem: Any) -> Space:
    """The box of a problem; the integer variables come first."""
    bounds = list(zip(problem.lower_bounds.tolist(), problem.upper_bounds.tolist(), strict=True))
    n = problem.number_of_integer_variables
    return Space.from_pairs([Int(int(a), int(b)) for a, b in bounds[:n]] + [Float(a, b) for a, b in bounds[n:]])


SUITES = {
    suite.name: suite
    for suite in (
        Suite(
            "bbob",
            (2, 3, 5, 10, 20, 40),
            (2, 3, 5, 10),
            BBOB_GROUPS,
            tuple(c for c in CONTENDERS.values() if c.name not in KNOWS_FUNCTIONS_BY_NAME),
        ),
        Suite(
            "bbob-constrained",
            (2, 3, 5, 10, 20, 40),
            (2, 5),
            {name: range(6 * i + 1, 6 * i + 7) for i, name in enumerate(CONSTRAINED_FUNCTIONS)},
            CONSTRAINED,
        ),
        Suite(
            noisy.SUITE,
            (2, 3, 5, 10, 20, 40),
            (2, 3, 5, 10),
            noisy.GROUPS,
            tuple(c for c in CONTENDERS.values() if c.name not in KNOWS_FUNCTIONS_BY_NAME),
        ),
        Suite("bbob-mixint", (5, 10, 20, 40, 80, 160), (5,), BBOB_GROUPS, INTEGERS),
    )
}
