"""The two sides of the default method: proposals are a function of the trials, and no data make them fail."""

import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.distance import pdist

import dale
from dale.history.reason import Reason, Source
from dale.history.seeding import generator
from dale.history.trial import TrialState
from dale.methods.default import global_search as global_search_module
from dale.methods.default.global_search import MIN_SKEWNESS, GlobalSearch
from dale.methods.default.local_search import LocalSearch
from dale.methods.default.method import DefaultMethod
from dale.methods.default.selection import _is_taken, n_fruitless
from dale.methods.default.settings import GlobalSettings, SelectionSettings
from dale.methods.default.trust_region import TrustRegionSet
from dale.models.gaussian_process import GaussianProcess
from dale_bench.functions import get
from snapshots import proposal_after, snapshot_of

SELECTION = SelectionSettings()
INITIAL = DefaultMethod().n_initial
MIN_EVALUATIONS = SELECTION.min_evaluations_per_parameter
MIN_EI_RATIO = SELECTION.min_ei_ratio_incumbent
LOCAL_TURNS = SELECTION.local_turns


def run(fun, space, n, seed=0, method=None):
    optimizer = dale.Optimizer(space, seed=seed, method=method or DefaultMethod())
    for _ in range(n):
        trial = optimizer.ask()
        optimizer.tell(trial, fun(trial.x))
    return optimizer


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


def all_different(optimizer):
    """All points but those that are evaluated again to test for noise."""
    points = [t.unit_x.tobytes() for t in optimizer.history if t.reason.source is not Source.REPLICATE]
    return len(set(points)) == len(points) >= len(optimizer.history) - 2


class TestAFunctionOfTheTrials:
    @pytest.mark.parametrize(("name", "n"), [("branin", 35), ("hart3", 25)])
    def test_every_proposal_can_be_repeated_from_the_trials(self, name, n):
        function = get(name)
        optimizer = run(function.fun, function.bounds, n, seed=5)
        trials = optimizer.history
        assert {t.reason.source for t in trials} >= {Source.GLOBAL, Source.LOCAL}
        for k, trial in enumerate(trials):
            point, reason = proposal_after(DefaultMethod(), trials[:k], function.dimension, 5)
            assert optimizer.space.snap(point).tolist() == trial.unit_x.tolist()
            assert reason == trial.reason

    def test_with_three_pending_trials(self):
        branin = get("branin")
        optimizer, busy = dale.Optimizer(branin.bounds, seed=1), []
        for k in range(24):
            before = optimizer.history
            point, _ = proposal_after(DefaultMethod(), before, 2, 1)
            busy.append(optimizer.ask())
            assert optimizer.space.snap(point).tolist() == busy[-1].unit_x.tolist()
            if len(busy) == 3:
                trial = busy.pop(k % 3)
                optimizer.tell(trial, branin.fun(trial.x))

    @pytest.mark.parametrize("name", ["branin", "hart3"])
    def test_the_order_of_values_does_not_matter(self, name):
        function = get(name)
        proposals = []
        for order in ([0, 1, 2, 3, 4], [4, 2, 0, 3, 1], [1, 4, 3, 2, 0]):
            optimizer = run(function.fun, function.bounds, 15, seed=2)
            batch = optimizer.ask(5)
            for i in order:
                optimizer.tell(batch[i], function.fun(batch[i].x))
            proposals.append(optimizer.ask())
        assert any(t.reason.step for t in batch)
        assert len({p.unit_x.tobytes() for p in proposals}) == 1
        assert proposals[0].reason == proposals[1].reason == proposals[2].reason


