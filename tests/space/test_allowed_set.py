"""The points of the cube that input constraints allow."""

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, NonlinearConstraint

import dale
from dale.space.allowed_set import POOL_SIZE, AllowedSet
from dale.space.constraints import as_constraints
from dale.space.space import as_space


def allowed_set_of(constraint, dimension=2):
    constraints = as_constraints(constraint, as_space([(0, 1)] * dimension))
    return AllowedSet.of(
        constraints.allowed,
        constraints.values,
        lambda: constraints.boolean,
        dimension,
        lambda: constraints.last_error,
    )


def ring(x):
    return np.hypot(x[0] - 0.5, x[1] - 0.5)


THIN = {
    "corner": (LinearConstraint([[1, 1]], -np.inf, 1e-3), 2),
    "disc": (lambda x: ring(x) - 0.01, 2),
    "ring": (NonlinearConstraint(ring, 0.3, 0.3001), 2),
    "slab": (LinearConstraint(np.ones(5), 2.5, 2.5001), 5),
    "boolean": (lambda x: bool(ring(x) < 0.03), 2),
    "two pieces": (lambda x: 0.45 - abs(x[0] - 0.5), 2),
}


@pytest.mark.parametrize("name", THIN)
def test_thin_sets_are_found_and_filled(name):
    allowed_set = allowed_set_of(*THIN[name])
    assert allowed_set.pool.shape == (POOL_SIZE, THIN[name][1])
    assert allowed_set.allowed(allowed_set.pool).all()
    rng = np.random.default_rng(0)
    sample = allowed_set.sample(200, rng)
    assert allowed_set.allowed(sample).all()
    assert len(np.unique(sample, axis=0)) > 100
    among = allowed_set.allowed_among(rng.random((300, len(sample[0]))), allowed_set.pool[0], rng)
    assert allowed_set.allowed(among).all()
    assert len(np.unique(among, axis=0)) > 60


def test_a_ring_is_filled_evenly():
    angle = np.arctan2(*(allowed_set_of(*THIN["ring"]).pool - 0.5).T)
    assert np.all(np.histogram(angle, bins=8, range=(-np.pi, np.pi))[0] >= 3)


def test_gradients_are_those_of_the_scaled_constraint_values():
    allowed_set = allowed_set_of(lambda x: [x[0] ** 2 - x[1], np.sin(3 * x[1]) - 0.9])
    x = np.array([0.3, 0.6])
    values, gradients = allowed_set.smooth_values(x)
    np.testing.assert_allclose(values * allowed_set.scales, [0.09 - 0.6, np.sin(1.8) - 0.9])
    np.testing.assert_allclose(gradients * allowed_set.scales[:, None], [[0.6, -1], [0, 3 * np.cos(1.8)]], atol=1e-8)


def test_an_empty_set_raises_an_error_with_the_reason():
    with pytest.raises(dale.SpaceError, match=r"no point that the constraints allow.*signs"):
        allowed_set_of(lambda x: x[0] + 1)
    with pytest.raises(dale.SpaceError, match="NameError"):
        allowed_set_of(lambda x: undefined)  # noqa: F821
