"""The local model in weight space: the least-squares quadratic without fail, and the dense posterior with noise."""

import numpy as np
import pytest

import precise
import reference
from dale.models.ellipsoid import Ellipsoid
from dale.models.kernels.quadratic import Quadratic
from dale.models.mixed_global_local import local_model
from dale.models.quadratic_fit import n_unknowns


def in_ball(rng, center, radius, k):
    """k points that are uniform in a ball, rounded as coordinates near ``center`` are."""
    d = len(center)
    z = rng.normal(size=(k, d))
    return center + radius * z * rng.random((k, 1)) ** (1 / d) / np.linalg.norm(z, axis=1, keepdims=True)


def least_squares(X, y, ball, A):
    """The quadratic fitted to y at A, in coordinates where the regression is well-conditioned."""
    fit = np.linalg.lstsq(reference.monomials((X - ball.center) / ball.radius), y, rcond=None)[0]
    return reference.monomials((A - ball.center) / ball.radius) @ fit


@pytest.mark.parametrize("d", [1, 2, 3, 4, 5, 6])
def test_mean_is_the_least_squares_fit(d):
    """1000 draws, k = N_U .. 2 N_U points in radii of 1e-9 .. 0.3: no exception, no NaN, 1e-6 of the range."""
    rng = np.random.default_rng(d)
    p = n_unknowns(d)
    worst = 0.0
    for draw in range(1000):
        k = p + draw % (p + 1)
        center, radius = rng.random(d), 10 ** rng.uniform(-9, np.log10(0.3))
        X = in_ball(rng, center, radius, k)
        if draw % 2:
            X[0] = center  # as Alg. 3 has it
        ball = Ellipsoid(center, float(np.max(np.linalg.norm(X - center, axis=1))))
        y = rng.normal(size=k)
        A = np.vstack([X, in_ball(rng, center, radius, 5)])
        mean, std = local_model(ball, X, y, mean_level=0.3).predict(A)
        assert np.all(np.isfinite(mean))
        assert np.all(std == 0)
        worst = max(worst, float(np.max(np.abs(mean - least_squares(X, y, ball, A))) / np.ptp(y)))
    assert worst < 1e-6, worst


