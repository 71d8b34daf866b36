"""Sums of kernels: against 50 digits and finite differences, and what makes them kernels."""

import math

import mpmath as mp
import numpy as np
import pytest
from exact_derivatives import assert_derivatives_are_exact

import precise
from dale.models.gaussian_process import GaussianProcess
from dale.models.kernels.matern import Matern52
from dale.models.kernels.squared_exponential import SquaredExponential
from dale.models.kernels.sums import AdditiveSquaredExponential, WeightedSum


def exact_additive(a, b, length_scale):
    return mp.fsum(precise.squared_exponential([p], [q], length_scale) for p, q in zip(a, b, strict=True)) / len(a)


def exact_ripples(a, b):
    return mp.mpf(0.9) * precise.squared_exponential(a, b, 2.0) + mp.mpf(0.1) * exact_additive(a, b, 0.15)


def exact_three(a, b):
    terms = (precise.squared_exponential(a, b, 1.0), precise.matern52(a, b, 0.4), exact_additive(a, b, 0.1))
    return mp.fsum(mp.mpf(w) * term for w, term in zip((0.5, 0.25, 0.25), terms, strict=True))


RIPPLES = WeightedSum(((0.9, SquaredExponential(2.0)), (0.1, AdditiveSquaredExponential(0.15))))
THREE = WeightedSum(((0.5, SquaredExponential(1.0)), (0.25, Matern52(0.4)), (0.25, AdditiveSquaredExponential(0.1))))
KERNELS = {
    "additive, short": (AdditiveSquaredExponential(0.07), lambda a, b: exact_additive(a, b, 0.07)),
    "additive, long": (AdditiveSquaredExponential(4.0), lambda a, b: exact_additive(a, b, 4.0)),
    "trend and ripples": (RIPPLES, exact_ripples),
    "three parts": (THREE, exact_three),
}
every = pytest.mark.parametrize(("k", "exact"), KERNELS.values(), ids=KERNELS)


@every
@pytest.mark.parametrize("d", [1, 2, 5])
def test_values_against_50_digits(k, exact, d):
    rng = np.random.default_rng(d)
    A, B = rng.random((7, d)), rng.random((5, d))
    A[3] = B[1]
    expected = np.array([[exact(a, b) for b in B] for a in A], float)
    np.testing.assert_allclose(k(A, B), expected, rtol=1e-11, atol=1e-300)


def test_by_hand():
    a, b = np.array([[0.0, 0.0]]), np.array([[0.3, 0.6]])
    additive = AdditiveSquaredExponential(0.3)
    assert additive(a, b)[0, 0] == pytest.approx((math.exp(-0.5) + math.exp(-2)) / 2, rel=1e-14)
    total = WeightedSum(((0.75, SquaredExponential(0.3)), (0.25, additive)))
    expected = 0.75 * math.exp(-2.5) + 0.125 * (math.exp(-0.5) + math.exp(-2))
    assert total(a, b)[0, 0] == pytest.approx(expected, rel=1e-14)


def test_in_one_variable_the_additive_kernel_is_the_squared_exponential():
    rng = np.random.default_rng(0)
    A, B = rng.random((7, 1)), rng.random((5, 1))
    np.testing.assert_allclose(AdditiveSquaredExponential(0.3)(A, B), SquaredExponential(0.3)(A, B), rtol=1e-12)


@every
@pytest.mark.parametrize("d", [1, 2, 4])
def test_is_a_correlation(k, exact, d):
    for seed in range(10):
        rng = np.random.default_rng([seed, d])
        X = rng.random((12, d)) * rng.choice([1.0, 1e-3, 1e-9])
        K = k(X, X)
        np.testing.assert_array_equal(K, K.T)
        np.testing.assert_allclose(np.diag(K), 1.0, rtol=1e-15)
        np.testing.assert_array_equal(k.diagonal(X), np.ones(12))
        assert np.all((K >= 0) & (K <= 1 + 1e-15))
        assert np.linalg.eigvalsh(K)[0] >= -1e-13 * 12


@every
@pytest.mark.parametrize("d", [1, 3])
def test_gradient_against_central_differences(k, exact, d):
    rng = np.random.default_rng(1)
    B, h, steps = rng.random((9, d)), 1e-5, 1e-5 * np.eye(d)
    for x in rng.random((20, d)):
        expected = (k(x + steps, B) - k(x - steps, B)).T / (2 * h)
        gradient = k.gradient(x, B, k(x[None, :], B)[0])
        np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-5 * np.max(np.abs(expected)))


@every
def test_gradients_at_many_points_are_those_at_each(k, exact):
    rng = np.random.default_rng(1)
    A, B = rng.random((6, 3)), rng.random((9, 3))
    A[2] = B[5]
    gradients = k.gradients(A, B, k(A, B))
    assert gradients.shape == (6, 9, 3)
    np.testing.assert_array_equal(gradients[2, 5], 0.0)
    for a, ours in zip(A, gradients, strict=True):
        np.testing.assert_allclose(ours, k.gradient(a, B, k(a[None], B)[0]), rtol=1e-13, atol=1e-300)


@every
def test_gradients_and_hessians_against_50_digits(k, exact):
    assert_derivatives_are_exact(k, exact, shortest=0.07)


@every
@pytest.mark.parametrize("d", [1, 2, 6])
def test_hessians_against_central_differences(k, exact, d):
    rng = np.random.default_rng(d)
    A, B, weights, h = rng.random((8, d)), rng.random((11, d)), rng.normal(size=(8, 11)), 1e-5
    hessians = k.hessians(A, B, k(A, B), weights)
    np.testing.assert_allclose(hessians, hessians.transpose(0, 2, 1), rtol=1e-12, atol=1e-12)
    for i, step in enumerate(h * np.eye(d)):
        up, down = (np.einsum("mn,mnd->md", weights, k.gradients(X, B, k(X, B))) for X in (A + step, A - step))
        expected = (up - down) / (2 * h)
        np.testing.assert_allclose(hessians[:, i], expected, rtol=1e-5, atol=1e-6 * np.max(np.abs(expected)))


@pytest.mark.parametrize("length_scale", [0.0, -0.5, math.nan, math.inf])
def test_invalid_length_scales_are_refused(length_scale):
    with pytest.raises(ValueError, match=r"expected a positive finite number, got"):
        AdditiveSquaredExponential(length_scale)


def test_the_length_scale_of_a_sum_is_that_of_its_last_part():
    assert RIPPLES.length_scale == 0.15
    assert THREE.length_scale == 0.1


def test_a_model_with_an_additive_kernel_extends_a_sum_over_coordinates():
    """It predicts where no observation is near: a grid's corner from its edges; the isotropic kernel does not."""
    t = np.linspace(0, 1, 15)
    X = np.vstack([np.column_stack([t, 0 * t]), np.column_stack([0 * t[1:], t[1:]])])
    A = np.random.default_rng(0).uniform(0.3, 1, (40, 2))

    def f(X):
        return np.sum(np.cos(9 * X) + X, axis=1)

    errors = [
        np.max(np.abs(GaussianProcess.fit(kernel, X, f(X)).predict(A).mean - f(A)))
        for kernel in (AdditiveSquaredExponential(0.2), SquaredExponential(0.2))
    ]
    assert errors[0] < 0.01
    assert errors[1] > 0.5
