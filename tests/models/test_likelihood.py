"""Marginal likelihood and leave-one-out, in closed form against the definitions."""

import math

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

import reference
from dale.models.gaussian_process import GaussianProcess, Prior
from dale.models.kernels.matern import Matern52
from dale.models.kernels.squared_exponential import SquaredExponential
from dale.models.likelihood import leave_one_out, log_leave_one_out_density, log_marginal_likelihood


@pytest.fixture(params=range(8))
def fitted(request):
    """A posterior, and the covariance (jitter included) that it stands for."""
    rng = np.random.default_rng(request.param)
    n, d = int(rng.integers(2, 20)), int(rng.integers(1, 4))
    X, y = rng.random((n, d)), 2 + rng.normal(size=n)
    l = 0.3 * n ** (-1 / d)  # short enough for the naive oracle to keep its digits
    kernel = [SquaredExponential, Matern52][request.param % 2](l)
    prior = None if request.param < 4 else Prior(float(rng.normal()), float(np.exp(rng.normal())))
    p = GaussianProcess.fit(kernel, X, y, prior)
    naive = [reference.k_se, reference.k_matern52][request.param % 2]
    return p, p.prior.variance * (naive(X, X, l) + p.factor.jitter * np.eye(n))


def test_likelihood_is_the_normal_density(fitted):
    p, K = fitted
    expected = multivariate_normal(np.full(len(K), p.prior.mean), K).logpdf(p.values)
    assert log_marginal_likelihood(p) == pytest.approx(expected, rel=1e-8, abs=1e-8)
    oracle = reference.log_marginal_likelihood(K, p.values, p.prior.mean)
    assert log_marginal_likelihood(p) == pytest.approx(oracle, rel=1e-8, abs=1e-8)


def test_leave_one_out_by_brute_force(fitted):
    """Under the same prior, the predicted observation with its own jitter."""
    p, K = fitted
    means, variances = reference.leave_one_out(K, p.values, p.prior.mean)
    mean, std = leave_one_out(p)
    np.testing.assert_allclose(mean, means, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(std**2, variances, rtol=1e-7, atol=1e-8)


def test_leave_one_out_is_the_posterior_of_the_others(fitted):
    p, _ = fitted
    mean, std = leave_one_out(p)
    for i in range(len(p.values)):
        rest = np.arange(len(p.values)) != i
        others = GaussianProcess.fit(p.kernel, p.points[rest], p.values[rest], p.prior)
        there = others.predict(p.points[i : i + 1])
        assert mean[i] == pytest.approx(there.mean[0], rel=1e-7, abs=1e-8)
        jitter = p.prior.variance * p.factor.jitter  # the observation is predicted, not the function
        assert std[i] ** 2 == pytest.approx(there.std[0] ** 2 + jitter, rel=1e-7, abs=1e-8)


def test_density_is_the_sum_over_the_observations(fitted):
    p, K = fitted
    means, variances = reference.leave_one_out(K, p.values, p.prior.mean)
    expected = np.sum(norm.logpdf(p.values, means, np.sqrt(variances)))
    assert log_leave_one_out_density(p) == pytest.approx(expected, rel=1e-7)


def test_one_observation():
    p = GaussianProcess.fit(SquaredExponential(0.1), np.array([[0.5]]), np.array([3.0]), Prior(1.0, 4.0))
    assert leave_one_out(p).mean[0] == pytest.approx(1.0)  # only the prior is left
    assert leave_one_out(p).std[0] == pytest.approx(2.0)
    assert log_marginal_likelihood(p) == pytest.approx(-0.5 - math.log(2 * math.sqrt(2 * math.pi)))
    assert log_leave_one_out_density(p) == pytest.approx(log_marginal_likelihood(p))


def test_likelihood_of_two_independent_observations():
    p = GaussianProcess.fit(SquaredExponential(1e-3), np.array([[0.0], [1.0]]), np.array([-1.0, 1.0]), Prior(0.0, 1.0))
    assert log_marginal_likelihood(p) == pytest.approx(-1 - math.log(2 * math.pi))
