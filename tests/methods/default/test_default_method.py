"""The default method on functions that local models represent exactly: solved at once, in any units."""

import itertools

import numpy as np
import pytest

import dale
from dale_bench.functions import get


def run(fun, space, n, seed, reached=lambda value: False):
    """Up to n evaluations, or until the best value satisfies ``reached``."""
    optimizer = dale.Optimizer(space, seed=seed)
    while len(optimizer.history) < n and not (optimizer.best and reached(optimizer.best.value)):
        trial = optimizer.ask()
        optimizer.tell(trial, fun(trial.x))
    return optimizer


def rotated_quadratic(d, condition, rng):
    """A quadratic with its minimum, 0, inside the cube; and its range over the cube."""
    Q = np.linalg.qr(rng.normal(size=(d, d)))[0]
    H, bottom = (Q * np.geomspace(1, condition, d)) @ Q.T, rng.uniform(0.1, 0.9, d)

    def fun(x):
        return float((x - bottom) @ H @ (x - bottom))

    return fun, max(fun(np.array(corner)) for corner in itertools.product([0.0, 1.0], repeat=d))


@pytest.mark.parametrize("d", [2, 3, 5])
def test_quadratics_are_solved_with_about_as_many_evaluations_as_coefficients(d):
    """To 1e-12 of their range: most with d evaluations more than coefficients, all with 2 d more."""
    evaluations = []
    for condition, seed in itertools.product([1.0, 10.0, 100.0], range(4 if d < 5 else 2)):
        fun, width = rotated_quadratic(d, condition, np.random.default_rng([d, seed]))
        reached = run(fun, [(0, 1)] * d, 60, seed, lambda v, w=width: v <= 1e-12 * w)
        evaluations.append(len(reached.history))
    coefficients = (d + 1) * (d + 2) // 2
    assert max(evaluations) <= coefficients + 2 * d
    assert np.mean(np.array(evaluations) <= coefficients + d) >= 0.75


@pytest.mark.parametrize("d", [2, 5, pytest.param(10, marks=pytest.mark.slow)])
def test_linear_functions_are_solved_in_their_corner(d):
    """Within 2 d + 4 evaluations, bit for bit."""
    for seed in range(10):
        gradients = np.random.default_rng([d, seed]).normal(size=d)
        corner = np.where(gradients > 0, 0.0, 1.0)
        optimizer = run(lambda x, a=gradients: float(a @ x), [(0, 1)] * d, 2 * d + 4, seed)
        assert optimizer.best.x.tolist() == corner.tolist(), seed


def test_branin_to_ten_digits():
    branin = get("branin")
    runs = [run(branin.fun, branin.bounds, 60, seed, lambda v: v < branin.minimum + 1e-12) for seed in range(8)]
    assert np.median([o.best.value - branin.minimum for o in runs]) < 1e-10


@pytest.mark.parametrize("where", ["face", "edge", "corner"])
@pytest.mark.parametrize("plain", [True, False], ids=["quadratic", "quartic"])
def test_minima_on_the_boundary(where, plain):
    """In four dimensions, to 1e-6; the unconstrained minimum is outside."""
    for seed in range(3):
        rng = np.random.default_rng([seed, 9])
        bottom, weights = rng.uniform(0.2, 0.8, 4), rng.uniform(1, 8, 4)
        n_outside = {"face": 1, "edge": 2, "corner": 4}[where]
        bottom[:n_outside] = rng.choice([-0.3, 1.2], n_outside)

        def fun(x, bottom=bottom, weights=weights):
            level = float(np.sum(weights * (x - bottom) ** 2))
            return level if plain else level + 0.2 * level**2

        lowest = fun(np.clip(bottom, 0, 1))
        best = run(fun, [(0, 1)] * 4, 40, seed, lambda v, lowest=lowest: v <= lowest + 1e-6).best
        assert best.value <= lowest + 1e-6, seed
        assert np.max(np.abs(best.x - np.clip(bottom, 0, 1))) < 1e-2


def points(fun, space):
    return np.array([t.unit_x for t in run(fun, space, 30, seed=2).history])


@pytest.fixture(scope="module")
def case():
    """In three variables; tests/methods/test_invariance.py has two."""
    function = get("hart3")
    return function, points(function.fun, function.bounds)


@pytest.mark.parametrize("scale", [1e-12, 1e15])
def test_the_unit_of_the_values_does_not_matter(case, scale):
    function, expected = case
    rescaled = points(lambda x: scale * function.fun(x), function.bounds)
    np.testing.assert_allclose(rescaled, expected, atol=1e-6)


@pytest.mark.parametrize("width", [1e-12, 1e12])
def test_the_units_of_the_parameters_do_not_matter(case, width):
    function, expected = case
    lower, upper = np.array(function.bounds, dtype=float).T
    rescaled = points(lambda x: function.fun(lower + (upper - lower) * (x / width)), [(0, width)] * len(lower))
    np.testing.assert_allclose(rescaled, expected, atol=1e-6)
