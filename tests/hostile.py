"""Objectives that misbehave, and invariants that hold in every run.

``checked_run`` runs ``dale.minimize`` and checks each point at which the objective was called: it is finite, within the
bounds bit for bit, and not repeated, except to test for noise. It returns the result, so a test checks only what
is special about its objective.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

import dale
from dale.history.reason import Source
from dale_bench.functions import get

BRANIN, HART6 = get("branin"), get("hart6")


def checked_run(fun, space, budget, seed, *, noisy=False, **settings):
    """Run ``dale.minimize`` on ``fun``, which takes an array, and check the invariants.

    The space is a list of pairs or a mapping of names to ``dale.Float``. No noise may be detected unless the function
    is ``noisy``; then points may be proposed again, and the best need not have the lowest value.
    """
    points: list[np.ndarray] = []

    def recorded(params):
        x = np.array(list(params.values())) if isinstance(params, dict) else params
        points.append(np.array(x))
        return fun(x)

    result = dale.minimize(recorded, space, budget=budget, seed=seed, **settings)
    X = np.array(points)
    bounds = [(p.low, p.high) for p in space.values()] if isinstance(space, dict) else space
    low, high = np.array(bounds, dtype=float).T
    assert X.shape == (budget, len(bounds))
    assert result.nfev == budget
    assert np.isfinite(X).all()
    assert (low <= X).all()
    assert (high >= X).all()
    assert noisy or result.noise == 0, "noise was detected in a deterministic function"
    if result.noise == 0:
        replicates = sum(t.reason.source is Source.REPLICATE for t in result.history)
        assert replicates <= 2
        assert len(np.unique(X, axis=0)) == budget - replicates, "a point was proposed twice"
    assert result.success == (len(result.func_vals) > 0)
    if result.success:
        assert np.isfinite(result.fun)
        assert result.x.tolist() in X.tolist()
        assert result.noise > 0 or result.fun == min(result.func_vals)
    return result


@dataclass
class Sometimes:
    """``fun``, which returns ``spoil(value)`` instead of its value with this probability.

    Attributes:
        fun: The objective.
        spoil: Maps a value to what is returned instead.
        probability: Fraction of spoiled calls.
        seed: Seed that decides which calls are spoiled.
        spoiled: Number of spoiled calls so far.
    """

    fun: Any
    spoil: Any
    probability: float
    seed: int = 0
    spoiled: int = 0
    rng: np.random.Generator = field(init=False)

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.seed)

    def __call__(self, x: Any) -> Any:
        value = self.fun(x)
        if self.rng.random() >= self.probability:
            return value
        self.spoiled += 1
        return self.spoil(value)


def diverge(value):
    raise RuntimeError("the solver diverged")


NO_VALUES = {  # an evaluation that returns one of these fails
    "nan": lambda value: np.nan,
    "inf": lambda value: np.inf,
    "-inf": lambda value: -np.inf,
    "none": lambda value: None,
    "complex": lambda value: complex(value, 1.0),
    "complex without imaginary part": lambda value: complex(value),
    "str": lambda value: f"{value}",
    "bool": lambda value: value > 0,
    "nan in an array": lambda value: np.array([np.nan]),
    "nan as float32": lambda value: np.float32(np.nan),
    "empty": lambda value: [],
    "integer beyond the largest float": lambda value: 10**400,
    "masked": lambda value: np.ma.masked,
    "raises": diverge,
}

AS_VALUES = {  # unusual types that are accepted as values
    "float32": np.float32,
    "0-d array": np.array,
    "array of one": lambda value: np.array([value]),
    "matrix of one": lambda value: np.array([[value]], dtype=np.float32),
    "integer": round,
}


def constant(x):
    return 3.0


def step(x):
    """1 below a plane through the middle, 2 above: flat on both sides."""
    return 1.0 if np.sum(x) < 0.45 * len(x) else 2.0


def stairs(x):
    """Ten steps to each coordinate."""
    return float(np.sum(np.floor(10 * np.abs(x - 0.3))))


def plateau(x):
    """Flat on 90 % of the cube, a basin in the rest."""
    half = 0.5 * 0.1 ** (1 / len(x))
    return float(min(0.0, np.max(np.abs(x - 0.5)) / half - 1.0))


def zero_or_one(x):
    return int(np.sum((x - 0.3) ** 2) > 0.05 * len(x))


FLAT = {f.__name__: f for f in (constant, step, stairs, plateau, zero_or_one)}


def bowl(x):
    """Smooth, but not a polynomial; minimum 0 at 0.3 in each coordinate."""
    z = np.asarray(x) - 0.3
    return float(np.expm1(z @ z + 0.5 * np.sum(z[1:] * z[:-1])))


@dataclass(frozen=True)
class MinimumOnBoundary:
    """A smooth function with its minimum 0 at ``optimum`` on the boundary.

    Attributes:
        optimum: The minimum; a coordinate of 0 or 1 is on a face.
        slope: Derivative at the optimum along the inward normal of each such face.
    """

    optimum: tuple[float, ...]
    slope: float = 1.0

    def __call__(self, x: Any) -> float:
        c = np.array(self.optimum)
        z = np.asarray(x) - c
        inward = np.where(c == 0, z, np.where(c == 1, -z, 0.0))
        mixed = z + 0.3 * np.roll(z, 1)
        return float(np.expm1(0.5 * mixed @ mixed) + self.slope * np.sum(inward))