class TestRobustness:
    @pytest.mark.parametrize(("name", "n"), [("branin", 3), ("branin", 12), ("branin", 40), ("hart6", 25)])
    def test_eight_workers_get_eight_points(self, name, n):
        function = get(name)
        optimizer = run(function.fun, function.bounds, n, seed=3)
        assert np.min(pdist([t.unit_x for t in optimizer.ask(8)])) >= 1e-6
        assert all_different(optimizer)

    @pytest.mark.parametrize("seed", range(3))
    def test_one_in_five_fails(self, seed):
        branin, rng = get("branin"), np.random.default_rng(seed)
        optimizer = dale.Optimizer(branin.bounds, seed=seed)
        for _ in range(40):
            trial = optimizer.ask()
            if rng.random() < 0.2:
                optimizer.fail(trial, "failed")
            else:
                optimizer.tell(trial, branin.fun(trial.x))
        assert all_different(optimizer)
        assert optimizer.best.value < branin.minimum + 0.1

    @pytest.mark.parametrize("seed", range(4))
    def test_one_failed_step_does_not_end_the_local_search(self, seed):
        """Its model does not see it, and would propose the same point again, though no other is better."""
        optimizer, failed = dale.Optimizer([(0, 1)] * 2, seed=seed), None
        for _ in range(20):
            trial = optimizer.ask()
            if failed is None and trial.reason.source is Source.LOCAL:
                failed = trial.id
                optimizer.fail(trial, "failed")
            else:
                optimizer.tell(trial, float(np.sum(np.cosh(trial.x - [0.42, 0.63]))))
        assert Source.LOCAL in {t.reason.source for t in optimizer.history[failed + 1 :]}
        assert optimizer.best.value < 2 + 1e-3

    @pytest.mark.parametrize("seed", range(3))
    def test_half_of_the_cube_fails(self, seed):
        """The minimum is in that half: the best point is at its edge. There, about half of the evaluations fail."""
        optimizer = dale.Optimizer([(0, 1)] * 2, seed=seed)
        for _ in range(40):
            trial = optimizer.ask()
            if trial.x[0] < 0.5:
                optimizer.fail(trial, "no")
            else:
                optimizer.tell(trial, float(np.sum((trial.x - [0.3, 0.6]) ** 2)))
        assert all_different(optimizer)
        assert optimizer.best.value < 0.04 + 1e-3
        assert sum(t.state is TrialState.FAILED for t in optimizer.history) < 30

    @pytest.mark.parametrize("n_failed", [1, 2, 3, 9])
    def test_all_evaluations_fail(self, n_failed):
        optimizer = dale.Optimizer([(0, 1)] * 3, seed=0)
        for trial in optimizer.ask(n_failed):
            optimizer.fail(trial)
        optimizer.ask(4)
        assert all_different(optimizer)

    @pytest.mark.parametrize(("d", "seed"), [(1, 0), (2, 1), (3, 1)])
    @pytest.mark.parametrize("name", ["constant", "two values", "plateau", "basin in a plateau", "staircase"])
    def test_flat_functions(self, name, d, seed):
        functions = {
            "constant": lambda x: 1.0,
            "two values": lambda x: float(np.sin(13 * x[0] + 7 * x[-1]) > 0),
            "plateau": lambda x: max(0.0, float(np.sum((x - 0.3) ** 2)) - 0.05),
            "basin in a plateau": lambda x: min(0.0, float(np.sum((x - 0.3) ** 2)) - 0.05),
            "staircase": lambda x: float(np.sum(np.floor(4 * x))),
        }
        assert all_different(run(functions[name], [(0, 1)] * d, 40, seed))

    @pytest.mark.parametrize(("d", "n"), [(1, 25), (12, 40)])
    def test_few_and_many_dimensions(self, d, n):
        optimizer = run(lambda x: float(np.sum((x - 0.4) ** 2)), [(0, 1)] * d, n)
        assert all_different(optimizer)
        assert {t.reason.source for t in optimizer.history} >= {Source.GLOBAL, Source.LOCAL}
        assert optimizer.best.value < 0.01

    def test_without_a_local_side(self):
        branin = get("branin")
        optimizer = run(branin.fun, branin.bounds, 20, method=DefaultMethod(trust_region=None))
        assert {t.reason.source for t in optimizer.history} == {Source.INITIAL_DESIGN, Source.GLOBAL}


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


class TestSelection:
    def is_taken(
        self, log_ei, sources, global_log_ei=0.0, certain=False, n=MIN_EVALUATIONS * 2, values=None, may_fail=False
    ):
        """After trials of these sources; each one is better than all before unless its value is given."""
        candidate = SimpleNamespace(step=SimpleNamespace(log_ei=log_ei, certain=certain, may_fail=may_fail))
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

    def test_a_step_that_may_fail_takes_every_other_turn(self):
        history = [Source.GLOBAL]
        for _ in range(6):
            history.append(Source.LOCAL if self.is_taken(-99.0, history, may_fail=True) else Source.GLOBAL)
        assert history[1:] == [Source.LOCAL, Source.GLOBAL] * 3

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
        trials = run(function.fun, function.bounds, 20).history
        sources = [t.reason.source for t in trials]
        assert sources[: MIN_EVALUATIONS * 3] == [Source.INITIAL_DESIGN] * INITIAL + [Source.GLOBAL] * (
            MIN_EVALUATIONS * 3 - INITIAL
        )
        assert Source.LOCAL in sources[MIN_EVALUATIONS * 3 :]
        assert all((t.reason.step is not None) == (t.reason.source is Source.LOCAL) for t in trials)


@pytest.mark.parametrize(("name", "seed"), [("branin", 0), ("camel6", 0), ("hart3", 3), ("goldstein", 1)])
def test_neither_side_enters_a_closed_region(name, seed):
    function = get(name)
    trials = run(function.fun, function.bounds, 50, seed).history
    for k, trial in enumerate(trials, 1):
        regions = TrustRegionSet.replay(trials[:k])  # including those that the proposal itself closed
        assert not regions.covers(trial.unit_x[None])[0]
    assert regions.closed


def test_the_length_scale_never_grows():
    function = get("branin")
    scales = [t.reason.length_scale for t in run(function.fun, function.bounds, 30).history[INITIAL:]]
    assert all(new <= old for old, new in itertools.pairwise(scales))


def test_a_step_records_the_number_of_pending_steps_of_its_region():
    """A batch that fails counts as one failure."""
    optimizer = dale.Optimizer([(0, 1)] * 2, seed=0)
    for _ in range(8):
        trial = optimizer.ask()
        optimizer.tell(trial, float(np.sum((trial.x - 0.3) ** 2 + np.sin(5 * trial.x))))
    steps = [t.reason.step for t in optimizer.ask(4)]
    assert [s.n_concurrent for s in steps if s is not None] == list(range(sum(s is not None for s in steps)))
    assert sum(s is not None for s in steps) > 1
