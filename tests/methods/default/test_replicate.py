"""The replicate that tests for noise: when and where it is proposed, and that the models do not see it."""

from contextlib import suppress
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest

import dale
from dale.history.history import History
from dale.history.reason import Reason, Source
from dale.history.trial import Trial, TrialState
from dale.methods.default import method as method_module
from dale.methods.default.replicate import FAILURES_BEFORE_REPLICATE, propose_replicate
from dale_bench.functions import get
from hostile import FLAT
from noisy_runs import smooth_data, with_data


def replicate(optimizer, failures):
    """The replicate of the best observation after so many failures of its region."""
    seen = optimizer.snapshot.history.observations
    return propose_replicate(optimizer.snapshot, seen.X[np.nanargmin(seen.y)], failures)


@pytest.fixture
def smooth():
    return smooth_data()


class TestReplicate:
    @pytest.fixture
    def smooth_run(self, smooth):
        return with_data(*smooth)

    def test_at_the_best_to_the_last_bit(self, smooth_run):
        seen = smooth_run.snapshot.history.observations
        proposal = replicate(smooth_run, FAILURES_BEFORE_REPLICATE)
        assert proposal.reason.source is Source.REPLICATE
        assert proposal.point.tobytes() == seen.X[np.argmin(seen.y)].tobytes()
        assert "to test for noise" in str(proposal.reason)

    def test_not_after_few_failures(self, smooth_run):
        assert replicate(smooth_run, FAILURES_BEFORE_REPLICATE - 1) is None

    @pytest.mark.parametrize("noise", [0.0, 0.3])
    def test_not_if_noise_was_specified(self, smooth, noise):
        assert replicate(with_data(*smooth, noise=noise), 100) is None
        assert replicate(with_data(*smooth, each=[noise] * 30), 100) is None

    @pytest.mark.parametrize("noise", [0.0, 0.3])
    def test_noise_of_other_values_does_not_switch_it_off(self, smooth, noise):
        X, y = smooth
        each = [None] * 30
        each[int(np.argmax(y))] = noise
        assert replicate(with_data(X, y, each=each), 100) is not None
        each[int(np.argmin(y))] = noise
        assert replicate(with_data(X, y, each=each), 100) is None

    def test_the_objective_receives_identical_values(self, monkeypatch):
        """Also where a point of the user's cannot be had from the cube: -1e-20 and 0 are the same point there."""
        space = {"x": (-1.0, 1.0), "n": dale.Int(0, 9), "c": dale.Choice(["u", "v", "w"])}
        optimizer = dale.Optimizer(space, seed=0)
        given = {"x": -1e-20, "n": 3, "c": "v"}
        optimizer.add(given, 1.0)
        for i in range(3):
            optimizer.add({"x": 0.2 * i, "n": i, "c": "u"}, 2.0 + i)
        assert optimizer.space.decode(optimizer.history[0].unit_x) != given
        monkeypatch.setattr(method_module, "propose_replicate", lambda s, x, failures: propose_replicate(s, x, 6))
        trial = optimizer.ask()
        assert trial.reason.source is Source.REPLICATE
        assert (trial.params, trial.allowed) == (given, True)

    def test_in_a_space_of_integers_and_options(self):
        optimizer = dale.Optimizer({"n": dale.Int(0, 9), "c": dale.Choice(["u", "v", "w"])}, seed=0)
        optimizer.add({"n": 3, "c": "v"}, 1.0)
        proposal = replicate(optimizer, FAILURES_BEFORE_REPLICATE)
        assert optimizer.space.decode(proposal.point) == {"n": 3, "c": "v"}

    def test_not_at_a_point_that_the_constraints_do_not_allow(self):
        """Such a point may be added, and while none is feasible it may be the best."""
        optimizer = dale.Optimizer([(0, 1)] * 2, seed=0, constraints=lambda x: x[0] <= 0.5)
        optimizer.add([0.7, 0.2], 1.0)
        assert replicate(optimizer, 100) is None
        optimizer.add([0.3, 0.2], 0.5)
        assert replicate(optimizer, 100) is not None

    @pytest.mark.parametrize("outcome", ["pending", "failed", "same value"])
    def test_once_in_a_run(self, outcome):
        """Even if the replicate is pending or has failed; if it has the same value, a few times."""
        optimizer = dale.Optimizer([(0, 1)] * 2, seed=0)
        found = 0
        for _ in range(45):
            trial = optimizer.ask()
            if trial.reason.source is not Source.REPLICATE or outcome == "same value":
                optimizer.tell(trial, FLAT["stairs"](trial.x))
            elif outcome == "failed":
                optimizer.fail(trial)
            found += trial.reason.source is Source.REPLICATE
        assert found == (2 if outcome == "same value" else 1)  # stairs have few values, so they are tested twice
        assert optimizer.result().noise == 0

    @pytest.mark.parametrize(("n_equal", "n_tests"), [(0, 1), (1, 2), (5, 2), (9, 2), (10, 1)])
    def test_twice_where_values_agree_by_chance(self, n_equal, n_tests):
        """A success or an accuracy of a few rows, say: other points have the incumbent's value too, here of ten."""
        rng = np.random.default_rng(0)
        optimizer = dale.Optimizer([(0, 1)] * 2, seed=0)
        for i, x in enumerate(rng.random((11, 2))):
            optimizer.add(x, 1.0 if i <= n_equal else 1.0 + i)
        history = optimizer.snapshot.history
        first, found = history.trials[0], 0
        while propose_replicate(replace(optimizer.snapshot, history=history), first.unit_x, FAILURES_BEFORE_REPLICATE):
            at = len(history.trials)
            again = Trial(at, first.params, first.x, first.unit_x, Reason(Source.REPLICATE), TrialState.COMPLETE, 1.0)
            history, found = history.with_trials([again]), found + 1
        assert found == n_tests

    def test_again_at_the_same_point_where_values_agree_by_chance(self):
        """The incumbent of successes never changes: nothing is below it."""
        optimizer = dale.Optimizer([(0, 1)] * 2, seed=0)
        for i, x in enumerate(np.random.default_rng(0).random((10, 2))):
            optimizer.add(x, float(i % 2))
        first = optimizer.snapshot.history.trials[0]
        tests = [
            Trial(10 + i, first.params, first.x, first.unit_x, Reason(Source.REPLICATE), TrialState.COMPLETE, 0.0)
            for i in range(2)
        ]
        snapshot = replace(optimizer.snapshot, history=optimizer.snapshot.history.with_trials(tests))
        assert propose_replicate(snapshot, first.unit_x, 2 * FAILURES_BEFORE_REPLICATE - 1) is None
        assert propose_replicate(snapshot, first.unit_x, 2 * FAILURES_BEFORE_REPLICATE) is not None

    def test_again_at_another_point_after_twice_as_many_failures(self, smooth_run):
        """The first replicate had the same value, but a new incumbent may be low by luck."""
        old = smooth_run.best
        again = Trial(30, old.params, old.x, old.unit_x, Reason(Source.REPLICATE), TrialState.COMPLETE, old.value)
        x, state = np.array([0.31, 0.47]), TrialState.COMPLETE
        lucky = Trial(31, tuple(x), x, x, Reason(Source.LOCAL), state, -9.0)
        snapshot = replace(smooth_run.snapshot, history=smooth_run.snapshot.history.with_trials([again, lucky]))
        assert propose_replicate(snapshot, old.unit_x, 100) is None
        assert propose_replicate(snapshot, lucky.unit_x, 2 * FAILURES_BEFORE_REPLICATE - 1) is None
        proposal = propose_replicate(snapshot, lucky.unit_x, 2 * FAILURES_BEFORE_REPLICATE)
        assert proposal.point.tolist() == [0.31, 0.47]


