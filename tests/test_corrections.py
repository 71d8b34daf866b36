"""Corrections: amend and discard change what later proposals see, keep the history, and replay exactly."""

import copy
import getpass
import json
import math
import sqlite3

import numpy as np
import pytest
from store_runs import BOUNDS, same_runs, valley

import dale
from dale.history.trial import TrialState
from dale.store.events import Event, EventKind
from dale.store.sqlite import read, write


def run_of(n, store=None, **options):
    optimizer = dale.Optimizer(BOUNDS, seed=3, store=store, **options)
    for _ in range(n):
        trial = optimizer.ask()
        optimizer.tell(trial, valley(trial.x))
    return optimizer


def format_of(path):
    connection = sqlite3.connect(path)
    (found,) = connection.execute("PRAGMA user_version").fetchone()
    connection.close()
    return found


def next_proposal(optimizer):
    trial = optimizer.ask()
    return trial.id, trial.unit_x.tobytes(), trial.reason


class TestAmend:
    def test_the_models_and_the_result_use_the_new_value(self):
        optimizer = run_of(10)
        trial = optimizer.amend(4, -7.0, why="misread", who="ada")
        assert (trial.value, trial.state) == (-7.0, TrialState.COMPLETE)
        assert optimizer.best is optimizer.history[4]
        assert optimizer.result().func_vals[4] == -7.0
        assert optimizer.snapshot.history.observations.y[4] == -7.0
        assert optimizer.n_evaluated == 10

    def test_it_keeps_who_when_and_why(self):
        optimizer = run_of(3)
        before = optimizer.history[1].value
        [correction] = optimizer.amend(1, 5.0, noise=0.5, why="misread", who="ada").corrections
        assert (correction.before.value, correction.after.value, correction.after.noise) == (before, 5.0, 0.5)
        assert (correction.who, correction.why, correction.n_trials) == ("ada", "misread", 3)
        assert correction.when.endswith("+00:00")
        assert str(correction).endswith("UTC: misread")
        assert len(optimizer.amend(1, 6.0).corrections) == 2

    def test_earlier_proposals_keep_their_points_and_reasons(self):
        optimizer = run_of(10)
        before = [(t.unit_x.tobytes(), t.reason) for t in optimizer.history]
        optimizer.amend(2, 9.0)
        optimizer.discard(3)
        assert [(t.unit_x.tobytes(), t.reason) for t in optimizer.history] == before

    def test_what_is_not_given_stays(self):
        optimizer = dale.Optimizer(BOUNDS, seed=0)
        optimizer.tell(optimizer.ask(), 1.0, noise=0.1, constraints=[-1.0, 2.0])
        trial = optimizer.amend(0, constraints=[-1.0, -2.0])
        assert (trial.value, trial.noise, trial.constraints, trial.feasible) == (1.0, 0.1, (-1.0, -2.0), True)
        assert optimizer.amend(0, 3.0).constraints == (-1.0, -2.0)
        assert optimizer.amend(0, noise=0.2).value == 3.0
        replaced = optimizer.amend(0, dale.Evaluation(4.0, constraints=[1.0, 1.0]))
        assert (replaced.value, replaced.noise, replaced.constraints) == (4.0, None, (1.0, 1.0))
        assert optimizer.best is None

    def test_a_failed_trial_gets_a_value(self):
        optimizer = run_of(3)
        optimizer.fail(optimizer.ask(), "no signal", retry=True)
        trial = optimizer.amend(3, 0.5)
        assert (trial.state, trial.value, trial.error, trial.retry) == (TrialState.COMPLETE, 0.5, None, False)
        assert trial.corrections[0].error == "no signal"
        assert optimizer.ask().reason.retry_of is None

    def test_the_same_numbers_change_nothing(self):
        optimizer = run_of(3)
        before = optimizer.history
        assert optimizer.amend(1, before[1].value) is before[1]
        assert optimizer.history is before

    def test_who_is_the_user_by_default(self, monkeypatch):
        monkeypatch.setattr(getpass, "getuser", lambda: "ada")
        assert run_of(1).amend(0, 9.0).corrections[0].who == "ada"

        def unknown():
            raise KeyError("uid not found")

        monkeypatch.setattr(getpass, "getuser", unknown)
        assert run_of(1).amend(0, 9.0).corrections[0].who == "unknown"


