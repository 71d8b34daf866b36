"""Thinning: no two kept points are close, and the better one of two is kept."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist, pdist

from dale.models.preprocessing import thin


def thin_greedily(X, z, distance):
    """Rows kept from the best to the worst, by a matrix of all distances."""
    near, kept = cdist(X, X) <= distance, []
    for i in np.argsort(z, kind="stable").tolist():
        if not near[i, kept].any():
            kept.append(i)
    return kept


class TestThinning:
    def test_of_two_close_points_the_better_one_is_kept(self):
        rng = np.random.default_rng(0)
        X, z = rng.random((60, 2)), rng.normal(size=60)
        kept = thin(X, z, 0.1, 60)
        assert np.min(pdist(X[kept])) > 0.1
        for i in set(range(60)) - set(kept.tolist()):
            near = kept[np.linalg.norm(X[kept] - X[i], axis=1) <= 0.1]
            assert np.min(z[near]) <= z[i]
        assert np.argmin(z) in kept

    def test_separated_points_are_kept_in_order(self):
        X, z = np.array([[0.0], [1.0], [0.5], [0.52]]), np.array([3.0, 1.0, 2.0, 2.5])
        assert thin(X, z, 0.1, 9).tolist() == [0, 1, 2]
        assert thin(X, z, 0.01, 9).tolist() == [0, 1, 2, 3]

    @pytest.mark.parametrize("d", [1, 2, 5])
    @pytest.mark.parametrize("distance", [0.0, 0.03, 0.2, 2.0])
    def test_against_a_matrix_of_distances(self, d, distance):
        """Clustered and repeated points, tied values; limits at and above the number of kept points."""
        for seed in range(20):
            rng = np.random.default_rng([d, seed])
            X = np.vstack([rng.random((40, d)), 0.5 + 0.05 * rng.normal(size=(30, d))])
            X[::7] = X[rng.integers(0, 70)]
            z = rng.choice(rng.normal(size=25), 70)
            expected = thin_greedily(X, z, distance)
            for most in (len(expected), len(expected) + 1, 70):
                assert thin(X, z, distance, most).tolist() == sorted(expected), seed

    def test_a_distance_equal_to_the_limit_is_close(self):
        X = np.array([[0.25], [0.5], [0.75]])
        assert thin(X, np.arange(3.0), 0.25, 3).tolist() == [0, 2]
        assert thin(X, np.arange(3.0), 0.2499, 3).tolist() == [0, 1, 2]

    @pytest.mark.parametrize("most", [1, 2, 3, 16, 17, 59])
    def test_above_the_limit_the_better_half_and_an_even_sample_of_the_others(self, most):
        """Even in their order; the first and the last of them are in the sample."""
        rng = np.random.default_rng(most)
        X, z = rng.random((60, 6)), rng.normal(size=60)
        assert len(thin_greedily(X, z, 0.01)) == 60
        kept, half = thin(X, z, 0.01, most), most // 2
        assert len(set(kept.tolist())) == len(kept) == most
        assert kept.tolist() == sorted(kept.tolist())
        best, others = np.argsort(z)[:half], np.sort(np.argsort(z)[half:])
        assert set(best.tolist()) <= set(kept.tolist())
        positions = np.searchsorted(others, np.setdiff1d(kept, best))
        assert positions[0] == 0
        if len(positions) > 1:
            assert positions[-1] == len(others) - 1
            assert np.ptp(np.diff(positions)) <= 1

    def test_above_the_limit_no_two_are_close(self):
        """Also if those beyond the limit are clustered."""
        for seed in range(10):
            rng = np.random.default_rng(seed)
            X, z = rng.random((300, 2)), rng.normal(size=300)
            greedy = thin_greedily(X, z, 0.05)
            most = len(greedy) // 2
            kept = thin(X, z, 0.05, most)
            assert most // 2 < len(kept) <= most
            assert np.min(pdist(X[kept])) > 0.05
            assert set(greedy[: most // 2]) <= set(kept.tolist())
