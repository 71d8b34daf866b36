"""The two sides of the default method: proposals are a function of the trials, and no data make them fail."""

import itertools

import numpy as np
import pytest
from scipy.spatial.distance import pdist

import dale
from dale.history.reason import Source
from dale.history.trial import TrialState
from dale.methods.default.method import DefaultMethod
from dale.methods.default.trust_region import TrustRegionSet
from dale_bench.functions import get
from snapshots import proposal_after

INITIAL = DefaultMethod().n_initial
MORE_SEEDS = [pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2)]


def run(fun, space, n, seed=0, method=None):
    optimizer = dale.Optimizer(space, seed=seed, method=method or DefaultMethod())
    for _ in range(n):
        trial = optimizer.ask()
        optimizer.tell(trial, fun(trial.x))
    return optimizer


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

    @pytest.mark.parametrize("seed", [0, *MORE_SEEDS])
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

    @pytest.mark.parametrize("seed", [0, *MORE_SEEDS])
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
        assert all_different(run(functions[name], [(0, 1)] * d, 25, seed))

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
