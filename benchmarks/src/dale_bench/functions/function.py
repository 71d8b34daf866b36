"""A test function: a formula on a box, with its minimum, its minimisers and its source.

A formula maps points (..., d) in the user's units to values (...): sums run over the last axis, so that one point and
10^5 points are the same call. Everything random about a function is drawn from `stream(seed, label)`: same seed, same
function. All formulas are module-level functions or frozen dataclasses, so that a `Function` can be pickled.
"""

import zlib
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy.stats import ortho_group

from dale._arrays import Matrix, Vector, frozen

Formula = Callable[[Vector], Vector]  # (..., d) -> (...), in the user's units

EVALUATIONS_PER_DIMENSION = 20  # the default budget
CENTRAL = 0.2, 0.8  # of each side of the box; minimisers are drawn from this part


class Noise:
    """Standard normal draws that depend on the seed, the point and the number of earlier draws at the point.

    Values therefore do not depend on the order of evaluations, and a replicate gets a new draw. A resumed run counts
    from zero again.
    """

    def __init__(self, seed: int, label: str) -> None:
        self._label = f"{seed}:{label}"
        self._asked: dict[bytes, int] = {}

    def draw(self, x: Vector) -> float:
        """The next draw at the point x."""
        key = x.tobytes()
        count = self._asked.get(key, 0)
        self._asked[key] = count + 1
        entropy = [zlib.crc32(self._label.encode()), zlib.crc32(key), zlib.adler32(key), count]
        return float(np.random.default_rng(np.random.SeedSequence(entropy)).standard_normal())


@dataclass(frozen=True, eq=False)
class Function:
    """A test function.

    Attributes:
        name: The name for `get`, variants included.
        low: Lower bounds of the box, (d,), in the user's units.
        high: Upper bounds of the box, (d,).
        true: The formula without noise, (..., d) -> (...); regret is measured on it.
        minimum: The minimum of `true` on the box.
        minimisers: Points with this value, (k, d). A moved or rotated function may have more.
        formula: The formula in one line.
        source: The reference.
        budget: Evaluations in the benchmark; 0 means 20 d.
        noise: Standard deviation of the noise that `fun` adds.
        smooth: Whether it is twice differentiable in the whole box.
        entire: Whether the formula is valid outside the box too and nowhere below the minimum there.
        searched: Whether the minimum is the result of a documented search and not proven.
        seed: The seed.
    """

    name: str
    low: Vector
    high: Vector
    true: Formula
    minimum: float
    minimisers: Matrix
    formula: str
    source: str
    budget: int = 0
    noise: float = 0.0
    smooth: bool = True
    entire: bool = True
    searched: bool = False
    seed: int = 0
    _noise: Noise = field(init=False, repr=False)

    def __post_init__(self) -> None:
        set_ = object.__setattr__  # the constructor of a frozen dataclass
        for name in ("low", "high", "minimisers"):
            set_(self, name, frozen(getattr(self, name)))
        set_(self, "budget", self.budget or EVALUATIONS_PER_DIMENSION * self.dimension)
        set_(self, "_noise", Noise(self.seed, self.name))

    @property
    def dimension(self) -> int:
        """The number d of coordinates."""
        return len(self.low)

    @property
    def bounds(self) -> list[tuple[float, float]]:
        """The box as pairs, for SciPy and `dale.minimize`."""
        return list(zip(self.low.tolist(), self.high.tolist(), strict=True))

    @property
    def centered(self) -> bool:
        """Whether the center of the box is a minimiser, which favours methods that start there."""
        return bool(self.true((self.low + self.high) / 2) <= self.minimum + 1e-12 * (1 + abs(self.minimum)))

    def fun(self, x: Vector) -> float:
        """The objective at one point (d,), including noise if there is any."""
        x = np.asarray(x, dtype=np.float64)
        if x.shape != self.low.shape:
            raise ValueError(f"{self.name}: expected a point of {self.dimension} coordinates, got shape {x.shape}")
        value = float(self.true(x))
        return value + self.noise * self._noise.draw(x) if self.noise else value

    def from_cube(self, u: Vector) -> Vector:
        """Unit cube (..., d) to the user's units."""
        return self.low + np.asarray(u, dtype=np.float64) * (self.high - self.low)

    def to_cube(self, x: Vector) -> Vector:
        """The user's units (..., d) to the unit cube."""
        return (np.asarray(x, dtype=np.float64) - self.low) / (self.high - self.low)

    def on_cube(self) -> Callable[[Vector], float]:
        """The objective as a callable of one point u in [0, 1]^d."""
        return self._fun_on_cube

    def _fun_on_cube(self, u: Vector) -> float:
        return self.fun(self.from_cube(u))


Fixed = dict[str, Callable[[int], Function]]  # name -> builder (seed)
Families = dict[str, tuple[Callable[[int, int], Function], int]]  # name -> builder (d, seed), minimum of d


def stream(seed: int, label: str) -> np.random.Generator:
    """A random generator, independent for every (seed, label) and the same on every machine."""
    return np.random.default_rng(np.random.SeedSequence([seed, zlib.crc32(label.encode())]))


def random_rotation(rng: np.random.Generator, d: int) -> Matrix:
    """A uniformly distributed orthogonal matrix (Haar measure); in one dimension, a sign."""
    return np.array([[rng.choice([-1.0, 1.0])]]) if d == 1 else np.asarray(ortho_group.rvs(d, random_state=rng))


def cube(d: int, low: float, high: float) -> tuple[Vector, Vector]:
    """The box [low, high]^d as two vectors."""
    return np.full(d, low), np.full(d, high)