def test_largest_and_smallest_balls():
    rng = np.random.default_rng(0)
    for radius in (1e-9, 0.3):
        center = np.full(2, 0.7)
        X, A = in_ball(rng, center, radius, 9), in_ball(rng, center, radius, 20)
        y = 1 + ((X - center) / radius) @ [1.0, -2.0] + 3 * (((X - center) / radius) ** 2).sum(axis=1)
        expected = 1 + ((A - center) / radius) @ [1.0, -2.0] + 3 * (((A - center) / radius) ** 2).sum(axis=1)
        mean, _ = local_model(Ellipsoid(center, radius), X, y).predict(A)
        np.testing.assert_allclose(mean, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_without_noise_at_the_unknowns_it_is_dense_interpolation(d):
    rng = np.random.default_rng(d)
    for radius in (0.3, 1e-3, 1e-7):
        ball = Ellipsoid(rng.random(d), radius)
        X, A = in_ball(rng, ball.center, radius, n_unknowns(d)), in_ball(rng, ball.center, radius, 5)
        y = rng.normal(size=len(X))
        model = local_model(ball, X, y, mean_level=-0.4)
        np.testing.assert_allclose(model.predict(X).mean, y, rtol=0, atol=1e-9)
        mean, variance = precise.dense_quadratic(X, y, -0.4, 0.0, A)
        np.testing.assert_allclose(model.predict(A).mean, mean, rtol=1e-7, atol=1e-8)
        np.testing.assert_allclose(variance, 0.0, atol=1e-12)
        np.testing.assert_array_equal(model.predict(A).std, 0.0)


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("extra", [-2, 0, 3])
@pytest.mark.parametrize("noise", [1e-10, 1e-4, 1.0])
def test_with_noise_it_is_the_dense_process(d, extra, noise):
    """Also with fewer points than unknowns, where the prior fills in, and in balls too small for any dense float64."""
    rng = np.random.default_rng(d)
    for radius in (0.3, 1e-2, 1e-5, 1e-9):
        ball = Ellipsoid(rng.random(d), radius)
        X, A = in_ball(rng, ball.center, radius, n_unknowns(d) + extra), in_ball(rng, ball.center, radius, 3)
        y = rng.normal(size=len(X))
        mean, std = local_model(ball, X, y, mean_level=0.3, noise=noise).predict(A)
        exact_mean, exact_variance = precise.dense_quadratic(X, y, 0.3, noise, A)
        np.testing.assert_allclose(mean, exact_mean, rtol=1e-7, atol=1e-7)
        np.testing.assert_allclose(std, np.sqrt(exact_variance), rtol=1e-6, atol=0)


@pytest.mark.parametrize("d", [1, 2, 4])
def test_with_noise_it_is_the_naive_oracle(d):
    rng = np.random.default_rng(d)
    ball = Ellipsoid(rng.random(d), 0.3)
    X, A = in_ball(rng, ball.center, 0.3, 2 * n_unknowns(d)), in_ball(rng, ball.center, 0.3, 20)
    y = rng.normal(size=len(X))
    mean, std = local_model(ball, X, y, mean_level=0.3, noise=0.01).predict(A)
    expected = reference.posterior(
        reference.k_q(X, X), reference.k_q(X, A), np.diag(reference.k_q(A, A)), y, 0.3, jitter=0.01
    )
    np.testing.assert_allclose(mean, expected[0], rtol=0, atol=1e-9)
    np.testing.assert_allclose(std**2, expected[1], rtol=0, atol=1e-9)


def test_the_coordinates_of_the_region_do_not_matter():
    """With noise the prior is that of the cube, whatever ball the model is written in."""
    rng = np.random.default_rng(0)
    X, A = in_ball(rng, np.full(2, 0.5), 0.2, 9), in_ball(rng, np.full(2, 0.5), 0.2, 9)
    y = rng.normal(size=9)
    one = local_model(Ellipsoid(np.full(2, 0.5), 0.2), X, y, noise=0.1).predict(A)
    other = local_model(Ellipsoid(np.array([0.3, 0.9]), 1.7), X, y, noise=0.1).predict(A)
    np.testing.assert_allclose(one, other, rtol=0, atol=1e-10)


def test_where_plain_cholesky_fails():
    """Beyond N_U points the Gram matrix of k_q is singular: dense Cholesky fails, weight space does not."""
    rng, failures = np.random.default_rng(0), 0
    for _ in range(100):
        ball = Ellipsoid(rng.random(3), 0.2)
        X = in_ball(rng, ball.center, 0.2, n_unknowns(3) + 3)
        y = rng.normal(size=len(X))
        try:
            np.linalg.cholesky(Quadratic()(X, X))
        except np.linalg.LinAlgError:
            failures += 1
        assert np.all(np.isfinite(local_model(ball, X, y).predict(X).mean))
    assert failures > 90, failures


def test_too_few_points_without_noise_are_refused():
    X = np.random.default_rng(0).random((5, 2))
    with pytest.raises(ValueError, match=r"takes at least 6 of them in .*, got 5; add points or noise"):
        local_model(Ellipsoid(np.full(2, 0.5), 1.0), X, np.zeros(5))


def test_points_that_determine_no_quadratic_are_refused():
    """Eight times the same point; and three points of a line that are nearly two, whose fit would be all rounding."""
    with pytest.raises(ValueError, match="must determine a quadratic"):
        local_model(Ellipsoid(np.zeros(2), 1.0), np.zeros((8, 2)), np.zeros(8))
    X = np.array([[0.1], [0.1], [0.3], [0.3], [0.3]])
    with pytest.raises(ValueError, match="must determine a quadratic"):
        local_model(Ellipsoid(np.array([0.2]), 0.15), X, np.array([1.0, 1.0, 2.0, 2.0, 2.0]))
