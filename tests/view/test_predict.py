"""Predictions at points that the user asks for."""

import numpy as np
import pandas as pd
import pytest
import zoo

import dale
from dale.view import predict


def bowl(p):
    return (p["a"] - 1) ** 2 + 0.05 * (p["b"] - 5) ** 2


@pytest.fixture(scope="module")
def run():
    return dale.minimize(bowl, zoo.PLANE, budget=30, seed=0)


POINTS = [{"a": 0.0, "b": 5.0}, {"a": -1.5, "b": 1.0}, {"a": 2.0, "b": 10.0}]


def test_mean_and_std_are_those_of_the_objective(run):
    found = run.predict(POINTS)
    expected = np.array([bowl(p) for p in POINTS])
    np.testing.assert_allclose(found.mean, expected, atol=0.05)
    assert np.all(np.abs(found.mean - expected) < 5 * found.std + 1e-3)
    np.testing.assert_array_equal(found.feasible, 1.0)
    np.testing.assert_array_equal(found.fails, 0.0)


def test_observations_are_reproduced(run):
    found = run.predict([t.params for t in run.history])
    np.testing.assert_allclose(found.mean, run.func_vals, atol=1e-3)


def test_all_forms_of_points_agree(run):
    expected = run.predict(POINTS).mean
    table = {name: [p[name] for p in POINTS] for name in ("a", "b")}
    for points in (table, pd.DataFrame(table), tuple(POINTS)):
        np.testing.assert_array_equal(run.predict(points).mean, expected)
    optimizer = dale.Optimizer([(-2, 2), (0, 10)], seed=0)
    for trial in run.history:
        optimizer.add(list(trial.x), trial.value)
    array = np.array([[p["a"], p["b"]] for p in POINTS])
    np.testing.assert_array_equal(optimizer.predict(array).mean, optimizer.predict(array.tolist()).mean)
    np.testing.assert_allclose(optimizer.predict(array).mean, expected, atol=1e-6)
    assert len(optimizer.predict([]).mean) == 0


def test_a_store_predicts_what_its_result_does(tmp_path):
    path = tmp_path / "run.db"
    result = dale.minimize(bowl, zoo.PLANE, budget=12, seed=0, store=path)
    np.testing.assert_array_equal(predict(path, POINTS).mean, result.predict(POINTS).mean)


def test_the_probability_of_feasibility():
    found = zoo.run("constrained").predict([{"a": -1.5, "b": 5.0}, {"a": 1.9, "b": 9.0}])
    assert found.feasible[0] > 0.95
    assert found.feasible[1] < 0.05


def test_the_probability_of_failure():
    found = zoo.run("failed").predict([{"a": 0.0, "b": 5.0}, {"a": 1.95, "b": 5.0}])
    assert found.fails[0] < 0.2
    assert found.fails[1] > 0.5


@pytest.mark.parametrize("kind", zoo.SPACES)
def test_every_kind_of_run_predicts_its_own_points(kind):
    run = zoo.run(kind)
    found = run.predict([t.params for t in run.history])
    for numbers in (found.mean, found.std, found.feasible, found.fails):
        assert numbers.shape == (len(run.history),)
        assert np.isfinite(numbers).all()
    assert np.all((found.feasible >= 0) & (found.feasible <= 1) & (found.fails >= 0) & (found.fails <= 1))


def test_misuse(run):
    with pytest.raises(ValueError, match=r"expected a list of points, got .*; for one point, pass \[point\]"):
        run.predict([0.0, 5.0])
    with pytest.raises(ValueError, match=r"expected a list of points, got one, .*; pass \[point\]"):
        run.predict({"a": 0.0, "b": 5.0})
    with pytest.raises(dale.SpaceError, match="a"):
        run.predict([{"a": 99.0, "b": 5.0}])
    with pytest.raises(ValueError, match="needs at least one completed trial"):
        dale.Optimizer([(0, 1)]).predict([[0.5]])
