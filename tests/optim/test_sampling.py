"""Points without a model: the initial design and the way out."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import qmc

from dale.optim.sampling import DIRECTIONS, far_from, latin_hypercube, sobol


@pytest.mark.parametrize("n", [1, 2, 3, 10, 100])
@pytest.mark.parametrize("d", [1, 2, 6])
def test_one_point_in_each_slice(n, d):
    X = latin_hypercube(n, d, np.random.default_rng(n + d))
    assert X.shape == (n, d)
    assert np.all((X >= 0) & (X < 1))
    slices = np.sort(np.floor(X * n).astype(int), axis=0)
    np.testing.assert_array_equal(slices, np.repeat(np.arange(n)[:, None], d, axis=1))


def test_coordinates_are_shuffled_independently():
    """Not along the diagonal: over many draws the coordinates are uncorrelated and uniform."""
    draws = np.vstack([latin_hypercube(5, 2, np.random.default_rng(s)) for s in range(2000)])
    assert abs(np.corrcoef(draws.T)[0, 1]) < 0.03
    np.testing.assert_allclose(draws.mean(axis=0), 0.5, atol=0.01)
    np.testing.assert_allclose(draws.var(axis=0), 1 / 12, atol=0.005)


def test_design_is_a_function_of_the_generator():
    one, same, other = (latin_hypercube(4, 3, np.random.default_rng(s)) for s in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)


def test_far_from_all_others():
    rng = np.random.default_rng(0)
    points = rng.random((10, 2))
    x = far_from(points, 2, np.random.default_rng(1))
    candidates = np.random.default_rng(1).random((1024, 2))
    assert np.any(np.all(candidates == x, axis=1))
    assert cdist(x[None], points).min() == cdist(candidates, points).min(axis=1).max()


def test_far_from_a_cluster_is_the_other_corner():
    x = far_from(np.zeros((50, 3)), 3, np.random.default_rng(0))
    assert np.all(x > 0.7)


def test_far_from_no_points():
    x = far_from(np.empty((0, 4)), 4, np.random.default_rng(0))
    assert x.shape == (4,)
    assert np.all((x >= 0) & (x < 1))


@pytest.mark.parametrize("power", [0, 1, 9, 12])
def test_the_sobol_sequence_is_that_of_scipy(power):
    """Bit for bit, from the table and beyond it."""
    for d in (1, 2, 7, len(DIRECTIONS), len(DIRECTIONS) + 1):
        points = sobol(d, power)
        np.testing.assert_array_equal(points, qmc.Sobol(d, scramble=False).random_base2(power))
        assert points.flags.c_contiguous
        assert not points.flags.writeable
