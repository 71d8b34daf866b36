"""Problems with integers, steps, options and boolean parameters, each with its minimum.

None is separable: options move the basins of the real parameters, integers deform them, and boolean parameters
interact. A comment at each problem gives the source of its minimum, which the tests verify.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from dale._arrays import Matrix, Vector
from dale.space.choice import Choice
from dale.space.float import Float
from dale.space.int import Int
from dale.space.space import Space
from dale_bench.functions.development import ackley_function
from dale_bench.functions.function import random_rotation, stream
from dale_bench.problems.problem import Problem

Named = Mapping[str, Any]

# Option of `basins` -> location of its basin along x, its minimum, its best n, and the shift along y per n.
BASINS = {"a": (0.2, 0.3, 3, 0.05), "b": (0.7, 0.1, 8, 0.02), "c": (0.5, 0.0, 6, 0.07), "d": (0.9, 0.4, 1, 0.09)}


def basins(p: Named) -> float:
    """An option selects a curved basin, and an integer shifts it. Each term but the first is nonnegative."""
    x, depth, n, shift = BASINS[p["option"]]
    u = p["x"] - x
    v = p["y"] - 0.3 - shift * p["n"] - 2 * u**2
    return float(depth + 3 * u**2 + 20 * v**2 + 0.02 * (p["n"] - n) ** 2)


INTEGERS = 5
CENTER = np.array([3.3, 16.6, 8.45, 12.2, 5.7])
WEIGHTS = 10.0 ** np.linspace(-2, 1, INTEGERS)  # condition 1000
ROTATION = random_rotation(stream(5, "integers"), INTEGERS)


def integer_quadratic(points: Matrix) -> Vector:
    """An ill-conditioned, rotated quadratic (..., 5) -> (...). Its center is not an integer point."""
    return np.asarray(np.sum(WEIGHTS * ((points - CENTER) @ ROTATION.T) ** 2, axis=-1))


def integers(p: Named) -> float:
    """The quadratic at five integers."""
    return float(integer_quadratic(np.array([p[f"k{i}"] for i in range(INTEGERS)], dtype=float)))


RIDGE_POINTS = 60


@lru_cache
def _ridge_data() -> tuple[Matrix, Vector]:
    """Points in the square [-1, 1]^2 and noisy values of a function there."""
    rng = stream(1, "kernel_ridge")
    X = rng.uniform(-1, 1, (RIDGE_POINTS, 2))
    y = np.sin(4 * X[:, 0] + X[:, 1] ** 2) + X[:, 0] * X[:, 1] + 0.1 * rng.standard_normal(RIDGE_POINTS)
    return X, y - y.mean()


def kernel_ridge(p: Named) -> float:
    """Log10 of the leave-one-out root mean square error of kernel ridge regression.

    The linear kernel has no gamma and no degree, the Gaussian and the exponential kernel have no degree.
    """
    X, y = _ridge_data()
    gamma, inner = p["gamma"], X @ X.T
    squares = np.maximum(np.diag(inner)[:, None] + np.diag(inner) - 2 * inner, 0.0)
    kernels: dict[str, Callable[[], Matrix]] = {
        "linear": lambda: inner,
        "polynomial": lambda: (1 + gamma * inner) ** p["degree"],
        "gaussian": lambda: np.exp(-gamma * squares),
        "exponential": lambda: np.exp(-gamma * np.sqrt(squares)),
    }
    G = np.linalg.inv(kernels[p["kernel"]]() + p["ridge"] * np.eye(len(X)))
    return float(np.log10(np.sqrt(np.mean((G @ y / np.diag(G)) ** 2))))


SWITCHES = 6
_DRAWN = stream(2, "switches")
LINEAR = _DRAWN.uniform(-1, 1, SWITCHES)  # contribution of each switch
PAIRWISE = np.triu(_DRAWN.uniform(-1.5, 1.5, (SWITCHES, SWITCHES)), 1)  # contribution of each pair
SHIFT = _DRAWN.uniform(-0.08, 0.08, (2, SWITCHES))  # of the basin in x and y, which stays within [0, 1]


def switches(p: Named) -> float:
    """Six switches that interact in pairs and move a narrow basin in x and y."""
    on = np.array([p[f"s{i}"] for i in range(SWITCHES)], dtype=float)
    u, v = np.array([p["x"], p["y"]]) - 0.5 - SHIFT @ on
    return float(LINEAR @ on + on @ PAIRWISE @ on + 8 * (u + v) ** 2 + 80 * (u - v) ** 2)


ACKLEY_PLACE = np.array([3.0, -2.0, 1.0, 1.37, -2.21])
ACKLEY_ROTATION = random_rotation(stream(3, "ackley_mixed"), 5)


def ackley_mixed(p: Named) -> float:
    """Ackley's function of three integers and two real numbers, moved and rotated: nowhere negative, 0 at its place."""
    x = np.array([p["i"], p["j"], p["k"], p["x"], p["y"]], dtype=float)
    return float(ackley_function(ACKLEY_ROTATION @ (x - ACKLEY_PLACE)))


