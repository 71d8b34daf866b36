"""Length-scale, signal and noise of noisy values against dense formulas, and what they find in simulated ones."""

import math

import numpy as np
import pytest

import reference
from dale.models.gaussian_process import GaussianProcess, Prior
from dale.models.kernels.matern import Matern52
from dale.models.kernels.squared_exponential import SquaredExponential
from dale.models.noisy_gp import (
    LENGTH_SCALES,
    MAX_FITTED,
    MIN_NOISE_VARIANCE,
    NOISE_RATIOS,
    PRIOR_LENGTH_SCALE,
    PRIOR_LOG_STD,
    SIGNAL_VARIANCES,
    NoisyGP,
    fit_noise,
    losses,
)


def drawn(seed, n, d, l=0.3, noise=0.1):
    """A draw from the model: points, values of variance 1 or so with errors, and their standard deviations."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    smooth = np.linalg.cholesky(reference.k_se(X, X, l) + 1e-9 * np.eye(n)) @ rng.normal(size=n)
    errors = np.broadcast_to(noise, n)
    return X, smooth + errors * rng.normal(size=n), errors


def log_prior(l, d):
    return -((math.log(l / (PRIOR_LENGTH_SCALE * math.sqrt(d))) / PRIOR_LOG_STD) ** 2) / 2


def oracle(X, y, variances=None):
    """Log evidence and prior of each cell of the grid, (length-scales, ratios or signals)."""
    d = X.shape[1]
    table = []
    for l in math.sqrt(d) * np.array(LENGTH_SCALES):
        K = reference.k_se(X, X, l)
        if variances is None:
            row = [reference.noisy_log_evidence(K, y, eta) for eta in NOISE_RATIOS]
        else:
            row = [reference.known_noise_log_evidence(K, y, s2, variances) for s2 in SIGNAL_VARIANCES]
        table.append(np.array(row) + log_prior(l, d))
    return np.array(table)


def ours(X, y, variances=None):
    """The same as the code computes it, but for a constant."""
    d = X.shape[1]
    known = variances is not None
    shape, eta = (variances, 1 / np.array(SIGNAL_VARIANCES)) if known else (np.ones(len(y)), np.array(NOISE_RATIOS))
    return np.array(
        [
            log_prior(l, d) - losses(SquaredExponential(l)(X, X), y, shape, eta, known=known)[0]
            for l in math.sqrt(d) * np.array(LENGTH_SCALES)
        ]
    )


CASES = [(seed, n, d) for seed, (n, d) in enumerate([(2, 1), (3, 2), (8, 1), (15, 3), (25, 2), (40, 6)])]


class TestAgainstTheDenseFormulas:
    def test_a_matrix_that_rounding_makes_indefinite_is_improbable(self):
        shape, eta = np.geomspace(1e-10, 1e12, 50), np.array([1e-10, 1e6])
        found, *_ = losses(np.ones((50, 50)), np.arange(50.0), shape, eta, known=True)
        assert found[0] == np.inf
        assert np.isfinite(found[1])

    @pytest.mark.parametrize(("seed", "n", "d"), CASES)
    def test_unknown_noise(self, seed, n, d):
        X, y, _ = drawn(seed, n, d)
        expected, found = oracle(X, y), ours(X, y)
        certain = (
            np.array(NOISE_RATIOS) > 1e-5
        )  # below, the oracle loses its digits in a matrix that is all but singular
        differences = (expected - expected[0, -1]) - (found - found[0, -1])
        np.testing.assert_allclose(differences[:, certain], 0, atol=1e-8)
        i, j = np.unravel_index(np.argmax(expected), expected.shape)
        fitted = fit_noise(X, y)
        assert fitted.length_scale == pytest.approx(math.sqrt(d) * LENGTH_SCALES[i], rel=1e-12)
        np.testing.assert_allclose(fitted.noise, NOISE_RATIOS[j], rtol=1e-12)
        C = reference.k_se(X, X, fitted.length_scale) + NOISE_RATIOS[j] * np.eye(n)
        c = reference.ml_mean(C, y)
        assert fitted.prior == pytest.approx((c, reference.ml_variance(C, y, c)), rel=1e-6, abs=1e-8)

    @pytest.mark.parametrize("std", [1.0, 30.0], ids=["alike", "one in each of them another"])
    @pytest.mark.parametrize(("seed", "n", "d"), CASES)
    def test_known_noise(self, seed, n, d, std):
        errors = 0.1 * std ** np.random.default_rng(seed).uniform(-0.5, 0.5, n)
        X, y, _ = drawn(seed, n, d, noise=errors)
        expected, found = oracle(X, y, errors**2), ours(X, y, errors**2)
        np.testing.assert_allclose((expected - expected[0, 0]) - (found - found[0, 0]), 0, atol=1e-8)
        i, j = np.unravel_index(np.argmax(expected), expected.shape)
        fitted = fit_noise(X, y, errors**2)
        assert fitted.length_scale == pytest.approx(math.sqrt(d) * LENGTH_SCALES[i], rel=1e-12)
        assert fitted.prior.variance == pytest.approx(SIGNAL_VARIANCES[j], rel=1e-12)
        np.testing.assert_allclose(fitted.noise * fitted.prior.variance, errors**2, rtol=1e-12)
        C = SIGNAL_VARIANCES[j] * reference.k_se(X, X, fitted.length_scale) + np.diag(errors**2)
        assert fitted.prior.mean == pytest.approx(reference.ml_mean(C, y), rel=1e-6, abs=1e-8)

    def test_repeated_points(self):
        X, y, _ = drawn(1, 12, 2)
        X, y = np.repeat(X, 3, axis=0), np.repeat(y, 3) + 0.2 * np.random.default_rng(2).normal(size=36)
        np.testing.assert_allclose(np.argmax(oracle(X, y)), np.argmax(ours(X, y)))
        np.testing.assert_allclose(np.argmax(oracle(X, y, np.full(36, 0.04))), np.argmax(ours(X, y, np.full(36, 0.04))))

    @pytest.mark.parametrize("noise", [0.05, np.linspace(0.01, 0.5, 20)], ids=["alike", "each its own"])
    def test_posterior(self, noise):
        X, y, _ = drawn(3, 20, 2)
        A = np.random.default_rng(4).random((30, 2))
        prior = Prior(0.3, 1.7)
        K, k_star = reference.k_se(X, X, 0.3), reference.k_se(X, A, 0.3)
        K = prior.variance * (K + np.diag(np.broadcast_to(noise, 20)) + 1e-10 * np.eye(20))
        expected = reference.posterior(K, prior.variance * k_star, np.full(30, prior.variance), y, prior.mean)
        mean, std = GaussianProcess.fit(SquaredExponential(0.3), X, y, prior, noise).predict(A)
        np.testing.assert_allclose(mean, expected[0], rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(std**2, expected[1], rtol=1e-8, atol=1e-8)

    def test_predictions_are_of_the_function_and_not_of_noisy_values(self):
        """Much repeated, a point is known better than any one of its values."""
        p = GaussianProcess.fit(
            SquaredExponential(0.3), np.full((100, 1), 0.5), np.full(100, 1.0), Prior(0.0, 1.0), 1.0
        )
        mean, std = p.predict(np.array([[0.5]]))
        assert (mean[0], std[0]) == (pytest.approx(100 / 101), pytest.approx(math.sqrt(1 / 101)))


@pytest.mark.parametrize("noise", [0.05, 0.2, 0.7])
def test_noise_is_recovered(noise):
    """Within a factor of 1.5, at each of a few seeds."""
    for seed in range(5):
        X, y, _ = drawn(seed, 80, 2, noise=noise)
        fitted = fit_noise(X, y)
        found = math.sqrt(fitted.noise[0] * fitted.prior.variance)
        assert noise / 1.5 < found < 1.5 * noise, (seed, found)


def test_values_without_noise_have_none():
    """The least ratio of the grid, or one that stands for rounding error."""
    for seed in range(5):
        X, y, _ = drawn(seed, 60, 2, l=0.5, noise=0.0)
        assert fit_noise(X, y).noise[0] < 1e-5


def test_pure_noise_has_no_signal():
    """All of the variance in the noise, nearly: the function is flat to within what 80 errors leave of it."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X, y = rng.random((80, 2)), rng.normal(size=80)
        fitted = fit_noise(X, y)
        p = GaussianProcess.fit(SquaredExponential(fitted.length_scale), X, y, fitted.prior, fitted.noise)
        assert math.sqrt(fitted.noise[0] * fitted.prior.variance) == pytest.approx(np.std(y), rel=0.2)
        assert np.std(p.predict(X).mean) < 0.6


