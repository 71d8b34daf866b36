"""The kernel of trend and ripples: its evidence, what it finds, and what the global side does with it."""

import math
from dataclasses import replace

import mpmath as mp
import numpy as np
import pytest
from scipy.spatial.distance import cdist

import dale
from dale.history.reason import Source
from dale.history.seeding import generator
from dale.history.snapshot import Cache
from dale.methods.default import basin_kernel
from dale.methods.default import global_search as global_search_module
from dale.methods.default.basin_kernel import JITTER, KernelCache, most_probable_kernel, negative_log_evidence
from dale.methods.default.global_search import KERNEL_GROWTH, GlobalSearch
from dale.methods.default.method import DefaultMethod
from dale.methods.default.settings import GlobalSettings
from dale.methods.default.trust_region import TrustRegionSet
from dale.models.cholesky import JITTERS
from dale.models.ellipsoid import Ellipsoid
from dale.models.kernels.squared_exponential import SquaredExponential
from dale.models.kernels.sums import AdditiveSquaredExponential, WeightedSum
from dale.models.preprocessing import THINNING_DISTANCE
from dale_bench.functions import get
from snapshots import proposal_after, snapshot_of


def evidence(K, v):
    """-log of the density of contrasts of v, s2 by likelihood, up to a constant of n: with 50 digits."""
    with mp.workdps(50):
        n = len(v)
        K = mp.matrix(K.tolist()) + mp.eye(n) * (mp.mpf(JITTER) + mp.mpf(JITTERS[0]))
        inverse, one, v = K**-1, mp.ones(n, 1), mp.matrix(v.tolist())
        information = (one.T * inverse * one)[0]
        mean = (one.T * inverse * v)[0] / information
        residual = v - mean * one
        s2 = (residual.T * inverse * residual)[0] / (n - 1)
        return float(((n - 1) * mp.log(s2) + mp.log(mp.det(K)) + mp.log(information)) / 2)


@pytest.mark.parametrize("n", [2, 5, 20])
@pytest.mark.parametrize("d", [1, 3])
def test_evidence_against_50_digits(n, d):
    rng = np.random.default_rng([n, d])
    X = rng.random((n, d))
    v = np.sin(9 * X[:, 0]) + X[:, -1] + 7
    for kernel in (
        SquaredExponential(0.2),
        SquaredExponential(0.9),
        WeightedSum(((0.9, SquaredExponential(2.0)), (0.1, AdditiveSquaredExponential(0.1)))),
    ):
        K = kernel(X, X)
        assert negative_log_evidence(K, v) == pytest.approx(evidence(K, v), rel=1e-6, abs=1e-6)


def test_evidence_does_not_depend_on_the_mean_and_follows_the_scale():
    rng = np.random.default_rng(0)
    X, v, n = rng.random((12, 2)), rng.normal(size=12), 12
    K = SquaredExponential(0.2)(X, X)
    before = K.copy()
    loss = negative_log_evidence(K, v)
    assert negative_log_evidence(K, v + 5) == pytest.approx(loss, abs=1e-6)
    assert negative_log_evidence(K, 10 * v) == pytest.approx(loss + (n - 1) * math.log(10), abs=1e-6)
    np.testing.assert_array_equal(K, before)


def test_equal_values_have_a_finite_evidence():
    K = SquaredExponential(0.2)(*[np.random.default_rng(0).random((12, 2))] * 2)
    assert math.isfinite(negative_log_evidence(K, np.full(12, 3.0)))
    most_probable_kernel(np.random.default_rng(0).random((12, 2)), np.full(12, 3.0))


def design(seed, n, d):
    return np.random.default_rng([seed, n, d]).random((n, d))


@pytest.mark.parametrize("d", [1, 2, 4])
def test_a_smooth_function_gets_one_long_scale(d):
    for seed in range(8):
        X = design(seed, 20 * d, d)
        bottom = np.random.default_rng(seed).uniform(0.3, 0.7, d)
        kernel = most_probable_kernel(X, -np.exp(-4 * np.sum((X - bottom) ** 2, axis=1)))
        assert isinstance(kernel, SquaredExponential), seed
        assert 0.2 < kernel.length_scale < 0.8


def test_a_smoother_function_gets_no_short_scale():
    """One beyond the grid of a single scale is a sum of long ones."""
    for seed in range(8):
        X = design(seed, 60, 3)
        kernel = most_probable_kernel(X, -np.exp(-0.5 * np.sum((X - 0.4) ** 2, axis=1)))
        assert kernel.length_scale > 0.6, seed


@pytest.mark.parametrize(("d", "n", "frequency", "height"), [(1, 30, 100, 0.1), (2, 60, 25, 0.3)])
def test_a_trend_with_ripples_gets_two_scales(d, n, frequency, height):
    """Of ripples that are low, and shorter than the distance of the points; they are no sum over the coordinates."""
    for seed in range(8):
        X = design(seed, n, d)
        ripples = height * np.prod(np.cos(frequency * X), axis=1)
        kernel = most_probable_kernel(X, 4 * np.sum((X - 0.4) ** 2, axis=1) + ripples)
        assert isinstance(kernel, WeightedSum), seed
        (much, trend), (little, short) = kernel.parts
        assert isinstance(trend, SquaredExponential)
        assert isinstance(short, SquaredExponential), seed
        assert short.length_scale < trend.length_scale / 5
        assert little < 0.2 < much
        assert much + little == pytest.approx(1)


