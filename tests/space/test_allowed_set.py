"""The allowed part of the cube."""

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, NonlinearConstraint

import dale
from dale.space.allowed_set import POOL_SIZE, AllowedSet
from dale.space.constraints import as_constraints
from dale.space.space import as_space


def inputs_of(constraint, dimension=2):
    read = as_constraints(constraint, as_space([(0, 1)] * dimension))
    return AllowedSet.of(read.allowed, read.values, lambda: read.boolean, dimension, lambda: read.last_error)


def ring(x):
    return np.hypot(x[0] - 0.5, x[1] - 0.5)


THIN = {
    "corner": (LinearConstraint([[1, 1]], -np.inf, 1e-3), 2),
    "disc": (lambda x: ring(x) - 0.01, 2),
    "ring": (NonlinearConstraint(ring, 0.3, 0.3001), 2),
    "slab": (LinearConstraint(np.ones(5), 2.5, 2.5001), 5),
    "yes or no": (lambda x: bool(ring(x) < 0.03), 2),
    "two pieces": (lambda x: 0.45 - abs(x[0] - 0.5), 2),
}


@pytest.mark.parametrize("name", THIN)
def test_thin_sets_are_found_and_filled(name):
    inputs = inputs_of(*THIN[name])
    assert inputs.pool.shape == (POOL_SIZE, THIN[name][1])
    assert inputs.allowed(inputs.pool).all()
    rng = np.random.default_rng(0)
    some = inputs.sample(200, rng)
    assert inputs.allowed(some).all()
    assert len(np.unique(some, axis=0)) > 100
    among = inputs.allowed_among(rng.random((300, len(some[0]))), inputs.pool[0], rng)
    assert inputs.allowed(among).all()
    assert len(np.unique(among, axis=0)) > 60


def test_a_ring_is_filled_all_around():
    angle = np.arctan2(*(inputs_of(*THIN["ring"]).pool - 0.5).T)
    assert np.all(np.histogram(angle, bins=8, range=(-np.pi, np.pi))[0] >= 3)


def test_slopes_are_those_of_the_margins_in_their_units():
    inputs = inputs_of(lambda x: [x[0] ** 2 - x[1], np.sin(3 * x[1]) - 0.9])
    x = np.array([0.3, 0.6])
    values, slopes = inputs.smooth_values(x)
    np.testing.assert_allclose(values * inputs.scales, [0.09 - 0.6, np.sin(1.8) - 0.9])
    np.testing.assert_allclose(slopes * inputs.scales[:, None], [[0.6, -1], [0, 3 * np.cos(1.8)]], atol=1e-8)


def test_nothing_allowed_is_an_error_that_says_why():
    with pytest.raises(dale.SpaceError, match=r"no point that the constraints allow.*signs"):
        inputs_of(lambda x: x[0] + 1)
    with pytest.raises(dale.SpaceError, match="NameError"):
        inputs_of(lambda x: undefined)  # noqa: F821
