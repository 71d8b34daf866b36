"""The posterior (eqs. 3-5): against 50 digits and the naive oracle, with gradients, closed forms and growth."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import precise
import reference
from dale.models.cholesky import CholeskyFactor
from dale.models.gaussian_process import GaussianProcess, Prior, maximum_likelihood_prior
from dale.models.kernels.matern import Matern52
from dale.models.kernels.squared_exponential import SquaredExponential
from dale.models.likelihood import log_marginal_likelihood

KERNELS = [
    (SquaredExponential, precise.squared_exponential, reference.k_se),
    (Matern52, precise.matern52, reference.k_matern52),
]
kernels = pytest.mark.parametrize(("kernel", "oracle", "naive"), KERNELS)


def smooth(X):
    y = np.sin(3 * X.sum(axis=1)) + X[:, 0] ** 2
    return (y - y.mean()) / y.std()


def precisely(oracle, p):
    return precise.GaussianProcess(
        oracle, p.kernel.length_scale, p.points, p.values, p.prior.mean, p.prior.variance, p.factor.jitter
    )


@kernels
@pytest.mark.parametrize(("n", "d"), [(12, 1), (20, 2), (30, 3), (14, 4)])
@pytest.mark.parametrize("length_scale", [0.05, 0.2, 1.0, 3.0])
@pytest.mark.parametrize("values", ["smooth", "rough"])
def test_mean_and_variance_against_50_digits(kernel, oracle, naive, n, d, length_scale, values):
    """To 1e-8 of the prior std, which is the unit of both; that covers the worst conditioned, l = 3."""
    rng = np.random.default_rng(n)
    X = rng.random((n, d))
    y = smooth(X) if values == "smooth" else rng.normal(size=n)
    A = np.vstack([rng.random((4, d)), X[:2], X[:1] + 1e-6])
    p = GaussianProcess.fit(kernel(length_scale), X, y)
    oracle_posterior = precisely(oracle, p)
    exact = np.array([oracle_posterior.mean_and_variance(a) for a in A], dtype=float)
    mean, std = p.predict(A)
    unit = np.sqrt(p.prior.variance)
    np.testing.assert_allclose(mean / unit, exact[:, 0] / unit, rtol=0, atol=1e-8)
    np.testing.assert_allclose(std**2 / unit**2, exact[:, 1] / unit**2, rtol=0, atol=1e-8)
    if values == "smooth" and length_scale <= 1:
        np.testing.assert_allclose(mean, exact[:, 0], rtol=0, atol=1e-8)


@kernels
def test_one_length_scale_for_each_dimension_against_50_digits(kernel, oracle, naive):
    rng = np.random.default_rng(0)
    X, A = rng.random((15, 3)), rng.random((5, 3))
    p = GaussianProcess.fit(kernel((0.1, 0.4, 2.0)), X, smooth(X))
    oracle_posterior = precisely(oracle, p)
    exact = np.array([oracle_posterior.mean_and_variance(a) for a in A], dtype=float)
    np.testing.assert_allclose(p.predict(A).mean, exact[:, 0], rtol=0, atol=1e-8)
    np.testing.assert_allclose(p.predict(A).std ** 2, exact[:, 1], rtol=0, atol=1e-8)


@kernels
@pytest.mark.parametrize("prior", [Prior(0.3, 2.0), Prior(-5.0, 0.01)])
def test_equals_the_naive_oracle(kernel, oracle, naive, prior):
    rng = np.random.default_rng(0)
    X, A, y = rng.random((10, 2)), rng.random((50, 2)), rng.normal(size=10)
    p = GaussianProcess.fit(kernel(0.2), X, y, prior)
    K, k = naive(X, X, 0.2), naive(X, A, 0.2)
    mean, variance = reference.posterior(K, k, np.ones(50), y, prior.mean, p.factor.jitter)
    np.testing.assert_allclose(p.predict(A).mean, mean, atol=1e-9)
    np.testing.assert_allclose(p.predict(A).std ** 2, prior.variance * variance, atol=1e-9)


@kernels
def test_interpolates(kernel, oracle, naive):
    X = np.random.default_rng(0).random((20, 2))
    p = GaussianProcess.fit(kernel(0.2), X, smooth(X))
    mean, std = p.predict(X)
    np.testing.assert_allclose(mean, p.values, rtol=0, atol=1e-7)
    np.testing.assert_allclose(mean - p.values, -p.factor.jitter * p.weights, rtol=0, atol=1e-10)
    assert np.all(std <= np.sqrt(1.01 * p.prior.variance * p.factor.jitter))


def test_far_away_is_the_prior():
    p = GaussianProcess.fit(SquaredExponential(0.01), np.array([[0.1, 0.1]]), np.array([5.0]), Prior(0.3, 4.0))
    mean, std = p.predict(np.array([[0.9, 0.9]]))
    assert (mean[0], std[0]) == (0.3, 2.0)


@settings(deadline=None, derandomize=True, max_examples=100)
@given(
    seed=st.integers(0, 2**32),
    n=st.integers(1, 40),
    d=st.integers(1, 6),
    distance=st.sampled_from([0.0, 1e-16, 1e-9, 1e-4]),
    length_scale=st.floats(1e-3, 100.0),
    kernel=st.sampled_from([SquaredExponential, Matern52]),
    values=st.sampled_from(["rough", "constant", "smooth", "outlier"]),
)
def test_never_nan_and_never_a_negative_variance(seed, n, d, distance, length_scale, kernel, values):
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    X[n // 2 :] = X[rng.integers(0, n // 2 + 1, n - n // 2)] + distance * rng.normal(size=(n - n // 2, d))
    y = {
        "rough": rng.normal(size=n),
        "constant": np.zeros(n),
        "smooth": X.sum(axis=1),
        "outlier": np.where(np.arange(n) == 0, 1e12, 0.0),
    }[values]
    p = GaussianProcess.fit(kernel(length_scale), X, y)
    A = np.vstack([X, rng.random((20, d)), X + 1e-12])
    mean, std = p.predict(A)
    assert np.all(np.isfinite(mean))
    assert np.all(np.isfinite(std))
    assert np.all((std >= 0) & (std <= np.sqrt(p.prior.variance)))
    for x in (X[0], X[-1], A[n]):
        point = p.predict_with_gradient(x)
        assert np.all(np.isfinite(point.mean_gradient))
        assert np.all(np.isfinite(point.std_gradient))
        assert point.std >= 0
    predicted = p.derivatives(A)
    assert np.all(predicted.std >= 0)
    for part in predicted:
        assert np.all(np.isfinite(part))


@kernels
def test_one_point_at_a_time_is_the_same(kernel, oracle, naive):
    rng = np.random.default_rng(0)
    X, A = rng.random((15, 3)), rng.random((30, 3))
    p = GaussianProcess.fit(kernel(0.4), X, smooth(X))
    mean, std = p.predict(A)
    for i, a in enumerate(A):
        point = p.predict_with_gradient(a)
        assert point.mean == pytest.approx(mean[i], abs=1e-11)
        assert point.std == pytest.approx(std[i], abs=1e-9)


@kernels
@pytest.mark.parametrize(("n", "d", "length_scale"), [(8, 1, 0.1), (15, 2, 0.2), (20, 3, (0.3, 0.5, 0.9))])
def test_gradients_against_50_digits(kernel, oracle, naive, n, d, length_scale):
    rng = np.random.default_rng(n)
    X = rng.random((n, d))
    p = GaussianProcess.fit(kernel(length_scale), X, smooth(X))
    exact = precisely(oracle, p)
    for x in rng.random((3, d)):
        mean_gradient, std_gradient = exact.gradients(x)
        point = p.predict_with_gradient(x)
        np.testing.assert_allclose(point.mean_gradient, mean_gradient, rtol=1e-5, atol=1e-8)
        np.testing.assert_allclose(point.std_gradient, std_gradient, rtol=1e-5, atol=1e-8)


@kernels
@pytest.mark.parametrize("d", [1, 2, 4])
def test_gradients_against_central_differences(kernel, oracle, naive, d):
    rng = np.random.default_rng(d)
    X, h = rng.random((6, d)), 1e-5
    p = GaussianProcess.fit(kernel(0.3), X, rng.normal(size=6))
    for x in rng.random((50, d)):
        if np.min(np.linalg.norm(X - x, axis=1)) < 0.03:
            continue  # the std has a kink at each observation
        point = p.predict_with_gradient(x)
        above, below = p.predict(x + h * np.eye(d)), p.predict(x - h * np.eye(d))
        for gradient, up, down in zip(point[2:], above, below, strict=True):
            expected = (up - down) / (2 * h)
            np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-5 * np.max(np.abs(expected)) + 1e-8)


@kernels
@pytest.mark.parametrize(("n", "d", "length_scale"), [(6, 1, 0.2), (9, 2, 0.3), (7, 3, (0.3, 0.5, 0.9))])
def test_hessians_against_50_digits(kernel, oracle, naive, n, d, length_scale):
    rng = np.random.default_rng(n)
    X, A = rng.random((n, d)), rng.random((2, d))
    p = GaussianProcess.fit(kernel(length_scale), X, smooth(X), Prior(0.3, 2.0))
    exact, predicted = precisely(oracle, p), p.derivatives(A)
    functions = {
        "mean": lambda x: exact.mean_and_variance(x)[0],
        "std": lambda x: precise.mp.sqrt(exact.mean_and_variance(x)[1]),
    }
    for name, f in functions.items():
        for i, x in enumerate(A):
            assert getattr(predicted, name)[i] == pytest.approx(float(f(x)), rel=1e-7)
            for part, expected in (("gradient", precise.gradient(f, x)), ("hessian", precise.hessian(f, x))):
                ours = getattr(predicted, f"{name}_{part}")[i]
                np.testing.assert_allclose(ours, expected, rtol=1e-6, atol=1e-7 * np.max(np.abs(expected)))


@kernels
@pytest.mark.parametrize(("d", "n"), [(1, 5), (2, 30), (6, 12)])
def test_hessians_against_central_differences(kernel, oracle, naive, d, n):
    """Values and gradients are those of the other predictions; hessians are the gradients' gradients."""
    rng, h = np.random.default_rng(d), 1e-5
    X, A = rng.random((n, d)), rng.random((12, d))
    A = A[np.min(np.linalg.norm(A[:, None] - X, axis=2), axis=1) > 0.05]  # the std has a kink at each observation
    assert len(A) >= 4
    p = GaussianProcess.fit(kernel(0.3), X, rng.normal(size=n), Prior(-0.4, 3.0))
    predicted, one_by_one = p.derivatives(A), [p.predict_with_gradient(a) for a in A]
    for ours, expected in zip(predicted[:2], p.predict(A), strict=True):
        np.testing.assert_allclose(ours, expected, rtol=1e-9)
    for ours, expected in zip(predicted[:4], zip(*one_by_one, strict=True), strict=True):
        np.testing.assert_allclose(ours, np.array(expected), rtol=1e-7, atol=1e-9)
    for i, step in enumerate(h * np.eye(d)):
        above, below = (p.derivatives(A + sign * step) for sign in (1, -1))
        for part in ("mean", "std"):
            rise = (getattr(above, f"{part}_gradient") - getattr(below, f"{part}_gradient")) / (2 * h)
            ours = getattr(predicted, f"{part}_hessian")[:, i]
            np.testing.assert_allclose(ours, rise, rtol=1e-4, atol=1e-5 * np.max(np.abs(rise)), err_msg=part)


