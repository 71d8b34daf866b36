"""The replicate that tests for noise: when and where it is proposed, and that the models do not see it."""

from dataclasses import replace

import numpy as np
import pytest

import dale
from dale.history.history import History
from dale.history.reason import Reason, Source
from dale.history.trial import Trial, TrialState
from dale.methods.default import method as method_module
from dale.methods.default.replicate import (
    FAILURES_BEFORE_REPLICATE,
    REPLICATE_OFFSET,
    propose_replicate,
    without_replicate,
)
from dale.space.allowed_set import AllowedSet
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

    def test_at_a_tiny_offset_from_the_best(self, smooth_run):
        seen = smooth_run.snapshot.history.observations
        best = int(np.argmin(seen.y))
        proposal = replicate(smooth_run, FAILURES_BEFORE_REPLICATE)
        assert proposal.reason.source is Source.REPLICATE
        assert np.max(np.abs(proposal.point - seen.X[best])) == pytest.approx(REPLICATE_OFFSET)
        assert "to test for noise" in str(proposal.reason)

    def test_not_after_few_failures(self, smooth_run):
        assert replicate(smooth_run, FAILURES_BEFORE_REPLICATE - 1) is None

    @pytest.mark.parametrize("noise", [0.0, 0.3])
    def test_not_if_noise_was_specified(self, smooth, noise):
        assert replicate(with_data(*smooth, noise=noise), 100) is None
        assert replicate(with_data(*smooth, each=[noise] + [None] * 29), 100) is None

    @pytest.mark.parametrize("corner", [(0.0, 0.0), (1.0, 1.0), (0.5, 0.5)])
    def test_within_the_cube(self, corner):
        X = np.vstack([corner, np.random.default_rng(0).random((5, 2))])
        point = replicate(with_data(X, np.arange(6.0)), FAILURES_BEFORE_REPLICATE).point
        assert ((point >= 0) & (point <= 1)).all()
        assert np.max(np.abs(point - corner)) == pytest.approx(REPLICATE_OFFSET)

    def test_along_a_continuous_coordinate(self):
        space = {"n": dale.Int(0, 9), "x": (0.0, 1.0), "c": dale.Choice(["u", "v", "w"])}
        optimizer = dale.Optimizer(space, seed=0)
        optimizer.add({"n": 3, "x": 0.25, "c": "v"}, 1.0)
        params = optimizer.space.decode(replicate(optimizer, FAILURES_BEFORE_REPLICATE).point)
        assert params == {"n": 3, "x": pytest.approx(0.25 + REPLICATE_OFFSET, abs=1e-12), "c": "v"}

    def test_not_along_an_inactive_coordinate(self):
        space = dale.Space(a=dale.Float(0, 1).when(kind="bent"), b=(0, 1), kind=dale.Choice(["plain", "bent"]))
        optimizer = dale.Optimizer(space, seed=0)
        for i in range(6):
            optimizer.add({"b": 0.1 * i, "kind": "plain"}, i)
        point = replicate(optimizer, FAILURES_BEFORE_REPLICATE).point
        assert 0 < optimizer.space.decode(point)["b"] < 1e-8

    @pytest.mark.parametrize(
        "allowed", [lambda A: A[:, 0] <= 0.3, lambda A: np.abs(A[:, 0] - 0.3) < 1e-9], ids=["a half", "a line"]
    )
    def test_input_constraints_allow_it(self, allowed):
        """A larger first coordinate is not allowed in either set, a smaller one only in the first."""
        optimizer = dale.Optimizer([(0, 1)] * 2, seed=0)
        optimizer.add([0.3, 0.2], 1.0)
        X = optimizer.snapshot.history.observations.X
        allowed_set = AllowedSet(allowed, lambda A: np.zeros((len(A), 0)), np.empty(0, dtype=bool), np.empty(0), X)
        snapshot = replace(optimizer.snapshot, domain=replace(optimizer.snapshot.domain, allowed_set=allowed_set))
        point = propose_replicate(snapshot, X[0], FAILURES_BEFORE_REPLICATE).point
        assert np.max(np.abs(point - [0.3, 0.2])) == pytest.approx(REPLICATE_OFFSET)
        assert allowed(point[None, :])[0]

    def test_none_in_a_space_without_continuous_parameters(self):
        optimizer = dale.Optimizer({"n": dale.Int(0, 9), "c": dale.Choice(["u", "v", "w"])}, seed=0)
        optimizer.add({"n": 3, "c": "v"}, 1.0)
        assert replicate(optimizer, 100) is None

    @pytest.mark.parametrize("outcome", ["pending", "failed", "same value"])
    def test_once_in_a_run(self, outcome):
        """Even if the replicate is pending, has failed or has the same value."""
        optimizer = dale.Optimizer([(0, 1)] * 2, seed=0)
        found = 0
        for _ in range(45):
            trial = optimizer.ask()
            if trial.reason.source is not Source.REPLICATE or outcome == "same value":
                optimizer.tell(trial, FLAT["stairs"](trial.x))
            elif outcome == "failed":
                optimizer.fail(trial)
            found += trial.reason.source is Source.REPLICATE
        assert found == 1
        assert optimizer.result().noise == 0


class TestWithoutReplicate:
    """The models do not see a replicate that showed no noise."""

    def trials(self, value):
        X = np.random.default_rng(0).random((4, 2))
        columns = [(*X, X[0] + REPLICATE_OFFSET), (1.0, 3.0, 2.0, 4.0, value), (*[Source.GLOBAL] * 4, Source.REPLICATE)]
        return [
            Trial(i, x, x, x, Reason(source), TrialState.COMPLETE, y)
            for i, (x, y, source) in enumerate(zip(*columns, strict=True))
        ]

    def test_it_is_left_out(self):
        history = History.of(self.trials(1.0 + 1e-12), 2)
        left = without_replicate(history.observations, history)
        assert left.ids.tolist() == [0, 1, 2, 3]
        assert len(left.X) == len(left.y) == len(left.noise_std) == len(left.constraints) == 4

    def test_but_not_if_it_is_the_best(self):
        history = History.of(self.trials(1.0 - 1e-12), 2)
        assert without_replicate(history.observations, history) is history.observations

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
