"""The factor: it is one, it grows, and it takes no more jitter than it must."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dale.models.cholesky import JITTERS, MIN_PIVOT, CholeskyFactor
from dale.models.kernels.matern import Matern52
from dale.models.kernels.squared_exponential import SquaredExponential


def indefinite(excess):
    """A 3 x 3 matrix with unit diagonal whose least eigenvalue is -excess."""
    K = np.eye(3)
    K[0, 1] = K[1, 0] = 1 + excess
    return K


def factors(K, jitter):
    """Whether K + jitter I can be factored and its pivots are more than rounding."""
    try:
        L = np.linalg.cholesky(K + jitter * np.eye(len(K)))
    except np.linalg.LinAlgError:
        return False
    return bool(np.min(np.diag(L)) ** 2 > MIN_PIVOT)


@pytest.mark.parametrize("n", [1, 2, 7, 40])
def test_is_the_factor(n):
    rng = np.random.default_rng(n)
    X = rng.random((n, 2))
    K = SquaredExponential(0.3)(X, X)
    factor = CholeskyFactor.of(K)
    L = factor.lower
    assert len(factor) == n
    assert factor.jitter == JITTERS[0]
    np.testing.assert_array_equal(L, np.tril(L))
    np.testing.assert_allclose(L @ L.T, K + factor.jitter * np.eye(n), atol=1e-14 * n)


def test_solutions_and_determinant():
    rng = np.random.default_rng(0)
    X, b, B = rng.random((12, 3)), rng.normal(size=12), rng.normal(size=(12, 4))
    K = Matern52(0.3)(X, X)
    grown = CholeskyFactor.of(K[:11, :11]).extended(K[11, :11])
    for factor in (CholeskyFactor.of(K), grown, CholeskyFactor.of(K).truncated(12)):  # by columns, by rows, a view
        A = K + factor.jitter * np.eye(12)
        for rhs in (b, B, np.asfortranarray(B), B[:, ::2], B[::-1]):
            np.testing.assert_allclose(factor.solve(rhs), np.linalg.solve(A, rhs), rtol=1e-9, atol=1e-9)
            np.testing.assert_allclose(factor.lower @ factor.solve_lower(rhs), rhs, rtol=1e-9, atol=1e-9)
        assert factor.log_determinant == pytest.approx(np.linalg.slogdet(A)[1], rel=1e-10)


def test_arguments_stay_as_they_were():
    K = SquaredExponential(0.3)(*2 * [np.random.default_rng(0).random((6, 2))])
    b, before = np.ones(6), K.copy()
    factor = CholeskyFactor.of(K)
    lower = factor.lower.copy()
    factor.solve(b)
    factor.extended(np.full(6, 0.1))
    np.testing.assert_array_equal(K, before)
    np.testing.assert_array_equal(b, np.ones(6))
    np.testing.assert_array_equal(factor.lower, lower)


@pytest.mark.parametrize("kernel", [SquaredExponential(0.1), SquaredExponential(0.5), Matern52(1.0)])
def test_growing_row_by_row(kernel):
    X = np.random.default_rng(0).random((40, 2))
    K = kernel(X, X)
    factor = CholeskyFactor.of(K[:1, :1])
    for n in range(1, 40):
        factor = factor.extended(K[n, :n])
        assert factor is not None
        A = K[: n + 1, : n + 1] + factor.jitter * np.eye(n + 1)
        np.testing.assert_allclose(factor.lower @ factor.lower.T, A, atol=1e-13)
    np.testing.assert_array_equal(factor.lower, np.tril(factor.lower))


def test_truncated_is_the_factor_of_the_first_points():
    X = np.random.default_rng(0).random((9, 2))
    K = SquaredExponential(0.2)(X, X)
    short = CholeskyFactor.of(K).truncated(4)
    np.testing.assert_allclose(short.lower, CholeskyFactor.of(K[:4, :4]).lower, atol=1e-14)
    assert len(short) == 4


@pytest.mark.parametrize(
    ("excess", "expected"), [(5e-11, 1e-10), (2e-10, 1e-9), (3e-7, 1e-6), (2e-3, 1e-2), (0.3, 1.0)]
)
def test_smallest_jitter_that_works(excess, expected):
    K = indefinite(excess)
    assert CholeskyFactor.of(K).jitter == pytest.approx(expected, rel=1e-12)
    for jitter in JITTERS:
        if jitter < CholeskyFactor.of(K).jitter:
            assert not factors(K, jitter)
    assert factors(K, CholeskyFactor.of(K).jitter)


@pytest.mark.parametrize("jitter", [1e-10, 1e-6, 1e-4])
def test_the_jitter_bounds_the_std_next_to_an_observation(jitter):
    """It stands for noise: however close to an observation, the correlation model has a std of sqrt(jitter)."""
    X = np.array([[0.2], [0.5], [0.9]])
    kernel = SquaredExponential(0.2)
    factor = CholeskyFactor.of(kernel(X, X), min_jitter=jitter)
    k = kernel(X, X[1:2] + 1e-9)
    assert 1 - float(k[:, 0] @ factor.solve(k[:, 0])) == pytest.approx(jitter, rel=1e-3)


def test_minimum_jitter():
    assert CholeskyFactor.of(np.eye(3), min_jitter=1e-4).jitter == pytest.approx(1e-4)
    assert CholeskyFactor.of(indefinite(2e-3), min_jitter=1e-4).jitter == pytest.approx(1e-2)


@settings(deadline=None, derandomize=True, max_examples=150)
@given(
    seed=st.integers(0, 2**32),
    n=st.integers(2, 40),
    d=st.integers(1, 5),
    distance=st.sampled_from([0.0, 1e-300, 1e-17, 1e-12, 1e-8, 1e-4]),
    length_scale=st.floats(1e-3, 100.0),
    kernel=st.sampled_from([SquaredExponential, Matern52]),
)
def test_duplicates_and_near_duplicates(seed, n, d, distance, length_scale, kernel):
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    X[n // 2 :] = X[rng.integers(0, n // 2, n - n // 2)] + distance * rng.normal(size=(n - n // 2, d))
    K = kernel(length_scale)(X, X)
    factor = CholeskyFactor.of(K)
    assert np.all(np.isfinite(factor.lower))
    assert np.min(np.diag(factor.lower)) > 0
    assert not any(factors(K, jitter) for jitter in JITTERS if jitter < factor.jitter)
    assert np.all(np.isfinite(factor.solve(rng.normal(size=n))))
    assert math.isfinite(factor.log_determinant)


def test_all_points_the_same():
    factor = CholeskyFactor.of(np.ones((50, 50)))
    assert np.all(np.isfinite(factor.lower))
    assert factor.jitter == JITTERS[0]


def test_an_extension_that_needs_more_jitter_is_refused():
    factor = CholeskyFactor.of(np.eye(2))
    assert factor.extended(np.array([1.0, 1e-3])) is None  # no correlation matrix: the last pivot would be -1e-6
    assert factor.extended(np.array([np.nan, 0.0])) is None
    assert factor.extended(np.array([1.0, 0.0])) is not None  # a duplicate: the jitter carries it


def test_nan_is_an_error():
    with pytest.raises(FloatingPointError, match="could not be factored"):
        CholeskyFactor.of(np.full((2, 2), np.nan))
