"""Extra values of trials: what they may be, and where they go."""

import copy
import json
import pickle

import numpy as np
import pytest

import dale
from dale.history.extra import MAX_BYTES, check_extra

BOUNDS = [(-2, 2)]


def parabola(x):
    return dale.Evaluation((x[0] - 1) ** 2, extra={"x": x[0], "path": ["a", {"b": None}]})


class TestCheck:
    @pytest.mark.parametrize(
        "value", [None, True, 3, 10**30, 0.1, -0.0, "text", "\ud800", "", (), (1, (2.5, None)), {"a": {"b": (1, "x")}}]
    )
    def test_json_values_are_kept(self, value):
        kept = check_extra({"key": value})
        assert kept == {"key": value}
        assert check_extra(json.loads(json.dumps(kept))) == kept
        assert type(kept["key"]) is type(value) or isinstance(value, dict)

    @pytest.mark.parametrize(
        ("value", "plain"),
        [
            (np.float32(0.5), 0.5),
            (np.int64(3), 3),
            (np.bool_(True), True),
            (np.str_("a"), "a"),
            ([np.float64(1)], (1.0,)),
        ],
    )
    def test_numpy_scalars_become_python_values(self, value, plain):
        kept = check_extra({"key": value})["key"]
        assert (kept, type(kept)) == (plain, type(plain))

    def test_none_is_empty(self):
        assert check_extra(None) == {}

    @pytest.mark.parametrize(
        ("extra", "error", "message"),
        [
            ([1], TypeError, r"extra: expected a mapping, such as \{'rmse': 0.3\}, got \[1\]"),
            ({3: 1}, TypeError, r"extra: expected strings as keys, got 3; use str\(key\)"),
            ({"a": {3: 1}}, TypeError, r"extra\['a'\]: expected strings as keys"),
            ({"a": np.zeros(2)}, TypeError, r"extra\['a'\]: expected None, .*; use value.tolist\(\)"),
            ({"a": [0, object()]}, TypeError, r"extra\['a'\]\[1\]: .*; convert it, or write it to a file"),
            ({"a": {1, 2}}, TypeError, r"extra\['a'\]: expected .*lists and dicts of these, got \{1, 2\}"),
            ({"a": b"x"}, TypeError, r"extra\['a'\]"),
            ({"a": 1j}, TypeError, r"extra\['a'\]"),
            ({"a": np.nan}, ValueError, r"extra\['a'\]: expected a finite number, got nan; use None or leave it out"),
            ({"a": {"b": [np.float32(np.inf)]}}, ValueError, r"extra\['a'\]\['b'\]\[0\]: .*got inf"),
            (
                {"a": 1, "b": "x" * MAX_BYTES},
                ValueError,
                "at most 65536 bytes as JSON, got .* most of them in 'b'; write",
            ),
        ],
    )
    def test_others_are_refused(self, extra, error, message):
        optimizer = dale.Optimizer(BOUNDS, seed=0)
        trial = optimizer.ask()
        before = optimizer.history
        for call in (
            lambda: optimizer.tell(trial, 1.0, extra=extra),
            lambda: optimizer.tell(trial, dale.Evaluation(1.0, extra=extra)),
            lambda: optimizer.add([0.5], 1.0, extra=extra),
        ):
            with pytest.raises(error, match=message):
                call()
        assert optimizer.history is before

    def test_a_list_inside_itself_is_refused(self):
        endless = []
        endless.append(endless)
        with pytest.raises(ValueError, match="at most 20 levels"):
            check_extra({"a": endless})

    def test_in_one_of_the_two_ways(self):
        optimizer = dale.Optimizer(BOUNDS, seed=0)
        with pytest.raises(TypeError, match="extra besides"):
            optimizer.tell(optimizer.ask(), dale.Evaluation(1.0), extra={"a": 1})

    def test_the_largest_that_fits(self):
        optimizer = dale.Optimizer(BOUNDS, seed=0)
        text = "x" * (MAX_BYTES - len('{"a": ""}'))
        assert optimizer.tell(optimizer.ask(), 1.0, extra={"a": text}).extra["a"] == text


