"""Problems whose evaluations fail: where a hidden constraint is violated, or at random.

With a hidden constraint, an evaluation fails if a constraint is above 0, and a completed one returns only the value.
The contender `told` receives the constraints instead. With random failures it receives every value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from dale._arrays import Vector
from dale.space.int import Int
from dale.space.space import Space
from dale_bench.functions import get
from dale_bench.functions.function import stream
from dale_bench.problems import constrained, noisy
from dale_bench.problems.problem import Problem

FAILURE_RATE = 0.2  # of random failures


def half_plane(x: Vector) -> float:
    """A convex quadratic with its minimum at (0.8, 0.7), beyond the half plane."""
    u, v = x[0] - 0.8, x[1] - 0.7
    return float(u**2 + 0.5 * u * v + 2 * v**2)


def half_plane_constraint(x: Vector) -> Vector:
    """Completes on one side of a line that is not parallel to an axis."""
    return np.array([x[0] + 0.6 * x[1] - 0.75])


def ring(x: Vector) -> float:
    """A sine along x, a parabola along y, and a slope: several minima in the annulus."""
    return float(np.sin(3 * x[0]) + 0.5 * x[0] + 0.5 * (x[1] - 0.3) ** 2)


def ring_constraints(x: Vector) -> Vector:
    """Completes between the radii 0.9 and 1.5 around (1, 0)."""
    square = (x[0] - 1) ** 2 + x[1] ** 2
    return np.array([square - 1.5**2, 0.9**2 - square])


def simulator(x: Vector) -> float:
    """Minus the yield, plus costs. The yield increases with the rate x and the load y."""
    rate, load, z = x
    return float(-np.sqrt(rate) * load * (1 + 0.3 * z) + 0.8 * (z - 0.4) ** 2 + 0.3 * rate)


def simulator_constraint(x: Vector) -> Vector:
    """Diverges if the product of rate and load is too large; the limit decreases with z."""
    rate, load, z = x
    return np.array([rate * load + 0.2 * z**2 - 0.25])


def rosenbrock(x: Vector) -> float:
    """Rosenbrock's function, with its minimum at (1, 1), outside the disk."""
    return float(100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2)


def disk_constraint(x: Vector) -> Vector:
    """Completes in a disk around (-0.3, -0.2)."""
    return np.array([(x[0] + 0.3) ** 2 + (x[1] + 0.2) ** 2 - 2])


BRANIN = get("branin")


def corner_constraint(x: Vector) -> Vector:
    """Fails in a corner, which contains the minimiser (pi, 2.275) close to its boundary."""
    return np.array([4 - 0.5 * x[0] - x[1]])


INTEGERS = "abcde"
CENTER = np.array([4, 3, 2, 4, 3])


def five_integers(p: Mapping[str, Any]) -> float:
    """A quadratic of five integers in which a and b interact, with its minimum where a + b = 7."""
    u = np.array([p[name] for name in INTEGERS]) - CENTER
    return float(np.sum(u**2) + 0.5 * u[0] * u[1])


def five_integers_constraint(p: Mapping[str, Any]) -> Vector:
    """Fails if a + b > 4."""
    return np.array([p["a"] + p["b"] - 4.0])


def hidden(problem: Problem) -> Problem:
    """The problem with its constraints hidden: evaluations fail where they are violated."""
    return replace(problem, fails=problem.violates)


HIDDEN = tuple(
    hidden(problem)
    for problem in (
        Problem(
            "half_plane",
            Space.from_pairs([(0.0, 1.0)] * 2),
            half_plane,
            0.2077639563106796,  # in closed form
            np.array([0.3779126213592233, 0.6201456310679612]),
            40,
            "a quadratic, minimum beyond a half plane",
            half_plane_constraint,
        ),
        Problem(
            "ring",
            Space.from_pairs([(-1.0, 3.0), (-2.0, 2.0)]),
            ring,
            -1.2321934309555342,  # minimised along the outer circle
            np.array([-0.48752473167690424, 0.19305484363142433]),
            40,
            "a multimodal function, only an annulus completes (28 % of the box)",
            ring_constraints,
        ),
        Problem(
            "simulator",
            Space.from_pairs([(0.0, 1.0)] * 3),
            simulator,
            -0.4575367062067775,  # minimised along the constraint, at load 1
            np.array([0.2182868311017307, 1.0, 0.3982032703172419]),
            60,
            "diverges if a product is too large, minimum at the edge",
            simulator_constraint,
        ),
        Problem(
            "rosenbrock_disk",
            Space.from_pairs([(-2.0, 2.0)] * 2),
            rosenbrock,
            0.03346614013766103,  # minimised along the circle
            np.array([0.8171694561113647, 0.6671403613786164]),
            60,
            "Rosenbrock's function in a disk, minimum at the edge",
            disk_constraint,
        ),
        Problem(
            "branin_corner",
            Space.from_pairs(BRANIN.bounds),
            lambda x: float(BRANIN.true(x)),
            BRANIN.minimum,
            BRANIN.minimisers[0],
            60,
            "Branin's function, one of the three minima just inside the failing corner",
            corner_constraint,
            source=BRANIN.source,
        ),
        Problem(
            "five_integers",
            Space({name: Int(0, 5) for name in INTEGERS}),
            five_integers,
            6.0,  # by enumeration; (3, 1, 2, 4, 3) is another minimiser
            {"a": 2, "b": 2, "c": 2, "d": 4, "e": 3},
            40,
            "a quadratic of five integers, fails if a + b > 4, minimum at the edge",
            five_integers_constraint,
        ),
        *(p for p in constrained.PROBLEMS if p.name == "gramacy"),
    )
)


def at_random(base: str, seed: int) -> Problem:
    """The function of a seed. Each evaluation fails with the same probability, wherever it is."""
    problem = noisy.plain(base, seed)
    name = f"{base}_random"
    rng = stream(seed, name)
    return replace(
        problem,
        name=name,
        description=f"{problem.description}, {FAILURE_RATE:.0%} of the evaluations fail at random",
        fails=lambda p: bool(rng.random() < FAILURE_RATE),
    )


RANDOM: dict[str, Callable[[int], Problem]] = {f"{base}_random": partial(at_random, base) for base in noisy.FUNCTIONS}