@pytest.mark.parametrize("d", [2, 4])
def test_separable_ripples_get_the_additive_kernel(d):
    for seed in range(8):
        X = design(seed, 40 * d, d)
        kernel = most_probable_kernel(X, np.sum((5 * X - 2) ** 2 - 3 * np.cos(25 * X), axis=1))
        assert isinstance(kernel, WeightedSum), seed
        assert isinstance(kernel.parts[-1][1], AdditiveSquaredExponential), seed
        assert kernel.length_scale < 0.3


def test_few_points_get_one_scale():
    """Up to 2 d + 2, whatever the values."""
    for d in (1, 2, 5):
        X = design(d, 2 * d + 2, d)
        v = np.sum((5 * X - 2) ** 2 - 3 * np.cos(25 * X), axis=1)
        assert isinstance(most_probable_kernel(X, v), SquaredExponential)


def test_noise_does_not_earn_a_second_scale():
    """It has to gain a Bayes factor: at most one case in ten."""
    kernels = [
        most_probable_kernel(design(seed, 25, 2), np.random.default_rng(seed).normal(size=25)) for seed in range(20)
    ]
    assert sum(isinstance(kernel, WeightedSum) for kernel in kernels) <= 2


def test_the_search_ends_at_the_best_of_the_grid_or_close():
    """Over all kinds and length-scales: within one unit of log evidence in nine of ten cases."""
    close = []
    for seed in range(10):
        X = design(seed, 40, 2)
        v = np.sum((X - 0.4) ** 2, axis=1) * 4 + 0.2 * np.cos(20 * X @ [1.0, 0.5])
        squares = cdist(X, X, "sqeuclidean")
        search = basin_kernel._Search(squares, lambda l, s=squares: np.exp(-0.5 * s / l**2), v, 2)
        everywhere = [
            search.loss((i, j, k))
            for i in range(len(basin_kernel.SHORT))
            for j in range(len(basin_kernel.LONG))
            for k in range(len(basin_kernel.RIPPLES))
        ]
        at, loss = search.descend()
        assert loss == search.loss(at)
        close.append(loss < min(everywhere) + 1)
    assert sum(close) >= 9


def test_the_cache_chooses_once_for_the_same_observations():
    X = design(0, 12, 2)
    y, calls = np.array([rippled(x) for x in X]), []

    def chosen(cache, n, limit=99):
        observations = search_after(with_data(X[:n], y[:n])).observations

        def data():
            calls.append(n)
            return X[:n], y[:n]

        return cache.kernel(observations, limit, data)

    cache = KernelCache()
    first = chosen(cache, 12)
    assert chosen(cache, 12) is first
    assert calls == [12]
    assert chosen(cache, 9) == most_probable_kernel(X[:9], y[:9])
    chosen(cache, 9, limit=8)
    assert calls == [12, 9, 9]


def rippled(x):
    return float(np.sum((5 * x - 2) ** 2 - 3 * np.cos(25 * x)))


def with_data(X, values, **settings):
    """An optimizer with added data."""
    optimizer = dale.Optimizer([(0, 1)] * X.shape[1], seed=0, method=DefaultMethod(**settings))
    for x, value in zip(X, values, strict=True):
        optimizer.add(x, value)
    return optimizer


def search_after(optimizer, n=None, closed=True, cache=None):
    """The global search after the first n trials, with or without a closed ball."""
    trials = optimizer.history[:n]
    snapshot = snapshot_of(trials, optimizer.space.dimension, cache)
    regions = TrustRegionSet(closed=(Ellipsoid(np.full(optimizer.space.dimension, 0.9), 0.02),) if closed else ())
    settings, seen = optimizer.method.global_model, snapshot.history.observations
    return GlobalSearch(settings, snapshot, seen, regions, generator(0, 0), int(np.nanargmin(seen.y)))


