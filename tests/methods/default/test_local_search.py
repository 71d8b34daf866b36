"""The local side at one proposal: when a region is closed."""

import math
from dataclasses import replace

import numpy as np
import pytest

import dale
from dale.history.seeding import generator
from dale.methods.default.local_search import LocalSearch
from dale.methods.default.method import DefaultMethod
from dale.methods.default.trust_region import TrustRegion, TrustRegionSet
from snapshots import snapshot_of


class TestClosing:
    """What a region leaves to gain when it is closed."""

    @pytest.mark.parametrize(("failures", "reduction", "is_closed"), [(0, 50, False), (1, 50, True), (1, 200, False)])
    def test_a_failure_ends_a_region_that_has_little_to_gain(self, monkeypatch, failures, reduction, is_closed):
        X = np.random.default_rng(0).uniform(size=(10, 2))
        optimizer = dale.Optimizer([(0, 1)] * 2, seed=0)
        for x, value in zip(X, np.sum((X - 0.4) ** 2, axis=1), strict=True):
            optimizer.add(x, value)
        snapshot = snapshot_of(optimizer.history, 2)
        method = DefaultMethod()
        local = LocalSearch(
            snapshot, snapshot.history.observations, method.trust_region, method.taylor, generator(0, 0)
        )
        left, step = reduction * local._min_reduction, LocalSearch._step
        tiny = {"lowest": -left, "log_ei": math.log(left), "point": np.array([0.4, 0.4])}
        monkeypatch.setattr(LocalSearch, "_step", lambda *a: replace(step(*a), **tiny))
        regions = TrustRegionSet((TrustRegion(X[local.best], 0.1, failures=failures),))
        assert bool(local.from_incumbent(regions).closed) == is_closed
