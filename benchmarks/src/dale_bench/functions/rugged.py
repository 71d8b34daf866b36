"""The other half of the development set: ill-conditioned functions, and functions with steps, kinks or noise.

A method that is tuned on smooth functions relies too much on polynomials, so decisions must not be based on smooth
functions only. If there is no standard choice, the minimiser o (in the central part of the box) and the rotation R are
drawn from the seed; z = R (x - o).
"""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from dale._arrays import Matrix, Vector
from dale_bench.functions.function import CENTRAL, Families, Fixed, Function, cube, random_rotation, stream
from dale_bench.functions.paper import SURJANOVIC, hart3

PLATEAU_SHARE = 0.9


@dataclass(frozen=True)
class Ellipsoid:
    """sum_i condition^(i/(d-1)) z_i^2."""

    origin: Vector
    rotation: Matrix
    condition: float

    def __call__(self, x: Vector) -> Vector:
        """Values at points x."""
        z = (x - self.origin) @ self.rotation.T
        return np.asarray(np.sum(weights(z.shape[-1], self.condition) * z**2, axis=-1))


@dataclass(frozen=True)
class Ridges:
    """sum_i 10^(i/(d-1)) |z_i|: a kink along each of d planes that intersect in the minimiser."""

    origin: Vector
    rotation: Matrix

    def __call__(self, x: Vector) -> Vector:
        """Values at points x."""
        z = (x - self.origin) @ self.rotation.T
        return np.asarray(np.sum(weights(z.shape[-1], 10.0) * np.abs(z), axis=-1))


@dataclass(frozen=True)
class Steps:
    """sum_i floor(|z_i| + 1/2)^2 + z_i^2 / 100: terraces with a small slope and jumps of 1, 3, 5 ... between them."""

    origin: Vector
    rotation: Matrix

    def __call__(self, x: Vector) -> Vector:
        """Values at points x."""
        z = (x - self.origin) @ self.rotation.T
        return np.asarray(np.sum(np.floor(np.abs(z) + 0.5) ** 2 + z**2 / 100, axis=-1))


@dataclass(frozen=True)
class Crater:
    """min(1, |x - o|^2 / r^2): a quadratic basin in a plateau."""

    origin: Vector
    radius: float

    def __call__(self, x: Vector) -> Vector:
        """Values at points x."""
        return np.asarray(np.minimum(1.0, np.sum((x - self.origin) ** 2, axis=-1) / self.radius**2))


def weights(d: int, condition: float) -> Vector:
    """Weights from 1 to `condition`, equally spaced in the logarithm."""
    return np.asarray(condition ** (np.arange(d) / max(d - 1, 1)))


def rastrigin_function(x: Vector) -> Vector:
    """A quadratic plus cosines of amplitude 10; nowhere negative. 1 - cos = 2 sin^2 is accurate near the minimum."""
    return np.asarray(np.sum(x**2 + 20 * np.sin(np.pi * x) ** 2, axis=-1))


def schwefel_function(x: Vector) -> Vector:
    """The best basin is close to a corner, far from the second best. Unbounded below outside the box."""
    return np.asarray(np.sum(418.98288727243371 - x * np.sin(np.sqrt(np.abs(x))), axis=-1))


def ellipsoid(suffix: str, decades: int, d: int, seed: int) -> Function:
    """`ellipsoid<d>` with a suffix: condition number 10^decades, rotated."""
    name = f"ellipsoid{d}{suffix}"
    formula = f"sum 10^({decades} i/(d-1)) z_i^2, z = R (x - o)"
    true = Ellipsoid(*_frame(d, seed, name), condition=10.0**decades)
    return _rotated(name, true, formula, "after Hansen et al. (2009), INRIA RR-6829, f10", smooth=True)


def ridge(d: int, seed: int) -> Function:
    """`ridge<d>`."""
    true = Ridges(*_frame(d, seed, f"ridge{d}"))
    return _rotated(f"ridge{d}", true, "sum 10^(i/(d-1)) |z_i|, z = R (x - o)", "dale", smooth=False)


def steps(d: int, seed: int) -> Function:
    """`step<d>`."""
    formula = "sum floor(|z_i| + 1/2)^2 + z_i^2 / 100, z = R (x - o)"
    source = "after De Jong (1975), PhD thesis, University of Michigan, F3"
    return _rotated(f"step{d}", Steps(*_frame(d, seed, f"step{d}")), formula, source, smooth=False)


def rastrigin(d: int, seed: int) -> Function:
    """`rastrigin<d>`; its minimiser is the center of the usual box."""
    formula = "10 d + sum x^2 - 10 cos(2 pi x)"
    source = f"Rastrigin (1974), Systems of Extremal Control; {SURJANOVIC}"
    box = cube(d, -5.12, 5.12)
    return Function(f"rastrigin{d}", *box, rastrigin_function, 0.0, np.zeros((1, d)), formula, source)


def schwefel(d: int, seed: int) -> Function:
    """`schwefel<d>`."""
    formula = "418.9828872724337 d - sum x sin(sqrt|x|)"
    source = f"Schwefel (1981), Numerical Optimization of Computer Models; {SURJANOVIC}"
    minimiser, box = np.full((1, d), 420.968746359982), cube(d, -500, 500)
    # |x|^(3/2) near 0: differentiable only once on the planes x_i = 0
    return Function(
        f"schwefel{d}", *box, schwefel_function, 0.0, minimiser, formula, source, smooth=False, entire=False
    )


def plateau2(seed: int) -> Function:
    """`plateau2`: constant over 90 % of the box."""
    radius = float(np.sqrt((1 - PLATEAU_SHARE) / np.pi))  # 0.178: the basin is inside the box
    origin = stream(seed, "plateau2").uniform(*CENTRAL, size=2)
    formula = "min(1, |x - o|^2 / r^2), pi r^2 = 0.1"
    true = Crater(origin, radius)
    return Function("plateau2", *cube(2, 0, 1), true, 0.0, origin[None], formula, "dale", smooth=False)


def noisy(name: str, percent: int, seed: int) -> Function:
    """Hartmann-3 with noise. The noise std is a percentage of the range (from the minimum to 0)."""
    base = hart3(seed)
    formula = f"{base.formula}, plus N(0, sigma^2), sigma = {percent} % of the range"
    return replace(base, name=name, formula=formula, noise=percent / 100 * abs(base.minimum))


def _frame(d: int, seed: int, name: str) -> tuple[Vector, Matrix]:
    rng = stream(seed, name)
    return -5 + 10 * rng.uniform(*CENTRAL, size=d), random_rotation(rng, d)


def _rotated(name: str, true: Ellipsoid | Ridges | Steps, formula: str, source: str, *, smooth: bool) -> Function:
    box = cube(len(true.origin), -5, 5)
    return Function(name, *box, true, 0.0, true.origin[None], formula, source, smooth=smooth)


def step(seed: int) -> Function:
    """`step`: `step3`."""
    return replace(steps(3, seed), name="step")


FIXED: Fixed = {
    "step": step,
    "noisy": partial(noisy, "noisy", 5),
    "noisy20": partial(noisy, "noisy20", 20),
    "plateau2": plateau2,
}
FAMILIES: Families = {
    "ellipsoid<d>": (partial(ellipsoid, "", 6), 2),
    "ellipsoid<d>_1e4": (partial(ellipsoid, "_1e4", 4), 2),
    "step<d>": (steps, 1),
    "ridge<d>": (ridge, 1),
    "rastrigin<d>": (rastrigin, 1),
    "schwefel<d>": (schwefel, 1),
}
