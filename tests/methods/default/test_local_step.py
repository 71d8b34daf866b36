"""One step of a trust region: its bounds, its end point and its log EI."""

import dataclasses

import numpy as np
import pytest

from dale.acquisition.expected_improvement import log_expected_improvement
from dale.methods.default.local_model import LocalProblem
from dale.methods.default.local_step import STEP_RESOLUTION, best_step
from dale.methods.default.settings import TaylorSettings, TrustRegionSettings
from dale.methods.default.trust_region import TrustRegion
from dale.models.monomials import n_terms
from dale.space.domain import Domain

INITIAL_RADIUS = TrustRegionSettings().initial_radius
SHORT_STEPS = TaylorSettings(allow_long_steps=False)


def leaves_its_box(s):
    """Whether it is a long step."""
    return np.max(np.abs(s.z)) > 1 + 1e-9


def step(X, y, radius, pending=None, settings=None, seed=0):
    """The step from the best of these observations."""
    return best_step(problem(X, y, int(np.argmin(y)), radius, pending, settings), np.random.default_rng(seed))


def problem(X, y, center, radius, pending=None, settings=None):
    n, d = X.shape
    return LocalProblem(
        X=X,
        y=y,
        constraints=np.empty((n, 0)),
        center=center,
        region=TrustRegion(X[center], radius),
        pending=np.empty((0, d)) if pending is None else pending,
        domain=Domain.unit(d),
        target=float(np.min(y)),
        min_reduction=0.0,
        settings=settings or TaylorSettings(),
    )


def random_points(d, n, seed, around=None, width=1.0):
    rng = np.random.default_rng([d, n, seed])
    middle = np.full(d, 0.5) if around is None else np.array(around)
    return np.clip(middle + width * (rng.random((n, d)) - 0.5), 0.0, 1.0), rng


def bowl(X, bottom, condition=20.0):
    return np.sum(np.geomspace(1, condition, X.shape[1]) * (X - bottom) ** 2, axis=1)


def bumpy(X):
    return np.sin(5 * X @ np.arange(1, X.shape[1] + 1)) + np.sum((X - 0.4) ** 2, axis=1)


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("radius", [0.5, 0.12, 1e-4])
def test_a_step_stays_in_the_cube_and_in_its_box(d, radius):
    for seed in range(5):
        X, _ = random_points(d, 3 * d + 2, seed)
        y = bumpy(X)
        s = step(X, y, radius, settings=SHORT_STEPS, seed=seed)
        assert not leaves_its_box(s)
        assert np.all((s.point >= 0) & (s.point <= 1))
        assert np.max(np.abs(s.z)) <= 1 + STEP_RESOLUTION
        assert np.max(np.abs(s.point - X[np.argmin(y)])) <= (1 + STEP_RESOLUTION) * radius
        np.testing.assert_allclose(s.point, X[np.argmin(y)] + radius * s.z, rtol=0, atol=STEP_RESOLUTION * radius)


@pytest.mark.parametrize("radius", [0.4, 0.12, 0.03])
def test_a_minimum_on_a_face_is_reached_bit_for_bit(radius):
    """Despite the change of coordinates and the rounding of the step."""
    for seed in range(10):
        X, _ = random_points(3, 30, seed, around=[0.0, 1.0, 0.6], width=radius)
        s = step(X, bowl(X, [-0.4, 1.3, 0.6]), radius, seed=seed)
        assert s.point[0] == 0.0, seed
        assert s.point[1] == 1.0, seed
        assert s.point[2] == pytest.approx(0.6, abs=1e-2 * radius)


@pytest.mark.parametrize("d", [1, 2, 5, 10])
def test_a_linear_function_is_followed_to_its_corner(d):
    """In one step, from a few points more than it has coefficients."""
    for seed in range(10):
        X, rng = random_points(d, d + 4, seed)
        gradients = rng.choice([-1, 1], d) * rng.uniform(0.2, 2, d)
        s = step(X, X @ gradients, INITIAL_RADIUS, seed=seed)
        np.testing.assert_allclose(s.point, np.where(gradients > 0, 0.0, 1.0), atol=1e-7)
        assert leaves_its_box(s) == (np.max(np.abs(s.point - X[np.argmin(X @ gradients)])) > INITIAL_RADIUS)


@pytest.mark.parametrize("d", [2, 3, 5])
def test_a_quadratic_is_followed_to_its_minimum(d):
    """Far outside the box, from more points than a quadratic has coefficients."""
    for seed in range(10):
        X, rng = random_points(d, n_terms(d, 2) + 3, seed, around=np.full(d, 0.75), width=0.5)
        Q = np.linalg.qr(rng.normal(size=(d, d)))[0]
        y = bowl(X @ Q, Q.T @ np.full(d, 0.3))
        s = step(X, y, 0.05, seed=seed)
        assert leaves_its_box(s), seed
        assert bowl(s.point[None] @ Q, Q.T @ np.full(d, 0.3))[0] < 1e-12 * np.ptp(y), seed
        np.testing.assert_allclose(s.point, np.full(d, 0.3), atol=1e-6)