class TestLastReplicate:
    """Once every point of a finite space has been evaluated, the best one is evaluated again."""

    SPACE: ClassVar = {"n": dale.Int(0, 3)}

    def run(self, values, **options):
        optimizer = dale.Optimizer(self.SPACE, seed=0, **options)
        for n, value in enumerate(values):
            optimizer.add({"n": n}, value)
        return optimizer

    def test_one_that_differs_shows_noise(self):
        optimizer = self.run([3.0, 1.0, 2.0, 4.0])
        trial = optimizer.ask()
        assert (trial.reason.source, trial.params) == (Source.REPLICATE, {"n": 1})
        with pytest.raises(dale.SpaceExhausted):  # while it is pending
            optimizer.ask()
        assert not optimizer.converged(1e9)
        optimizer.tell(trial, 1.5)
        assert optimizer.result().noise > 0
        assert optimizer.ask().reason.source is not Source.REPLICATE

    def test_one_that_agrees_shows_none(self):
        optimizer = self.run([3.0, 1.0, 2.0, 4.0])
        assert not optimizer.converged(1e9)
        optimizer.tell(optimizer.ask(), 1.0)
        assert optimizer.converged(1e9)
        with pytest.raises(dale.SpaceExhausted):
            optimizer.ask()

    def test_two_where_values_agree_by_chance(self):
        optimizer = self.run([1.0, 1.0, 2.0, 4.0])
        for _ in range(2):
            optimizer.tell(optimizer.ask(), 1.0)
        with pytest.raises(dale.SpaceExhausted):
            optimizer.ask()

    def test_one_that_fails_is_the_last(self):
        optimizer = self.run([3.0, 1.0, 2.0, 4.0])
        optimizer.fail(optimizer.ask())
        with pytest.raises(dale.SpaceExhausted):
            optimizer.ask()

    def test_the_best_of_a_maximised_run(self):
        assert self.run([3.0, 1.0, 2.0, 4.0], direction="maximize").ask().params == {"n": 3}

    @pytest.mark.parametrize(("values", "noise"), [((3.0, 1.0, 2.0), "auto"), ((3.0, 1.0, 2.0, 4.0), 0.0)])
    def test_not_before_and_not_if_noise_was_specified(self, values, noise):
        optimizer = self.run(values, noise=noise)
        with suppress(dale.SpaceExhausted):
            assert optimizer.ask().reason.source is not Source.REPLICATE

    @pytest.mark.parametrize(("given", "expected"), [(0, True), (1, False)])
    def test_only_the_noise_of_the_best_one_switches_it_off(self, given, expected):
        optimizer = dale.Optimizer(self.SPACE, seed=0)
        for n, value in enumerate([3.0, 1.0, 2.0, 4.0]):
            optimizer.add({"n": n}, value, noise=0.0 if n == given else None)
        assert (optimizer.snapshot.last_replicate is not None) == expected

    def test_a_space_that_constraints_make_smaller(self):
        optimizer = dale.Optimizer(self.SPACE, seed=0, constraints=lambda p: p["n"] <= 2)
        for _ in range(3):
            trial = optimizer.ask()
            optimizer.tell(trial, float(abs(trial.params["n"] - 1)) + (trial.params["n"] == 0) / 2)
        trial = optimizer.ask()
        assert (trial.reason.source, trial.params) == (Source.REPLICATE, {"n": 1})
        optimizer.tell(trial, 0.0)
        with pytest.raises(dale.SpaceExhausted):
            optimizer.ask()

    def test_a_noisy_run_spends_its_budget(self):
        rng = np.random.default_rng(0)
        result = dale.minimize(lambda p: abs(p["n"] - 2) + 0.3 * rng.normal(), self.SPACE, budget=10, seed=0)
        assert (result.status, result.nfev) == (dale.Status.BUDGET_SPENT, 10)
        assert result.fun_std > 0


