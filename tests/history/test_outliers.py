"""Outliers: by the definition in exact integers, and none in plain functions."""

import math

import numpy as np
import pytest

import dale
from dale.history.outliers import OUTLIER_FACTOR
from dale.models.preprocessing import THINNING_DISTANCE
from dale_bench.functions import get
from hostile import FLAT, bowl


def seen(X, y):
    """The observations of a run with these values; NaN for a failure."""
    optimizer = dale.Optimizer([(0.0, 1.0)] * X.shape[1], seed=0)
    for x, value in zip(X, y, strict=True):
        if math.isnan(value):
            optimizer.fail(optimizer.ask(at=x))
        else:
            optimizer.add(x, value)
    return optimizer.snapshot.history.observations


def outliers_of(X, y):
    """By the definition, in exact integers: far above the lower median of the thinned observations."""
    complete = [i for i in range(len(y)) if not math.isnan(y[i])]
    kept = []
    for i in sorted(complete, key=lambda i: y[i]):
        if all(np.linalg.norm(X[i] - X[j]) > THINNING_DISTANCE * math.sqrt(X.shape[1]) for j in kept):
            kept.append(i)

    def typical(some):
        values = sorted(int(y[i] * 2**20) for i in some)
        return values[(len(values) - 1) // 2] - int(min(y[i] for i in complete) * 2**20)

    best = int(min(y[i] for i in complete) * 2**20)
    unit = typical(kept if len(kept) > 2 else complete)
    if unit == 0 or not any(int(y[i] * 2**20) - best > OUTLIER_FACTOR * typical(complete) > 0 for i in complete):
        return []
    return [i for i in complete if int(y[i] * 2**20) - best > OUTLIER_FACTOR * unit]


class TestRemoveOutliers:
    @pytest.mark.parametrize("seed", range(40))
    def test_by_the_definition(self, seed):
        rng = np.random.default_rng(seed)
        n, d = int(rng.integers(1, 40)), int(rng.integers(1, 4))
        X, y = rng.random((n, d)), np.round(rng.normal(size=n), 3)
        near = rng.random(n) < 0.3
        X[near] = X[0] + 0.01 * rng.random((np.sum(near), d)) * (X[0] < 0.5)
        y[rng.random(n) < rng.choice([0.0, 0.2, 0.6])] = rng.choice([1e3, 1e6, 1e12])
        y[rng.random(n) < 0.1] = np.nan
        if np.isnan(y).all():
            y[0] = 1.0
        before = seen(X, y)
        after = before.inliers
        assert np.flatnonzero(before.has_value & ~after.has_value).tolist() == outliers_of(X, y)
        np.testing.assert_array_equal(after.y[after.has_value], before.y[after.has_value])
        np.testing.assert_array_equal(after.X, before.X)

    def test_that_test_has_outliers(self):
        """The oracle does find some."""
        X, y = np.linspace(0, 1, 9)[:, None], np.array([1, 2, 3, 4, 1e12, 5, 6, 7, 8.0])
        assert outliers_of(X, y) == [4]
        assert seen(X, y).inliers.has_value.tolist() == [True] * 4 + [False] + [True] * 4

    @pytest.mark.parametrize("name", ["branin", "hart6", "rosen4", "rastrigin5", "ellipsoid5_1e4"])
    def test_plain_functions_have_none(self, name):
        """Neither at random points nor in a run, whose values gather near the best; the same object is returned."""
        function = get(name)
        X = np.random.default_rng(0).random((200, function.dimension))
        observations = seen(X, np.array([function.on_cube()(x) for x in X]))
        assert observations.inliers is observations
        optimizer = dale.Optimizer(function.bounds, seed=0)
        for _ in range(30):
            trial = optimizer.ask()
            optimizer.tell(trial, function.fun(trial.x))
            observations = optimizer.snapshot.history.observations
            assert observations.inliers.has_value.all(), trial

    def test_a_function_of_many_decades_loses_its_maxima(self):
        """The function of Goldstein and Price has values from 3 to 1e6. Most of the points lie in its valleys."""
        fun, X = get("goldstein").on_cube(), np.random.default_rng(0).random((2000, 2))
        X = X[np.argsort([fun(x) for x in X])]
        X = np.vstack([X[:40], X[-500::50]])
        y = np.array([fun(x) for x in X])
        outliers = y[~seen(X, y).inliers.has_value]
        assert 0 < len(outliers) < 10
        assert min(outliers) > 1e5

    def test_a_function_of_many_decades_is_solved(self):
        """A run may meet outliers, but none of its other values is one."""
        function, outliers = get("goldstein"), set()
        optimizer = dale.Optimizer(function.bounds, seed=0)
        for _ in range(35):
            trial = optimizer.ask()
            optimizer.tell(trial, function.fun(trial.x))
            observations = optimizer.snapshot.history.observations
            outliers |= set(observations.y[~observations.inliers.has_value])
        assert all(value > 1e5 for value in outliers)
        assert optimizer.best_value - function.minimum < 1e-9

    @pytest.mark.parametrize("name", [*FLAT])
    def test_flat_functions_have_none(self, name):
        X = np.random.default_rng(0).random((60, 2))
        observations = seen(X, np.array([FLAT[name](x) for x in X], dtype=float))
        assert observations.inliers.has_value.all()

    @pytest.mark.parametrize("scale", [1e-300, 1.0, 1e290])
    @pytest.mark.parametrize("shift", [0.0, -5.0])
    def test_one_in_five(self, scale, shift):
        """All of them and no other, for any scale and shift."""
        rng = np.random.default_rng(1)
        X, spoiled = rng.random((60, 2)), rng.random(60) < 0.2
        y = np.where(spoiled, 1e12, [bowl(x) + shift for x in X])
        assert seen(X, scale * y).inliers.has_value.tolist() == (~spoiled).tolist()

    @pytest.mark.parametrize("sign", [1.0, -1.0])
    def test_at_the_end_of_the_floats(self, sign):
        """Neither differences nor halves overflow."""
        X = np.random.default_rng(0).random((20, 2))
        y = np.array([bowl(x) for x in X])
        y[3], y[5] = 1.7e308, sign * 1.7e308
        has_value = seen(X, y).inliers.has_value
        assert has_value.tolist() == [i not in ((3, 5) if sign > 0 else ()) for i in range(20)]

    def test_most_of_them_are_typical(self):
        """If more than half of the values are 1e12, these are typical, and all stay."""
        X = np.random.default_rng(0).random((21, 2))
        y = np.array([bowl(x) for x in X])
        y[:11] = 1e12
        assert seen(X, y).inliers.has_value.all()
        y[10] = 1.0
        assert seen(X, y).inliers.has_value.tolist() == [False] * 10 + [True] * 11

    def test_a_low_outlier_is_the_best(self):
        """It cannot be distinguished from a very good point."""
        X = np.random.default_rng(0).random((20, 2))
        y = np.array([bowl(x) for x in X])
        y[7] = -1e12
        assert seen(X, y).inliers.has_value.all()

    def test_at_one_point(self):
        """Where thinning leaves one point, all values count."""
        X = np.full((5, 2), 0.5)
        assert seen(X, np.array([1.0, 2.0, 1.0, -3.0, 1e6])).inliers.has_value.tolist() == [True] * 4 + [False]

    def test_the_result_keeps_them(self):
        """They are recorded and counted; the local minima are those of the others."""
        optimizer = dale.Optimizer([(0, 1)] * 2, seed=0)
        for i, x in enumerate(np.random.default_rng(0).random((40, 2))):
            optimizer.add(x, 1e12 if i % 5 == 0 else float(np.sum((x - 0.4) ** 2)))
        result = optimizer.result()
        assert np.sum(result.func_vals == 1e12) == 8
        assert result.fun == min(result.func_vals)
        assert result.noise == 0
        np.testing.assert_allclose(result.local_minima[0].x, 0.4, atol=1e-6)
