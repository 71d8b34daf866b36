"""A mistake in the objective is seen at once: warnings, the end of a run that only fails, ``on_error``, logging."""

import logging
import re
import time
import warnings

import numpy as np
import pytest
from evaluators import BOX, EVALUATORS, FORK_WARNING, Random, arguments, bowl

import dale
from dale.history.trial import TrialState

pytestmark = pytest.mark.filterwarnings(FORK_WARNING, "always::dale.EvaluationWarning")
IN_THIS_PROCESS = ("serial", "threads", "dask threads")
each_evaluator = pytest.mark.parametrize("kind", EVALUATORS)


def misspelt(x):
    return undefined_name * x[0]  # noqa: F821


def misspelt_on_one_side(x):
    if x[0] > 0:
        return {}["gamma"]
    return bowl(x)


def works_once(x):
    """A value at one point only."""
    if x[0] == 1.5:
        return 1.0
    raise ValueError(f"diverged at {x[0]}")


def raises_at_two_lines(x):
    if x[1] > 0:
        raise ValueError("above")
    raise ValueError("below")


def returns_nothing(x):
    pass


def no_value(x):
    return np.nan


def exits(x):
    raise SystemExit("licence expired")


def stopped(x):
    raise StopIteration


def seen(run, **more):
    """What a run returned or raised, and its warnings about evaluations."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", dale.EvaluationWarning)
        try:
            end = run(**more)
        except Exception as error:
            end = error
    return end, [w for w in caught if w.category is dale.EvaluationWarning]


def minimize(fun, **more):
    return seen(lambda: dale.minimize(fun, BOX, **{"budget": 30, "seed": 0, "method": Random(), **more}))


class TestEndOfARunThatOnlyFails:
    @each_evaluator
    def test_after_five_evaluations(self, kind, tmp_path):
        with arguments(kind, 2) as more:
            error, shown = minimize(misspelt, store=tmp_path / "run.db", **more)
        assert type(error) is (NameError if kind in IN_THIS_PROCESS else dale.EvaluationError)
        text = str(error) + " ".join(getattr(error, "__notes__", []))
        assert "the first 5 evaluations all failed in the same way" in text
        assert "name 'undefined_name' is not defined" in text
        assert len(shown) == 1
        kept = [t for t in dale.open(tmp_path / "run.db").history if t.state is TrialState.FAILED]
        assert len(kept) >= 5  # others may have ended at the same time

    def test_in_another_process_it_is_a_dale_error_with_the_traceback(self):
        error, _ = minimize(misspelt, n_parallel=2)
        assert type(error) is dale.EvaluationError
        assert "in misspelt" in str(error)

    def test_a_smaller_budget(self):
        for budget in (1, 3):
            error, _ = minimize(misspelt, budget=budget)
            assert isinstance(error, NameError)
            assert ("only evaluation" if budget == 1 else "first 3 evaluations") in error.__notes__[0]

    def test_a_value_that_is_no_number(self):
        error, shown = minimize(returns_nothing)
        assert type(error) is dale.EvaluationError
        assert str(error).endswith("the objective returned None")
        assert len(shown) == 1

    @pytest.mark.parametrize("fun", [exits, stopped])
    def test_an_exception_that_must_not_leave_minimize(self, fun):
        """It would end the program, or a loop of the caller's."""
        error, _ = minimize(fun)
        assert type(error) is dale.EvaluationError
        assert isinstance(error.__cause__, SystemExit if fun is exits else StopIteration)

    @pytest.mark.parametrize("fun", [raises_at_two_lines, no_value, misspelt_on_one_side])
    def test_not_if_the_point_decides(self, fun):
        result, _ = minimize(fun, budget=12)
        assert (result.nfev, len(result.history)) == (12, 12)

    def test_not_if_the_objective_has_worked(self, tmp_path):
        for budget in (3, 12):  # the second run resumes the first
            result, _ = minimize(works_once, budget=budget, x0=[[1.5, 0]], store=tmp_path / "run.db")
            assert result.nfev == budget

    def test_a_resumed_run_tries_the_points_again(self, tmp_path):
        """After the mistake is corrected: no model takes these points for bad ones."""
        error, _ = minimize(misspelt, store=tmp_path / "run.db", method=None)
        assert isinstance(error, NameError)
        result, shown = minimize(bowl, store=tmp_path / "run.db", method=None)
        assert shown == []
        assert [t.retry for t in result.history] == [True] * 5 + [False] * 25
        assert [t.reason.retry_of for t in result.history[5:10]] == [0, 1, 2, 3, 4]
        assert result.x_iters[:5].tolist() == [t.x.tolist() for t in result.history[:5]]

    def test_deaths_and_timeouts(self):
        """Only what an objective says itself by a value that is not finite, and transient failures, never end a run."""
        error, shown = minimize(hangs, timeout=0.2, budget=2)
        assert type(error) is dale.EvaluationError
        assert str(error).endswith("timed out after 0.2 s")
        assert len(shown) == 1


