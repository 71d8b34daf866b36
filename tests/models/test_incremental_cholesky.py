"""The cached factor changes no result: with or without the cache, the same bits."""

from dataclasses import dataclass

import numpy as np
import pytest

from dale.models.cholesky import JITTERS, CholeskyFactor, IncrementalCholesky
from dale.models.kernels.matern import Matern52
from dale.models.kernels.squared_exponential import SquaredExponential


@dataclass(frozen=True)
class Indefinite:
    """Not quite a kernel: close points are correlated by more than 1, so that the jitter has to be raised."""

    excess: float
    length_scale: float = 0.2

    def __call__(self, A, B):
        same = np.all(A[:, None, :] == B[None, :, :], axis=2)
        return SquaredExponential(self.length_scale)(A, B) * np.where(same, 1.0, 1 + self.excess)

    def diagonal(self, A):
        return np.ones(len(A))

    def gradient(self, x, B, k):
        raise NotImplementedError


KERNELS = (
    SquaredExponential(0.2),
    SquaredExponential(0.1),
    SquaredExponential(3.0),
    Matern52(0.2),
    Indefinite(3e-9),
    Indefinite(3e-4),
)


def assert_same(cached, fresh):
    assert cached.jitter == fresh.jitter
    np.testing.assert_array_equal(cached.lower, fresh.lower)
    # What is computed with them must be the same bits too, whatever their layout in memory.
    b = np.cos(np.arange(len(fresh)))
    np.testing.assert_array_equal(cached.solve(b), fresh.solve(b))
    k = 0.1 * np.sin(np.arange(len(fresh)))
    np.testing.assert_array_equal(cached.solve_lower(k), fresh.solve_lower(k))


def change(rng, X, d):
    """Another set of points: longer, shorter, altered somewhere, or the same."""
    event = rng.choice(["grow", "grow", "grow", "shrink", "alter", "insert", "duplicate", "same", "anew"])
    if event == "grow":
        return np.vstack([X, rng.random((rng.integers(1, 4), d))])
    if event == "shrink":
        return X[: rng.integers(1, len(X) + 1)]
    if event == "alter":
        X = X.copy()
        X[rng.integers(len(X))] = rng.random(d)
        return X
    if event == "insert":
        return np.insert(X, rng.integers(len(X) + 1), rng.random(d), axis=0)
    if event == "duplicate":
        return np.vstack([X, X[rng.integers(len(X))] + rng.choice([0.0, 1e-12, 1e-3]) * rng.normal(size=d)])
    if event == "anew":
        return rng.random((rng.integers(1, 15), d))
    return X


@pytest.mark.parametrize("seed", range(40))
def test_a_function_of_its_arguments_alone(seed):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 4))
    cache, X, kernel, base = IncrementalCholesky(), rng.random((4, d)), KERNELS[0], 2
    jitters = set()
    for _ in range(60):
        X = change(rng, X, d)
        if rng.random() < 0.15:
            kernel = KERNELS[rng.integers(len(KERNELS))]
        if rng.random() < 0.15:
            base = int(rng.integers(0, len(X) + 3))
        cached = cache.factor(kernel, X, base)
        assert_same(cached, IncrementalCholesky().factor(kernel, X, base))
        A = cached.lower @ cached.lower.T - cached.jitter * np.eye(len(X))
        np.testing.assert_allclose(A, kernel(X, X), atol=1e-12 * len(X))
        jitters.add(cached.jitter)
    assert jitters <= set(JITTERS)


def test_the_walks_do_raise_the_jitter():
    """The kernels above do what they are there for."""
    rng = np.random.default_rng(0)
    X = np.vstack([rng.random((5, 1)), [[0.5], [0.5 + 1e-7], [0.5 - 1e-7]], rng.random((5, 1))])
    cache = IncrementalCholesky()
    levels = [cache.factor(Indefinite(3e-4), X[:n], 3).jitter for n in range(3, len(X) + 1)]
    assert levels[0] < levels[-1]
    assert levels == sorted(levels)
    for n in (len(X), 7, 9, 6, 4):  # back across the raise, and forward again
        assert_same(cache.factor(Indefinite(3e-4), X[:n], 3), IncrementalCholesky().factor(Indefinite(3e-4), X[:n], 3))


@pytest.mark.parametrize("n", [3, 8, 30, 90])
def test_truncated_and_grown_again(n):
    """The layout of a truncated factor is not that of a grown one; the bits must be."""
    rng = np.random.default_rng(n)
    X, Y = rng.random((n, 2)), rng.random((5, 2))
    for base in (1, n // 2, n):
        for keep in range(max(base, 1), n + 1):
            cache, kernel = IncrementalCholesky(), SquaredExponential(0.2)
            cache.factor(kernel, X, base)
            again = np.vstack([X[:keep], Y])
            assert_same(cache.factor(kernel, again, base), IncrementalCholesky().factor(kernel, again, base))


def test_the_base_is_factored_at_once():
    X = np.random.default_rng(0).random((12, 2))
    kernel = SquaredExponential(0.3)
    whole = CholeskyFactor.of(kernel(X, X))
    np.testing.assert_array_equal(IncrementalCholesky().factor(kernel, X, 12).lower, whole.lower)
    np.testing.assert_array_equal(IncrementalCholesky().factor(kernel, X, 99).lower, whole.lower)
    for base in (0, 1, 5):
        grown = CholeskyFactor.of(kernel(X[: max(base, 1)], X[: max(base, 1)]))
        for n in range(max(base, 1), 12):
            grown = grown.extended(kernel(X[n : n + 1], X[:n])[0])
        np.testing.assert_array_equal(IncrementalCholesky().factor(kernel, X, base).lower, grown.lower)


def test_a_new_point_costs_one_row():
    """What the cache is for: after the first call, no kernel matrix is computed again."""
    asked = []

    @dataclass(frozen=True)
    class Counting:
        length_scale: float = 0.3

        def __call__(self, A, B):
            asked.append(len(A) * len(B))
            return SquaredExponential(self.length_scale)(A, B)

        def diagonal(self, A):
            return np.ones(len(A))

        def gradient(self, x, B, k):
            raise NotImplementedError

    X, cache = np.random.default_rng(0).random((30, 2)), IncrementalCholesky()
    cache.factor(Counting(), X[:20], 20)
    asked.clear()
    for n in range(20, 31):
        cache.factor(Counting(), X[:n], 20)
    assert asked == list(range(20, 30))


def test_an_error_leaves_the_cache_as_it_was():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.random((4, 1)), [[0.5], [0.5 + 1e-7]], rng.random((6, 1))])
    kernel, cache = Indefinite(3e-4), IncrementalCholesky()
    whole = cache.factor(kernel, X, 2)
    assert whole.jitter > cache.factor(kernel, X[:4], 2).jitter  # it was raised on the way
    cache.factor(kernel, X, 2)
    with pytest.raises(FloatingPointError):
        cache.factor(SquaredExponential(0.1), np.vstack([X[:6], [[np.nan]]]), 3)
    for n in (4, 12, 5, 8):
        assert_same(cache.factor(kernel, X[:n], 2), IncrementalCholesky().factor(kernel, X[:n], 2))
