"""Preparation of observations: replicates averaged, minimum distances, rounding."""

import numpy as np
import pytest

from dale.models.preprocessing import MIN_DISTANCE, are_separated, average_replicates, quantize


def naive(X, z, has_value):
    """Group by group in a dictionary, in the order of the points."""
    groups = {}
    for x, value, known in zip(X, z, has_value, strict=True):
        groups.setdefault(tuple(np.round(x / MIN_DISTANCE)), []).append((x, value, known))
    points = [group[0][0] for group in groups.values()]
    values = []
    for group in groups.values():
        known = [value for _, value, is_value in group if is_value]
        values.append(np.mean(known) if known else group[0][1])
    return np.array(points), np.array(values)


class TestAverageReplicates:
    @pytest.mark.parametrize("d", range(1, 21))
    def test_repeated_points_by_a_dictionary(self, d):
        """Any number of them, anywhere among the others."""
        for seed in range(80):
            rng = np.random.default_rng([d, seed])
            n = int(rng.integers(1, 60))
            X, z, has_value = rng.random((n, d)), rng.normal(size=n), rng.random(n) < 0.7
            again = rng.random(n) < rng.choice([0.0, 0.05, 0.5])
            X[again] = X[rng.integers(0, n, np.sum(again))]
            ours, expected = average_replicates(X, z, has_value), naive(X, z, has_value)
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

    def test_nearly_equal_points_are_replicates(self):
        X = np.array([[0.25, 0.5], [0.75, 0.5], [0.25 + 0.2 * MIN_DISTANCE, 0.5], [0.25 + 3 * MIN_DISTANCE, 0.5]])
        points, values = average_replicates(X, np.array([1.0, 2.0, 3.0, 4.0]), np.ones(4, dtype=bool))
        np.testing.assert_array_equal(points, X[[0, 1, 3]])
        assert values.tolist() == [2.0, 2.0, 4.0]

    def test_points_with_the_same_coordinates_in_another_order_are_different(self):
        X = np.array([[0.1, 0.2, 0.7], [0.2, 0.1, 0.7], [0.7, 0.2, 0.1], [0.3, 0.3, 0.4]])
        assert len(average_replicates(X, np.zeros(4), np.ones(4, dtype=bool))[0]) == 4

    def test_failures_are_dropped_where_there_is_a_value(self):
        X = np.array([[0.5], [0.5], [0.2], [0.2]])
        has_value = np.array([False, True, False, False])
        points, values = average_replicates(X, np.array([9.0, 1.0, 9.0, 9.0]), has_value)
        assert (points.tolist(), values.tolist()) == ([[0.5], [0.2]], [1.0, 9.0])


def test_are_separated():
    points = np.array([[0.0, 0.0], [1.0, 1.0]])
    A = np.array([[0.0, 0.1], [0.0, 0.3], [0.9, 1.0]])
    assert are_separated(A, points, 0.2).tolist() == [False, True, False]
    assert are_separated(A, points[:0], 0.2).tolist() == [True, True, True]


def test_quantize():
    assert quantize([0.3, -0.3, 0.125], 0.25).tolist() == [0.25, -0.25, 0.0]