class TestDiscard:
    def test_nothing_uses_the_value_but_the_budget(self):
        optimizer = run_of(10)
        best = optimizer.best.id
        trial = optimizer.discard(best, "wrong sample")
        assert (trial.id, trial.state, trial.value, trial.feasible) == (best, TrialState.DISCARDED, None, False)
        assert trial.corrections[0].why == "wrong sample"
        assert "discarded" in repr(trial)
        assert optimizer.best.id != best
        result = optimizer.result()
        assert (result.nfev, len(result.func_vals), result.n_failed, len(result.history)) == (10, 9, 0, 10)
        assert best not in optimizer.snapshot.history.observations.ids
        assert optimizer.n_evaluated == 10

    def test_a_failure_is_no_longer_avoided(self):
        optimizer = run_of(6)
        optimizer.fail(optimizer.ask(), "no signal")
        assert optimizer.snapshot.failures is not None
        trial = optimizer.discard(6, "the camera was off")
        assert (trial.state, trial.error, trial.corrections[0].error) == (TrialState.DISCARDED, None, "no signal")
        assert optimizer.snapshot.failures is None
        assert optimizer.result().n_failed == 0

    def test_a_retry_that_waits_is_cancelled(self):
        optimizer = run_of(6)
        optimizer.fail(optimizer.ask(), "no power", retry=True)
        optimizer.discard(6)
        assert optimizer.ask().reason.retry_of is None

    def test_the_point_may_be_proposed_again(self):
        optimizer = dale.Optimizer({"n": dale.Int(1, 3)}, seed=0)
        for trial in [*optimizer.ask(3), optimizer.ask(at={"n": 1})]:
            optimizer.tell(trial, float(trial.params["n"]))
        with pytest.raises(dale.SpaceExhausted):
            optimizer.ask()
        point = dict(optimizer.discard(1).params)
        assert dict(optimizer.ask().params) == point

    def test_amend_undoes_it(self):
        optimizer = run_of(8)
        best = optimizer.best
        optimizer.discard(best)
        restored = optimizer.amend(best, best.value, why="the sample was right")
        assert (restored.state, restored.value, len(restored.corrections)) == (TrialState.COMPLETE, best.value, 2)
        assert optimizer.best is restored

    def test_all_of_them(self):
        optimizer = run_of(8)
        for trial in optimizer.history:
            optimizer.discard(trial)
        assert optimizer.best is None
        assert not optimizer.result().success
        optimizer.tell(optimizer.ask(), 1.0)
        optimizer.ask()

    def test_the_number_of_constraints_stays(self):
        optimizer = dale.Optimizer(BOUNDS, seed=0)
        optimizer.tell(optimizer.ask(), 1.0, constraints=[1.0, 2.0])
        optimizer.discard(0)
        with pytest.raises(dale.TrialError, match="expected 2 constraints, as trial 0 has"):
            optimizer.tell(optimizer.ask(), 1.0, constraints=[1.0])


