"""The model of where evaluations fail: expectation propagation against sampling, boundaries, random failures."""

import numpy as np
import pytest

from dale.acquisition.feasibility import Feasibility
from dale.models.failure_boundary import FailureBoundary, propagate, relevant_coordinates
from dale.models.kernels import SquaredExponential


def probability(boundary, A):
    return np.exp(Feasibility((), boundary).log_probability(np.atleast_2d(A)))


@pytest.mark.parametrize("seed", range(4))
def test_signs_against_rejection_sampling(seed):
    """Probability of the signs, and posterior mean and std, from a million draws of the prior."""
    rng = np.random.default_rng(seed)
    X, c = rng.random((4, 2)), 0.2
    K = 0.3 * SquaredExponential(0.5)(X, X)
    sign = np.array([1.0, -1.0, 1.0, -1.0])
    values, variances, log_evidence = propagate(K, c, sign, 0.1 * sign, np.full(4, 0.01))
    draws = rng.multivariate_normal(np.full(4, c), K, 1_000_000)
    kept = draws[np.all(np.sign(draws) == sign, axis=1)]
    S = np.linalg.inv(np.linalg.inv(K) + np.diag(1 / variances))
    mean = S @ (np.linalg.solve(K, np.full(4, c)) + values / variances)
    assert log_evidence == pytest.approx(np.log(len(kept) / len(draws)), abs=0.1)
    np.testing.assert_allclose(mean, np.mean(kept, axis=0), atol=0.02)
    np.testing.assert_allclose(np.sqrt(np.diag(S)), np.std(kept, axis=0), rtol=0.15)


def test_without_failures_or_without_values_there_is_no_boundary():
    X = np.random.default_rng(0).random((5, 2))
    assert FailureBoundary.fit(X, np.zeros(5, dtype=bool)) is None
    assert FailureBoundary.fit(X, np.ones(5, dtype=bool)) is None


def test_a_half_plane_is_learnt():
    rng = np.random.default_rng(1)
    X = rng.random((40, 2))
    boundary = FailureBoundary.fit(X, X[:, 0] + 0.5 * X[:, 1] > 0.8)
    A = rng.random((2000, 2))
    distance = (A[:, 0] + 0.5 * A[:, 1] - 0.8) / np.hypot(1, 0.5)
    P = probability(boundary, A)
    assert boundary.weight > 0.99
    assert np.mean((P < 0.5) == (distance > 0)) > 0.95
    assert np.min(P[distance < -0.2]) > 0.8
    assert np.max(P[distance > 0.2]) < 0.2


def test_the_boundary_is_bisected():
    """Each pair of outcomes halves the interval in which the boundary is; its probability is even in the middle."""
    X, failed = [[0.1, 0.5], [0.9, 0.5], [0.2, 0.1], [0.3, 0.9]], [False, True, False, False]
    low, high = 0.1, 0.9
    for _ in range(14):
        middle = (low + high) / 2
        X.append([middle, 0.5])
        failed.append(middle > 0.6180339)
        low, high = (low, middle) if failed[-1] else (middle, high)
    boundary = FailureBoundary.fit(np.array(X), np.array(failed))
    line = np.column_stack([np.linspace(low, high, 101), np.full(101, 0.5)])
    P = probability(boundary, line)
    assert P[0] > 0.75
    assert P[-1] < 0.25
    assert 0.4 < P[50] < 0.6


def test_one_failure_among_many_values_concerns_its_neighbourhood():
    rng = np.random.default_rng(2)
    X = np.vstack([rng.random((30, 3)), [[0.5, 0.5, 0.5]]])
    boundary = FailureBoundary.fit(X, np.arange(31) == 30)
    far = rng.random((500, 3))
    far = far[np.linalg.norm(far - 0.5, axis=1) > 0.4]
    assert probability(boundary, [[0.51, 0.5, 0.5]])[0] < 0.3
    assert np.median(probability(boundary, far)) > 0.9


@pytest.mark.parametrize("seed", range(5))
def test_random_failures_have_no_boundary(seed):
    """A cluster of close points with mixed outcomes, as around a minimum."""
    rng = np.random.default_rng(seed)
    X = np.vstack([rng.random((20, 2)), 0.4 + 1e-3 * rng.random((40, 2))])
    boundary = FailureBoundary.fit(X, rng.random(60) < 0.25)
    assert boundary.weight < 0.05
    assert probability(boundary, rng.random((9, 2))) == pytest.approx(boundary.rate, abs=0.1)