def test_noisier_values_get_less_weight():
    """Of two that contradict each other at one point, the one with the smaller error is right."""
    X, y, _ = drawn(5, 30, 1, noise=0.01)
    X, y = np.vstack([X, X[:1]]), np.append(y, y[0] + 1.0)
    errors = np.append(np.full(30, 0.01), 2.0)
    fitted = fit_noise(X, y, errors**2)
    p = GaussianProcess.fit(SquaredExponential(fitted.length_scale), X, y, fitted.prior, fitted.noise)
    assert p.predict(X[:1]).mean[0] == pytest.approx(y[0], abs=0.05)


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize(
    ("X", "y"),
    [
        ([[0.5, 0.5]], [0.0]),
        ([[0.5, 0.5]], [2.0]),
        ([[0.5, 0.5], [0.5, 0.5]], [-1.0, 1.0]),
        ([[0.5, 0.5], [0.5, 0.5]], [1.0, 1.0]),
        ([[0.1, 0.5], [0.9, 0.5]], [-1.0, 1.0]),
        ([[0.1, 0.2], [0.9, 0.5], [0.3, 0.3], [0.7, 0.1]], [0.0, 0.0, 0.0, 0.0]),
    ],
    ids=["one", "one not 0", "one point twice", "the same twice", "two", "constant"],
)
def test_very_few_data(X, y, known):
    """A model all the same: finite, and its mean among the values."""
    X, y = np.array(X), np.array(y)
    fitted = fit_noise(X, y, np.full(len(y), 0.01) if known else None)
    assert fitted.length_scale > 0
    assert fitted.prior.variance > 0
    assert fitted.noise.shape == y.shape
    assert (fitted.noise > 0).all()
    mean, std = GaussianProcess.fit(SquaredExponential(fitted.length_scale), X, y, fitted.prior, fitted.noise).predict(
        X
    )
    assert np.isfinite(std).all()
    assert (mean >= np.min(y) - 1e-9).all()
    assert (mean <= np.max(y) + 1e-9).all()


