"""Problems with linear equalities between the parameters; a part of the space.

hs28, hs41, hs53 and hs62 are the problems 28, 41, 53 and 62 of Hock & Schittkowski, "Test examples for nonlinear
programming codes" (1981). The first has no bounds there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dale._arrays import Matrix, Vector
from dale.space.constraints import as_constraints
from dale.space.space import Space
from dale_bench.problems.problem import Problem

HOCK_SCHITTKOWSKI = "Hock & Schittkowski (1981)"


def hs28(p: Mapping[str, Any]) -> float:
    """A quadratic of three parameters."""
    return float((p["a"] + p["b"]) ** 2 + (p["b"] + p["c"]) ** 2)


def hs41(p: Mapping[str, Any]) -> float:
    """A product of three parameters. The minimum is at the upper bound of the fourth."""
    return float(2 - p["a"] * p["b"] * p["c"])


def hs53(p: Mapping[str, Any]) -> float:
    """A quadratic of five parameters."""
    a, b, c, d, e = (p[name] for name in "abcde")
    return float((a - b) ** 2 + (b + c - 2) ** 2 + (d - 1) ** 2 + (e - 1) ** 2)


def hs62(p: Mapping[str, Any]) -> float:
    """Logarithms of the parts of a mixture, in thousands."""
    a, b, c = (p[name] for name in "abc")
    one = 255 * np.log((a + b + c + 0.03) / (0.09 * a + b + c + 0.03))
    two = 280 * np.log((b + c + 0.03) / (0.07 * b + c + 0.03))
    return float(-0.032174 * (one + two + 290 * np.log((c + 0.03) / (0.13 * c + 0.03))))


WELLS = np.array([[0.6, 0.2, 0.1, 0.1], [0.1, 0.1, 0.2, 0.6], [0.1, 0.6, 0.3, 0.0]])
DEPTHS, WIDTHS = np.array([1.0, 0.9, 0.8]), np.array([0.15, 0.25, 0.2])


def wells(p: Mapping[str, Any]) -> float:
    """Three wells among the mixtures of four parts; the deepest is the narrowest."""
    x = np.array([p[name] for name in "abcd"])
    return float(-DEPTHS @ np.exp(-np.sum((x - WELLS) ** 2, axis=1) / (2 * WIDTHS**2)))


def space_with(equalities: str, **bounds: tuple[float, float]) -> Space:
    """A space with equalities, separated by semicolons."""
    constraints = as_constraints(equalities.split(";"), Space(bounds))
    assert constraints is not None
    return constraints.space


def eliminated(space: Space, names: tuple[str, ...]) -> tuple[Matrix, Vector]:
    """Slopes (k, others) and offsets (k,) of k parameters as functions of the others, by a solver of NumPy."""
    assert space.equalities is not None
    rows = space.equalities.rows
    others = [name for name in space.names if name not in names]
    A, B = (np.array([[row.coefficients.get(n, 0.0) for n in some] for row in rows]) for some in (names, others))
    return -np.linalg.solve(A, B), np.linalg.solve(A, np.array([row.value for row in rows]))


UNIT = (0.0, 1.0)

PROBLEMS = (
    Problem(
        "hs28",
        space_with("a + 2 * b + 3 * c == 1", a=(-5.0, 5.0), b=(-5.0, 5.0), c=(-5.0, 5.0)),
        hs28,
        0.0,
        {"a": 0.5, "b": -0.5, "c": 0.5},
        16,
        "a quadratic of three parameters, one equality",
        source=HOCK_SCHITTKOWSKI,
    ),
    Problem(
        "hs41",
        space_with("a + 2 * b + 2 * c == d", a=UNIT, b=UNIT, c=UNIT, d=(0.0, 2.0)),
        hs41,
        52 / 27,
        {"a": 2 / 3, "b": 1 / 3, "c": 1 / 3, "d": 2.0},
        24,
        "a product of three parameters, minimum at a bound, one equality",
        source=HOCK_SCHITTKOWSKI,
    ),
    Problem(
        "hs53",
        space_with("a + 3 * b == 0; c + d - 2 * e == 0; b == e", **dict.fromkeys("abcde", (-10.0, 10.0))),
        hs53,
        176 / 43,
        {"a": -33 / 43, "b": 11 / 43, "c": 27 / 43, "d": -5 / 43, "e": 11 / 43},
        16,
        "a quadratic of five parameters, three equalities",
        source=HOCK_SCHITTKOWSKI,
    ),
    Problem(
        "hs62",
        space_with("a + b + c == 1", a=UNIT, b=UNIT, c=UNIT),
        hs62,
        -26.27251448731826,  # by Newton's method
        {"a": 0.6178126908137715, "b": 0.32820222311889563, "c": 0.053985086067332766},
        30,
        "logarithms of the parts of a mixture of three",
        source=HOCK_SCHITTKOWSKI,
    ),
    Problem(
        "wells",
        space_with("a + b + c + d == 1", a=UNIT, b=UNIT, c=UNIT, d=UNIT),
        wells,
        -1.01698278847341,  # by Newton's method
        {"a": 0.5966231262279269, "b": 0.20006564166569782, "c": 0.10082357803841284, "d": 0.10248765406796245},
        40,
        "three wells among the mixtures of four parts",
    ),
)
