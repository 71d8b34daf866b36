"""The objectives of Fig. 2 of Wabersich & Toussaint (2016): samples of a GP in 2-D, with and without quadratic regions.

A sample has zero mean, unit variance and the squared-exponential kernel with length-scale l on [0, 1]^2. In one
dimension, this kernel repeated with period P is a cosine series with positive coefficients,

    k(x - x') = sum_j c_j cos(2 pi j (x - x') / P),    c_j = sqrt(2 pi) (l / P) exp(-(2 pi j l / P)^2 / 2),

so f(x) = a(x_1)' W a(x_2) is an exact sample: a contains sqrt(c_j) times cosines and sines, and W independent standard
normals. With P = 1 + 8 l, opposite faces have a correlation of e^-32. Terms with c_j < 1e-17 are omitted. Unlike random
Fourier features, this has no sampling error, and a grid of 400^2 points takes three small matrix products.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.ndimage import minimum_filter
from scipy.optimize import minimize

from dale._arrays import Matrix, Vector
from dale_bench.functions.function import Fixed, Function, cube, stream
from dale_bench.functions.paper import WABERSICH

GRID = 400  # points along each side in the search for the minimum
REFINED = 5  # number of local minima of the grid that are refined
REGIONS = 3
INNER, OUTER = 0.12, 0.17  # radii: quadratic inside the first, the sample itself outside the second
BELOW, APART = 0.25, 0.5  # of the minima: depth of the lowest below the sample, and differences between them


@dataclass(frozen=True)
class Sample:
    """A sample of the GP, a(x_1)' W a(x_2)."""

    length_scale: float
    weights: Matrix  # W

    def __call__(self, x: Vector) -> Vector:
        """Values at points x."""
        rows, columns = features(x[..., 0], self.length_scale), features(x[..., 1], self.length_scale)
        return np.asarray(np.sum((rows @ self.weights) * columns, axis=-1))

    def on_grid(self, ticks: Vector) -> Matrix:
        """Values at all pairs of ticks, (len(ticks), len(ticks))."""
        a = features(ticks, self.length_scale)
        return np.asarray(a @ self.weights @ a.T)


@dataclass(frozen=True)
class WithRegions:
    """The sample with quadratics v_k + (x - c_k)' H_k (x - c_k) / 2 in disjoint balls, with a C2 transition."""

    sample: Sample
    centers: Matrix  # (k, 2)
    minima: Vector  # (k,)
    hessians: Vector  # (k, 2, 2)

    def __call__(self, x: Vector) -> Vector:
        """Values at points x."""
        value = self.sample(x)
        for c, v, H in zip(self.centers, self.minima, self.hessians, strict=True):
            z = x - c
            quadratic = v + np.sum((z @ H) * z, axis=-1) / 2
            t = np.clip((np.linalg.norm(z, axis=-1) - INNER) / (OUTER - INNER), 0, 1)
            share = 1 - t**3 * (10 - 15 * t + 6 * t**2)
            value = share * quadratic + (1 - share) * value
        return np.asarray(value)


def features(x: Vector, length_scale: float) -> Matrix:
    """a(x), (..., 2 J + 1)."""
    period = 1 + 8 * length_scale
    last = int(np.ceil(8.9 * period / (2 * np.pi * length_scale)))  # exp(-8.9^2 / 2) = 6e-18
    frequency = 2 * np.pi * np.arange(last + 1) / period
    c = np.sqrt(2 * np.pi) * length_scale / period * np.exp(-((frequency * length_scale) ** 2) / 2)
    c[1:] *= 2  # j and -j
    angle = np.asarray(x)[..., None] * frequency
    return np.concatenate([np.sqrt(c) * np.cos(angle), np.sqrt(c[1:]) * np.sin(angle[..., 1:])], axis=-1)


def draw(length_scale: float, rng: np.random.Generator) -> Sample:
    """A sample of the GP."""
    size = features(np.zeros(()), length_scale).size
    return Sample(length_scale, rng.standard_normal((size, size)))


@lru_cache(maxsize=64)
def gp_with_minimum(length_scale: float, seed: int) -> tuple[Sample, Vector, float]:
    """A sample, its minimiser and its minimum: L-BFGS-B from the best local minima of a grid."""
    sample = draw(length_scale, stream(seed, f"gp {length_scale}"))
    ticks = np.linspace(0, 1, GRID)
    values = sample.on_grid(ticks)
    basins = np.argwhere(values == minimum_filter(values, size=3, mode="nearest"))  # (k, 2)
    starts = ticks[basins[np.argsort(values[tuple(basins.T)])[:REFINED]]]
    options = {"ftol": 1e-16, "gtol": 1e-12}
    found = [minimize(sample, x, method="L-BFGS-B", bounds=[(0, 1)] * 2, options=options) for x in starts]
    best = min(found, key=lambda result: float(result.fun))
    return sample, np.asarray(best.x), float(sample(best.x))


def gp_l01(seed: int) -> Function:
    """`gp_l01` (Fig. 2a)."""
    sample, minimiser, minimum = gp_with_minimum(0.1, seed)
    formula = "a sample of a GP with zero mean, unit variance, SE kernel, l = 0.1"
    return Function("gp_l01", *cube(2, 0, 1), sample, minimum, minimiser[None], formula, WABERSICH, entire=False)


def gp_l005_quadratic(seed: int) -> Function:
    """`gp_l005_quadratic` (Fig. 2b)."""
    return _with_regions("gp_l005_quadratic", 0.05, seed)


def gp_l03_quadratic(seed: int) -> Function:
    """`gp_l03_quadratic` (Fig. 2e)."""
    return _with_regions("gp_l03_quadratic", 0.3, seed)


def _with_regions(name: str, length_scale: float, seed: int) -> Function:
    """The minimum is that of the lowest quadratic, which is below all values of the sample."""
    rng = stream(seed, name)
    sample = draw(length_scale, rng)
    lowest = float(np.min(sample.on_grid(np.linspace(0, 1, GRID))))
    centers = _disjoint_centers(rng)
    minima = min(lowest, -1.0) - BELOW + APART * np.arange(REGIONS, dtype=np.float64)
    hessians = []
    for v in minima:
        # at the radius the quadratic is about 0, the mean of the GP: -v = h r^2 / 2; the axes have different curvatures
        curvatures = 2 * max(-v, 0.5) / OUTER**2 * rng.uniform(0.5, 1.5, size=2)
        angle = rng.uniform(0, np.pi)
        R = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        hessians.append(R @ np.diag(curvatures) @ R.T)
    true = WithRegions(sample, centers, minima, np.array(hessians))
    formula = f"a sample of a GP with SE kernel, l = {length_scale}, with {REGIONS} quadratic regions inserted"
    box = cube(2, 0, 1)
    return Function(name, *box, true, float(minima[0]), centers[:1], formula, WABERSICH, entire=False)


def _disjoint_centers(rng: np.random.Generator) -> Matrix:
    """Centers of balls that touch neither each other nor the faces, by rejection (one draw in five is accepted)."""
    while True:
        centers = rng.uniform(OUTER, 1 - OUTER, size=(REGIONS, 2))
        gaps = np.linalg.norm(centers[:, None] - centers, axis=-1)[np.triu_indices(REGIONS, 1)]
        if np.all(gaps > 2 * OUTER):
            return centers


FIXED: Fixed = {"gp_l01": gp_l01, "gp_l005_quadratic": gp_l005_quadratic, "gp_l03_quadratic": gp_l03_quadratic}
