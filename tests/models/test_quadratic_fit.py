"""The regression of Def. 1: it recovers quadratics, at any scale, or says that it cannot."""

import math

import numpy as np
import pytest

import reference
from dale.models.ellipsoid import Ellipsoid
from dale.models.quadratic_fit import QuadraticFit, monomials, n_unknowns

dimensions = pytest.mark.parametrize("d", [1, 2, 3, 4, 5, 6])


def in_ball(rng, ball, k):
    d = len(ball.center)
    z = rng.normal(size=(k, d))
    z *= rng.random((k, 1)) ** (1 / d) / np.linalg.norm(z, axis=1, keepdims=True)
    return ball.center + ball.radius * z


def convex(rng, d):
    Q = np.linalg.qr(rng.normal(size=(d, d)))[0]
    return (Q * rng.uniform(0.5, 5, d)) @ Q.T


def test_number_of_unknowns():
    assert [n_unknowns(d) for d in (1, 2, 3, 5, 6, 10)] == [3, 6, 10, 21, 28, 66]


@dimensions
def test_monomials_equal_the_oracle(d):
    Z = np.random.default_rng(d).normal(size=(5, d))
    assert monomials(Z).shape == (5, n_unknowns(d))
    np.testing.assert_allclose(np.sort(monomials(Z), axis=1), np.sort(reference.monomials(Z), axis=1))


@dimensions
@pytest.mark.parametrize("radius", [0.5, 1e-2, 1e-5, 1e-9])
def test_recovers_quadratics(d, radius):
    rng = np.random.default_rng(d)
    for extra in (0, 1, n_unknowns(d)):
        ball = Ellipsoid(rng.random(d), radius)
        X = in_ball(rng, ball, n_unknowns(d) + extra)
        Z = (X - ball.center) / radius  # exact: the difference of the coordinates has no rounding error
        B, t = convex(rng, d), rng.uniform(-0.5, 0.5, d)
        y = 0.7 + 0.5 * np.einsum("ni,ij,nj->n", Z - t, B, Z - t)
        fit = QuadraticFit.to(X, y, ball)
        assert fit.is_convex
        np.testing.assert_allclose(fit.hessian * radius**2, B, rtol=0, atol=1e-7)
        assert fit.minimum == pytest.approx(0.7, abs=1e-9)
        np.testing.assert_allclose((fit.minimiser - ball.center) / radius, t, rtol=0, atol=1e-6)
        A = in_ball(rng, ball, 20)
        Z = (A - ball.center) / radius
        np.testing.assert_allclose(fit(A), 0.7 + 0.5 * np.einsum("ni,ij,nj->n", Z - t, B, Z - t), rtol=0, atol=1e-8)


@dimensions
def test_is_the_least_squares_fit(d):
    """Values that are no quadratic: the same coefficients as the naive regression in the cube."""
    rng = np.random.default_rng(d)
    ball = Ellipsoid(np.full(d, 0.5), 0.5)
    X = in_ball(rng, ball, 3 * n_unknowns(d))
    y = rng.normal(size=len(X))
    fit = QuadraticFit.to(X, y, ball)
    b0, b1, B = reference.quadratic_fit(X, y)
    np.testing.assert_allclose(fit.hessian, B, rtol=1e-8, atol=1e-7)
    np.testing.assert_allclose(fit(X), b0 + X @ b1 + 0.5 * np.einsum("ni,ij,nj->n", X, B, X), rtol=0, atol=1e-8)


def test_stationary_point_by_the_oracle():
    rng = np.random.default_rng(0)
    ball = Ellipsoid(np.full(2, 0.5), 0.5)
    X = in_ball(rng, ball, 12)
    y = np.sum((X - [0.4, 0.55]) ** 2, axis=1) + 0.01 * rng.normal(size=12)
    fit = QuadraticFit.to(X, y, ball)
    b0, b1, B = reference.quadratic_fit(X, y)
    x_star = -np.linalg.solve(B, b1)  # with the half of eq. 17
    np.testing.assert_allclose(fit.minimiser, x_star, rtol=1e-8)
    assert fit.minimum == pytest.approx(b0 + b1 @ x_star / 2, abs=1e-10)
    h = 1e-6
    gradients = [(fit(x_star + e)[0] - fit(x_star - e)[0]) / (2 * h) for e in h * np.eye(2)[:, None, :]]
    np.testing.assert_allclose(gradients, 0.0, atol=1e-8)