@pytest.mark.parametrize("variance", [0.0, 1e-300, 1e12])
def test_known_noise_of_any_size(variance):
    """Known to be exact, or useless."""
    X, y, _ = drawn(6, 20, 2, noise=0.0)
    fitted = fit_noise(X, y, np.full(20, variance))
    np.testing.assert_allclose(fitted.noise * fitted.prior.variance, max(variance, MIN_NOISE_VARIANCE))
    p = GaussianProcess.fit(SquaredExponential(fitted.length_scale), X, y, fitted.prior, fitted.noise)
    if variance < 1:
        np.testing.assert_allclose(p.predict(X).mean, y, atol=1e-3)
    else:
        np.testing.assert_allclose(p.predict(X).mean, np.mean(y), atol=1e-3)


def test_another_kernel_is_used_for_parameters_and_posterior():
    """The evidence of its own correlations decides, and the posterior has them."""
    X, y, _ = drawn(7, 25, 2)
    model = NoisyGP.of(np.arange(25), X, y, None, 1.0, Matern52)
    assert model.posterior.kernel == Matern52(model.fitted.length_scale)
    table = []
    for l in math.sqrt(2) * np.array(LENGTH_SCALES):
        K = reference.k_matern52(X, X, l)
        table.append([reference.noisy_log_evidence(K, y, eta) + log_prior(l, 2) for eta in NOISE_RATIOS])
    i, j = np.unravel_index(np.argmax(table), np.shape(table))
    assert model.fitted.length_scale == pytest.approx(math.sqrt(2) * LENGTH_SCALES[i])
    assert model.fitted.noise[0] == pytest.approx(NOISE_RATIOS[j])
    np.testing.assert_array_equal(model.means, model.posterior.predict(X).mean)
    among = np.arange(25) % 2 == 0
    assert model.lowest(among) == np.flatnonzero(among)[np.argmin(model.means[among])]
    assert model.lowest(np.zeros(25, dtype=bool)) is None
    assert model.mean_of(3) == model.means[3]