class TestMisuse:
    @pytest.fixture
    def optimizer(self):
        optimizer = run_of(3)
        optimizer.fail(optimizer.ask(), "broken")
        optimizer.discard(0, "wrong sample", who="ada")
        optimizer.ask()
        return optimizer

    @pytest.mark.parametrize(
        ("change", "error", "message"),
        [
            (lambda o: o.amend(4, 1.0), dale.TrialError, "trial 4 is pending, .* expected a complete or failed trial"),
            (lambda o: o.discard(4), dale.TrialError, "trial 4 is pending"),
            (lambda o: o.amend(9, 1.0), dale.TrialError, "trial 9 is unknown here"),
            (lambda o: o.discard(-1), dale.TrialError, "trial -1 is unknown here"),
            (lambda o: o.amend(1), TypeError, "expected a value, noise, constraints or extra to change"),
            (lambda o: o.amend(1, math.nan), ValueError, r"finite numbers, got value nan.*use discard\(trial, why\)"),
            (lambda o: o.amend(1, 1.0, constraints=[math.inf]), ValueError, r"finite numbers.*constraints \[inf\]"),
            (lambda o: o.amend(1, "low"), TypeError, "must be one real number, got 'low'"),
            (lambda o: o.amend(1, noise=-1), ValueError, "noise must be a finite number of at least 0"),
            (lambda o: o.amend(1, constraints=[1.0]), dale.TrialError, "expected 0 constraints, as trial 0 has"),
            (lambda o: o.amend(3, noise=1.0), dale.TrialError, "trial 3 is failed and has no value.*pass value="),
            (lambda o: o.amend(0, noise=1.0), dale.TrialError, "trial 0 is discarded and has no value"),
            (lambda o: o.discard(0), dale.TrialError, "trial 0 is discarded already: .* by ada, .*: wrong sample"),
            (lambda o: o.tell(0, 1.0), dale.TrialError, r"trial 0 was discarded: .*amend\(trial, value=\.\.\.\)"),
            (lambda o: o.fail(0, "x"), dale.TrialError, "trial 0 was discarded"),
            (lambda o: o.tell(1, 99.0), dale.TrialError, r"correct it with amend\(trial, value=\.\.\.\)"),
            (lambda o: o.fail(1, "x"), dale.TrialError, r"use discard\(trial, why\)"),
            (lambda o: o.discard(1, why=7), TypeError, "why must be a string"),
            (lambda o: o.discard(1, who=""), TypeError, "who must be the name of a person"),
            (lambda o: o.discard("1"), TypeError, "expected a Trial that ask returned, or its id"),
        ],
    )
    def test_it_says_what_is_wrong_and_changes_nothing(self, optimizer, change, error, message):
        before = optimizer.history
        with pytest.raises(error, match=message):
            change(optimizer)
        assert optimizer.history is before

    def test_a_method_without_constraints_takes_none(self):
        optimizer = dale.Optimizer(BOUNDS, seed=0, method=dale.methods.imgpo())
        optimizer.fail(optimizer.ask(), "broken")
        with pytest.raises(TypeError, match="takes no outcome constraints"):
            optimizer.amend(0, 1.0, constraints=[1.0])


class TestReplay:
    """Live, copied and reopened, a corrected run proposes the same points bit for bit."""

    @pytest.mark.parametrize("seed", range(3))
    def test_random_corrections(self, seed, tmp_path):
        rng = np.random.default_rng(seed)
        path = tmp_path / "run.db"
        optimizer = dale.Optimizer(BOUNDS, seed=seed, store=path)
        for i in range(26):
            trial = optimizer.ask()
            optimizer.tell(trial, valley(trial.x) - (3.0 if i == 8 else 0.0))
            if i > 6 and i % 2:
                number = int(rng.integers(i)) if i > 9 else 8
                if rng.random() < 0.5 and optimizer.history[number].state is TrialState.COMPLETE:
                    optimizer.discard(number, "wrong")
                else:
                    optimizer.amend(number, valley(optimizer.history[number].x) + 0.1 * rng.normal())
            if i % 5 == 4:
                fresh = dale.fork(optimizer)
                assert same_runs(fresh.history, optimizer.history)
                expected = next_proposal(fresh)
                assert next_proposal(copy.deepcopy(dale.fork(optimizer))) == expected
                with dale.Optimizer(BOUNDS, store=path) as reopened:
                    assert same_runs(reopened.history, optimizer.history)
                trial = optimizer.ask()
                assert (trial.id, trial.unit_x.tobytes(), trial.reason) == expected
                optimizer.tell(trial, valley(trial.x))
        optimizer.close()

    def test_all_trials_with_constraints_are_discarded(self, tmp_path):
        path = tmp_path / "run.db"
        with dale.Optimizer(BOUNDS, seed=0, store=path) as optimizer:
            for trial in optimizer.ask(4):
                optimizer.tell(trial, 1.0, constraints=[1.0, 2.0])
                optimizer.discard(trial)
            fresh = dale.fork(path)
            assert fresh.snapshot.is_constrained
            assert optimizer.snapshot.is_constrained
            assert next_proposal(fresh) == next_proposal(optimizer)

    def test_corrections_of_another_process_are_seen(self, tmp_path):
        path = tmp_path / "run.db"
        one = run_of(8, path)
        with dale.Optimizer(BOUNDS, store=path) as other:
            other.discard(2, "wrong sample", who="ada")
        trial = one.ask()
        assert one.history[2].state is TrialState.DISCARDED
        expected = dale.fork(path, at=8).ask()
        assert (trial.unit_x.tobytes(), trial.reason) == (expected.unit_x.tobytes(), expected.reason)
        one.close()

    def test_a_transaction_that_fails_leaves_no_correction(self, tmp_path):
        path = tmp_path / "run.db"
        optimizer = run_of(3, path)
        before = optimizer.history

        def fails():
            with optimizer.transaction():
                optimizer.amend(0, 9.0)
                raise RuntimeError

        with pytest.raises(RuntimeError):
            fails()
        assert optimizer.history is before
        optimizer.close()
        assert same_runs(dale.open(path).history, before)


