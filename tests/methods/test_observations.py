"""What the global models have in common: points told several times, and points kept apart."""

import numpy as np
import pytest

from dale.methods.observations import APART, apart, merged, rounded


def naive(X, z, told):
    """Group by group in a dictionary, in the order in which the points came."""
    groups = {}
    for x, value, known in zip(X, z, told, strict=True):
        groups.setdefault(tuple(np.round(x / APART)), []).append((x, value, known))
    points = [group[0][0] for group in groups.values()]
    values = []
    for group in groups.values():
        known = [value for _, value, was_told in group if was_told]
        values.append(np.mean(known) if known else group[0][1])
    return np.array(points), np.array(values)


class TestMerged:
    @pytest.mark.parametrize("d", range(1, 21))
    def test_repeated_points_by_a_dictionary(self, d):
        """However many, and wherever they stand among the others."""
        for seed in range(80):
            rng = np.random.default_rng([d, seed])
            n = int(rng.integers(1, 60))
            X, z, told = rng.random((n, d)), rng.normal(size=n), rng.random(n) < 0.7
            again = rng.random(n) < rng.choice([0.0, 0.05, 0.5])
            X[again] = X[rng.integers(0, n, np.sum(again))]
            ours, expected = merged(X, z, told), naive(X, z, told)
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
                    assert len(merged(twice, np.zeros(n), np.ones(n, dtype=bool))[0]) == n - 1, (d, n, i, j)

    def test_nearly_the_same_is_the_same(self):
        X = np.array([[0.25, 0.5], [0.75, 0.5], [0.25 + 0.2 * APART, 0.5], [0.25 + 3 * APART, 0.5]])
        points, values = merged(X, np.array([1.0, 2.0, 3.0, 4.0]), np.ones(4, dtype=bool))
        np.testing.assert_array_equal(points, X[[0, 1, 3]])
        assert values.tolist() == [2.0, 2.0, 4.0]

    def test_points_with_the_same_coordinates_in_another_order_are_different(self):
        X = np.array([[0.1, 0.2, 0.7], [0.2, 0.1, 0.7], [0.7, 0.2, 0.1], [0.3, 0.3, 0.4]])
        assert len(merged(X, np.zeros(4), np.ones(4, dtype=bool))[0]) == 4

    def test_no_failure_where_there_is_a_value(self):
        X = np.array([[0.5], [0.5], [0.2], [0.2]])
        told = np.array([False, True, False, False])
        points, values = merged(X, np.array([9.0, 1.0, 9.0, 9.0]), told)
        assert (points.tolist(), values.tolist()) == ([[0.5], [0.2]], [1.0, 9.0])


def test_apart():
    points = np.array([[0.0, 0.0], [1.0, 1.0]])
    A = np.array([[0.0, 0.1], [0.0, 0.3], [0.9, 1.0]])
    assert apart(A, points, 0.2).tolist() == [False, True, False]
    assert apart(A, points[:0], 0.2).tolist() == [True, True, True]


def test_rounded():
    assert rounded([0.3, -0.3, 0.125], 0.25).tolist() == [0.25, -0.25, 0.0]