def test_small_variation_on_a_large_value():
    """Values that float64 represents exactly, a quadratic plus a large constant: no digit of it may be lost."""
    grid = np.arange(5) / 4
    X = np.array([[a, b] for a in grid for b in grid])
    t = np.array([0.375, 0.625])
    fit = QuadraticFit.to(X, 2.0**40 + np.sum((X - t) ** 2, axis=1), Ellipsoid(np.full(2, 0.5), 0.75))
    np.testing.assert_allclose(fit.minimiser, t, atol=1e-12)
    np.testing.assert_allclose(fit.hessian, 2 * np.eye(2), atol=1e-12)
    assert fit.minimum == 2.0**40


@dimensions
def test_leave_one_out_error_by_brute_force(d):
    rng = np.random.default_rng(d)
    ball = Ellipsoid(np.full(d, 0.5), 0.5)
    for extra in (1, 2, n_unknowns(d)):
        X = in_ball(rng, ball, n_unknowns(d) + extra)
        y = rng.normal(size=len(X))
        errors = []
        for i in range(len(X)):
            rest = np.arange(len(X)) != i
            phi = reference.monomials((X - 0.5) / 0.5)
            beta = np.linalg.lstsq(phi[rest], y[rest], rcond=None)[0]
            errors.append(y[i] - phi[i] @ beta)
        expected = math.sqrt(np.mean(np.square(errors)))
        assert QuadraticFit.to(X, y, ball).leave_one_out_error == pytest.approx(expected, rel=1e-6)


def test_leave_one_out_error_of_an_exact_fit_is_unknown():
    X = in_ball(np.random.default_rng(0), Ellipsoid(np.full(2, 0.5), 0.5), 6)
    assert QuadraticFit.to(X, X[:, 0], Ellipsoid(np.full(2, 0.5), 0.5)).leave_one_out_error == math.inf


RNG = np.random.default_rng(0)
ANGLES = np.linspace(0, 2 * np.pi, 9)[:-1]
DEGENERATE = {
    "too few": RNG.random((5, 2)),
    "one point": np.full((8, 2), 0.5),
    "on a line": np.repeat(np.linspace(0, 1, 8)[:, None], 2, axis=1),
    "on a circle": 0.5 + 0.3 * np.column_stack([np.cos(ANGLES), np.sin(ANGLES)]),
    "on two lines": np.array([[0, 0], [0.3, 0], [0.6, 0], [1, 0], [0, 0.2], [0, 0.5], [0, 0.9]]) @ np.eye(2),
    "five places": np.repeat(RNG.random((5, 2)), 2, axis=0),
    "almost on a line": np.repeat(np.linspace(0, 1, 8)[:, None], 2, axis=1) + 1e-10 * RNG.normal(size=(8, 2)),
}


@pytest.mark.parametrize("points", DEGENERATE)
def test_points_that_determine_no_quadratic(points):
    X = DEGENERATE[points]
    assert QuadraticFit.to(X, np.arange(float(len(X))), Ellipsoid(np.full(2, 0.5), 1.0)) is None


@pytest.mark.parametrize(
    ("B", "expected"),
    [
        ([[2.0, 0.0], [0.0, 1.0]], True),
        ([[2.0, 0.0], [0.0, -1.0]], False),
        ([[-2.0, 0.0], [0.0, -1.0]], False),
        ([[1.0, 1.0], [1.0, 1.0]], False),  # constant along a line
        ([[1.0, 0.999], [0.999, 1.0]], True),
        ([[0.0, 0.0], [0.0, 0.0]], False),
    ],
)
def test_convexity(B, expected):
    fit = QuadraticFit(Ellipsoid(np.zeros(2), 1.0), 0.0, np.zeros(2), np.array(B), 0.0)
    assert fit.is_convex is expected