def test_the_hessian_of_the_std_is_zero_at_an_observation_without_std():
    """Nor any warning: there it has a kink. The mean has its hessian there, and beside it all is as ever."""
    X, k = np.array([[0.5, 0.5]]), SquaredExponential(0.2)
    p = GaussianProcess(k, X, np.array([1.0]), CholeskyFactor(np.eye(1), 0.0), Prior(0.0, 1.0))
    predicted = p.derivatives(np.vstack([X, X + 0.1]))
    assert (predicted.mean[0], predicted.std[0]) == (1.0, 0.0)
    np.testing.assert_array_equal(predicted.mean_gradient[0], 0.0)
    np.testing.assert_allclose(predicted.mean_hessian[0], -np.eye(2) / 0.2**2)
    np.testing.assert_array_equal(predicted.std_gradient[0], 0.0)
    np.testing.assert_array_equal(predicted.std_hessian[0], 0.0)
    for part, alone in zip(predicted, p.derivatives(X + 0.1), strict=True):
        np.testing.assert_allclose(part[1], alone[0], rtol=1e-12)
        assert np.any(alone != 0)


def test_the_gradient_of_the_std_is_zero_at_an_observation_without_std():
    p = GaussianProcess(
        SquaredExponential(0.2), np.array([[0.5]]), np.array([1.0]), CholeskyFactor(np.eye(1), 0.0), Prior(0.0, 1.0)
    )
    point = p.predict_with_gradient(np.array([0.5]))
    assert (point.mean, point.std, point.std_gradient[0]) == (1.0, 0.0, 0.0)


