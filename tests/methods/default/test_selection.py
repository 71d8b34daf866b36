"""The selection between local and global candidates, and what they share."""

import dataclasses

import numpy as np
import pytest

import dale
from dale.history.reason import Source
from dale.history.seeding import RandomStreams
from dale.methods.default import local_search as local_search_module
from dale.methods.default.global_search import GlobalSearch
from dale.methods.default.settings import TrustRegionSettings
from dale_bench.functions import get


def evaluated(optimizer, fun, n):
    for _ in range(n):
        trial = optimizer.ask()
        optimizer.tell(trial, fun(trial.x))
    return optimizer


def test_draws_of_one_side_do_not_change_the_other():
    one, other = RandomStreams(3, 7), RandomStreams(3, 7)
    one("local").random(100)
    assert one("global").random() == other("global").random()
    assert other("global").random() != other("local").random()
    assert one.design().random() == RandomStreams(3, 8).design().random()


@pytest.mark.parametrize("radius", [0.05, 0.3])
def test_a_region_starts_with_the_radius_of_the_settings(radius):
    default = dale.methods.default()
    method = dataclasses.replace(default, trust_region=TrustRegionSettings(initial_radius=radius))
    function = get("branin")
    optimizer = evaluated(dale.Optimizer(function.bounds, seed=0, method=method), function.fun, 20)
    first = next(t.reason.step for t in optimizer.history if t.reason.step is not None)
    assert first.radius == radius


def test_failures_do_not_count_as_evaluations_for_local_steps():
    """Six values in two dimensions are enough; any number of failures is not."""
    optimizer = dale.Optimizer([(0, 1)] * 2, seed=0)
    rng = np.random.default_rng(0)
    for _ in range(30):
        optimizer.fail(optimizer.ask(at=rng.random(2)), "no")
    for x in rng.random((5, 2)):
        optimizer.add(x, float(np.sin(9 * x[0]) + np.cos(7 * x[1])))
    assert optimizer.ask().reason.source is Source.GLOBAL


def test_the_global_search_avoids_regions_closed_by_the_same_proposal(monkeypatch):
    """It gets the regions after all local queries, and no starting point is in a closed ball."""
    searches = []
    init = GlobalSearch.__init__

    def recorded(self, *args, **changes):
        init(self, *args, **changes)
        if args:  # not a copy with changes
            searches.append(self)

    monkeypatch.setattr(GlobalSearch, "__init__", recorded)
    for name, seed in (("branin", 0), ("camel6", 1)):
        function = get(name)
        optimizer = dale.Optimizer(function.bounds, seed=seed)
        for _ in range(45):
            trial = optimizer.ask()
            optimizer.tell(trial, function.fun(trial.x))
            for closed in trial.reason.closed_regions:
                center = optimizer.history[closed.center].unit_x
                assert any(np.array_equal(ball.center, center) for ball in searches[-1].regions.closed)
                assert not searches[-1].regions.covers(searches[-1].starts).any()
        assert any(t.reason.closed_regions for t in optimizer.history)


def test_queries_have_no_side_effects(monkeypatch):
    """The same query twice gives the same result, and its argument does not change."""
    results = []
    original = local_search_module.LocalSearch.candidates

    def twice(self, regions, *, early):
        before = (regions.open, regions.closed)
        again = (
            dataclasses.replace(self, rng=np.random.default_rng(0)),
            dataclasses.replace(self, rng=np.random.default_rng(0)),
        )
        one, other = (original(search, regions, early=early) for search in again)
        assert [r.center for r in one.closed] == [r.center for r in other.closed]
        results.append(len(one.closed))
        assert (regions.open, regions.closed) == before
        return one

    monkeypatch.setattr(local_search_module.LocalSearch, "candidates", twice)
    function = get("branin")
    evaluated(dale.Optimizer(function.bounds, seed=0), function.fun, 40)
    assert sum(results) > 0