class TestTrial:
    def test_it_is_empty_by_default(self):
        optimizer = dale.Optimizer(BOUNDS, seed=0)
        trial = optimizer.ask()
        assert trial.extra == {}
        assert optimizer.tell(trial, 1.0).extra == {}
        assert optimizer.fail(optimizer.ask(), "broken").extra == {}

    def test_it_cannot_be_changed(self):
        given = {"list": [1, 2], "dict": {"a": 1}}
        trial = dale.Optimizer(BOUNDS, seed=0).add([0.5], 1.0, extra=given)
        given["list"].append(3)
        assert trial.extra == {"list": (1, 2), "dict": {"a": 1}}
        for mapping in (trial.extra, trial.extra["dict"]):
            with pytest.raises(TypeError, match=r"extra values of a trial are read-only; .*dict\(trial.extra\)"):
                mapping["a"] = 2

    def test_it_can_be_copied_and_pickled(self):
        optimizer = dale.Optimizer(BOUNDS, seed=0)
        optimizer.add([0.5], 1.0, extra={"a": {"b": [1]}})
        for other in (copy.deepcopy(optimizer), pickle.loads(pickle.dumps(optimizer))):
            assert other.history[0].extra == {"a": {"b": (1,)}}
            with pytest.raises(TypeError, match="read-only"):
                other.history[0].extra["a"]["b"] = 2
        result = pickle.loads(pickle.dumps(optimizer.result()))
        assert result.history[0].extra == {"a": {"b": (1,)}}

    def test_telling_the_same_again_changes_nothing(self):
        optimizer = dale.Optimizer(BOUNDS, seed=0)
        trial = optimizer.tell(optimizer.ask(), 1.0, extra={"a": [1]})
        assert optimizer.tell(trial, 1.0, extra={"a": [1]}) is trial
        with pytest.raises(dale.TrialError, match=r"already has .*amend\(trial"):
            optimizer.tell(trial, 1.0, extra={"a": [2]})

    def test_proposals_do_not_depend_on_it(self):
        one = dale.minimize(parabola, BOUNDS, budget=12, seed=0)
        other = dale.minimize(lambda x: parabola(x).value, BOUNDS, budget=12, seed=0)
        assert np.array_equal(one.x_iters, other.x_iters)

    def test_an_objective_with_a_bad_one_fails(self):
        def sometimes(x):
            return dale.Evaluation(x[0] ** 2, extra={"rmse": np.nan if x[0] > 0 else 0.1})

        result = dale.minimize(sometimes, BOUNDS, budget=6, seed=0)
        failed = [t for t in result.history if t.x[0] > 0]
        assert failed
        assert all("extra['rmse']: expected a finite number" in t.error for t in failed)


class TestCorrections:
    def test_amend_keeps_it_unless_there_is_a_new_one(self):
        optimizer = dale.Optimizer(BOUNDS, seed=0)
        optimizer.tell(optimizer.ask(), 1.0, extra={"a": 1})
        assert optimizer.amend(0, 2.0).extra == {"a": 1}
        assert optimizer.amend(0, dale.Evaluation(3.0)).extra == {"a": 1}
        trial = optimizer.amend(0, extra={"b": 2})
        assert (trial.value, trial.extra) == (3.0, {"b": 2})
        assert optimizer.amend(0, extra={"b": 2}) is trial
        assert "3 -> 3, other extra values by" in str(trial.corrections[-1])
        assert optimizer.amend(0, dale.Evaluation(4.0, extra={})).extra == {}

    def test_a_discarded_trial_has_none_until_it_has_a_value_again(self):
        optimizer = dale.Optimizer(BOUNDS, seed=0)
        optimizer.tell(optimizer.ask(), 1.0, extra={"a": 1})
        trial = optimizer.discard(0)
        assert (trial.extra, trial.corrections[0].before.extra) == ({}, {"a": 1})
        assert dale.fork(optimizer).history[0].extra == {}
        assert optimizer.amend(0, 2.0).extra == {"a": 1}
        assert dale.fork(optimizer).history[0].extra == {"a": 1}

    def test_a_new_one_changes_no_proposal(self):
        one, other = (dale.Optimizer(BOUNDS, seed=0) for _ in range(2))
        for optimizer in (one, other):
            for _ in range(15):
                trial = optimizer.ask()
                optimizer.tell(trial, (trial.x[0] - 1) ** 2)
        for trial in one.history:
            one.amend(trial, extra={"checked": True})
        assert one.ask().unit_x.tobytes() == other.ask().unit_x.tobytes()


class TestStore:
    def test_a_resumed_run_has_it(self, tmp_path):
        path = tmp_path / "run.db"
        result = dale.minimize(parabola, BOUNDS, budget=4, seed=0, store=path)
        assert result.history[2].extra == {"x": result.x_iters[2, 0], "path": ("a", {"b": None})}
        with dale.Optimizer(BOUNDS, store=path) as optimizer:
            assert [t.extra for t in optimizer.history] == [t.extra for t in result.history]
            optimizer.amend(1, 7.0)
            optimizer.amend(2, extra={"new": 1})
            optimizer.add([0.5], 0.25, extra={"from": "paper"})
        history = dale.open(path).history
        assert history[1].extra == result.history[1].extra
        assert [history[2].extra, history[4].extra] == [{"new": 1}, {"from": "paper"}]
        assert dale.fork(path, tmp_path / "fork.db").history[2].extra == {"new": 1}

    def test_events_without_it_are_as_before(self, tmp_path):
        with dale.Optimizer(BOUNDS, seed=0, store=tmp_path / "run.db") as optimizer:
            optimizer.tell(optimizer.ask(), 1.0)
            optimizer.tell(optimizer.ask(), 1.0, extra={"a": 1})
        events = [e for e in dale.open(tmp_path / "run.db").events if e.kind == "tell"]
        assert [set(e.content) for e in events] == [
            {"value", "noise", "constraints"},
            {"value", "noise", "constraints", "extra"},
        ]

    def test_the_json_file_has_it(self, tmp_path):
        dale.minimize(parabola, BOUNDS, budget=2, seed=0, store=tmp_path / "run.db")
        dale.open(tmp_path / "run.db").to_json(tmp_path / "run.json")
        trials = json.loads((tmp_path / "run.json").read_text())["trials"]
        assert [t["extra"]["path"] for t in trials] == [["a", {"b": None}]] * 2
