"""The Taylor model with noise: against dense formulas, and what it finds out about the noise."""

import numpy as np
import pytest

from dale.models.ellipsoid import Ellipsoid
from dale.models.monomials import monomials
from dale.models.noise_profile import fit_with_noise
from dale.models.series import (
    COMMON_CURVATURE_STD,
    EXCESS_LOG_STD,
    LINEAR_PRIOR_STD,
    NUGGET,
    Noise,
    Refinement,
    Replicates,
    Series,
    SeriesData,
)
from dale.models.taylor import TaylorModel

RADIUS = 0.12


def dense(Z, v, series, noise, radius=RADIUS):
    """The posterior of constant and weights by normal equations, with a constant of infinite variance: an oracle.

    Returns mean and covariance (in units of s^2).
    """
    t, m = radius / series.rho, series.degree
    terms, r = monomials(Z.shape[1], m), np.linalg.norm(Z, axis=1)
    prior = np.diag(
        np.where(terms.degree == 1, LINEAR_PRIOR_STD * max(1.0, series.noise), t ** (terms.degree - 2.0)) ** 2
    )
    squares = np.flatnonzero((terms.degree == 2) & (terms.coefficient == 1))
    prior[np.ix_(squares, squares)] += COMMON_CURVATURE_STD**2
    precision = np.zeros((len(prior) + 1, len(prior) + 1))
    precision[1:, 1:] = np.linalg.inv(prior)
    error = (t ** (m - 1) * r ** (m + 1) + NUGGET * r) ** 2 + (series.noise * noise) ** 2
    A = np.column_stack([np.ones(len(Z)), terms(Z)])
    covariance = np.linalg.inv(A.T @ (A / error[:, None]) + precision)
    return covariance @ A.T @ (v / error), covariance


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(30, 2))
    return Z, 1.5 + Z @ [1.0, -0.5] + np.sum(Z**2, axis=1) + 0.3 * rng.normal(size=30), rng.uniform(0.5, 2, 30)


@pytest.mark.parametrize("series", [Series(2, 0.8, 1.0, 0.3), Series(4, 0.4, 1.0, 3.0), Series(3, 3.2, 1.0, 1.0)])
def test_the_posterior_against_dense_formulas(data, series):
    Z, v, noise = data
    fit = SeriesData.of(Z, v, series.degree, Noise(noise)).fit(series, RADIUS)
    weights, factor, constant, root = fit.weights(2)
    mean, covariance = dense(Z, v, series, noise)
    np.testing.assert_allclose(np.append(constant, weights), mean, rtol=1e-6, atol=1e-8)
    rows = np.vstack([root, np.column_stack([np.zeros(len(weights)), factor])])
    np.testing.assert_allclose(rows @ rows.T, covariance, rtol=1e-6, atol=1e-9)


def test_leave_one_out_errors_are_those_of_models_without_one_observation(data):
    Z, v, noise = data
    order, series = np.argsort(np.linalg.norm(Z, axis=1)), Series(2, 0.8, 1.0, 0.5)
    Z, v, noise = Z[order], v[order], noise[order]
    frame = Ellipsoid(np.full(2, 0.5), RADIUS)

    def model(rows):
        inner = SeriesData.of(Z[rows], v[rows], 2, Noise(noise[rows]))
        return TaylorModel._of(frame, 0.0, inner, inner.fit(series, RADIUS), (series,))

    whole = model(np.arange(30))
    for i in (0, 7, 29):
        one = model(np.arange(30) != i)
        mean, std = one.predict_values(Z[i : i + 1])
        scale = whole.scale / one.scale  # s of the whole model
        own = np.hypot(whole.remainder(np.linalg.norm(Z[i])), whole.scale * series.noise * noise[i])
        error, std_of_error = v[i] - one.value - mean[0], np.hypot(scale * std[0], own)
        assert whole.leave_one_out_errors()[i] == pytest.approx(error / std_of_error, rel=1e-4)
        log_density = -0.5 * (error / std_of_error) ** 2 - np.log(np.sqrt(2 * np.pi) * std_of_error)
        assert whole.leave_one_out_log_densities()[i] == pytest.approx(log_density, rel=1e-4)


