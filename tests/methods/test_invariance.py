"""What must not change a run: unit and zero of the values, units of the parameters, the order of their names."""

import numpy as np
import pytest

import dale
from dale_bench.functions import get

N = 30


METHODS = {"default": dale.methods.default, "paper": dale.methods.paper}
STD = 50.0  # about the standard deviation of Branin's function over its box


def cube_points(fun, space, method, scale=1.0, shift=0.0, seed=0):
    optimizer = dale.Optimizer(space, seed=seed, method=METHODS[method]())
    for _ in range(N):
        trial = optimizer.ask()
        optimizer.tell(trial, scale * fun(trial.x) + shift)
    return np.array([t.unit_x for t in optimizer.history])


@pytest.fixture(scope="module")
def branin_points():
    branin = get("branin")
    return {name: cube_points(branin.fun, branin.bounds, name) for name in METHODS}


def n_resolved(points, level):
    """Evaluations before the best value is as near to the minimum as values around this level can tell apart."""
    branin = get("branin")
    regret = np.minimum.accumulate([branin.on_cube()(u) - branin.minimum for u in points])
    return int(np.sum(regret > 100 * np.finfo(float).eps * level))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("scale", [1e-12, 1e15])
@pytest.mark.parametrize("shift", [0.0, 1e6, -1e6])
def test_rescaled_values_give_the_same_points(branin_points, method, scale, shift):
    """All of them; with a shift, until the default has used up the digits that a shifted value has left."""
    branin = get("branin")
    points = cube_points(branin.fun, branin.bounds, method, scale, scale * shift * STD)
    n = n_resolved(branin_points[method], abs(shift) * STD) if method == "default" and shift else N
    assert n > 10
    np.testing.assert_allclose(points[:n], branin_points[method][:n], atol=1e-6)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("width", [1e-12, 1e12])
def test_rescaled_bounds_give_the_same_points(branin_points, method, width):
    branin = get("branin")
    lower, upper = np.array(branin.bounds).T

    def rescaled(x):
        return branin.fun(lower + (upper - lower) * (x / width))

    points = cube_points(rescaled, [(0, width)] * 2, method)
    np.testing.assert_allclose(points, branin_points[method], atol=1e-6)


def test_names_in_another_order_give_the_same_values():
    branin = get("branin")

    def fun(p):
        return branin.fun(np.array([p["a"], p["b"]]))

    one = dale.minimize(fun, dale.Space(a=(-5, 10), b=(0, 15)), budget=12, seed=3)
    two = dale.minimize(fun, dale.Space(b=(0, 15), a=(-5, 10)), budget=12, seed=3)
    assert one.func_vals.tolist() == two.func_vals.tolist()
    assert list(one.params) == ["a", "b"]
    assert list(two.params) == ["b", "a"]
    assert one.x.tolist() == two.x[::-1].tolist()