class TestOutliers:
    """Values with heavy tails have little weight, in the model of all values."""

    @staticmethod
    def data(seed, part):
        """Points, true values, and observed ones: a part of them has Cauchy noise, all others a little Gaussian one."""
        rng = np.random.default_rng(seed)
        X = rng.random((60, 2))
        true = np.sin(5 * X[:, 0]) + X[:, 1] ** 2
        is_outlier = rng.random(60) < part
        return X, true, true + 0.01 * rng.normal(size=60) + np.where(is_outlier, rng.standard_cauchy(60), 0.0)

    @pytest.mark.parametrize("seed", range(4))
    def test_they_hardly_change_the_predictions(self, seed):
        X, true, y = self.data(seed, 0.15)
        model = NoisyGP.of(np.arange(60), X, y, None, 1.0)
        plain = GaussianProcess.fit(SquaredExponential(0.3), X, y, Prior(0.0, 1.0), fit_noise(X, y).noise)
        means = np.array([model.untransformed(mean) for mean in model.means])
        error, plain_error = (np.sqrt(np.mean((m - true) ** 2)) for m in (means, plain.predict(X).mean))
        assert error < 0.03
        assert plain_error > 3 * error
        assert 0.005 < np.median(model.noise_at(y)) < 0.02

    def test_without_them_nothing_changes(self):
        X, _, y = self.data(0, 0.0)
        model = NoisyGP.of(np.arange(60), X, y, None, 1.0)
        assert model.fitted.noise.tolist() == [model.fitted.noise[0]] * 60
        assert model.fitted.loss == fit_noise(X, y).loss

    @pytest.mark.parametrize("value", [1.0, -1.0, 1e-12])
    @pytest.mark.parametrize("seed", range(3))
    def test_where_all_other_values_are_equal(self, seed, value):
        """The typical error vanishes, so the factor of the noise has a limit."""
        X, y = np.random.default_rng(seed).random((20, 2)), np.zeros(20)
        y[0] = value
        model = NoisyGP.of(np.arange(20), X, y, None, 1.0)
        assert np.isfinite(model.fitted.noise).all()
        np.testing.assert_allclose(model.means, 0.0, atol=1e-6 * abs(value))

    def test_known_noise_has_none(self):
        X, _, y = self.data(0, 0.15)
        model = NoisyGP.of(np.arange(60), X, y, np.full(60, 0.01), 1.0)
        assert np.ptp(model.fitted.noise) == 0

    def test_the_evidence_of_factors_is_that_of_the_dense_formula(self):
        """-log N(y; c, s2 (K + eta F^2)) with the most probable c and s2, whatever the unit of the noise."""
        X, _, y = self.data(0, 0.15)
        factors = np.where(np.arange(60) % 7 == 0, 5.0, 1.0)
        fitted = fit_noise(X, y, factors=factors)
        A = reference.k_se(X, X, fitted.length_scale) + np.diag(fitted.noise)
        s2, r = fitted.prior.variance, y - fitted.prior.mean
        dense = (60 * math.log(s2) + np.linalg.slogdet(A)[1] + r @ np.linalg.solve(A, r) / s2) / 2
        assert fitted.loss == pytest.approx(dense - log_prior(fitted.length_scale, 2))
        assert fitted.noise[0] == pytest.approx(25 * fitted.noise[1])


