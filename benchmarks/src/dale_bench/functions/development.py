"""The classical half of the development set: smooth functions, most of them with many local minima.

Constants were computed with 40 digits. If a formula is provably nowhere below its minimum, even outside its box, the
docstring gives the reason; the variants (moved, rotated) depend on it.
"""

from functools import lru_cache

import numpy as np
from scipy.optimize import minimize_scalar

from dale._arrays import Vector
from dale_bench.functions.function import Families, Fixed, Function, cube
from dale_bench.functions.paper import SURJANOVIC


def six_hump_camel(x: Vector) -> Vector:
    """A polynomial that grows in all directions; all its minima are in the box."""
    a, b = x[..., 0] ** 2, x[..., 1] ** 2
    return np.asarray((4 - 2.1 * a + a**2 / 3) * a + x[..., 0] * x[..., 1] + (4 * b - 4) * b)


def goldstein_price(x: Vector) -> Vector:
    """With s = x + y, t = 2 x - 3 y, a product of two polynomials, the first >= 1 and the second >= 3 everywhere."""
    s, t = x[..., 0] + x[..., 1], 2 * x[..., 0] - 3 * x[..., 1]
    return np.asarray((1 + (s + 1) ** 2 * (19 - 14 * s + 3 * s**2)) * (30 + t**2 * (18 - 16 * t + 3 * t**2)))


def styblinski_tang(x: Vector) -> Vector:
    """A sum of quartics of one variable each."""
    return np.asarray(np.sum(x**4 - 16 * x**2 + 5 * x, axis=-1) / 2)


def levy_function(x: Vector) -> Vector:
    """A sum of squares with factors of sines; nowhere negative."""
    w = 1 + (x - 1) / 4
    head, last = w[..., :-1], w[..., -1]
    middle = np.sum((head - 1) ** 2 * (1 + 10 * np.sin(np.pi * head + 1) ** 2), axis=-1)
    return np.asarray(np.sin(np.pi * w[..., 0]) ** 2 + middle + (last - 1) ** 2 * (1 + np.sin(2 * np.pi * last) ** 2))


SHEKEL_WIDTHS = 0.1 * np.array([1, 2, 2, 4, 4, 6, 3, 7, 5, 5])
SHEKEL_PAIRS = np.array([[4, 4], [1, 1], [8, 8], [6, 6], [3, 7], [2, 9], [5, 3], [8, 1], [6, 2], [7, 3.6]])
SHEKEL_CENTRES = np.hstack([SHEKEL_PAIRS, SHEKEL_PAIRS])  # (10, 4)


def shekel(x: Vector) -> Vector:
    """Ten narrow wells with all centers in the box, so that values outside are higher."""
    squares = np.sum((x[..., None, :] - SHEKEL_CENTRES) ** 2, axis=-1)  # (..., 10)
    return np.asarray(-np.sum(1 / (squares + SHEKEL_WIDTHS), axis=-1))


def ackley_function(x: Vector) -> Vector:
    """A funnel with ripples; nowhere negative, with a cone at its minimum."""
    root = np.sqrt(np.mean(x**2, axis=-1))
    return np.asarray(-20 * np.expm1(-0.2 * root) + np.e - np.exp(np.mean(np.cos(2 * np.pi * x), axis=-1)))


def griewank_function(x: Vector) -> Vector:
    """A wide quadratic with small ripples; nowhere negative."""
    roots = np.sqrt(np.arange(1, x.shape[-1] + 1))
    return np.asarray(np.sum(x**2, axis=-1) / 4000 + 1 - np.prod(np.cos(x / roots), axis=-1))


def michalewicz_function(x: Vector) -> Vector:
    """A plateau with narrow valleys along the coordinates; outside the box there are deeper ones."""
    i = np.arange(1, x.shape[-1] + 1)
    return np.asarray(-np.sum(np.sin(x) * np.sin(i * x**2 / np.pi) ** 20, axis=-1))


@lru_cache
def michalewicz_coordinate(i: int) -> tuple[float, float]:
    """Minimiser and minimum of the i-th term. The function is separable, so d one-dimensional searches solve it."""

    def term(x: Vector) -> Vector:
        return np.asarray(-np.sin(x) * np.sin(i * x**2 / np.pi) ** 20)

    grid = np.linspace(0, np.pi, 2000 * (i + 1))
    k = int(np.argmin(term(grid)))
    found = minimize_scalar(term, bounds=(grid[k - 1], grid[k + 1]), method="bounded", options={"xatol": 1e-12})
    return float(found.x), float(found.fun)


