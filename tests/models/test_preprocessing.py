"""What the global models have in common: points told several times, points kept apart, absurd values left out."""

import math

import numpy as np
import pytest

import dale
from dale.history.outliers import OUTLIER_FACTOR
from dale.models.preprocessing import MIN_DISTANCE, THINNING_DISTANCE, are_separated, average_replicates, quantize
from dale_bench.functions import get
from hostile import FLAT, bowl


def naive(X, z, told):
    """Group by group in a dictionary, in the order in which the points came."""
    groups = {}
    for x, value, known in zip(X, z, told, strict=True):
        groups.setdefault(tuple(np.round(x / MIN_DISTANCE)), []).append((x, value, known))
    points = [group[0][0] for group in groups.values()]
    values = []
    for group in groups.values():
        known = [value for _, value, was_told in group if was_told]
        values.append(np.mean(known) if known else group[0][1])
    return np.array(points), np.array(values)


class TestAverageReplicates:
    @pytest.mark.parametrize("d", range(1, 21))
    def test_repeated_points_by_a_dictionary(self, d):
        """However many, and wherever they stand among the others."""
        for seed in range(80):
            rng = np.random.default_rng([d, seed])
            n = int(rng.integers(1, 60))
            X, z, told = rng.random((n, d)), rng.normal(size=n), rng.random(n) < 0.7
            again = rng.random(n) < rng.choice([0.0, 0.05, 0.5])
            X[again] = X[rng.integers(0, n, np.sum(again))]
            ours, expected = average_replicates(X, z, told), naive(X, z, told)
            assert ours[0].shape == expected[0].shape, (seed, n)
            np.testing.assert_array_equal(ours[0], expected[0])
            np.testing.assert_allclose(ours[1], expected[1], rtol=1e-14)

    def test_one_repeated_point_at_any_two_places(self):
        for d in (1, 2, 3, 6, 7, 12):
            for n in (2, 3, 5, 8, 9, 17):
                X = np.random.default_rng([d, n]).random((n, d))
                for i, j in zip(*np.triu_indices(n, 1), strict=True):
                    twice = X.copy()
                    twice[j] = twice[i]
                    assert len(average_replicates(twice, np.zeros(n), np.ones(n, dtype=bool))[0]) == n - 1, (d, n, i, j)

    def test_nearly_the_same_is_the_same(self):
        X = np.array([[0.25, 0.5], [0.75, 0.5], [0.25 + 0.2 * MIN_DISTANCE, 0.5], [0.25 + 3 * MIN_DISTANCE, 0.5]])
        points, values = average_replicates(X, np.array([1.0, 2.0, 3.0, 4.0]), np.ones(4, dtype=bool))
        np.testing.assert_array_equal(points, X[[0, 1, 3]])
        assert values.tolist() == [2.0, 2.0, 4.0]

    def test_points_with_the_same_coordinates_in_another_order_are_different(self):
        X = np.array([[0.1, 0.2, 0.7], [0.2, 0.1, 0.7], [0.7, 0.2, 0.1], [0.3, 0.3, 0.4]])
        assert len(average_replicates(X, np.zeros(4), np.ones(4, dtype=bool))[0]) == 4

    def test_no_failure_where_there_is_a_value(self):
        X = np.array([[0.5], [0.5], [0.2], [0.2]])
        told = np.array([False, True, False, False])
        points, values = average_replicates(X, np.array([9.0, 1.0, 9.0, 9.0]), told)
        assert (points.tolist(), values.tolist()) == ([[0.5], [0.2]], [1.0, 9.0])


def test_are_separated():
    points = np.array([[0.0, 0.0], [1.0, 1.0]])
    A = np.array([[0.0, 0.1], [0.0, 0.3], [0.9, 1.0]])
    assert are_separated(A, points, 0.2).tolist() == [False, True, False]
    assert are_separated(A, points[:0], 0.2).tolist() == [True, True, True]


def test_quantize():
    assert quantize([0.3, -0.3, 0.125], 0.25).tolist() == [0.25, -0.25, 0.0]


def seen(X, y):
    """The history of a run that was told these values; NaN for a failure."""
    optimizer = dale.Optimizer([(0.0, 1.0)] * X.shape[1], seed=0)
    for x, value in zip(X, y, strict=True):
        if math.isnan(value):
            optimizer.fail(optimizer.ask(at=x))
        else:
            optimizer.add(x, value)
    return optimizer.snapshot.history.observations


