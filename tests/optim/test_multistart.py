"""The search: known maxima on boxes, and what it may not do."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from dale.optim.multistart import NEAR_POINTS, Box, maximize, starting_points


def search(function, gradient, box, center=None, allowed=None, seed=0):
    """Maximise f: (d,) -> float with its gradient."""
    starts = starting_points(np.random.default_rng(seed), box, center)
    return maximize(
        lambda A: np.array([function(a) for a in A]), lambda x: (function(x), gradient(x)), starts, box, allowed
    )


def quadratic(peak, H):
    return lambda x: 1.0 - 0.5 * (x - peak) @ H @ (x - peak), lambda x: -H @ (x - peak)


def bumps(centers, heights, width):
    """A sum of Gaussian functions that hardly overlap."""

    def parts(x):
        return heights * np.exp(-0.5 * np.sum((x - centers) ** 2, axis=1) / width**2)

    return lambda x: float(np.sum(parts(x))), lambda x: parts(x) @ (centers - x) / width**2


BOXES = {
    "unit": lambda d: Box.unit(d),
    "small": lambda d: Box(np.full(d, 3.0), np.full(d, 3.001)),
    "large": lambda d: Box(np.full(d, -500.0), np.full(d, 500.0)),
    "uneven": lambda d: Box(-np.arange(1.0, d + 1), 3.0 ** np.arange(d)),
}


@pytest.mark.parametrize("d", [1, 2, 4, 6])
@pytest.mark.parametrize("box", BOXES)
@pytest.mark.parametrize("place", ["inside", "face", "corner", "beyond"])
def test_finds_the_maximum_of_a_quadratic(d, box, place):
    rng = np.random.default_rng(d)
    lower, upper = bounds = BOXES[box](d)
    t = rng.uniform(0.2, 0.8, d)
    if place == "face":
        t[0] = 1.0
    elif place == "corner":
        t = (t > 0.5).astype(float)
    elif place == "beyond":
        t[-1] = -0.5
    H = np.diag(rng.uniform(1, 5, d)) / (upper - lower) ** 2
    f, gradient = quadratic(lower + t * (upper - lower), H)
    found = search(f, gradient, bounds)
    expected = np.clip(lower + t * (upper - lower), lower, upper)
    np.testing.assert_allclose((found.x - expected) / (upper - lower), 0.0, atol=1e-6)
    assert found.value == pytest.approx(f(expected), abs=1e-10)
    assert np.all((found.x >= lower) & (found.x <= upper))


@pytest.mark.parametrize("d", [1, 2, 3, 4])
@pytest.mark.parametrize("seed", range(5))
def test_finds_the_highest_of_many_maxima(d, seed):
    rng = np.random.default_rng(seed)
    centers = np.array([[0.2] * d, [0.8] * d, [0.2] + [0.8] * (d - 1)])[: 2 if d == 1 else 3]
    centers += rng.uniform(-0.1, 0.1, centers.shape)
    heights = rng.permutation([1.0, 0.8, 0.6])[: len(centers)]
    f, gradient = bumps(centers, heights, 0.12)
    found = search(f, gradient, Box.unit(d), seed=seed)
    maximum = centers[np.argmax(heights)]
    assert found.value >= f(maximum)
    np.testing.assert_allclose(found.x, maximum, atol=0.02)  # the others shift it slightly
    assert found.value == pytest.approx(f(found.x), rel=1e-12)


def test_finds_a_narrow_maximum_near_the_center():
    """What exploitation looks like: a spike at the incumbent that no quasi-random point would meet."""
    maximum = np.full(5, 0.37)
    f, gradient = bumps(np.array([maximum, np.full(5, 0.8)]), np.array([1.0, 0.1]), 0.03)
    found = search(f, gradient, Box.unit(5), center=maximum + 0.01)
    np.testing.assert_allclose(found.x, maximum, atol=1e-5)


def test_maximises_a_logarithm_far_below_zero():
    """Log EI where EI itself is 0: -1e4 and less, and still a gradient."""
    f, gradient = quadratic(np.array([0.3, 0.9]), 1e6 * np.eye(2))
    found = search(lambda x: f(x) - 1e4, gradient, Box.unit(2))
    np.testing.assert_allclose(found.x, [0.3, 0.9], atol=1e-6)


def test_all_three_minima_of_branin_are_good_enough():
    def branin(t):
        x, y = 15 * t[0] - 5, 15 * t[1]
        a = y - 5.1 * x**2 / (4 * np.pi**2) + 5 * x / np.pi - 6
        gradient = np.array([2 * a * (-10.2 * x / (4 * np.pi**2) + 5 / np.pi), 2 * a])
        gradient[0] -= 10 * (1 - 1 / (8 * np.pi)) * np.sin(x)
        return a**2 + 10 * (1 - 1 / (8 * np.pi)) * np.cos(x) + 10, 15 * gradient

    for seed in range(10):
        found = search(lambda t: -branin(t)[0], lambda t: -branin(t)[1], Box.unit(2), seed=seed)
        assert found.value == pytest.approx(-0.39788735772973816, abs=1e-9)


def test_respects_what_is_allowed():
    f, gradient = quadratic(np.full(2, 0.5), np.eye(2))

    def allowed(A):
        return np.linalg.norm(A - 0.5, axis=1) > 0.2

    starts = starting_points(np.random.default_rng(0), Box.unit(2))
    found = search(f, gradient, Box.unit(2), allowed=allowed)
    assert allowed(found.x[None, :])[0]
    assert found.value >= max(f(x) for x in starts[allowed(starts)])


def test_a_forbidden_maximum_does_not_hide_a_lower_one():
    f, gradient = bumps(np.array([[0.2, 0.2], [0.8, 0.8]]), np.array([1.0, 0.9]), 0.1)
    found = search(f, gradient, Box.unit(2), allowed=lambda A: np.linalg.norm(A - 0.2, axis=1) > 0.35)
    np.testing.assert_allclose(found.x, [0.8, 0.8], atol=1e-4)


def test_the_edge_of_a_forbidden_set_is_no_maximum():
    """The values there are larger than at the lower maximum, and rise into the set."""
    f, gradient = bumps(np.array([[0.2, 0.2], [0.8, 0.8]]), np.array([1.0, 0.1]), 0.1)

    def allowed(A):
        return np.linalg.norm(A - 0.2, axis=1) > 0.1

    starts = starting_points(np.random.default_rng(0), Box.unit(2))
    assert max(f(x) for x in starts[allowed(starts)]) > 0.3
    found = search(f, gradient, Box.unit(2), allowed=allowed)
    np.testing.assert_allclose(found.x, [0.8, 0.8], atol=1e-4)


def test_none_if_no_start_is_allowed_or_has_a_value():
    f, gradient = quadratic(np.full(2, 0.5), np.eye(2))
    assert search(f, gradient, Box.unit(2), allowed=lambda A: np.zeros(len(A), dtype=bool)) is None
    assert search(lambda x: -np.inf, gradient, Box.unit(2)) is None
    assert search(lambda x: np.nan, gradient, Box.unit(2)) is None
    assert maximize(lambda A: A[:, 0], lambda x: (x[0], np.ones(2)), np.empty((0, 2)), Box.unit(2)) is None


@pytest.mark.parametrize("hole", [-np.inf, np.nan])
def test_survives_points_without_a_value(hole):
    """Half of the box has no value, and the maximum lies at its edge."""
    f, gradient = quadratic(np.array([0.45, 0.5]), np.eye(2))

    def holey(x):
        return f(x) if x[0] < 0.5 else hole

    found = search(holey, lambda x: gradient(x) if x[0] < 0.5 else np.full(2, np.nan), Box.unit(2))
    np.testing.assert_allclose(found.x, [0.45, 0.5], atol=1e-5)
    rising = search(lambda x: x[0] if x[0] < 0.5 else hole, lambda x: np.array([1.0, 0.0]), Box.unit(2))
    assert 0.49 < rising.value < 0.5
    assert np.isfinite(rising.x).all()


def test_one_allowed_start_is_enough():
    f, gradient = quadratic(np.full(2, 0.5), np.eye(2))
    starts = starting_points(np.random.default_rng(0), Box.unit(2))
    found = maximize(
        lambda A: np.array([f(a) for a in A]),
        lambda x: (f(x), gradient(x)),
        starts,
        Box.unit(2),
        lambda A: cdist(A, starts[17:18])[:, 0] == 0,
    )
    np.testing.assert_array_equal(found.x, starts[17])
    assert found.value == f(starts[17])


def test_arguments_stay_as_they_were():
    f, gradient = quadratic(np.full(2, 0.5), np.eye(2))
    starts, box = starting_points(np.random.default_rng(0), Box.unit(2)), Box.unit(2)
    before = starts.copy()
    maximize(lambda A: np.array([f(a) for a in A]), lambda x: (f(x), gradient(x)), starts, box)
    np.testing.assert_array_equal(starts, before)
    np.testing.assert_array_equal(box, Box.unit(2))


@settings(deadline=None, derandomize=True, max_examples=150)
@given(
    seed=st.integers(0, 2**32),
    d=st.integers(1, 21),
    side=st.sampled_from([1.0, 1e-12, 1e-3, 1e9]),
    offset=st.sampled_from([0.0, 1.0, -1e6]),
    at_edge=st.booleans(),
)
def test_starting_points_are_in_the_box(seed, d, side, offset, at_edge):
    rng = np.random.default_rng(seed)
    lower = offset + rng.random(d)
    box = Box(lower, lower + side * rng.uniform(0.1, 1, d))
    center = box.high if at_edge else box.low + rng.random(d) * (box.high - box.low)
    for points in (starting_points(rng, box), starting_points(rng, box, center)):
        assert points.shape[1] == d
        assert np.all((points >= box.low) & (points <= box.high))


def test_starting_points_cover_the_box_and_surround_the_center():
    center = np.full(3, 0.4)
    points = starting_points(np.random.default_rng(0), Box.unit(3), center)
    net, cloud = points[:-NEAR_POINTS], points[-NEAR_POINTS:]
    counts = np.histogramdd(net, bins=[2, 2, 2], range=[(0, 1)] * 3)[0]
    assert counts.min() >= 0.9 * len(net) / 8  # quasi-random: each octant has its share
    distances = np.linalg.norm(cloud - center, axis=1)
    assert np.sum(distances < 0.04) >= NEAR_POINTS // 4
    assert np.sum(distances > 0.1) >= NEAR_POINTS // 4


def test_starting_points_are_a_function_of_the_generator():
    box = Box.unit(3)
    one, same, other = (starting_points(np.random.default_rng(s), box, np.full(3, 0.5)) for s in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert not np.any(np.all(one[:, None] == other[None], axis=2))


def test_the_search_is_deterministic():
    f, gradient = bumps(np.array([[0.2, 0.2], [0.8, 0.8]]), np.array([1.0, 0.9]), 0.1)
    one, same = (search(f, gradient, Box.unit(2), seed=3) for _ in range(2))
    np.testing.assert_array_equal(one.x, same.x)
    assert one.value == same.value
