"""The root of a variance and its derivatives: by hand, against 50 digits, and where there is no variance."""

import mpmath as mp
import numpy as np
import pytest

import precise
from dale.models.base import std_with_derivatives


def bowl(x, bottom, H, floor):
    """A variance with a minimum, for high-precision points."""
    e = [mp.mpf(v) - mp.mpf(float(b)) for v, b in zip(x, bottom, strict=True)]
    n = range(len(e))
    return floor + mp.fsum(e[i] * mp.mpf(float(H[i, j])) * e[j] for i in n for j in n) / 2


@pytest.mark.parametrize("d", [1, 2, 4])
@pytest.mark.parametrize("floor", [1.0, 1e-3, 1e6])
def test_against_50_digits(d, floor):
    rng = np.random.default_rng(d)
    G = rng.normal(size=(d, d))
    H, bottom, X = G @ G.T, rng.random(d), rng.random((3, d))
    E = X - bottom
    variance = floor + np.sum(E * (E @ H), axis=1) / 2
    root, gradient, hessian = std_with_derivatives(variance, E @ H / 2, np.tile(H / 2, (3, 1, 1)))
    for i, x in enumerate(X):

        def exact(x):
            return mp.sqrt(bowl(x, bottom, H, floor))

        assert root[i] == pytest.approx(float(exact(x)), rel=1e-14)
        expected = precise.gradient(exact, x)
        np.testing.assert_allclose(gradient[i], expected, rtol=1e-11, atol=1e-12 * np.max(np.abs(expected)))
        expected = precise.hessian(exact, x)
        np.testing.assert_allclose(hessian[i], expected, rtol=1e-11, atol=1e-11 * np.max(np.abs(expected)))


def test_by_hand():
    """The root of 1 + x^2 at x = 3/4 is 5/4, its derivatives x / root and 1 / root^3."""
    root, gradient, hessian = std_with_derivatives(np.array([25 / 16]), np.array([[0.75]]), np.array([[[1.0]]]))
    assert (root[0], gradient[0, 0], hessian[0, 0, 0]) == pytest.approx((1.25, 0.6, 0.512))


@pytest.mark.parametrize("variance", [0.0, -1e-17, -0.0])
def test_where_there_is_no_variance_there_are_no_derivatives(variance):
    """Nor a warning; rounding may leave it a little below 0."""
    gradient, hessian = np.ones((2, 3)), np.tile(np.eye(3), (2, 1, 1))
    parts = std_with_derivatives(np.array([variance, 4.0]), gradient, hessian)
    for part in parts:
        np.testing.assert_array_equal(part[0], 0.0)
    for part, alone in zip(parts, std_with_derivatives(np.array([4.0]), gradient[1:], hessian[1:]), strict=True):
        np.testing.assert_array_equal(part[1:], alone)
        assert np.any(alone != 0)


@pytest.mark.parametrize("c", [2.0**-400, 2.0**-20, 2.0**20, 2.0**400])
def test_in_any_unit(c):
    rng = np.random.default_rng(0)
    variance, gradient, hessian = rng.uniform(1, 2, 5), rng.normal(size=(5, 3)), rng.normal(size=(5, 3, 3))
    ours = std_with_derivatives(c * c * variance, c * c * gradient, c * c * hessian)
    for part, expected in zip(ours, std_with_derivatives(variance, gradient, hessian), strict=True):
        np.testing.assert_allclose(part, c * expected, rtol=1e-13)
