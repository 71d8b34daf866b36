"""The model of where evaluations fail: expectation propagation against sampling, boundaries, random failures."""

import numpy as np
import pytest

from dale.acquisition.feasibility import Feasibility
from dale.models.failure_boundary import FailureBoundary, propagate
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


def test_hostile_points():
    """Equal, almost equal and collinear points with different outcomes."""
    for seed in range(200):
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


def test_only_the_points_closest_to_the_boundary_are_modelled():
    rng = np.random.default_rng(4)
    X = rng.random((3000, 2))
    boundary = FailureBoundary.fit(X, X[:, 0] > 0.5)
    assert len(boundary.distance.points) == 120
    P = probability(boundary, [[0.4, 0.5], [0.6, 0.5]])
    assert P[0] > 0.9
    assert P[1] < 0.1
