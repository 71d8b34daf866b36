"""The global search of the default method: its observations, pending points, skewed values."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist

import dale
from dale.history.reason import Source
from dale.history.seeding import generator
from dale.methods.default import global_search as global_search_module
from dale.methods.default.global_search import MIN_SKEWNESS, GlobalSearch
from dale.methods.default.local_search import LocalSearch
from dale.methods.default.method import DefaultMethod
from dale.methods.default.settings import GlobalSettings
from dale.methods.default.trust_region import TrustRegionSet
from dale.models.gaussian_process import GaussianProcess
from snapshots import snapshot_of


def with_data(X, y, **settings):
    """An optimizer with added data."""
    optimizer = dale.Optimizer([(0, 1)] * X.shape[1], seed=0, method=DefaultMethod(**settings))
    for x, value in zip(X, y, strict=True):
        optimizer.add(x, value)
    return optimizer


def global_search(optimizer):
    """The global search at the current state."""
    method, rng = optimizer.method, generator(optimizer.seed, 0)
    snapshot = snapshot_of(optimizer.history, optimizer.space.dimension)
    observations, regions = snapshot.history.observations, TrustRegionSet.replay(optimizer.history)
    local = LocalSearch(snapshot, observations, method.trust_region, method.taylor, rng)
    return GlobalSearch(method.global_model, snapshot, observations, regions, rng, local.incumbent)


class TestThinning:
    def test_the_global_model_is_fitted_to_thinned_observations(self):
        X = np.vstack([np.random.default_rng(0).random((8, 2)), 0.5 + 1e-4 * np.arange(10)[:, None] * [1, 1]])
        model = global_search(with_data(X, np.sum(X**2, axis=1))).posterior(0.3)
        assert len(model.points) < 10
        assert np.min(pdist(model.points)) > 1e-2

    @pytest.mark.parametrize(
        ("fewest", "expected"),
        [(20, {0: 30, 4: 26, 9: 21, 15: 20}), (256, {0: 30, 4: 30})],
        ids=["below max_observations", "above max_observations"],
    )
    def test_number_of_observations_in_the_model(self, monkeypatch, fewest, expected):
        """One less for each pending point, down to a minimum; the best observation is always in the model."""
        monkeypatch.setattr(global_search_module, "MIN_OBSERVATIONS", fewest)
        X = np.random.default_rng(0).random((50, 5))
        y = np.sum((X - 0.5) ** 2, axis=1)
        optimizer = with_data(X, y, global_model=GlobalSettings(max_observations=30))
        for n_pending, n_expected in expected.items():
            while len(optimizer.history) < 50 + n_pending:
                optimizer.ask(at=np.random.default_rng(len(optimizer.history)).random(5))
            now = global_search(optimizer)
            assert now.n == len(now.posterior(0.3).points) == n_expected
            assert np.any(np.all(now.posterior(0.3).points == X[np.argmin(y)], axis=1))


class TestPending:
    """The global model is conditioned on its predictions at pending points."""

    X = np.random.default_rng(1).random((9, 2))

    def with_pending(self, P, y=None):
        optimizer = with_data(self.X, np.sum((self.X - 0.4) ** 2, axis=1) if y is None else y)
        for p in P:
            optimizer.ask(at=p)
        return global_search(optimizer)

    def test_without_pending_points_the_model_is_unchanged(self):
        now = self.with_pending([])
        model = now.posterior(0.3)
        assert now.with_pending(model) is model

    def test_the_mean_stays_and_the_std_vanishes(self):
        P = np.random.default_rng(2).random((4, 2))
        now = self.with_pending(P)
        model = now.posterior(0.1)
        grown = now.with_pending(model)
        assert (grown.prior, grown.kernel) == (model.prior, model.kernel)
        np.testing.assert_array_equal(grown.points, np.vstack([model.points, P]))
        np.testing.assert_array_equal(grown.values[:9], model.values)
        inside = np.clip(model.predict(P).mean, now.best, np.max(model.values))
        np.testing.assert_allclose(grown.values[9:], inside, atol=1e-6)
        assert np.all(grown.predict(P).std < 1e-3 * model.predict(P).std)
        before = GaussianProcess.fit(model.kernel, model.points, model.values, model.prior)
        np.testing.assert_array_equal(model.predict(P), before.predict(P))  # the original model is unchanged

    def test_fantasies_are_clipped_to_the_range_of_the_values(self):
        """However far the model extrapolates beyond it."""
        grid = np.linspace(0.3, 0.7, 9)
        optimizer = dale.Optimizer([(0, 1)], seed=0, method=DefaultMethod())
        for x in grid:
            optimizer.add([x], x)
        optimizer.ask(at=[0.1])
        optimizer.ask(at=[0.9])
        now = global_search(optimizer)
        model = now.posterior(0.5)
        low, high = model.predict(np.array([[0.1], [0.9]])).mean
        assert low < np.min(model.values) < np.max(model.values) < high
        fantasies = now.with_pending(model).values[-2:]
        np.testing.assert_array_equal(fantasies, [np.min(model.values), np.max(model.values)])

    def test_above_the_limit_an_even_sample(self, monkeypatch):
        monkeypatch.setattr(global_search_module, "MAX_PENDING", 7)
        P = np.random.default_rng(3).random((20, 2))
        now = self.with_pending(P)
        seen = now.with_pending(now.posterior(0.1)).points[9:]
        assert len(seen) == 7
        positions = [int(np.flatnonzero(np.all(x == P, axis=1))[0]) for x in seen]
        assert (positions[0], positions[-1]) == (0, 19)
        assert np.ptp(np.diff(positions)) <= 1


class TestSkewedValues:
    X = np.random.default_rng(1).random((9, 2))

    def values(self, worst):
        """From 0, with a median of 1, up to the worst."""
        return np.array([0.0, 0.2, 0.5, 0.8, 1.0, 1.1, 1.2, 1.3, worst])

    def test_only_strongly_skewed_values_are_transformed(self):
        assert global_search(with_data(self.X, self.values(1 + 0.9 * MIN_SKEWNESS))).transform is None
        assert global_search(with_data(self.X, self.values(1 + 1.1 * MIN_SKEWNESS))).transform is not None
        plain = with_data(self.X, self.values(1 + 1.1 * MIN_SKEWNESS), global_model=GlobalSettings(log_transform=False))
        assert global_search(plain).transform is None

    def test_the_transform_is_the_logarithm_of_the_distance_to_the_best(self):
        y = self.values(1e6)
        np.testing.assert_allclose(global_search(with_data(self.X, y)).posterior(0.3).values, np.log1p(y), atol=1e-6)

    def test_expected_improvement_is_in_the_users_units(self):
        """A single huge value does not inflate it."""
        reason = with_data(self.X, self.values(1e6), trust_region=None).ask().reason
        assert reason.source is Source.GLOBAL
        assert 0 < reason.expected_improvement < 10
