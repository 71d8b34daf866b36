"""The selection between local and global candidates, and what they share."""

import dataclasses
import math
from types import SimpleNamespace

import numpy as np
import pytest

import dale
from dale.history.reason import Reason, Source
from dale.history.seeding import RandomStreams
from dale.history.trial import TrialState
from dale.methods.default import local_search as local_search_module
from dale.methods.default.global_search import GlobalSearch
from dale.methods.default.method import DefaultMethod
from dale.methods.default.selection import _is_taken, n_fruitless
from dale.methods.default.settings import SelectionSettings, TrustRegionSettings
from dale.methods.default.trust_region import NOISY_REDUCTION
from dale_bench.functions import get

SELECTION = SelectionSettings()
INITIAL = DefaultMethod().n_initial
MIN_EVALUATIONS = SELECTION.min_evaluations_per_parameter
MIN_EI_RATIO = SELECTION.min_ei_ratio_incumbent
LOCAL_TURNS = SELECTION.local_turns


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


class TestSelection:
    def is_taken(
        self,
        log_ei,
        sources,
        global_log_ei=0.0,
        certain=False,
        n=MIN_EVALUATIONS * 2,
        values=None,
        may_fail=False,
        noise=0.0,
        lowest=-1.0,
        completes=1.0,
    ):
        """After trials of these sources; each one is better than all before unless its value is given."""
        model = SimpleNamespace(noise_at_center=noise)
        step = SimpleNamespace(
            log_ei=log_ei, certain=certain, may_fail=may_fail, lowest=lowest, model=model, completes=completes
        )
        candidate = SimpleNamespace(step=step)
        history = self.history(sources, -np.arange(len(sources)) if values is None else values)
        early = n < MIN_EVALUATIONS * 2
        return _is_taken(candidate, global_log_ei, history, SELECTION, n_parameters=3, early=early)

    def history(self, sources, values):
        trials = tuple(
            SimpleNamespace(
                reason=Reason(s), retry=False, state=TrialState.COMPLETE, value=float(v), loss=float(v), feasible=True
            )
            for s, v in zip(sources, values, strict=True)
        )
        return SimpleNamespace(trials=trials)

    def test_a_step_with_enough_expected_improvement_is_taken(self):
        enough, little = math.log(MIN_EI_RATIO) + 0.01, math.log(MIN_EI_RATIO) - 0.01
        all_local = [Source.LOCAL] * 9
        assert self.is_taken(enough, all_local)
        assert not self.is_taken(little, all_local)
        assert self.is_taken(little - 5, all_local, global_log_ei=-5.0 - 0.02)

    def test_a_step_with_little_expected_improvement_is_taken_in_its_turns(self):
        history = [Source.GLOBAL] * 3
        for _ in range(4 * LOCAL_TURNS):
            history.append(Source.LOCAL if self.is_taken(-99.0, history) else Source.GLOBAL)
        assert history[3:] == [*[Source.LOCAL] * (LOCAL_TURNS - 1), Source.GLOBAL] * 4

    @pytest.mark.parametrize(
        ("log_ei", "completes", "expected"), [(-0.1, 0.01, False), (0.1, 0.01, True), (-0.1, 0.1, True)]
    )
    def test_a_step_that_will_probably_fail_needs_the_whole_of_the_global_ei(self, log_ei, completes, expected):
        assert self.is_taken(log_ei, [Source.GLOBAL], may_fail=True, completes=completes) == expected

    def test_a_step_that_may_fail_takes_every_other_turn(self):
        history = [Source.GLOBAL]
        for _ in range(6):
            history.append(Source.LOCAL if self.is_taken(-99.0, history, may_fail=True) else Source.GLOBAL)
        assert history[1:] == [Source.LOCAL, Source.GLOBAL] * 3

    def test_a_step_whose_reduction_noise_hides_needs_the_whole_global_expected_improvement(self):
        """Or it takes every other turn."""
        all_local, hidden, visible = [Source.LOCAL] * 9, 1.01 / NOISY_REDUCTION, 0.99 / NOISY_REDUCTION
        assert self.is_taken(-0.1, all_local, noise=visible)
        assert not self.is_taken(-0.1, all_local, noise=hidden)
        assert self.is_taken(0.0, all_local, noise=hidden)
        history = [Source.GLOBAL]
        for _ in range(6):
            history.append(Source.LOCAL if self.is_taken(-0.1, history, noise=hidden) else Source.GLOBAL)
        assert history[1:] == [Source.LOCAL, Source.GLOBAL] * 3

    def test_without_noise_a_step_that_predicts_an_increase_is_not_hidden(self):
        """A snapped step of integers may predict one."""
        assert self.is_taken(math.log(MIN_EI_RATIO) + 0.01, [Source.LOCAL] * 9, lowest=0.5)

    def test_the_global_side_waits_longer_after_each_proposal_that_brought_nothing(self):
        """Up to the number of parameters, until one improves on the best value; from the first local step on."""
        sources, values = [Source.GLOBAL] * 3, [3.0, 4.0, 5.0]
        waits = []
        for improves in (False, False, False, False, True, False):
            waits.append(0)
            while self.is_taken(-99.0, sources, values=values):
                sources.append(Source.LOCAL)
                values.append(9.0)
                waits[-1] += 1
            sources.append(Source.GLOBAL)
            values.append(min(values) - 1 if improves else 9.0)
        first = LOCAL_TURNS - 1
        assert waits == [first, first + 1, first + 2, first + 3, first + 3, first]

    def test_proposals_that_are_infeasible_or_fail_bring_nothing(self):
        history = self.history([Source.LOCAL, Source.GLOBAL, Source.GLOBAL, Source.GLOBAL], [3.0, 2.0, 1.0, 0.0])
        assert n_fruitless(history) == 0
        history.trials[2].feasible = False
        history.trials[3].value, history.trials[3].loss, history.trials[3].state = None, math.inf, TrialState.FAILED
        assert n_fruitless(history) == 2
        history.trials[3].state = TrialState.PENDING
        assert n_fruitless(history) == 1
        history.trials[2].retry = True
        assert n_fruitless(history) == 0

    def test_while_nothing_is_feasible_no_proposal_counts(self):
        history = self.history([Source.LOCAL, *[Source.GLOBAL] * 4], [3.0, 2.0, 1.0, 0.0, 0.5])
        for trial in history.trials[:3]:
            trial.feasible = False
        assert n_fruitless(history) == 1

    def test_early_only_a_certain_step_is_taken(self):
        assert not self.is_taken(9.0, [Source.GLOBAL] * 5, n=MIN_EVALUATIONS * 2 - 1)
        assert self.is_taken(-99.0, [Source.GLOBAL] * 5, n=MIN_EVALUATIONS * 2 - 1, certain=True)

    def test_in_a_run(self):
        """The initial design, then global proposals until there are enough evaluations, then both sides."""
        function = get("hart3")
        trials = evaluated(dale.Optimizer(function.bounds, seed=0), function.fun, 20).history
        sources = [t.reason.source for t in trials]
        assert sources[: MIN_EVALUATIONS * 3] == [Source.INITIAL_DESIGN] * INITIAL + [Source.GLOBAL] * (
            MIN_EVALUATIONS * 3 - INITIAL
        )
        assert Source.LOCAL in sources[MIN_EVALUATIONS * 3 :]
        assert all((t.reason.step is not None) == (t.reason.source is Source.LOCAL) for t in trials)
