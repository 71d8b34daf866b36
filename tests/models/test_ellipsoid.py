"""Ellipsoids: balls by hand, shaped ones against naive oracles."""

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.spatial.distance import cdist

from dale.models.ellipsoid import Ellipsoid


def test_distance_and_contents():
    ball = Ellipsoid(np.array([0.5, 0.5]), 0.25)
    points = np.array([[0.5, 0.5], [0.75, 0.5], [1.0, 0.5], [0.5, 0.0]])
    assert ball.distance(points).tolist() == [0.0, 0.0, 0.25, 0.25]
    assert ball.contains(points).tolist() == [True, True, False, False]  # the border belongs to it


def test_one_point_or_many():
    ball = Ellipsoid(np.zeros(3), 1.0)
    assert ball.contains(np.array([0.0, 0.0, 1.0])).shape == ()
    assert ball.contains(np.zeros((4, 5, 3))).shape == (4, 5)
    assert ball.distance(np.array([0.0, 0.0, 3.0])) == 2.0


@pytest.mark.parametrize(("gap", "expected"), [(-0.125, True), (0.0, True), (0.125, False)])
def test_overlap(gap, expected):
    one, other = Ellipsoid(np.array([0.0]), 0.25), Ellipsoid(np.array([0.75 + gap]), 0.5)
    assert one.overlaps(other) is expected
    assert other.overlaps(one) is expected


def test_a_point_is_a_ball():
    point = Ellipsoid(np.array([0.5]), 0.0)
    assert point.contains(np.array([0.5]))
    assert point.overlaps(Ellipsoid(np.array([0.25]), 0.25))


@pytest.mark.parametrize("d", [1, 3, 8, 10, 20])
def test_the_farthest_neighbour_is_in_its_ball(d):
    """However the distance that became the radius was added up."""
    X = np.random.default_rng(d).random((60, d))
    distances = cdist(X, X)
    nearest = np.argsort(distances, axis=1, kind="stable")
    for i in range(60):
        for layout in (X, np.asfortranarray(X)):
            ball = Ellipsoid(X[i], float(distances[i, nearest[i, 9]]))
            assert np.all(ball.contains(layout)[nearest[i, :10]])
            assert not np.any(ball.contains(layout)[nearest[i, 10:]])


def shaped(d, seed, center=0.5, radius=0.2, spread=1.0):
    """An ellipsoid with a random shape of determinant 1, whose axes differ by up to exp(2 spread)."""
    rng = np.random.default_rng([d, seed])
    Q, _ = np.linalg.qr(rng.normal(size=(d, d)))
    axes = rng.uniform(-spread, spread, d)
    R, _ = np.linalg.qr(rng.normal(size=(d, d)))
    return Ellipsoid(np.full(d, center) + 0.1 * rng.normal(size=d), radius, Q @ np.diag(np.exp(axes - axes.mean())) @ R)


def exact_distance(center, axes, x):
    """Distance of a point to the ellipsoid {center + axes z, |z| <= 1}: the root of Lagrange's equation, bracketed.

    With axes = U diag(a) V' and y = U' (x - center), the nearest point is a^2 y / (t + a^2) with t >= 0 such that it
    lies on the surface.
    """
    U, a, _ = np.linalg.svd(axes)
    y = U.T @ (x - center)

    def outside(t):
        return np.sum((a * y / (t + a**2)) ** 2) - 1

    if outside(0.0) <= 0:
        return 0.0
    t = brentq(outside, 0.0, np.linalg.norm(a * y), xtol=1e-15, rtol=1e-14)
    return float(np.linalg.norm(y - a**2 * y / (t + a**2)))


@pytest.mark.parametrize("d", [1, 2, 5])
def test_coordinates(d):
    ellipsoid, X = shaped(d, 0), np.random.default_rng(d).random((7, d))
    expected = [np.linalg.solve(ellipsoid.shape, (x - ellipsoid.center) / ellipsoid.radius) for x in X]
    np.testing.assert_allclose(ellipsoid.to_local(X), expected, rtol=1e-10)
    np.testing.assert_allclose(ellipsoid.to_cube(ellipsoid.to_local(X)), X, rtol=1e-12)
    assert ellipsoid.to_local(X[0]).shape == (d,)
    ball = Ellipsoid(ellipsoid.center, ellipsoid.radius)
    np.testing.assert_array_equal(ball.to_local(X), (X - ball.center) / ball.radius)
    np.testing.assert_array_equal(ball.to_cube(X), ball.center + ball.radius * X)