def test_derivatives_against_central_differences():
    rng = np.random.default_rng(3)
    X = rng.random((12, 2))
    fitted = FailureBoundary.fit(X, X[:, 0] > 0.6)
    for weight in (fitted.weight, 0.4, 0.0, 1.0):
        feasibility = Feasibility((), FailureBoundary(fitted.distance, weight, 0.7))
        A, h = rng.random((6, 2)), 1e-5
        value, gradient, hessian = feasibility.negative_log_feasibility(A)
        np.testing.assert_allclose(value, -feasibility.log_probability(A), rtol=1e-9)
        for j, step in enumerate(h * np.eye(2)):
            up, down = (feasibility.negative_log_feasibility(A + s) for s in (step, -step))
            np.testing.assert_allclose(gradient[:, j], (up.value - down.value) / (2 * h), rtol=1e-4, atol=1e-6)
            np.testing.assert_allclose(hessian[:, j], (up.gradient - down.gradient) / (2 * h), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("n_seeds", [50, pytest.param(200, marks=pytest.mark.slow)])
def test_hostile_points(n_seeds):
    """Equal, almost equal and collinear points with different outcomes."""
    for seed in range(n_seeds):
        rng = np.random.default_rng(seed)
        n, d = int(rng.integers(2, 40)), int(rng.integers(1, 7))
        X = rng.random((n, d))[rng.integers(0, n, n)] + 10.0 ** rng.uniform(-14, -1) * rng.standard_normal((n, d))
        failed = rng.random(n) < rng.random()
        failed[:2] = True, False
        boundary = FailureBoundary.fit(X, failed)
        P = probability(boundary, rng.random((50, d)))
        assert np.isfinite(P).all()
        assert np.all((P >= 0) & (P <= 1 + 1e-12))
        assert 0 <= boundary.weight <= 1


def test_the_number_of_points_in_the_model_is_limited():
    rng = np.random.default_rng(4)
    X = rng.random((3000, 2))
    boundary = FailureBoundary.fit(X, X[:, 0] > 0.5)
    assert len(boundary.distance.points) == 120
    P = probability(boundary, [[0.4, 0.5], [0.6, 0.5]])
    assert P[0] > 0.9
    assert P[1] < 0.1


class TestRelevantCoordinates:
    """Failures that depend on few coordinates are explained by these."""

    def test_a_threshold_of_one_coordinate(self):
        rng = np.random.default_rng(0)
        X = rng.random((30, 8))
        boundary = FailureBoundary.fit(X, X[:, 3] > 0.7)
        A = rng.random((200, 8))
        is_right = (probability(boundary, A) < 0.5) == (A[:, 3] > 0.7)
        assert np.flatnonzero(relevant_coordinates(X, X[:, 3] > 0.7)).tolist() == [3]
        assert np.mean(is_right) > 0.9

    def test_either_of_two_causes(self):
        """A memory limit, or two integers whose sum is too large; neither explains the failures alone."""
        rng = np.random.default_rng(1)
        X = rng.random((80, 8))
        X[:, 4:6] = (np.floor(5 * X[:, 4:6]) + 0.5) / 5
        failed = (X[:, 2] > 0.65) | (X[:, 4] + X[:, 5] > 1.1)
        X[40:, 2] = np.where(X[40:, 2] > 0.65, X[40:, 2], 0.6)  # a value that evaluations of both outcomes share
        assert np.flatnonzero(relevant_coordinates(X, failed)).tolist() == [2, 4, 5]

    @pytest.mark.parametrize("seed", range(4))
    def test_all_of_them_where_the_boundary_is_oblique(self, seed):
        X = np.random.default_rng(seed).random((40, 3))
        assert relevant_coordinates(X, X @ [1.0, 0.9, 1.1] > 1.7).all()

    def test_those_of_the_first_evaluations_are_dropped_if_others_contradict_them(self):
        """They are selected anew from time to time only; all coordinates are compared each time."""
        X = np.random.default_rng(0).random((30, 4))
        failed = X[:, 0] > 0.6
        X[29], failed[29] = X[np.argmin(X[:, 0])], True
        X[29, 1:] = 1 - X[29, 1:]  # a failure with the first coordinate of a completed evaluation
        boundary = FailureBoundary.fit(X, failed)
        assert relevant_coordinates(X, failed).sum() == 1
        assert np.isscalar(boundary.distance.kernel.length_scale)

    @pytest.mark.parametrize("seed", range(4))
    def test_a_random_failure_at_a_completed_point_does_not_hide_the_boundary(self, seed):
        X = np.random.default_rng(seed).random((40, 2))
        failed = X.sum(axis=1) > 1.2
        boundary = FailureBoundary.fit(np.vstack([X, X[np.argmin(X.sum(axis=1))]]), np.append(failed, True))
        P = probability(boundary, [[0.9, 0.9], [0.3, 0.4]])
        assert boundary.weight > 0.9
        assert P[0] < 0.1
        assert P[1] > 0.9

    def test_one_coordinate_and_few_evaluations(self):
        assert relevant_coordinates(np.array([[0.1], [0.9]]), np.array([True, False])).tolist() == [True]
        assert relevant_coordinates(np.eye(3), np.array([True, False, False])).all()