def fitted(noise, n=60, d=2, seed=0):
    """A quadratic with noise as a function of its values and of random numbers: model, values, noise of each value."""
    rng = np.random.default_rng(seed)
    X = np.clip(0.5 + 0.2 * rng.standard_normal((n, d)), 0, 1)
    f = np.sum((X - 0.45) ** 2 * np.geomspace(1, 30, d), axis=1)
    y, frame = noise(f, rng), Ellipsoid(X[np.argmin(f)], RADIUS)

    def fit(noise, starts):
        options = {"max_degree": 4, "starts": Refinement(starts) if starts else (), "noise": noise}
        return TaylorModel.fit(frame, X, y, float(y[np.argmin(f)]), **options)

    model, found = fit_with_noise(fit, X, y)
    values = model.value + model.predict(frame.to_local(X)).mean
    return model, values - f, model.scale * model.series.noise * found.std, f


class TestNoise:
    def test_constant(self):
        model, errors, std, _ = fitted(lambda f, rng: f + 0.05 * rng.standard_normal(len(f)))
        assert np.ptp(std) == 0
        assert std[0] == pytest.approx(0.05, rel=0.3)
        assert np.sqrt(np.mean(errors**2)) < 0.03
        assert model.value_std < 0.02

    def test_in_proportion_to_the_value(self):
        model, errors, std, f = fitted(lambda f, rng: f * np.exp(0.1 * rng.standard_normal(len(f))))
        near, far = f < np.quantile(f, 0.1), f > np.quantile(f, 0.9)
        assert np.median(std[near]) < 0.1 * np.median(std[far])
        assert model.value_std < 3e-3
        assert abs(errors[np.argmin(f)]) < 3e-3

    def test_outliers_have_no_weight(self):
        """A fifth of the values has Cauchy noise, all others none."""

        def cauchy(f, rng):
            return f + np.where(rng.random(len(f)) < 0.2, rng.standard_cauchy(len(f)), 0.0)

        _, errors, std, _ = fitted(cauchy)
        assert np.max(np.abs(errors)) < 1e-6
        assert 4 <= np.sum(std > 1e-3) <= 20

    def test_nearly_none(self):
        _, errors, _, _ = fitted(lambda f, rng: f)
        assert np.max(np.abs(errors)) < 1e-9

    def test_known_standard_deviations_are_believed(self, data):
        Z, v, noise = data
        frame = Ellipsoid(np.full(2, 0.5), RADIUS)
        X = frame.to_cube(Z)

        def fit(noise, starts):
            return TaylorModel.fit(frame, X, v, 0.0, max_degree=2, starts=starts, noise=noise)

        for factor in (0.3, 1.0):
            model, found = fit_with_noise(fit, X, v, factor * noise)
            np.testing.assert_allclose(model.scale * model.series.noise * found.std, factor * noise, rtol=1e-12)

    def test_more_than_the_typical_noise_pays(self, data):
        """Half the square of its logarithm, in units of its std, and nothing below; known noise never does."""
        Z, v, std = data
        noise = Noise(std, typical=0.01)
        unit = 0.01 / float(np.median(std))
        assert noise.excess(0.9 * unit) == noise.excess(unit) == 0
        assert noise.excess(np.e * unit) == pytest.approx(0.5 / EXCESS_LOG_STD**2)
        assert Noise(std).excess(1e300) == Noise(std, known=True, typical=0.0).excess(1.0) == 0
        assert np.isfinite(Noise(std, typical=0.0).excess(1.0))
        fits = [SeriesData.of(Z, v, 2, n).fit(Series(2, 0.8, noise=1.0), RADIUS) for n in (Noise(std), noise)]
        excess = noise.excess(np.sqrt(fits[0].variance))
        assert excess > 0
        assert fits[1].loss == pytest.approx(fits[0].loss + excess)

    def test_replicates_count_as_single_values(self):
        noise = Noise(np.array([1.0, 0.5]), replicates=Replicates(np.array([1.0, 4.0]), np.zeros(2)), typical=2.0)
        assert noise.std_of_one.tolist() == [1.0, 1.0]
        assert noise.excess(2.0) == 0
        assert noise.excess(2.1) > 0