class TestStore:
    def test_the_events_hold_who_when_and_why(self, tmp_path):
        path = tmp_path / "run.db"
        with run_of(3, path) as optimizer:
            optimizer.amend(1, 0.5, why="misread", who="ada")
            optimizer.discard(2, "wrong sample", who="grace")
            corrections = [optimizer.history[i].corrections[0] for i in (1, 2)]
        amend, discard = dale.open(path).events[-2:]
        assert (str(amend.kind), amend.trial, amend.time) == ("amend", 1, corrections[0].when)
        assert amend.content == {"value": 0.5, "noise": None, "constraints": [], "who": "ada", "why": "misread"}
        assert (str(discard.kind), discard.trial) == ("discard", 2)
        assert discard.content == {"who": "grace", "why": "wrong sample"}

    def test_the_format_rises_with_the_first_correction(self, tmp_path):
        path = tmp_path / "run.db"
        with run_of(3, path) as optimizer:
            assert format_of(path) == 2
            optimizer.discard(1)
            assert format_of(path) == 3
            optimizer.ask()
        assert format_of(path) == 3
        dale.fork(path, tmp_path / "fork.db", at=1).close()
        dale.fork(path, tmp_path / "fork2.db", at=2).close()
        assert (format_of(tmp_path / "fork.db"), format_of(tmp_path / "fork2.db")) == (2, 3)

    @pytest.mark.parametrize("content", [{"who": 1, "why": ""}, {"who": "ada"}, {"who": "ada", "why": None}])
    def test_a_correction_without_its_text_is_damage(self, content, tmp_path):
        path = tmp_path / "run.db"
        run_of(2, path).close()
        _, events, position = read(path)
        number = events[-1].number + 1
        write(path, [Event(number, 1, EventKind.DISCARD, 1, events[-1].time, content)], position)
        with pytest.raises(dale.StoreError, match="is damaged"):
            dale.open(path)

    def test_exports_leave_out_discarded_trials_as_observations(self, tmp_path):
        path = tmp_path / "run.db"
        with run_of(4, path) as optimizer:
            optimizer.discard(2, "wrong sample", who="ada")
        run = dale.open(path)
        run.to_csv(tmp_path / "run.csv")
        run.to_json(tmp_path / "run.json")
        other = dale.Optimizer(BOUNDS, seed=0)
        assert len(other.add_all(tmp_path / "run.csv")) == 3
        trial = json.loads((tmp_path / "run.json").read_text())["trials"][2]
        assert (trial["state"], trial["corrections"][0]["why"]) == ("discarded", "wrong sample")

    def test_who_evaluated_a_trial_stays(self, tmp_path):
        path = tmp_path / "run.db"
        with run_of(3, path) as optimizer:
            before = dale.open(path).times()
            optimizer.amend(1, 0.5)
        assert dale.open(path).times() == before

    def test_views_show_the_correction_and_not_the_value(self, tmp_path):
        optimizer = run_of(8)
        optimizer.discard(2, "wrong <sample>", who="ada")
        optimizer.amend(3, 4.0, why="misread", who="grace")
        assert "corrected     " in str(dale.why(optimizer, 3))
        assert "misread" in str(dale.why(optimizer, 3))
        path = optimizer.report(tmp_path / "run.html")
        assert "7 complete, 1 discarded" in path.read_text(encoding="utf-8")
        assert "corrected: " in path.read_text(encoding="utf-8")