@pytest.mark.parametrize("d", [1, 2, 5])
def test_hessian_in_the_cube(d):
    """The quadratic form is the same in both coordinates."""
    rng = np.random.default_rng(d)
    A, X = rng.normal(size=(d, d)), rng.random((7, d))
    for ellipsoid in (shaped(d, 0), Ellipsoid(X[0], 0.3)):
        H, Z = ellipsoid.hessian_to_cube(A + A.T), ellipsoid.to_local(X)
        dx = X - ellipsoid.center
        np.testing.assert_allclose(np.sum(dx * (dx @ H), axis=1), np.sum(Z * (Z @ (A + A.T)), axis=1), atol=1e-8)


@pytest.mark.parametrize("d", [1, 2, 4])
def test_the_identity_is_a_ball(d):
    rng = np.random.default_rng(d)
    ball = Ellipsoid(rng.random(d), 0.3)
    same, X = Ellipsoid(ball.center, 0.3, np.eye(d)), rng.random((50, d))
    np.testing.assert_array_equal(same.contains(X), ball.contains(X))
    np.testing.assert_allclose(same.distance(X), ball.distance(X), atol=1e-15)
    for _ in range(50):
        other = Ellipsoid(rng.random(d), rng.uniform(0.05, 0.5))
        assert same.overlaps(Ellipsoid(other.center, other.radius, np.eye(d))) is ball.overlaps(other)
        assert same.overlaps(other) is ball.overlaps(other)


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_shaped_distance_is_a_lower_bound(d, seed):
    ellipsoid, X = shaped(d, seed), np.random.default_rng([7, d, seed]).random((30, d))
    exact = np.array([exact_distance(ellipsoid.center, ellipsoid.radius * ellipsoid.shape, x) for x in X])
    ours = ellipsoid.distance(X)
    assert np.all(ours <= exact + 1e-12)
    np.testing.assert_array_equal(ours == 0, ellipsoid.contains(X))
    np.testing.assert_array_equal(ellipsoid.contains(X), exact == 0)
    smallest, largest = np.linalg.svd(ellipsoid.shape, compute_uv=False)[[-1, 0]]
    assert np.all(exact <= ours * largest / smallest + 1e-12)  # and not a poor one


def gap(one, other):
    """Distance of the other ellipsoid to the center of one, in units in which one is the unit ball."""
    S = np.eye(len(other.center)) if other.shape is None else other.shape
    axes = np.linalg.solve(one.shape, S) * other.radius / one.radius
    return exact_distance(one.to_local(other.center), axes, np.zeros(len(one.center)))


@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_shaped_overlap_by_the_oracle(d):
    outcomes = set()
    for seed in range(60):
        one = shaped(d, seed, center=0.4, radius=0.12 * np.sqrt(d))
        other = shaped(d, 1000 + seed, center=0.55 + 0.005 * seed, radius=0.1 * np.sqrt(d))
        other = other if seed % 3 else Ellipsoid(other.center, other.radius)
        expected = gap(one, other) <= 1
        assert one.overlaps(other) is expected, seed
        assert other.overlaps(one) is expected, seed
        outcomes.add(expected)
    assert outcomes == {True, False}


def test_flat_ellipsoids_side_by_side():
    """Balls around them overlap."""
    flat = np.diag([4.0, 0.25])
    low, high = (Ellipsoid(np.array([0.5, y]), 0.1, flat) for y in (0.4, 0.46))
    assert not low.overlaps(high)
    assert low.overlaps(Ellipsoid(np.array([0.5, 0.44]), 0.1, flat))
    assert Ellipsoid(low.center, 0.4).overlaps(Ellipsoid(high.center, 0.4))