class TestGlobalSide:
    X = design(3, 60, 2)
    data = with_data(X, [rippled(x) for x in X])

    def test_only_once_a_region_has_been_closed(self):
        assert search_after(self.data, closed=False).basin_posterior() is None
        assert search_after(self.data).basin_posterior() is not None

    def test_it_is_a_setting(self):
        plain = with_data(self.X, [rippled(x) for x in self.X], global_model=GlobalSettings(trend_and_ripples=False))
        assert search_after(plain).basin_posterior() is None

    def test_the_model_sees_all_observations_and_its_kernel_the_first_ones(self):
        """The number of these grows by a factor; their kernel is that of the highest evidence."""
        chosen = {}
        for n in range(30, 61):
            search = search_after(self.data, n)
            model = search.basin_posterior()
            assert model is None or len(model.points) == search.n
            first = max(int(KERNEL_GROWTH**k) for k in range(100) if KERNEL_GROWTH**k <= n)
            assert n / KERNEL_GROWTH - 1 < first <= n
            if first not in chosen:
                seen = search_after(self.data, first).posterior(0.3)
                chosen[first] = most_probable_kernel(seen.points, seen.values)
            assert search.basin_kernel() == chosen[first]
        assert 5 < len(chosen) < 20
        assert len({str(kernel) for kernel in chosen.values()}) > 1

    def test_a_cache_changes_nothing(self):
        cache = Cache()
        for n in (30, 31, 34, 45, 60, 31):
            kept, fresh = (search_after(self.data, n, cache=c).basin_kernel() for c in (cache, None))
            assert kept == fresh

    def test_a_cache_changes_nothing_with_more_observations_than_the_model_sees(self, monkeypatch):
        """Their number depends on that of the pending points."""
        monkeypatch.setattr(global_search_module, "MIN_OBSERVATIONS", 8)
        values = [rippled(x) for x in self.X]
        optimizer, cache = with_data(self.X, values, global_model=GlobalSettings(max_observations=30)), Cache()
        kernels = set()
        for k in range(4):
            kept, fresh = (search_after(optimizer, cache=c).basin_kernel() for c in (cache, None))
            assert kept == fresh
            kernels.add(str(fresh))
            for x in design(k, 7, 2):
                optimizer.ask(at=x)
        assert len(kernels) > 1

    def test_late_values(self):
        """Of the first observations, none may have a value."""
        optimizer = dale.Optimizer([(0, 1)] * 2, seed=0, method=DefaultMethod())
        for x in design(0, 390, 2):
            optimizer.fail(optimizer.ask(at=x))
        for x in self.X[:12]:
            optimizer.add(x, rippled(x))
        search = search_after(optimizer)
        assert int(KERNEL_GROWTH ** math.floor(math.log(402, KERNEL_GROWTH))) <= 390
        assert search.basin_kernel().length_scale > 0


@pytest.fixture(scope="module")
def run():
    """A function with several basins, minimised until regions have been closed."""
    optimizer = dale.Optimizer([(0, 1)] * 2, seed=2, method=DefaultMethod())
    for _ in range(70):
        trial = optimizer.ask()
        optimizer.tell(trial, rippled(trial.x))
    return optimizer


def test_resuming_gives_the_same_proposals(run):
    """After a region has been closed, with an empty cache: global proposals are a function of the trials."""
    trials, n_global = run.history, 0
    for k, trial in enumerate(trials):
        if not TrustRegionSet.replay(trials[:k]).closed or k % 3:
            continue
        point, reason = proposal_after(DefaultMethod(), trials[:k], 2, 2)
        assert run.space.snap(point).tolist() == trial.unit_x.tolist()
        assert reason == trial.reason
        n_global += reason.source is Source.GLOBAL
    assert n_global >= 3


@pytest.mark.parametrize("seed", range(3))
def test_no_global_proposal_next_to_an_observation_that_the_model_does_not_see(seed):
    """Once a region has been closed."""
    branin = get("branin")
    optimizer, closest = dale.Optimizer(branin.bounds, seed=seed, method=DefaultMethod()), []
    for k in range(60):
        trial = optimizer.ask()
        optimizer.tell(trial, branin.fun(trial.x))
        closed = TrustRegionSet.replay(optimizer.history).closed  # with those that the proposal itself closed
        if closed and trial.reason.source is Source.GLOBAL:
            search = search_after(optimizer, k)
            X = search.observations.X
            left_out = X[np.min(cdist(X, search.posterior(0.3).points), axis=1) > 1e-9]
            closest.extend(np.min(cdist(trial.unit_x[None], left_out), axis=1))
    assert len(closest) >= 5
    assert min(closest) > THINNING_DISTANCE / 2 * math.sqrt(2) * (1 - 1e-6)


def test_places_that_the_model_does_not_see_are_explored():
    """Where thinning left an observation out; before a region is closed they are not."""
    near = 0.5 + np.array([[0.0, 0.0], [0.012, 0.0], [0.0, -0.012]])
    X = np.vstack([near, design(1, 12, 2)])
    optimizer = with_data(X, [float(np.sum((x - 0.5) ** 2)) for x in X])
    search = search_after(optimizer)
    assert not np.any(np.min(cdist(near[1:], search.posterior(0.3).points), axis=1) < 1e-9)
    beside = near[1:] + 1e-3
    assert not search.allowed(beside).any()
    assert search_after(optimizer, closed=False).allowed(beside).all()
    assert search.allowed(near[1:] + np.array([[0.1, 0.0], [0.0, -0.1]])).all()
    started = replace(search, rng=generator(0, 0)).starts
    assert np.min(cdist(started, near[1:])) > THINNING_DISTANCE / 2 * math.sqrt(2) * (1 - 1e-6)