def rosenbrock_mixed(p: Named) -> float:
    """Rosenbrock's function of i/5, x, j/5, y: a curved valley cut by integers; 0 if all are 1."""
    x = np.array([p["i"] / 5, p["x"], p["j"] / 5, p["y"]])
    return float(np.sum(10 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2))


THICKNESS = 0.0625  # inches; the step of plate thicknesses


def vessel_cost(shell: float, head: float, radius: float, length: float) -> float:
    """Cost of a pressure vessel with hemispherical heads, in thousands."""
    return (
        0.6224 * shell * radius * length
        + 1.7781 * head * radius**2
        + 3.1661 * shell**2 * length
        + 19.84 * shell**2 * radius
    ) / 1000


def vessel_constraints(shell: float, head: float, radius: float, length: float) -> Vector:
    """Constraints on the thickness of shell and head and on the volume, each satisfied if at most 0."""
    volume = np.pi * radius**2 * length + 4 / 3 * np.pi * radius**3
    return np.array([0.0193 * radius - shell, 0.00954 * radius - head, 1 - volume / 1_296_000])


PENALTY = np.array([20.0, 20.0, 20.0])  # large enough that the minimum satisfies all constraints


def vessel_stepped(p: Named) -> float:
    """The cost with plates in steps of a sixteenth of an inch, plus penalties for violated constraints."""
    design = p["shell"], p["head"], p["radius"], p["length"]
    return float(vessel_cost(*design) + PENALTY @ np.maximum(vessel_constraints(*design), 0.0))


PLATES = Float(THICKNESS, 99 * THICKNESS, step=THICKNESS)

PROBLEMS = (
    Problem(
        "basins",
        Space(option=Choice(list(BASINS)), x=(0.0, 1.0), y=(0.0, 1.0), n=Int(0, 10)),
        basins,
        0.0,  # each term is at least 0
        {"option": "c", "x": 0.5, "y": 0.72, "n": 6},
        60,
        "an option selects a curved basin in x and y, and an integer shifts it",
    ),
    Problem(
        "integers",
        Space({f"k{i}": Int(0, 20) for i in range(INTEGERS)}),
        integers,
        0.21068706166467022,  # the minimum over all 21^5 points
        {"k0": 3, "k1": 18, "k2": 9, "k3": 9, "k4": 4},
        80,
        "a rotated quadratic with condition number 1000 in five integers, centered between them",
    ),
    Problem(
        "kernel_ridge",
        Space(
            kernel=Choice(["linear", "polynomial", "gaussian", "exponential"]),
            degree=Int(1, 5),
            gamma=Float(1e-3, 1e2, log=True),
            ridge=Float(1e-4, 1e2, log=True),
        ),
        kernel_ridge,
        -0.9067622009941245,  # the best result of Nelder-Mead searches from a grid, for each kernel and degree
        {"kernel": "gaussian", "degree": 3, "gamma": 1.157428777, "ridge": 0.005687507},
        60,
        "log10 of the cross-validated error of kernel ridge regression: kernel, degree, gamma and ridge",
    ),
    Problem(
        "switches",
        Space({f"s{i}": Choice([False, True]) for i in range(SWITCHES)}, x=(0.0, 1.0), y=(0.0, 1.0)),
        switches,
        -3.5979395537396535,  # the best of the 64 settings; the part of x and y can always be 0
        {f"s{i}": i in (0, 1, 4, 5) for i in range(SWITCHES)}
        | dict(zip("xy", (0.5 + SHIFT[:, [0, 1, 4, 5]].sum(axis=1)).tolist(), strict=True)),
        60,
        "six switches that interact in pairs and move a narrow basin in x and y",
    ),
    Problem(
        "ackley_mixed",
        Space(i=Int(-8, 8), j=Int(-8, 8), k=Int(-8, 8), x=(-8.0, 8.0), y=(-8.0, 8.0)),
        ackley_mixed,
        0.0,
        dict(zip("ijkxy", (3, -2, 1, 1.37, -2.21), strict=True)),
        80,
        "Ackley's function of three integers and two real numbers, moved and rotated",
    ),
    Problem(
        "rosenbrock_mixed",
        Space(i=Int(-10, 10), x=(-2.0, 2.0), j=Int(-10, 10), y=(-2.0, 2.0)),
        rosenbrock_mixed,
        0.0,
        {"i": 5, "x": 1.0, "j": 5, "y": 1.0},
        80,
        "Rosenbrock's function with two coordinates in steps of a fifth",
    ),
    Problem(
        "vessel_stepped",
        Space({"shell": PLATES, "head": PLATES, "radius": (10.0, 200.0), "length": (10.0, 200.0)}),
        vessel_stepped,
        6.059714335048436,  # the best of searches along radius and length, for each pair of plates
        {"shell": 0.8125, "head": 0.4375, "radius": 0.8125 / 0.0193, "length": 176.63659584243945},
        80,
        "cost of a pressure vessel, plates in sixteenths of an inch, constraints as penalties",
        source="Sandgren (1990); best known 6059.714",
    ),
)