def camel6(seed: int) -> Function:
    """`camel6`."""
    x = np.array([0.08984201310031806, -0.7126564030207396])
    formula = "(4 - 2.1 x^2 + x^4 / 3) x^2 + x y + (4 y^2 - 4) y^2"
    source = f"Dixon & Szegoe (1978), Towards Global Optimization 2; {SURJANOVIC}"
    box = np.array([-3.0, -2.0]), np.array([3.0, 2.0])
    return Function("camel6", *box, six_hump_camel, -1.0316284534898774, np.array([x, -x]), formula, source)


def goldstein(seed: int) -> Function:
    """`goldstein`."""
    formula = "(1 + (s + 1)^2 (19 - 14 s + 3 s^2)) (30 + t^2 (18 - 16 t + 3 t^2)), s = x + y, t = 2 x - 3 y"
    source = f"Goldstein & Price (1971), Math. Comp. 25:569; {SURJANOVIC}"
    return Function("goldstein", *cube(2, -2, 2), goldstein_price, 3.0, np.array([[0.0, -1.0]]), formula, source)


def stybtang(d: int, seed: int) -> Function:
    """`stybtang<d>`."""
    minimiser, minimum = np.full((1, d), -2.903534027771177), -39.166165703771415 * d
    source = f"Styblinski & Tang (1990), Neural Networks 3:467; {SURJANOVIC}"
    box = cube(d, -5, 5)
    return Function(f"stybtang{d}", *box, styblinski_tang, minimum, minimiser, "sum x^4 - 16 x^2 + 5 x, halved", source)


def levy(d: int, seed: int) -> Function:
    """`levy<d>`."""
    formula = (
        "sin^2(pi w_1) + sum (w_i - 1)^2 (1 + 10 sin^2(pi w_i + 1)) + (w_d - 1)^2 (1 + sin^2(2 pi w_d)), w = (x+3)/4"
    )
    source = f"Laguna & Marti (2005), J. Global Optim. 33:235; {SURJANOVIC}"
    return Function(f"levy{d}", *cube(d, -10, 10), levy_function, 0.0, np.ones((1, d)), formula, source)


def shekel10(seed: int) -> Function:
    """`shekel10`."""
    minimiser = np.array([[4.000746868270634, 3.9995094800857736, 4.000746868270634, 3.9995094800857736]])
    formula = "-sum over 10 wells of 1 / (|x - c|^2 + b)"
    source = f"Shekel (1971), 5th Princeton Conf.; {SURJANOVIC}"
    return Function("shekel10", *cube(4, 0, 10), shekel, -10.536443153483528, minimiser, formula, source)


def ackley(d: int, seed: int) -> Function:
    """`ackley<d>`."""
    formula = "20 (1 - exp(-0.2 |x| / sqrt d)) + e - exp(mean cos 2 pi x)"
    source = f"Ackley (1987), A Connectionist Machine; {SURJANOVIC}"
    box = cube(d, -5, 10)
    return Function(f"ackley{d}", *box, ackley_function, 0.0, np.zeros((1, d)), formula, source, smooth=False)


def griewank(d: int, seed: int) -> Function:
    """`griewank<d>`; its minimiser is the center of the usual box."""
    formula = "|x|^2 / 4000 + 1 - prod cos(x_i / sqrt i)"
    source = f"Griewank (1981), J. Optim. Theory Appl. 34:11; {SURJANOVIC}"
    return Function(f"griewank{d}", *cube(d, -600, 600), griewank_function, 0.0, np.zeros((1, d)), formula, source)


def michalewicz(d: int, seed: int) -> Function:
    """`michalewicz<d>`, steepness m = 10."""
    best = [michalewicz_coordinate(i) for i in range(1, d + 1)]
    minimiser, minimum = np.array([[x for x, _ in best]]), sum(value for _, value in best)
    formula = "-sum sin(x_i) sin^20(i x_i^2 / pi)"
    source = f"Michalewicz (1992), Genetic Algorithms + Data Structures; {SURJANOVIC}"
    box = cube(d, 0, np.pi)
    return Function(f"michalewicz{d}", *box, michalewicz_function, minimum, minimiser, formula, source, entire=False)


FIXED: Fixed = {"camel6": camel6, "goldstein": goldstein, "shekel10": shekel10}
FAMILIES: Families = {
    "stybtang<d>": (stybtang, 1),
    "levy<d>": (levy, 1),
    "ackley<d>": (ackley, 1),
    "griewank<d>": (griewank, 1),
    "michalewicz<d>": (michalewicz, 1),
}