class TestWithoutReplicate:
    """The models do not see a replicate that showed no noise."""

    def trials(self, value):
        X = np.random.default_rng(0).random((4, 2))
        columns = [(*X, X[0]), (1.0, 3.0, 2.0, 4.0, value), (*[Source.GLOBAL] * 4, Source.REPLICATE)]
        return [
            Trial(i, x, x, x, Reason(source), TrialState.COMPLETE, y)
            for i, (x, y, source) in enumerate(zip(*columns, strict=True))
        ]

    @pytest.mark.parametrize("value", [1.0, 1.0 + 1e-12])
    def test_it_is_left_out(self, value):
        history = History.of(self.trials(value), 2)
        left = history.observations.modelled
        assert left.ids.tolist() == [0, 1, 2, 3]
        assert len(left.X) == len(left.y) == len(left.noise_std) == len(left.constraints) == len(left.params) == 4

    def test_or_the_value_that_it_repeats_if_it_is_lower(self):
        history = History.of(self.trials(1.0 - 1e-12), 2)
        assert history.observations.modelled.ids.tolist() == [1, 2, 3, 4]

    @pytest.mark.parametrize("state", [TrialState.PENDING, TrialState.FAILED])
    def test_without_a_value_it_changes_nothing(self, state):
        trials = self.trials(1.0)
        history = History.of([*trials[:4], replace(trials[4], state=state, value=None)], 2)
        assert history.observations.modelled is history.observations

    def test_a_step_function_loses_only_the_evaluation(self, monkeypatch):
        """With a replicate, 30 evaluations lead as far as 29 without one, though the gradient over it is 0."""

        def regret(seed, n):
            f = get("step:moved:rotated", seed)
            optimizer = dale.Optimizer([(0.0, 1.0)] * f.dimension, seed=seed)
            for _ in range(n):
                trial = optimizer.ask()
                optimizer.tell(trial, float(f.true(f.from_cube(trial.x))))
            replicated = any(t.reason.source is Source.REPLICATE for t in optimizer.history)
            return optimizer.best.value - f.minimum, replicated

        with_it = [regret(seed, 30) for seed in range(3)]
        monkeypatch.setattr(method_module, "propose_replicate", lambda *arguments: None)
        without = [regret(seed, 29) for seed in range(3)]
        assert [replicated for _, replicated in with_it + without] == [True] * 3 + [False] * 3
        for (one, _), (other, _) in zip(with_it, without, strict=True):
            assert one <= 1.5 * other


@pytest.mark.parametrize("size", [4, 8])
def test_batches_find_noise_too(size):
    """Every failed step of a batch counts: steps beside pending ones are weighed for the radius, not for this test."""
    rng, optimizer = np.random.default_rng(0), dale.Optimizer([(-1, 1)] * 3, seed=0)
    for _ in range(48 // size):
        for trial in optimizer.ask(size):
            optimizer.tell(trial, float(np.sum((trial.x - 0.2) ** 2)) + 0.1 * rng.standard_normal())
    assert optimizer.snapshot.is_noisy
    assert len({trial.id for trial in optimizer.history if trial.reason.source is Source.REPLICATE}) >= 1