@pytest.mark.parametrize("d", [2, 3, 5])
def test_no_long_step_along_a_kink(d):
    for seed in range(10):
        X, rng = random_points(d, n_terms(d, 2) + 3, seed, around=np.full(d, 0.75), width=0.5)
        across = (X - np.median(X, axis=0)) @ rng.normal(size=d)
        s = step(X, np.abs(across - np.median(across)) + X[:, 0], 0.05, seed=seed)
        assert not leaves_its_box(s), seed
        assert np.max(np.abs(s.z)) <= 1 + STEP_RESOLUTION


def test_no_long_step_without_redundant_points():
    X, rng = random_points(4, 5, 0)
    assert not leaves_its_box(step(X, X @ rng.normal(size=4), 0.05))


@pytest.mark.parametrize("n_pending", [0, 2])
@pytest.mark.parametrize("d", [1, 3])
def test_the_log_ei_of_a_step_is_that_of_the_model(d, n_pending):
    for seed in range(5):
        X, rng = random_points(d, 3 * d + 3, seed)
        y, pending = bumpy(X), rng.random((n_pending, d))
        i = int(np.argsort(y)[1])  # from a point that is not the best
        s = best_step(problem(X, y, i, 0.15, pending), rng)
        mean, std = s.model.predict(s.z[None])
        target = np.min(y) - y[i]
        assert target < 0
        assert (s.mean, s.std) == (mean[0], std[0])
        assert s.log_ei == log_expected_improvement(mean, std, target).value[0]
        assert s.lowest <= s.mean + 1e-12


@pytest.mark.parametrize("d", [1, 2, 4])
def test_no_random_point_of_the_box_has_a_higher_log_ei(d):
    for seed in range(5):
        X, _ = random_points(d, 3 * d + 3, seed)
        y = bumpy(X)
        s = step(X, y, 0.12, settings=SHORT_STEPS, seed=seed)
        c = X[np.argmin(y)]
        lower, upper = np.maximum(-c / 0.12, -1.0), np.minimum((1 - c) / 0.12, 1.0)
        Z = lower + (upper - lower) * np.random.default_rng(99).random((3000, d))
        mean, std = s.model.predict(Z)
        assert s.log_ei >= np.max(log_expected_improvement(mean, std, 0.0).value) - 0.05
        assert s.lowest <= np.min(mean) + 1e-12


def test_pending_points_move_the_step_away():
    """Steps that are evaluated at the same time are separated."""
    for seed in range(10):
        X, _ = random_points(2, 8, seed)
        y = bumpy(X)
        first = step(X, y, 0.12, seed=seed)
        second = step(X, y, 0.12, first.point[None], seed=seed)
        third = step(X, y, 0.12, np.array([first.point, second.point]), seed=seed)
        assert np.linalg.norm(second.point - first.point) > 0.01, seed
        assert min(np.linalg.norm(third.point - s.point) for s in (first, second)) > 0.01, seed


def test_fantasies_are_not_better_than_the_best_value():
    X, _ = random_points(2, 12, 0)
    y = bowl(X, [0.1, 0.1])
    s = step(X, y, 0.2, np.array([[0.1, 0.1]]))
    assert s.model.predict((np.array([[0.1, 0.1]]) - s.model.center) / 0.2)[0][0] > -1e-3 * np.ptp(y)


def test_std_factor_scales_the_std_only():
    X, _ = random_points(2, 8, 1)
    y = bumpy(X)
    i = int(np.argmin(y))
    models = [problem(X, y, i, 0.12, settings=TaylorSettings(std_factor=c)).fit(y, 0.0) for c in (1.0, 0.25)]
    Z = np.array([[0.3, 0.4], [-0.9, 0.2]])
    np.testing.assert_allclose(models[1].predict(Z)[1], 0.25 * models[0].predict(Z)[1])
    np.testing.assert_array_equal(models[1].predict(Z)[0], models[0].predict(Z)[0])


@pytest.mark.parametrize("scale", [1e-9, 1e9])
def test_the_unit_of_the_values_does_not_matter(scale):
    X, _ = random_points(3, 11, 2)
    one, other = (step(X, factor * bumpy(X), 0.12) for factor in (1.0, scale))
    np.testing.assert_allclose(other.point, one.point, atol=2 * STEP_RESOLUTION * 0.12)
    assert other.log_ei == pytest.approx(one.log_ei + np.log(scale), abs=1e-3)


def test_the_same_generator_gives_the_same_step():
    X, _ = random_points(3, 9, 4)
    one, two = (step(X, bumpy(X), 0.1, seed=7) for _ in range(2))
    assert one.point.tolist() == two.point.tolist()
    assert dataclasses.astuple(one)[2:7] == dataclasses.astuple(two)[2:7]


@pytest.mark.parametrize("values", [np.zeros(9), np.r_[np.zeros(5), np.ones(4)]], ids=["constant", "two values"])
def test_values_without_information_give_a_valid_step(values):
    X, _ = random_points(2, 9, 5)
    s = step(X, values, 0.12)
    assert np.all((s.point >= 0) & (s.point <= 1))
    assert not np.isnan(s.log_ei)
