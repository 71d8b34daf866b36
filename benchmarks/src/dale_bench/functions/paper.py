"""The functions of Sec. 4 of Wabersich & Toussaint (2016): quadratic, Rosenbrock, Branin-Hoo, Hartmann, exponential.

The paper prints the exponential as 1 - exp(x'Cx), which falls to -3e37 in the corners. It must be 1 - exp(-x'Cx), here
`exp<d>_paper`. The name `exp<d>` stands for the Gaussian 1 - exp(-x'Cx/2), the form of published regret curves of other
optimizers. The paper gives neither the dimension nor the box of Rosenbrock's function: `rosen2` and `rosen2_small` have
the two usual boxes.
"""

from dataclasses import dataclass, replace

import numpy as np

from dale._arrays import Vector
from dale_bench.functions.function import Families, Fixed, Function, cube

WABERSICH = "Wabersich & Toussaint, arXiv 1612.03117, Sec. 4"
SURJANOVIC = "Surjanovic & Bingham, Virtual Library of Simulation Experiments"


def sum_of_squares(x: Vector) -> Vector:
    """x'x."""
    return np.asarray(np.sum(x**2, axis=-1))


def rosenbrock(x: Vector) -> Vector:
    """A curved, narrow valley."""
    head, tail = x[..., :-1], x[..., 1:]
    return np.asarray(np.sum(100 * (tail - head**2) ** 2 + (1 - head) ** 2, axis=-1))


def branin_hoo(x: Vector) -> Vector:
    """A parabolic valley with a cosine along it: (y - p(x))^2 + 10 (1 - t) cos x + 10 >= 10 t everywhere."""
    first, second = x[..., 0], x[..., 1]
    t = 1 / (8 * np.pi)
    bend = second - 5.1 / (4 * np.pi**2) * first**2 + 5 / np.pi * first - 6
    return np.asarray(bend**2 + 10 * (1 - t) * np.cos(first) + 10)


@dataclass(frozen=True)
class Bell:
    """1 - exp(-factor x'Cx), C = diag(10^(i/(d-1))), i = 0 .. d-1 (C = 1 for d = 1)."""

    factor: float

    def __call__(self, x: Vector) -> Vector:
        """Values at points x."""
        d = x.shape[-1]
        C = 10.0 ** (np.arange(d) / max(d - 1, 1))
        return np.asarray(-np.expm1(-self.factor * np.sum(C * x**2, axis=-1)))  # expm1 is accurate near the minimum


HARTMANN_WEIGHTS = np.array([1.0, 1.2, 3.0, 3.2])
HARTMANN_3 = (
    np.array([[3.0, 10.0, 30.0], [0.1, 10.0, 35.0], [3.0, 10.0, 30.0], [0.1, 10.0, 35.0]]),
    1e-4 * np.array([[3689, 1170, 2673], [4699, 4387, 7470], [1091, 8732, 5547], [381, 5743, 8828]]),
)
HARTMANN_6 = (
    np.array(
        [
            [10.0, 3.0, 17.0, 3.5, 1.7, 8.0],
            [0.05, 10.0, 17.0, 0.1, 8.0, 14.0],
            [3.0, 3.5, 1.7, 10.0, 17.0, 8.0],
            [17.0, 8.0, 0.05, 10.0, 0.1, 14.0],
        ]
    ),
    1e-4
    * np.array(
        [
            [1312, 1696, 5569, 124, 8283, 5886],
            [2329, 4135, 8307, 3736, 1004, 9991],
            [2348, 1451, 3522, 2883, 3047, 6650],
            [4047, 8828, 8732, 5743, 1091, 381],
        ]
    ),
)


def hartmann(x: Vector) -> Vector:
    """Four Gaussian wells, d = 3 or 6. All centers are in the unit cube, so values outside are higher."""
    A, P = HARTMANN_3 if x.shape[-1] == 3 else HARTMANN_6  # (4, d)
    exponents = np.sum(A * (x[..., None, :] - P) ** 2, axis=-1)  # (..., 4)
    return np.asarray(-np.exp(-exponents) @ HARTMANN_WEIGHTS)


def quadratic(d: int, seed: int) -> Function:
    """`quad<d>`."""
    return Function(f"quad{d}", *cube(d, -2, 2), sum_of_squares, 0.0, np.zeros((1, d)), "x'x", WABERSICH)


def exponential(d: int, seed: int) -> Function:
    """`exp<d>`, with the factor 1/2."""
    formula = "1 - exp(-x'Cx / 2), C = diag(10^(i/(d-1)))"
    return Function(f"exp{d}", *cube(d, -2, 2), Bell(0.5), 0.0, np.zeros((1, d)), formula, WABERSICH)


def exponential_paper(d: int, seed: int) -> Function:
    """`exp<d>_paper`, without the factor 1/2."""
    formula = "1 - exp(-x'Cx), C = diag(10^(i/(d-1)))"
    return replace(exponential(d, seed), name=f"exp{d}_paper", true=Bell(1.0), formula=formula)


def rosen(d: int, seed: int) -> Function:
    """`rosen<d>`, d >= 2."""
    formula = "sum 100 (x[i+1] - x[i]^2)^2 + (1 - x[i])^2"
    source = f"Rosenbrock (1960), Computer J. 3:175; {SURJANOVIC}"
    return Function(f"rosen{d}", *cube(d, -5, 10), rosenbrock, 0.0, np.ones((1, d)), formula, source)


def rosen2_small(seed: int) -> Function:
    """`rosen2_small`: the small box."""
    low, high = cube(2, -2.048, 2.048)
    return replace(rosen(2, seed), name="rosen2_small", low=low, high=high)


def branin(seed: int) -> Function:
    """`branin`."""
    return Function(
        name="branin",
        low=np.array([-5.0, 0.0]),
        high=np.array([10.0, 15.0]),
        true=branin_hoo,
        minimum=10 / (8 * np.pi),
        minimisers=np.array([[-np.pi, 12.275], [np.pi, 2.275], [3 * np.pi, 2.475]]),
        formula="(y - 5.1 x^2 / (4 pi^2) + 5 x / pi - 6)^2 + 10 (1 - 1 / (8 pi)) cos x + 10",
        source=f"Branin (1972), IBM J. Res. Dev. 16:504; {SURJANOVIC}",
    )


def hart3(seed: int) -> Function:
    """`hart3`."""
    minimiser = [[0.11458887665506897, 0.5556488946169301, 0.8525469846866775]]
    return _hartmann("hart3", -3.8627797873326626, minimiser)


def hart6(seed: int) -> Function:
    """`hart6`."""
    minimiser = [[0.20168951100670542, 0.15001069182345797, 0.476873974221897]]
    minimiser[0] += [0.27533243049405607, 0.31165161660011324, 0.6573005340656203]
    return _hartmann("hart6", -3.3223680114155148, minimiser)


def _hartmann(name: str, minimum: float, minimiser: list[list[float]]) -> Function:
    formula = "-sum_i a_i exp(-sum_j A_ij (x_j - P_ij)^2), four terms"
    source = f"Hartman (1972), Naval Postgraduate School; {SURJANOVIC}"
    box = cube(len(minimiser[0]), 0, 1)
    return Function(name, *box, hartmann, minimum, np.array(minimiser), formula, source)


FIXED: Fixed = {"rosen2_small": rosen2_small, "branin": branin, "hart3": hart3, "hart6": hart6}
FAMILIES: Families = {
    "quad<d>": (quadratic, 1),
    "exp<d>": (exponential, 1),
    "exp<d>_paper": (exponential_paper, 1),
    "rosen<d>": (rosen, 2),
}