@kernels
@pytest.mark.parametrize("seed", range(5))
def test_closed_forms_equal_the_oracle(kernel, oracle, naive, seed):
    rng = np.random.default_rng(seed)
    X, y = rng.random((12, 2)), 3 + 2 * rng.normal(size=12)
    p = GaussianProcess.fit(kernel(0.15), X, y)
    K = naive(X, X, 0.15) + p.factor.jitter * np.eye(12)
    c = reference.ml_mean(K, y)
    assert p.prior.mean == pytest.approx(c, rel=1e-9)
    assert p.prior.variance == pytest.approx(reference.ml_variance(K, y, c), rel=1e-9)


def test_closed_forms_by_hand():
    factor = CholeskyFactor(np.linalg.cholesky(np.array([[1.0, 0.5], [0.5, 1.0]])), 0.0)
    prior = maximum_likelihood_prior(factor, np.array([1.0, 3.0]))
    assert prior.mean == pytest.approx(2.0)  # by symmetry
    assert prior.variance == pytest.approx(2.0)  # (-1, 1) is an eigenvector, of value 1/2


@kernels
@pytest.mark.parametrize("seed", range(5))
def test_closed_forms_are_stationary_points_of_the_likelihood(kernel, oracle, naive, seed):
    rng = np.random.default_rng(seed)
    X, y = rng.random((10, 2)), rng.normal(size=10)
    p = GaussianProcess.fit(kernel(0.15), X, y)
    c, s2 = p.prior

    def likelihood(dc, ds):
        return log_marginal_likelihood(p.with_prior(Prior(c + dc, s2 * (1 + ds))))

    h, maximum = 1e-3, likelihood(0, 0)
    for step in [(h, 0), (0, h)]:
        back = (-step[0], -step[1])
        hessian = (likelihood(*step) - 2 * maximum + likelihood(*back)) / h**2
        gradient = (likelihood(*step) - likelihood(*back)) / (2 * h)
        assert hessian < 0
        assert abs(gradient) <= 2 * h * abs(hessian) * h + 1e-9  # what is left is the third derivative's
    for dc, ds in rng.uniform(-0.5, 0.5, (50, 2)):
        assert likelihood(dc, ds) < maximum


