"""Objectives that misbehave, and what every run must keep whatever they do.

``watched`` runs ``dale.minimize`` and looks at each point that the objective was called with: finite, within the bounds
bit for bit, none twice. It returns the result, so that a test says only what is special about its objective.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

import dale
from dale_bench.functions import get

BRANIN, HART6 = get("branin"), get("hart6")


def watched(fun, space, budget, seed, *, noisy=False, **settings):
    """A run on ``fun``, which takes an array, and the invariants of every run.

    The space is a list of pairs or a mapping of names to ``dale.Float``. A function that is not ``noisy`` is not
    said to be; of one that is, points may be asked again, and the best need not have the lowest value.
    """
    points: list[np.ndarray] = []

    def seen(params):
        x = np.array(list(params.values())) if isinstance(params, dict) else params
        points.append(np.array(x))
        return fun(x)

    result = dale.minimize(seen, space, budget=budget, seed=seed, **settings)
    X = np.array(points)
    bounds = [(p.low, p.high) for p in space.values()] if isinstance(space, dict) else space
    low, high = np.array(bounds, dtype=float).T
    assert X.shape == (budget, len(bounds))
    assert result.nfev == budget
    assert np.isfinite(X).all()
    assert (low <= X).all()
    assert (high >= X).all()
    assert noisy or result.noise == 0, "noise where there is none"
    if result.noise == 0:
        assert len(np.unique(X, axis=0)) == budget, "a point was asked twice"
    assert result.success == (len(result.func_vals) > 0)
    if result.success:
        assert np.isfinite(result.fun)
        assert result.x.tolist() in X.tolist()
        assert result.noise > 0 or result.fun == min(result.func_vals)
    return result


@dataclass
class Sometimes:
    """``fun``, which in ``probability`` of its calls gives ``spoil(value)`` instead of its value.

    Attributes:
        fun: The objective.
        spoil: What becomes of a value.
        probability: How often.
        seed: Of the calls to spoil.
        spoiled: How many have been.
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


NO_VALUES = {  # an evaluation that gives one of these has failed
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

AS_VALUES = {  # these are values, if unusual ones
    "float32": np.float32,
    "0-d array": np.array,
    "array of one": lambda value: np.array([value]),
    "matrix of one": lambda value: np.array([[value]], dtype=np.float32),
    "integer": round,
}


def constant(x):
    return 3.0


def step(x):
    """One below a plane through the middle, else two: flat on both sides."""
    return 1.0 if np.sum(x) < 0.45 * len(x) else 2.0


def stairs(x):
    """Ten steps to each coordinate."""
    return float(np.sum(np.floor(10 * np.abs(x - 0.3))))


def plateau(x):
    """Flat on 90 % of the cube, a bowl in the rest."""
    half = 0.5 * 0.1 ** (1 / len(x))
    return float(min(0.0, np.max(np.abs(x - 0.5)) / half - 1.0))


def zero_or_one(x):
    return int(np.sum((x - 0.3) ** 2) > 0.05 * len(x))


FLAT = {f.__name__: f for f in (constant, step, stairs, plateau, zero_or_one)}


def bowl(x):
    """Smooth, bent, no polynomial; minimum 0 at 0.3 in each coordinate."""
    z = np.asarray(x) - 0.3
    return float(np.expm1(z @ z + 0.5 * np.sum(z[1:] * z[:-1])))


@dataclass(frozen=True)
class Pressed:
    """A smooth function whose minimum, 0, is at ``optimum`` on the boundary: it falls towards the faces there.

    Attributes:
        optimum: 0 or 1 where a coordinate is on a face.
        slope: Of the value at the optimum, away from a face; with 0 it just touches.
    """

    optimum: tuple[float, ...]
    slope: float = 1.0

    def __call__(self, x: Any) -> float:
        c = np.array(self.optimum)
        z = np.asarray(x) - c
        inward = np.where(c == 0, z, np.where(c == 1, -z, 0.0))
        mixed = z + 0.3 * np.roll(z, 1)
        return float(np.expm1(0.5 * mixed @ mixed) + self.slope * np.sum(inward))