def absurd_ones(X, y):
    """By the definition, in exact whole numbers: far beyond the lower median of what is left of the neighbours."""
    told = [i for i in range(len(y)) if not math.isnan(y[i])]
    kept = []
    for i in sorted(told, key=lambda i: y[i]):
        if all(np.linalg.norm(X[i] - X[j]) > THINNING_DISTANCE * math.sqrt(X.shape[1]) for j in kept):
            kept.append(i)

    def typical(some):
        values = sorted(int(y[i] * 2**20) for i in some)
        return values[(len(values) - 1) // 2] - int(min(y[i] for i in told) * 2**20)

    best = int(min(y[i] for i in told) * 2**20)
    unit = typical(kept if len(kept) > 2 else told)
    if unit == 0 or not any(int(y[i] * 2**20) - best > OUTLIER_FACTOR * typical(told) > 0 for i in told):
        return []
    return [i for i in told if int(y[i] * 2**20) - best > OUTLIER_FACTOR * unit]


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
        assert np.flatnonzero(before.has_value & ~after.has_value).tolist() == absurd_ones(X, y)
        np.testing.assert_array_equal(after.y[after.has_value], before.y[after.has_value])
        np.testing.assert_array_equal(after.X, before.X)

    def test_that_test_has_outliers(self):
        """The oracle does find some."""
        X, y = np.linspace(0, 1, 9)[:, None], np.array([1, 2, 3, 4, 1e12, 5, 6, 7, 8.0])
        assert absurd_ones(X, y) == [4]
        assert seen(X, y).inliers.has_value.tolist() == [True] * 4 + [False] + [True] * 4

    @pytest.mark.parametrize("name", ["branin", "hart6", "rosen4", "rastrigin5", "ellipsoid5_1e4"])
    def test_plain_functions_have_none(self, name):
        """Not at random points, and not in a run, whose values near the best are ever more; nothing is copied."""
        function = get(name)
        X = np.random.default_rng(0).random((200, function.dimension))
        history = seen(X, np.array([function.on_cube()(x) for x in X]))
        assert history.inliers is history
        optimizer = dale.Optimizer(function.bounds, seed=0)
        for _ in range(30):
            trial = optimizer.ask()
            optimizer.tell(trial, function.fun(trial.x))
            history = optimizer.snapshot.history.observations
            assert history.inliers.has_value.all(), trial

    def test_a_function_of_many_decades_loses_its_maxima_and_is_solved(self):
        """Goldstein and Price's function lies between 3 and 1e6."""
        function, aside = get("goldstein"), set()
        optimizer = dale.Optimizer(function.bounds, seed=0)
        for _ in range(35):
            trial = optimizer.ask()
            optimizer.tell(trial, function.fun(trial.x))
            history = optimizer.snapshot.history.observations
            aside |= set(history.y[~history.inliers.has_value])
        assert min(aside) > 1e5
        assert optimizer.best_value - function.minimum < 1e-9

    @pytest.mark.parametrize("name", [*FLAT])
    def test_flat_functions_have_none(self, name):
        X = np.random.default_rng(0).random((60, 2))
        history = seen(X, np.array([FLAT[name](x) for x in X], dtype=float))
        assert history.inliers.has_value.all()

    @pytest.mark.parametrize("scale", [1e-300, 1.0, 1e290])
    @pytest.mark.parametrize("shift", [0.0, -5.0])
    def test_one_in_five(self, scale, shift):
        """All of them and no other, in any unit, wherever the zero is."""
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
        told = seen(X, y).inliers.has_value
        assert told.tolist() == [i not in ((3, 5) if sign > 0 else ()) for i in range(20)]

    def test_most_of_them_are_typical(self):
        """Where more than half are at 1e12 that is what values are like, and all stay."""
        X = np.random.default_rng(0).random((21, 2))
        y = np.array([bowl(x) for x in X])
        y[:11] = 1e12
        assert seen(X, y).inliers.has_value.all()
        y[10] = 1.0
        assert seen(X, y).inliers.has_value.tolist() == [False] * 10 + [True] * 11

    def test_a_low_outlier_is_the_best(self):
        """There is no telling it from a find."""
        X = np.random.default_rng(0).random((20, 2))
        y = np.array([bowl(x) for x in X])
        y[7] = -1e12
        assert seen(X, y).inliers.has_value.all()

    def test_at_one_point(self):
        """Of points that are one to a global model, all values count."""
        X = np.full((5, 2), 0.5)
        assert seen(X, np.array([1.0, 2.0, 1.0, -3.0, 1e6])).inliers.has_value.tolist() == [True] * 4 + [False]

    def test_the_result_keeps_them(self):
        """They are told, counted and shown, and the local minima are those of the others."""
        optimizer = dale.Optimizer([(0, 1)] * 2, seed=0)
        for i, x in enumerate(np.random.default_rng(0).random((40, 2))):
            optimizer.add(x, 1e12 if i % 5 == 0 else float(np.sum((x - 0.4) ** 2)))
        result = optimizer.result()
        assert np.sum(result.func_vals == 1e12) == 8
        assert result.fun == min(result.func_vals)
        assert result.noise == 0
        np.testing.assert_allclose(result.local_minima[0].x, 0.4, atol=1e-6)