def test_values_without_variation():
    X = np.random.default_rng(0).random((5, 2))
    p = GaussianProcess.fit(SquaredExponential(0.3), X, np.full(5, 7.0))
    assert p.prior == Prior(0.0, 1.0)  # the mean and variance of standardised values
    np.testing.assert_allclose(p.predict(X).mean, 7.0)


def test_with_prior_keeps_the_factor_and_the_observations():
    rng = np.random.default_rng(0)
    X, y, A = rng.random((8, 2)), rng.normal(size=8), rng.random((5, 2))
    first = GaussianProcess.fit(SquaredExponential(0.2), X, y)
    second = first.with_prior(Prior(1.5, 3.0))
    assert second.factor is first.factor
    expected = GaussianProcess.fit(SquaredExponential(0.2), X, y, Prior(1.5, 3.0)).predict(A)
    np.testing.assert_array_equal(second.predict(A), expected)
    wider = first.with_prior(Prior(first.prior.mean, 100 * first.prior.variance))
    np.testing.assert_allclose(wider.predict(A).std, 10 * first.predict(A).std, rtol=1e-12)
    np.testing.assert_allclose(wider.predict(A).mean, first.predict(A).mean, rtol=1e-12)


@kernels
@pytest.mark.parametrize("length_scale", [0.05, 0.2, 0.5])
def test_conditioned_equals_refitted(kernel, oracle, naive, length_scale):
    rng = np.random.default_rng(0)
    X, A = rng.random((25, 2)), rng.random((20, 2))
    y = smooth(X)
    p = GaussianProcess.fit(kernel(length_scale), X[:5], y[:5])
    for n in range(5, 25):
        before = p.points.copy(), p.values.copy()
        grown = p.condition(X[n : n + 1], y[n : n + 1])
        np.testing.assert_array_equal(p.points, before[0])
        np.testing.assert_array_equal(p.values, before[1])
        p = grown
        refitted = GaussianProcess.fit(kernel(length_scale), X[: n + 1], y[: n + 1], p.prior)
        np.testing.assert_allclose(p.predict(A).mean, refitted.predict(A).mean, rtol=0, atol=1e-8)
        np.testing.assert_allclose(p.predict(A).std ** 2, refitted.predict(A).std ** 2, rtol=0, atol=1e-8)
    np.testing.assert_array_equal(p.points, X)
    np.testing.assert_array_equal(p.values, y)
    at_once = GaussianProcess.fit(kernel(length_scale), X[:5], y[:5]).condition(X[5:], y[5:])
    np.testing.assert_array_equal(at_once.factor.lower, p.factor.lower)
    np.testing.assert_array_equal(at_once.weights, p.weights)


def test_conditioned_on_a_point_seen_before():
    X = np.random.default_rng(0).random((6, 2))
    p = GaussianProcess.fit(SquaredExponential(0.3), X, smooth(X))
    for _ in range(20):
        p = p.condition(X[2:3], p.values[2:3])
    assert len(p.points) == 26
    assert np.all(np.isfinite(p.predict(X).mean))
    np.testing.assert_allclose(p.predict(X).mean, p.values[:6], atol=1e-6)


def test_conditioning_raises_the_jitter_where_necessary():
    p = GaussianProcess.fit(SquaredExponential(0.3), np.array([[0.2], [0.8]]), np.array([0.0, 1.0]), Prior(0.0, 1.0))
    spoiled = GaussianProcess(
        p.kernel, p.points, p.values, CholeskyFactor(0.999 * p.factor.lower, p.factor.jitter), p.prior
    )
    grown = spoiled.condition(np.array([[0.2]]), np.zeros(1))  # with this factor the last pivot would be negative
    refitted = GaussianProcess.fit(p.kernel, np.array([[0.2], [0.8], [0.2]]), np.array([0.0, 1.0, 0.0]), p.prior)
    np.testing.assert_array_equal(grown.factor.lower, refitted.factor.lower)
