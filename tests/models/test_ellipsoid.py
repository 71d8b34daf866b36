"""Closed balls."""

import numpy as np
import pytest
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
