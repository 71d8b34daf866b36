"""The decoupled posterior is the dense one (eq. 18 in one matrix)."""

import numpy as np
import pytest

import reference
from dale.models.ellipsoid import Ellipsoid
from dale.models.gaussian_process import GaussianProcess, Prior
from dale.models.kernels.mixed_global_local import MixedGlobalLocal
from dale.models.kernels.squared_exponential import SquaredExponential
from dale.models.mixed_global_local import MixedGlobalLocalPosterior, local_model
from dale.models.quadratic_fit import QuadraticFit, n_unknowns


def random_regions(rng, d, most):
    balls = []
    for _ in range(most):
        ball = Ellipsoid(rng.random(d), float(rng.uniform(0.1, 0.35)))
        if not any(ball.overlaps(other) for other in balls):
            balls.append(ball)
    return tuple(balls)


def in_ball(rng, ball, k):
    d = len(ball.center)
    z = rng.normal(size=(k, d))
    z *= 0.999 * rng.random((k, 1)) ** (1 / d) / np.linalg.norm(z, axis=1, keepdims=True)
    return ball.center + ball.radius * z


def fit(outside, balls, X, y, prior, **noise):
    kernel = MixedGlobalLocal(outside, balls, prior.variance)
    return MixedGlobalLocalPosterior.fit(kernel, X, y, mean=prior.mean, **noise)


def dense(model, balls, X, y, prior, noise, A):
    """The same by one big matrix: jitter outside, noise inside, as the two kinds of model have them."""
    pairs = [(b.center, b.radius) for b in balls]
    K, k = (reference.k_mgl(X, B, pairs, 0.2, prior.variance) for B in (X, A))
    diagonal = np.array([reference.k_mgl(a[None], a[None], pairs, 0.2, prior.variance)[0, 0] for a in A])
    outside = np.array([reference.ball_of(x, pairs) is None for x in X])
    K += np.diag(np.where(outside, prior.variance * model.outside.factor.jitter, noise))
    return reference.posterior(K, k, diagonal, y, prior.mean)


@pytest.mark.parametrize("seed", range(60))
def test_equals_the_dense_posterior(seed):
    rng = np.random.default_rng(seed)
    d = 1 + seed % 3
    balls = random_regions(rng, d, most=4)
    prior = Prior(float(rng.normal()), float(np.exp(rng.normal())))
    noise = float(10 ** rng.uniform(-4, -1))
    X = np.vstack([rng.random((8, d)), *(in_ball(rng, b, int(rng.integers(1, 2 * n_unknowns(d)))) for b in balls)])
    y = rng.normal(size=len(X))
    A = np.vstack([rng.random((15, d)), *(in_ball(rng, b, 4) for b in balls)])
    model = fit(SquaredExponential(0.2), balls, X, y, prior, noise=noise)
    mean, std = model.predict(A)
    expected_mean, expected_variance = dense(model, balls, X, y, prior, noise, A)
    np.testing.assert_allclose(mean, expected_mean, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(std**2, expected_variance, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("seed", range(10))
def test_without_noise_regions_are_least_squares(seed):
    rng = np.random.default_rng(seed)
    ball = Ellipsoid(np.full(2, 0.5), 0.2)
    X = np.vstack([in_ball(rng, ball, 9), [[0.0, 0.0], [0.9, 0.1], [0.05, 1.0]]])
    y, A = rng.normal(size=12), in_ball(rng, ball, 10)
    model = fit(SquaredExponential(0.3), (ball,), X, y, Prior(0.2, 1.5))
    beta = np.linalg.lstsq(reference.monomials(X[:9] - 0.5), y[:9], rcond=None)[0]
    np.testing.assert_allclose(model.predict(A).mean, reference.monomials(A - 0.5) @ beta, rtol=0, atol=1e-8)
    np.testing.assert_array_equal(model.predict(A).std, 0.0)


def test_without_regions_it_is_the_global_model():
    rng = np.random.default_rng(0)
    X, y, A = rng.random((9, 2)), rng.normal(size=9), rng.random((20, 2))
    model = fit(SquaredExponential(0.3), (), X, y, Prior(0.2, 1.5))
    expected = GaussianProcess.fit(SquaredExponential(0.3), X, y, Prior(0.2, 1.5)).predict(A)
    np.testing.assert_array_equal(model.predict(A), expected)


def test_all_observations_in_regions_leave_the_prior_outside(capfd):
    rng = np.random.default_rng(0)
    balls = (Ellipsoid(np.full(2, 0.2), 0.15), Ellipsoid(np.full(2, 0.8), 0.15))
    X = np.vstack([in_ball(rng, b, 8) for b in balls])
    y, A = rng.normal(size=16), np.vstack([[[0.5, 0.5], [0.0, 1.0]], in_ball(rng, balls[1], 3)])
    model = fit(SquaredExponential(0.3), balls, X, y, Prior(0.2, 1.44))
    mean, std = model.predict(A)
    assert mean[:2].tolist() == [0.2, 0.2]
    assert std[:2].tolist() == [1.2, 1.2]
    expected = local_model(balls[1], X[8:], y[8:]).predict(A[2:]).mean
    np.testing.assert_allclose(mean[2:], expected, rtol=0, atol=1e-9)
    assert capfd.readouterr() == ("", "")  # LAPACK has no opinion about empty matrices


def test_observations_of_one_part_do_not_affect_another():
    rng = np.random.default_rng(0)
    balls = (Ellipsoid(np.full(2, 0.2), 0.15), Ellipsoid(np.full(2, 0.8), 0.15))
    X = np.vstack([*(in_ball(rng, b, 8) for b in balls), [[0.5, 0.5], [0.1, 0.9], [0.9, 0.1]]])
    y = rng.normal(size=19)
    altered = y.copy()
    altered[:8] += 5.0
    A = np.vstack([in_ball(rng, balls[1], 5), [[0.4, 0.6], [1.0, 0.0]]])
    one, other = (fit(SquaredExponential(0.3), balls, X, v, Prior(0.0, 1.0)).predict(A) for v in (y, altered))
    np.testing.assert_array_equal(one, other)


def test_without_noise_a_region_is_the_fit_of_alg_3():
    """The one that the paper's method predicts with."""
    rng = np.random.default_rng(1)
    ball = Ellipsoid(np.full(2, 0.5), 0.2)
    X = np.vstack([in_ball(rng, ball, 9), [[0.0, 0.0], [0.9, 0.1], [0.05, 1.0]]])
    y = rng.normal(size=12)
    (local,) = fit(SquaredExponential(0.3), (ball,), X, y, Prior(0.2, 1.5)).regions
    assert isinstance(local, QuadraticFit)
    np.testing.assert_array_equal(local(X), QuadraticFit.to(X[:9], y[:9], ball)(X))


def test_arguments_that_are_refused():
    kernel, X = MixedGlobalLocal(SquaredExponential(0.3), ()), np.zeros((3, 1))
    for points, values in ((X, np.zeros(2)), (np.zeros(3), np.zeros(3)), (X, X)):
        with pytest.raises(ValueError, match=r"expected points X \(n, d\) and values y \(n,\), got arrays of shape"):
            MixedGlobalLocalPosterior.fit(kernel, points, values)
    for noise in (-1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match=f"noise: expected a finite variance of at least 0, got {noise}"):
            MixedGlobalLocalPosterior.fit(kernel, X, np.zeros(3), noise=noise)
