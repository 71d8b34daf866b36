"""The MGL kernel (Def. 2): equal to the oracle's, and positive semidefinite for any disjoint regions."""

import numpy as np
import pytest

import reference
from dale.models.ellipsoid import Ellipsoid
from dale.models.kernels.matern import Matern52
from dale.models.kernels.mixed_global_local import MixedGlobalLocal
from dale.models.kernels.squared_exponential import SquaredExponential


def random_balls(rng, d, most=4):
    """Up to ``most`` balls that are pairwise disjoint."""
    balls = []
    for _ in range(most):
        ball = Ellipsoid(rng.random(d), float(rng.uniform(0.02, 0.4)))
        if not any(ball.overlaps(other) for other in balls):
            balls.append(ball)
    return tuple(balls)


def random_points(rng, balls, n, d):
    """Points of the cube, about half of them in one of the balls."""
    X = rng.random((n, d))
    for i in np.flatnonzero(rng.random(n) < 0.5):
        ball = balls[rng.integers(len(balls))]
        direction = rng.normal(size=d)
        X[i] = ball.center + ball.radius * rng.random() * direction / np.linalg.norm(direction)
    return X


@pytest.mark.parametrize("seed", range(25))
def test_equals_the_oracle(seed):
    rng = np.random.default_rng(seed)
    d = 1 + seed % 4
    balls = random_balls(rng, d)
    A, B = random_points(rng, balls, 9, d), random_points(rng, balls, 7, d)
    kernel = MixedGlobalLocal(SquaredExponential(0.2), balls, variance=0.7)
    pairs = [(b.center, b.radius) for b in balls]
    np.testing.assert_allclose(kernel(A, B), reference.k_mgl(A, B, pairs, 0.2, 0.7), rtol=1e-11, atol=1e-300)
    expected = [reference.k_mgl(a[None], a[None], pairs, 0.2, 0.7)[0, 0] for a in A]
    np.testing.assert_allclose(kernel.diagonal(A), expected, rtol=1e-11)
    numbers = [reference.ball_of(a, pairs) for a in A]
    assert kernel.region_of(A).tolist() == [-1 if i is None else i for i in numbers]


@pytest.mark.parametrize("d", [1, 2, 3, 4])
def test_is_positive_semidefinite(d):
    rng = np.random.default_rng(d)
    n, mixed = 10, 0
    matrices = np.empty((2500, n, n))  # 10^4 region sets in all
    for K in matrices:
        balls = random_balls(rng, d)
        X = random_points(rng, balls, n, d)
        outside = rng.choice([SquaredExponential, Matern52])(float(np.exp(rng.uniform(-4, 1))))
        kernel = MixedGlobalLocal(outside, balls, float(np.exp(rng.uniform(-5, 5))))
        K[:] = kernel(X, X)
        mixed += len(np.unique(kernel.region_of(X))) >= 2
    np.testing.assert_array_equal(matrices, matrices.transpose(0, 2, 1))
    eigenvalues = np.linalg.eigvalsh(matrices)
    assert np.all(eigenvalues[:, 0] >= -1e-9 * eigenvalues[:, -1])
    assert mixed > 2000, "the draws do not exercise the kernel"


def test_without_regions_it_is_the_outside_kernel():
    A = np.random.default_rng(0).random((5, 2))
    kernel = MixedGlobalLocal(Matern52(0.3), (), variance=2.0)
    np.testing.assert_array_equal(kernel(A, A), 2.0 * Matern52(0.3)(A, A))


def test_parts_are_uncorrelated():
    kernel = MixedGlobalLocal(
        SquaredExponential(10.0), (Ellipsoid(np.array([0.2]), 0.1), Ellipsoid(np.array([0.6]), 0.1))
    )
    K = kernel(np.array([[0.25], [0.55], [0.9]]), np.array([[0.25], [0.55], [0.9]]))
    assert np.count_nonzero(K - np.diag(np.diag(K))) == 0


@pytest.mark.parametrize("gap", [-0.1, 0.0])
def test_overlapping_regions_are_refused(gap):
    balls = (
        Ellipsoid(np.array([0.0]), 0.25),
        Ellipsoid(np.array([0.75]), 0.125),
        Ellipsoid(np.array([0.5 + gap]), 0.25),
    )
    with pytest.raises(ValueError, match=r"pairwise disjoint regions, but region 2 overlaps an earlier one"):
        MixedGlobalLocal(SquaredExponential(0.2), balls)