def hangs(x):
    time.sleep(3600)


class TestWarning:
    def test_the_traceback_and_the_point_at_the_line_of_the_caller(self):
        with pytest.warns(dale.EvaluationWarning) as caught:
            result = dale.minimize(misspelt_on_one_side, BOX, budget=12, seed=0)
        (warning,) = caught
        assert warning.filename == __file__
        first = next(t for t in result.history if t.error)
        assert f"trial {first.id} at " in str(warning.message)
        assert "in misspelt_on_one_side" in str(warning.message)
        assert str(warning.message).endswith("KeyError: 'gamma'")

    def test_one_for_each_kind(self):
        result, shown = minimize(raises_at_two_lines, budget=20)
        assert len(shown) == 2
        assert result.n_failed == 20

    def test_a_value_that_is_not_finite(self):
        _, shown = minimize(no_value, budget=9)
        assert [str(w.message).splitlines()[-1] for w in shown] == ["the objective returned nan"]

    def test_none_for_transient_failures(self):
        def flaky(x):
            raise dale.Retry("the node died")

        result, shown = minimize(flaky, budget=6)
        assert (shown, result.nfev) == ([], 6)

    def test_the_next_run_shows_it_again(self):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")
            for _ in range(2):
                dale.minimize(misspelt_on_one_side, BOX, budget=6, seed=0, method=Random())
        assert len(caught) == 2

    def test_as_an_error_it_ends_the_run_and_nothing_is_lost(self, tmp_path):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(dale.EvaluationWarning):
                dale.minimize(misspelt_on_one_side, BOX, budget=12, seed=0, store=tmp_path / "run.db")
        states = [t.state for t in dale.open(tmp_path / "run.db").history]
        assert states[-1] is TrialState.FAILED
        assert TrialState.PENDING not in states


class TestRaise:
    @each_evaluator
    def test_the_first_exception(self, kind, tmp_path):
        with arguments(kind, 2) as more:
            error, shown = minimize(misspelt_on_one_side, on_error="raise", store=tmp_path / "run.db", **more)
        assert type(error) is (KeyError if kind in IN_THIS_PROCESS else dale.EvaluationError)
        assert "gamma" in str(error)
        assert shown == []
        history = dale.open(tmp_path / "run.db").history
        assert all(t.value == bowl(t.x) for t in history if t.state is TrialState.COMPLETE)
        assert [t for t in history if t.retry]

    def test_what_was_told_is_kept_and_the_point_is_tried_again(self, tmp_path):
        error, _ = minimize(misspelt_on_one_side, on_error="raise", store=tmp_path / "run.db", method=None)
        assert isinstance(error, KeyError)
        assert re.search(r"trial \d+ at .* failed; .*run.db keeps all evaluations", error.__notes__[0])
        n = len(dale.open(tmp_path / "run.db").history)
        result, _ = minimize(bowl, on_error="raise", store=tmp_path / "run.db", method=None, budget=20)
        assert result.history[n].params.tobytes() == result.history[n - 1].params.tobytes()
        assert result.history[n].reason.retry_of == n - 1
        assert result.n_failed == 1

    def test_a_value_that_is_not_finite_is_no_exception(self):
        result, shown = minimize(no_value, on_error="raise", budget=6)
        assert (result.nfev, len(shown)) == (6, 1)

    @pytest.mark.parametrize("bad", ["ignore", None, True])
    def test_another_word(self, bad):
        with pytest.raises(ValueError, match='on_error must be "record" or "raise", got'):
            dale.minimize(bowl, BOX, budget=3, on_error=bad)


class TestLogging:
    def test_under_the_logger_dale(self, caplog):
        with caplog.at_level(logging.INFO, logger="dale"):
            result, _ = minimize(misspelt_on_one_side, budget=8)
        assert all(record.name.split(".")[0] == "dale" for record in caplog.records)
        failed = [r.getMessage() for r in caplog.records if r.levelno == logging.WARNING]
        assert len(failed) == result.n_failed > 0
        assert all(message.endswith("failed: KeyError: 'gamma'") for message in failed)
        assert len(caplog.records) == 8 + 2  # one for each evaluation, the begin and the end
        assert (
            caplog.records[-1].getMessage()
            == f"The budget is spent after 8 evaluations, {result.n_failed} of them failed"
        )

    def test_silent_unless_the_program_sets_it_up(self, capfd):
        minimize(misspelt_on_one_side, budget=4)
        assert capfd.readouterr() == ("", "")
