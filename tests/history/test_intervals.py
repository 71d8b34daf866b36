"""Covariance, correlation and confidence intervals of fitted parameters."""

import numpy as np
import pytest

import dale

T = np.linspace(0, 4, 25)
TRUE, NOISE = np.array([2.0, 0.7]), 0.1
SPACE = dale.Space(a=(0, 5), k=(0, 3))


def decay(p):
    return p["a"] * np.exp(-p["k"] * T)


def jacobian(a, k):
    return np.column_stack([np.exp(-k * T), -a * T * np.exp(-k * T)])


def fit_of(y, budget=40):
    return dale.minimize(lambda p: float(np.sum((decay(p) - y) ** 2)), SPACE, budget=budget, seed=0, progress=False)


@pytest.fixture(scope="module")
def data():
    return decay({"a": TRUE[0], "k": TRUE[1]}) + NOISE * np.random.default_rng(5).standard_normal(len(T))


@pytest.fixture(scope="module")
def minimum(data):
    return fit_of(data).local_minima[0]


def test_of_a_linear_fit_it_is_the_textbook_formula():
    A = np.column_stack([np.ones(8), np.arange(8.0)])
    y = A @ [1.0, 2.0] + np.random.default_rng(0).standard_normal(8)
    fit = dale.minimize(lambda x: float(np.sum((A @ x - y) ** 2)), [(-9, 9)] * 2, budget=24, seed=0)
    expected = 0.3**2 * np.linalg.inv(A.T @ A)
    np.testing.assert_allclose(fit.local_minima[0].covariance(noise=0.3), expected, rtol=1e-6)
    half = 1.959963984540054 * np.sqrt(np.diag(expected))
    intervals = fit.local_minima[0].intervals(0.95, noise=0.3)
    np.testing.assert_allclose(intervals, np.column_stack([fit.x - half, fit.x + half]), rtol=1e-6)


def test_minus_a_log_likelihood_and_its_sum_of_squares_agree(data, minimum):
    def objective(p):
        return float(np.sum((decay(p) - data) ** 2) / (2 * NOISE**2))

    likelihood = dale.minimize(objective, SPACE, budget=40, seed=0).local_minima[0]
    np.testing.assert_allclose(likelihood.covariance(), minimum.covariance(noise=NOISE), rtol=1e-4)
    np.testing.assert_allclose(likelihood.intervals(0.9), minimum.intervals(0.9, noise=NOISE), rtol=1e-4)


def test_correlations_do_not_depend_on_units(data, minimum):
    std = np.sqrt(np.diag(minimum.covariance(noise=NOISE)))
    expected = minimum.covariance(noise=NOISE) / np.outer(std, std)
    np.testing.assert_allclose(minimum.correlation, expected, rtol=1e-12)
    tiny = dale.Space(a=(0, 5e-9), k=(0, 3e9))
    scaled = dale.minimize(
        lambda p: float(np.sum((decay({"a": 1e9 * p["a"], "k": 1e-9 * p["k"]}) - data) ** 2)), tiny, budget=40, seed=0
    ).local_minima[0]
    np.testing.assert_allclose(scaled.correlation, minimum.correlation, rtol=1e-3)
    np.testing.assert_allclose(scaled.covariance(NOISE)[0, 0], 1e-18 * minimum.covariance(NOISE)[0, 0], rtol=1e-3)


def test_a_fixed_parameter_has_no_error(data):
    space = dale.Space(a=(0, 5), k=(0, 3), c=dale.Float(2, 2))
    fit = dale.minimize(lambda p: float(np.sum((decay(p) - data) ** 2)), space, budget=40, seed=0)
    covariance = fit.local_minima[0].covariance(noise=NOISE)
    assert np.isnan(covariance[2]).all()
    assert np.isfinite(covariance[:2, :2]).all()
    assert np.isnan(fit.local_minima[0].intervals()[2]).all()


def test_a_logarithmic_scale():
    """Of a fit with a poorly known rate, the interval is symmetric in the logarithm, so it is positive."""
    space = dale.Space(k=dale.Float(1e-4, 1e2, log=True), a=(-3, 3))
    fun = lambda p: 0.5 * ((np.log(p["k"]) - np.log(0.02)) / 1.5) ** 2 + 0.5 * ((p["a"] - 1) / 0.2) ** 2  # noqa: E731
    minimum = dale.minimize(fun, space, budget=25, seed=0).local_minima[0]
    z = 1.959964
    expected = [[0.02 * np.exp(-1.5 * z), 0.02 * np.exp(1.5 * z)], [1 - 0.2 * z, 1 + 0.2 * z]]
    assert minimum.intervals() == pytest.approx(np.array(expected), rel=1e-4)


def test_parameters_that_equalities_determine():
    space = dale.Space(a=(0, 1), b=(0, 1), c=(0, 1), fixed=dale.Float(0.1, 0.1))

    def fun(p):
        return 0.5 * ((p["a"] - 0.3) / 0.01) ** 2 + 0.5 * ((p["b"] - 0.2) / 0.03) ** 2

    minimum = dale.minimize(fun, space, budget=25, seed=0, constraints="a + b + 2 * c == 1").local_minima[0]
    J = np.array([[1, 0], [0, 1], [-0.5, -0.5]])
    expected = J @ np.diag([0.01**2, 0.03**2]) @ J.T
    assert minimum.covariance()[:3, :3] == pytest.approx(expected, rel=1e-4, abs=1e-12)
    assert np.isnan(minimum.covariance()[3]).all()
    half = 1.959964 * np.sqrt(np.diag(expected))
    expected = np.array([0.3, 0.2, 0.25])[:, None] + np.outer(half, [-1, 1])
    assert minimum.intervals()[:3] == pytest.approx(expected, rel=1e-3)


def test_misuse(minimum):
    with pytest.raises(ValueError, match=r"level must be a probability between 0 and 1, such as 0\.95, got 95"):
        minimum.intervals(95)
    for noise in (0, -1.0):
        with pytest.raises(ValueError, match=f"noise must be positive, got {noise!r}"):
            minimum.covariance(noise=noise)
    with pytest.raises(TypeError, match="noise must be a positive number or None, got 'auto'"):
        minimum.covariance(noise="auto")


@pytest.mark.parametrize("n", [12, pytest.param(200, marks=pytest.mark.slow)])
def test_the_intervals_of_simulated_fits_cover_the_truth(n):
    """At the level 95 %: 190 of 200, with a standard deviation of 3; correlated for the two parameters."""
    covered = np.zeros(2)
    for seed in range(n):
        rng = np.random.default_rng(seed)
        y = decay({"a": TRUE[0], "k": TRUE[1]}) + NOISE * rng.standard_normal(len(T))
        low, high = fit_of(y, budget=24).local_minima[0].intervals(0.95, noise=NOISE).T
        covered += (low <= TRUE) & (high >= TRUE)
    print(f"covered: {covered / n}")
    assert np.all(covered / n > 0.95 - 3 * np.sqrt(0.95 * 0.05 / n))
    assert n < 200 or np.all(covered / n < 1.0)