@pytest.mark.parametrize("skewed", [False, True])
def test_leave_one_out_densities_are_those_of_the_values(skewed):
    """Not of transformed ones: a small interval of values has the same probability before and after the transform."""
    X, y, _ = drawn(0, 30, 2)
    y = np.exp(2 * y) if skewed else y
    model = NoisyGP.of(np.arange(30), X, y, None, 1.0)
    assert (model.transform is not None) == skewed
    p = model.posterior
    for i in (0, 11, 29):
        rest = np.arange(30) != i
        one = GaussianProcess.fit(p.kernel, X[rest], model.v[rest], p.prior, model.fitted.noise[rest])
        mean, std = (float(v[0]) for v in one.predict(X[i : i + 1]))
        std = math.hypot(std, math.sqrt(model.fitted.noise[i] * p.prior.variance))
        ends = np.array([y[i], y[i] + 1e-6])
        width = np.diff(ends if model.transform is None else model.transform(ends))[0] / 1e-6
        expected = -0.5 * ((model.v[i] - mean) / std) ** 2 - math.log(math.sqrt(2 * math.pi) * std) + math.log(width)
        assert model.leave_one_out_log_densities()[i] == pytest.approx(expected, rel=1e-4, abs=1e-4)


class TestTheErrorOfTheConstant:
    """It counts in the std of a mean, because the constant is fitted too."""

    @pytest.mark.parametrize("known", [False, True])
    def test_it_is_that_of_a_flat_prior(self, known):
        X, y, errors = drawn(1, 25, 2)
        model = NoisyGP.of(np.arange(25), X, y, errors if known else None, 1.0)
        s2, l, prior = model.fitted.prior.variance, model.fitted.length_scale, 1e6
        A = s2 * (reference.k_se(X, X, l) + np.diag(model.fitted.noise)) + prior
        for row in (0, 11, 24):
            k = s2 * reference.k_se(X[row : row + 1], X, l)[0] + prior
            assert model.at(row)[1] == pytest.approx(math.sqrt(s2 + prior - k @ np.linalg.solve(A, k)), rel=1e-3)

    def test_the_mean_of_pure_noise_is_not_known_better_than_by_an_average(self):
        y = np.random.default_rng(0).standard_normal(40)
        model = NoisyGP.of(np.arange(40), np.random.default_rng(1).random((40, 2)), y, np.ones(40), 1.0)
        assert min(model.at(row)[1] for row in range(40)) > 0.99 / math.sqrt(40)

    def test_the_constant_of_many_values_is_that_of_a_sample(self):
        n = 2 * MAX_FITTED
        X, y, errors = drawn(0, n, 2)
        model = NoisyGP.of(np.arange(n), X, y, errors, 1.0)
        s2, V = model.fitted.prior.variance, reference.k_se(X, X, model.fitted.length_scale)
        V += np.diag(model.fitted.noise)
        k, ones = reference.k_se(X[:1], X, model.fitted.length_scale)[0], np.ones(n)
        rows = np.linspace(0, n - 1, MAX_FITTED).astype(int)
        constant = s2 / np.sum(np.linalg.solve(V[np.ix_(rows, rows)], ones[rows]))
        variance = s2 * (1 - k @ np.linalg.solve(V, k)) + (1 - k @ np.linalg.solve(V, ones)) ** 2 * constant
        assert model.at(0)[1] == pytest.approx(math.sqrt(variance), rel=1e-6)
