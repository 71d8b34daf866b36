"""What a test function is: a formula on a box, with its minimum, where that lies, and where it comes from.

A formula maps points (..., d) in the user's units to values (...): sums run over the last axis, so that one point and
10^5 points are the same call. Everything random about a function comes from `stream(seed, label)`: same seed, same
function. All formulas are module-level functions or frozen dataclasses, so that a `Function` can be sent to a process.
"""

import zlib
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy.stats import ortho_group

from dale._arrays import Matrix, Vector, frozen

Formula = Callable[[Vector], Vector]  # (..., d) -> (...), in the user's units

EVALUATIONS_PER_DIMENSION = 20  # the budget where no other is given
CENTRAL = 0.2, 0.8  # of each side of the box: where minimisers are drawn


class Noise:
    """Standard normal draws, each a function of the seed, the point and how often the point was asked before.

    So the order of evaluations changes no value, nor does taking a run up again (where points are counted afresh), and
    a repeated point gets a new draw.
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
        name: The name that `get` knows it by, variants included.
        lower: Lower ends of the box, (d,), in the user's units.
        upper: Upper ends of the box, (d,).
        true: The formula without noise, (..., d) -> (...); regret is measured on it.
        minimum: The least value of `true` on the box.
        minimisers: Points that attain it, (k, d), the first always one. A moved or rotated function may have more.
        formula: One line.
        source: Where it comes from.
        budget: Evaluations in the benchmark; 0 stands for 20 d.
        noise: Standard deviation of the noise that `fun` adds.
        smooth: Twice differentiable in the whole box.
        entire: The formula holds outside the box too and goes nowhere below the minimum there.
        searched: The minimum is the least value of a documented search, not a proven one.
        seed: The seed it was made with.
    """

    name: str
    lower: Vector
    upper: Vector
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
        set_ = object.__setattr__  # the dataclass is frozen: this is its constructor
        for name in ("lower", "upper", "minimisers"):
            set_(self, name, frozen(getattr(self, name)))
        set_(self, "budget", self.budget or EVALUATIONS_PER_DIMENSION * self.dimension)
        set_(self, "_noise", Noise(self.seed, self.name))

    @property
    def dimension(self) -> int:
        """The number d of coordinates."""
        return len(self.lower)

    @property
    def bounds(self) -> list[tuple[float, float]]:
        """The box as SciPy and `dale.minimize` take it."""
        return list(zip(self.lower.tolist(), self.upper.tolist(), strict=True))

    @property
    def centered(self) -> bool:
        """Whether the box center attains the minimum: methods that begin there deserve no praise for it."""
        return bool(self.true((self.lower + self.upper) / 2) <= self.minimum + 1e-12 * (1 + abs(self.minimum)))

    def fun(self, x: Vector) -> float:
        """The objective as an optimizer sees it: one point (d,), noise added where there is any."""
        x = np.asarray(x, dtype=np.float64)
        if x.shape != self.lower.shape:
            raise ValueError(f"{self.name} takes a point of {self.dimension} coordinates, got shape {x.shape}")
        value = float(self.true(x))
        return value + self.noise * self._noise.draw(x) if self.noise else value

    def from_cube(self, u: Vector) -> Vector:
        """Unit cube (..., d) to the user's units."""
        return self.lower + np.asarray(u, dtype=np.float64) * (self.upper - self.lower)

    def to_cube(self, x: Vector) -> Vector:
        """The user's units (..., d) to the unit cube."""
        return (np.asarray(x, dtype=np.float64) - self.lower) / (self.upper - self.lower)

    def on_cube(self) -> Callable[[Vector], float]:
        """The objective as a callable of one point u in [0, 1]^d."""
        return self._fun_on_cube

    def _fun_on_cube(self, u: Vector) -> float:
        return self.fun(self.from_cube(u))


Fixed = dict[str, Callable[[int], Function]]  # name -> builder, of the seed
Families = dict[str, tuple[Callable[[int, int], Function], int]]  # name -> builder, of d and the seed; least d


def stream(seed: int, label: str) -> np.random.Generator:
    """The generator of one purpose of one function: independent for every (seed, label), the same on every machine."""
    return np.random.default_rng(np.random.SeedSequence([seed, zlib.crc32(label.encode())]))


def random_rotation(rng: np.random.Generator, d: int) -> Matrix:
    """An orthogonal matrix, uniform over all of them (Haar); in one dimension, a sign."""
    return np.array([[rng.choice([-1.0, 1.0])]]) if d == 1 else np.asarray(ortho_group.rvs(d, random_state=rng))


def cube(d: int, low: float, high: float) -> tuple[Vector, Vector]:
    """The box [low, high]^d as (lower, upper)."""
    return np.full(d, low), np.full(d, high)
