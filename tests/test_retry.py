"""``fail(trial, why, retry=True)``: a transient failure, after which the same point is proposed again."""

import dataclasses

import pytest

import dale
from dale.history.reason import Source
from dale.history.trial import TrialState
from evaluated_runs import BOX, bowl, evaluated


class TestRetry:
    """The same point is proposed again, and no model sees the failure."""

    def test_the_point_is_retried_once_and_the_history_keeps_all_trials(self):
        optimizer = evaluated(7)
        trial = optimizer.ask()
        failed = optimizer.fail(trial, "the node died", retry=True)
        assert (failed.state, failed.error, failed.retry) == (TrialState.FAILED, "the node died", True)
        again = optimizer.ask()
        assert again.id == trial.id + 1
        assert again.unit_x.tolist() == trial.unit_x.tolist()
        assert again.x.tolist() == trial.x.tolist()
        assert again.reason == dataclasses.replace(trial.reason, retry_of=trial.id, closed_regions=())
        assert str(again.reason) == f"{trial.reason}; retry of trial {trial.id} after a transient failure"
        assert optimizer.history[trial.id] is failed
        another = optimizer.ask()
        assert another.unit_x.tolist() != trial.unit_x.tolist()
        optimizer.fail(again, "and again", retry=True)
        assert optimizer.ask().reason.retry_of == again.id
        optimizer.fail(trial, "reported twice", retry=True)
        assert optimizer.ask().reason.retry_of is None
        assert optimizer.result().nit == sum(t.reason.retry_of is None for t in optimizer.history[3:])

    @pytest.mark.parametrize(
        "method", [dale.methods.default, dale.methods.paper, dale.methods.ei, dale.methods.imgpo, dale.methods.lcb]
    )
    def test_no_model_sees_the_failure(self, method):
        """A run with transient failures proposes bit for bit the same points, from the design to local steps."""

        def run(fails):
            optimizer = dale.Optimizer(BOX, seed=3, method=method())
            while sum(not t.retry for t in optimizer.history) < 30:
                trial = optimizer.ask()
                if trial.id in fails:
                    optimizer.fail(trial, "out of memory", retry=True)
                else:
                    optimizer.tell(trial, bowl(trial.x))
            return [t for t in optimizer.history if not t.retry]

        plain, with_failures = run(()), run((0, 2, 5, 6, 11, 17, 18, 19, 30))
        assert [t.unit_x.tolist() for t in plain] == [t.unit_x.tolist() for t in with_failures]
        assert [t.value for t in plain] == [t.value for t in with_failures]

    def test_retries_in_a_batch(self):
        """Retries come first, in order. Their reasons keep the length-scale of the last proposal."""
        optimizer = evaluated(14)
        trials = optimizer.ask(5)
        for trial in trials[::-1]:
            optimizer.fail(trial, retry=True)
        again = optimizer.ask(7)
        assert [t.reason.retry_of for t in again] == [*(t.id for t in trials), None, None]
        assert [t.unit_x.tolist() for t in again[:5]] == [t.unit_x.tolist() for t in trials]
        assert {t.reason.length_scale for t in again[:5]} == {trials[-1].reason.length_scale}

    def test_a_late_value_is_recorded_and_cancels_the_retry(self):
        optimizer = evaluated(4)
        trial = optimizer.ask()
        optimizer.fail(trial, "no answer", retry=True)
        late = optimizer.tell(trial, 3.0)
        assert (late.state, late.value, late.retry, late.error) == (TrialState.COMPLETE, 3.0, False, None)
        assert optimizer.ask().reason.retry_of is None

    def test_an_ordinary_failure_cancels_the_retry(self):
        optimizer = evaluated(4)
        trial = optimizer.ask()
        optimizer.fail(trial, "no answer", retry=True)
        assert not optimizer.fail(trial, "it was the point").retry
        assert optimizer.ask().reason.retry_of is None

    def test_a_finite_space_is_not_exhausted_before_the_retry(self):
        optimizer = dale.Optimizer([dale.Int(0, 3)], seed=0)
        trials = optimizer.ask(4)
        optimizer.fail(trials[2], retry=True)
        [again] = optimizer.ask(3)
        assert again.x.tolist() == trials[2].x.tolist()
        with pytest.raises(dale.SpaceExhausted):
            optimizer.ask()

    def test_a_point_of_the_user_is_retried(self):
        optimizer = dale.Optimizer(BOX, seed=0)
        trial = optimizer.ask(at=[0.5, 0.1])
        optimizer.fail(trial, retry=True)
        again = optimizer.ask()
        assert (again.reason.source, again.x.tolist()) == (Source.USER, [0.5, 0.1])
        assert optimizer.ask().reason.source is Source.INITIAL_DESIGN

    def test_retry_must_be_true_or_false(self):
        optimizer = evaluated(4)
        with pytest.raises(TypeError, match="retry must be True or False, got 3"):
            optimizer.fail(optimizer.ask(), "x", retry=3)
