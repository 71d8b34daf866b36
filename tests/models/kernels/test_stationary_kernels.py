"""Squared exponential and Matern-5/2: against the oracle, and what makes them kernels."""

import math

import numpy as np
import pytest
from exact_derivatives import assert_derivatives_are_exact
from hypothesis import given, settings
from hypothesis import strategies as st

import precise
import reference
from dale.models.kernels.matern import Matern52
from dale.models.kernels.squared_exponential import SquaredExponential

KERNELS = [(SquaredExponential, reference.k_se), (Matern52, reference.k_matern52)]
PRECISE = {SquaredExponential: precise.squared_exponential, Matern52: precise.matern52}
both = pytest.mark.parametrize(("kernel", "oracle"), KERNELS)


@both
@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("length_scale", [0.01, 0.3, 20.0])
def test_equals_the_oracle(kernel, oracle, d, length_scale):
    rng = np.random.default_rng(d)
    A, B = rng.random((7, d)), rng.random((5, d))
    np.testing.assert_allclose(kernel(length_scale)(A, B), oracle(A, B, length_scale), rtol=1e-11, atol=1e-300)


@both
def test_one_length_scale_for_each_dimension(kernel, oracle):
    rng = np.random.default_rng(0)
    A, B, scales = rng.random((7, 3)), rng.random((5, 3)), (0.1, 0.5, 3.0)
    np.testing.assert_allclose(kernel(scales)(A, B), oracle(A, B, np.array(scales)), rtol=1e-12)
    np.testing.assert_allclose(kernel((0.4, 0.4, 0.4))(A, B), kernel(0.4)(A, B), rtol=1e-12)


@both
def test_by_hand(kernel, oracle):
    A, B = np.array([[0.0, 0.0]]), np.array([[0.3, 0.4]])  # half a unit are_separated
    expected = {
        SquaredExponential: math.exp(-0.5),
        Matern52: (1 + math.sqrt(5) + 5 / 3) * math.exp(-math.sqrt(5)),
    }
    assert kernel(0.5)(A, B)[0, 0] == pytest.approx(expected[kernel], rel=1e-14)


@both
@settings(deadline=None, derandomize=True, max_examples=60)
@given(data=st.data())
def test_is_a_correlation(kernel, oracle, data):
    n, d = data.draw(st.integers(1, 12)), data.draw(st.integers(1, 4))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    k = kernel(tuple(np.exp(rng.uniform(-4, 2, d))))
    X = rng.random((n, d)) * data.draw(st.sampled_from([1.0, 1e-3, 1e-9]))
    K = k(X, X)
    np.testing.assert_array_equal(K, K.T)
    np.testing.assert_array_equal(np.diag(K), 1.0)
    np.testing.assert_array_equal(k.diagonal(X), np.ones(n))
    assert np.all((K >= 0) & (K <= 1))
    assert np.linalg.eigvalsh(K)[0] >= -1e-13 * n


@both
@pytest.mark.parametrize("length_scale", [0.05, 0.3, 4.0, (0.1, 0.5, 2.0)])
def test_gradient_against_central_differences(kernel, oracle, length_scale):
    rng = np.random.default_rng(1)
    k, B, h = kernel(length_scale), rng.random((9, 3)), 1e-5
    for x in rng.random((20, 3)):
        steps = h * np.eye(3)
        expected = (k(x + steps, B) - k(x - steps, B)).T / (2 * h)  # (n, d)
        gradient = k.gradient(x, B, k(x[None, :], B)[0])
        np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-5 * np.max(np.abs(expected)))


@pytest.mark.parametrize("length_scale", [0.3, (0.1, 0.5)])
def test_squared_exponential_gradient_by_complex_step(length_scale):
    rng = np.random.default_rng(2)
    k, B, h = SquaredExponential(length_scale), rng.random((9, 2)), 1e-30
    for x in rng.random((20, 2)):
        shifted = x + 1j * h * np.eye(2)
        expected = reference.k_se(shifted, B, np.array(length_scale)).imag.T / h
        np.testing.assert_allclose(k.gradient(x, B, k(x[None, :], B)[0]), expected, rtol=1e-11, atol=1e-300)


@both
def test_gradient_at_an_observation_is_zero(kernel, oracle):
    B = np.random.default_rng(3).random((4, 2))
    gradient = kernel(0.2).gradient(B[1], B, kernel(0.2)(B[1:2], B)[0])
    np.testing.assert_array_equal(gradient[1], 0.0)
    assert np.all(np.isfinite(gradient))


@both
@pytest.mark.parametrize("length_scale", [0.3, (0.1, 0.5, 2.0)])
def test_gradients_at_many_points_are_those_at_each(kernel, oracle, length_scale):
    rng = np.random.default_rng(1)
    k, A, B = kernel(length_scale), rng.random((6, 3)), rng.random((9, 3))
    A[2] = B[5]
    gradients = k.gradients(A, B, k(A, B))
    assert gradients.shape == (6, 9, 3)
    for a, ours in zip(A, gradients, strict=True):
        np.testing.assert_allclose(ours, k.gradient(a, B, k(a[None], B)[0]), rtol=1e-13, atol=1e-300)


@both
@pytest.mark.parametrize("length_scale", [0.07, 4.0, (0.1, 0.5, 2.0)])
def test_gradients_and_hessians_against_50_digits(kernel, oracle, length_scale):
    """At a point of B Matern's third derivative jumps."""
    assert_derivatives_are_exact(
        kernel(length_scale), lambda a, b: PRECISE[kernel](a, b, length_scale), shortest=np.min(length_scale)
    )


@both
@pytest.mark.parametrize("d", [1, 2, 6])
@pytest.mark.parametrize("several", [False, True])
def test_hessians_against_central_differences(kernel, oracle, d, several):
    rng = np.random.default_rng(d)
    k = kernel(tuple(rng.uniform(0.2, 2.0, d)) if several else 0.3)
    A, B, weights, h = rng.random((8, d)), rng.random((11, d)), rng.normal(size=(8, 11)), 1e-5
    hessians = k.hessians(A, B, k(A, B), weights)
    np.testing.assert_allclose(hessians, hessians.transpose(0, 2, 1), rtol=1e-12, atol=1e-12)
    for i, step in enumerate(h * np.eye(d)):
        up, down = (np.einsum("mn,mnd->md", weights, k.gradients(X, B, k(X, B))) for X in (A + step, A - step))
        expected = (up - down) / (2 * h)
        np.testing.assert_allclose(hessians[:, i], expected, rtol=1e-5, atol=1e-6 * np.max(np.abs(expected)))


@both
@pytest.mark.parametrize("length_scale", [0.0, -0.5, math.nan, math.inf, (0.1, 0.0), (0.1, math.nan), (-1.0,)])
def test_invalid_length_scales_are_refused(kernel, oracle, length_scale):
    with pytest.raises(ValueError, match=r"expected a positive finite number, got"):
        kernel(length_scale)


@both
def test_equality_is_by_length_scale(kernel, oracle):
    assert kernel(0.3) == kernel(0.3)
    assert kernel(0.3) != kernel(0.30000000000000004)
    assert SquaredExponential(0.3) != Matern52(0.3)
