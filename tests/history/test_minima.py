"""Local minima from the data: the three of Branin with their Hessians, and none where there is none."""

import math

import numpy as np
import pytest

from dale.history.minima import minima_in_cube
from dale.space.space import Space

BOX = [(-5.0, 10.0), (0.0, 15.0)]
MINIMISERS = np.array([[-math.pi, 12.275], [math.pi, 2.275], [9.42477796076938, 2.475]])  # Branin, f = 0.397887
LOWEST = 0.39788735772973816


def branin(X):
    x, y = X[..., 0], X[..., 1]
    a = y - 5.1 * x**2 / (4 * np.pi**2) + 5 * x / np.pi - 6
    return a**2 + 10 * (1 - 1 / (8 * np.pi)) * np.cos(x) + 10


def numeric_hessian(f, x, h=1e-3):
    d = len(x)
    E = h * np.eye(d)
    return np.array(
        [
            [(f(x + a + b) - f(x + a - b) - f(x - a + b) + f(x - a - b)) / (4 * h**2) for b in E]
            for a in E
        ]
    )  # fmt: skip


def samples(rng, width, exact):
    """Random points of the cube, twelve around each minimum, and if ``exact`` the minima themselves."""
    corner, side = np.array(BOX)[:, 0], np.ptp(BOX, axis=1)
    minima = (MINIMISERS - corner) / side
    X = np.vstack([rng.random((30, 2)), *(t + width * rng.uniform(-1, 1, (12, 2)) for t in minima)])
    return np.vstack([X, minima]) if exact else X


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("exact", [False, True])
def test_finds_the_three_minima_of_branin(seed, exact):
    space = Space.from_pairs(BOX)
    X = samples(np.random.default_rng(seed), 5e-3, exact)
    y = branin(np.array([space.decode(x) for x in X]))
    minima = minima_in_cube(X, y)
    three = [m for m in minima if m.fit.minimum < 1.0]
    assert len(three) == 3
    points = np.array([space.decode(m.fit.minimiser) for m in three])
    order = np.argsort(points[:, 0])
    np.testing.assert_allclose(points[order], MINIMISERS, atol=5e-3)
    for m, x in zip([three[i] for i in order], MINIMISERS, strict=True):
        assert m.fit.minimum == pytest.approx(LOWEST, abs=1e-3)
        hessian = space.hessian(space.decode(m.fit.minimiser), m.fit.hessian)  # in the units of BOX
        expected = numeric_hessian(branin, x)
        np.testing.assert_allclose(hessian, expected, atol=0.02 * np.max(np.abs(expected)))
        assert m.n_points >= 8


def test_converged_if_the_minimum_was_evaluated():
    space = Space.from_pairs(BOX)
    rng = np.random.default_rng(0)
    for exact, width in ((False, 1e-3), (True, 1e-4)):
        X = samples(rng, width, exact)
        y = branin(np.array([space.decode(x) for x in X]))
        three = [m for m in minima_in_cube(X, y) if m.fit.minimum < 0.5]
        assert len(three) == 3
        for m in three:
            best = min(v for x, v in zip(X, y, strict=True) if m.fit.ball.contains(x))
            left = max(abs(best - m.fit.minimum), m.fit.leave_one_out_error)
            assert m.converged is bool(left <= 1e-9 * (np.quantile(y, 0.75) - y.min()))
            assert m.converged is exact


def test_best_first_and_disjoint():
    space = Space.from_pairs(BOX)
    X = samples(np.random.default_rng(1), 5e-3, False)
    minima = minima_in_cube(X, branin(np.array([space.decode(x) for x in X])))
    values = [m.fit.minimum + m.fit.leave_one_out_error for m in minima]
    assert values == sorted(values)
    for i, m in enumerate(minima):
        assert not any(m.fit.ball.overlaps(other.fit.ball) for other in minima[:i])


@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_an_exact_quadratic(d):
    rng = np.random.default_rng(d)
    X, t = rng.random((60 if d < 5 else 90, d)), rng.uniform(0.4, 0.6, d)
    H = np.diag(rng.uniform(1, 4, d))
    minima = minima_in_cube(X, 3 + 0.5 * np.einsum("ni,ij,nj->n", X - t, H, X - t))
    np.testing.assert_allclose(minima[0].fit.minimiser, t, atol=1e-8)
    np.testing.assert_allclose(minima[0].fit.hessian, H, atol=1e-6)
    assert minima[0].fit.minimum == pytest.approx(3.0, abs=1e-9)
    assert not minima[0].converged


@pytest.mark.parametrize(
    "f",
    [
        lambda X: X[:, 0] + X[:, 1],  # linear
        lambda X: -np.sum((X - 0.5) ** 2, axis=1),  # a maximum
        lambda X: (X[:, 0] - 0.5) ** 2 - (X[:, 1] - 0.5) ** 2,  # a saddle
        lambda X: np.zeros(len(X)),  # constant
        lambda X: np.sum((X + 0.3) ** 2, axis=1),  # the minimum is outside the cube
    ],
)
def test_no_minimum_inside(f):
    X = np.random.default_rng(0).random((50, 2))
    assert minima_in_cube(X, f(X)) == ()


def test_noise_has_no_minima():
    found = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        found += len(minima_in_cube(rng.random((40, 2)), rng.normal(size=40))) > 0
    assert found <= 2, found


@pytest.mark.parametrize("n", [0, 1, 7])
def test_too_few_points(n):
    X = np.random.default_rng(0).random((n, 2))
    assert minima_in_cube(X, np.sum((X - 0.5) ** 2, axis=1)) == ()


def test_coinciding_points():
    X = np.vstack([np.full((20, 2), 0.5), np.random.default_rng(0).random((3, 2))])
    assert minima_in_cube(X, np.arange(23.0)) == ()
