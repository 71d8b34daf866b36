"""The tree of Gaussian processes: its cuts by brute force, its prediction as one dense process."""

import itertools
import math

import numpy as np
import pytest

from dale.models import GaussianProcess, Prior, TreedGaussianProcess, TreeSettings, log_marginal_likelihood
from dale.models.kernels import SquaredExponential
from dale.models.treed import MIN_VARIANCE_SHARE, Cut, best_cut

SETTINGS = TreeSettings(SquaredExponential, (0.03, 0.1, 0.3, 1.0), min_leaf=5, max_depth=3)
RNG = np.random.default_rng(2)
X = RNG.random((40, 2))


def two_scales(X):
    """Slow on the left, fast on the right."""
    return np.where(X[:, 0] < 0.4, 0.05 * X[:, 1], 3 + np.sin(25 * X[:, 0]) * np.cos(20 * X[:, 1]))


Y = two_scales(X)


def test_the_cut_by_brute_force():
    def cost(axis, threshold):
        lower = X[:, axis] <= threshold
        sides = Y[lower], Y[~lower]
        if min(map(len, sides)) < 5:
            return math.inf
        return sum(len(s) * math.log(np.var(s) + MIN_VARIANCE_SHARE * np.var(Y)) for s in sides)

    gaps = [(a, 0.5 * (s[i] + s[i + 1])) for a in (0, 1) for s in [np.sort(X[:, a])] for i in range(39)]
    cut = best_cut(X, Y, 5)
    assert cost(*cut) == pytest.approx(min(itertools.starmap(cost, gaps)))
    assert cut.axis == 0
    assert cut.threshold == pytest.approx(0.4, abs=0.05)


def test_no_cut():
    assert best_cut(X[:9], Y[:9], 5) is None
    assert best_cut(X, np.ones(40), 5) is None
    assert best_cut(np.full((40, 2), 0.5), Y, 5) is None  # no gap


def test_a_cut_must_pay_by_its_evidence():
    def evidence(X, y):
        return max(log_marginal_likelihood(GaussianProcess.fit(SquaredExponential(l), X, y)) for l in SETTINGS.grid)

    for y in (Y, np.sin(3 * X[:, 0]) + X[:, 1]):
        lower = best_cut(X, y, 5).is_lower(X)
        gain = evidence(X[lower], y[lower]) + evidence(X[~lower], y[~lower]) - evidence(X, y)
        assert (TreedGaussianProcess.fit(SETTINGS, X, y).n_leaves > 1) == (gain > 1.5 * math.log(40))
    assert TreedGaussianProcess.fit(SETTINGS, X, Y).n_leaves > 1  # both cases occur
    assert TreedGaussianProcess.fit(SETTINGS, X, np.sin(3 * X[:, 0]) + X[:, 1]).n_leaves == 1


def test_it_is_one_process_with_a_block_kernel():
    """Dense: covariances within a leaf, none between leaves; each leaf has its own mean."""
    tree = TreedGaussianProcess.fit(SETTINGS, X, Y)
    A = RNG.random((30, 2))
    leaves = [tree.leaf_at(x) for x in X]
    K = np.array([[_covariance(tree, a, b) for b in X] for a in X]) + np.diag(
        [leaf.prior.variance * leaf.factor.jitter for leaf in leaves]
    )
    residual = Y - np.array([leaf.prior.mean for leaf in leaves])
    k = np.array([[_covariance(tree, a, b) for b in X] for a in A])
    mean = np.array([tree.leaf_at(a).prior.mean for a in A]) + k @ np.linalg.solve(K, residual)
    variance = [_covariance(tree, a, a) for a in A] - np.einsum("ij,ji->i", k, np.linalg.solve(K, k.T))
    prediction = tree.predict(A)
    np.testing.assert_allclose(prediction.mean, mean, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(prediction.std**2, variance, rtol=1e-4, atol=1e-6)


def _covariance(tree, a, b):
    leaf = tree.leaf_at(a)
    same = leaf is tree.leaf_at(b)
    return leaf.prior.variance * leaf.kernel(a[None, :], b[None, :])[0, 0] if same else 0.0


def test_the_length_scale_of_a_leaf_is_weighted_with_its_parents():
    tree = TreedGaussianProcess.fit(SETTINGS, X, Y)
    assert tree.sides[0].leaf is not None

    def per_observation(side):
        chosen = X[side], Y[side]
        return np.array(
            [log_marginal_likelihood(GaussianProcess.fit(SquaredExponential(l), *chosen)) for l in SETTINGS.grid]
        ) / np.sum(side)

    lower = tree.cut.is_lower(X)
    score = per_observation(lower) + 0.5 * per_observation(np.ones(40, dtype=bool))
    assert tree.sides[0].leaf.kernel.length_scale == SETTINGS.grid[int(np.argmax(score))]


def test_gradients_by_differences():
    tree, step = TreedGaussianProcess.fit(SETTINGS, X, Y), 1e-6
    for x in RNG.random((6, 2)):
        mean, std, mean_gradient, std_gradient = tree.predict_with_gradient(x)
        assert (mean, std) == pytest.approx([v[0] for v in tree.predict(x[None, :])])
        around = np.vstack([x + step * np.eye(2), x - step * np.eye(2)])
        m, s = tree.predict(around)
        np.testing.assert_allclose(mean_gradient, (m[:2] - m[2:]) / (2 * step), rtol=1e-3, atol=1e-3)
        np.testing.assert_allclose(std_gradient, (s[:2] - s[2:]) / (2 * step), rtol=1e-3, atol=1e-3)


def test_new_observations_go_to_their_leaf():
    tree = TreedGaussianProcess.fit(SETTINGS, X, Y)
    new = np.array([[0.05, 0.93], [0.97, 0.03]])
    values = np.array([0.7, -0.2])
    grown = tree.condition(new, values)
    np.testing.assert_allclose(grown.predict(new).mean, values, atol=1e-3)
    assert grown.n_leaves == tree.n_leaves
    assert tree.shrunk(100.0).predict(X[:1] + 0.01).std == pytest.approx(0.1 * tree.predict(X[:1] + 0.01).std)


def test_one_leaf_is_a_gaussian_process():
    tree = TreedGaussianProcess(leaf=GaussianProcess.fit(SquaredExponential(0.2), X, Y, Prior(0.0, 1.0)))
    assert tree.leaf_at(X[0]) is tree.leaf
    np.testing.assert_array_equal(tree.predict(X).mean, tree.leaf.predict(X).mean)
    assert Cut(1, 0.5).is_lower(np.array([[0.9, 0.5], [0.1, 0.6]])).tolist() == [True, False]
