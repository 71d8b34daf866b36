"""Held parameters: they never move, and what is learnt at other values helps."""

import copy
import json
import re

import numpy as np
import pytest

import dale
from dale.history.reason import Source
from dale.view import (
    calibration_data,
    convergence_data,
    corner_data,
    directions_data,
    importance_data,
    parallel_data,
    slice_data,
)
from dale.view.run_view import view_of
from dale.view.sobol import _by_sampling, _in_closed_form

PLANE = dale.Space(x=(-2, 2), y=(-1, 1), batch=(0.0, 1.0))


def bowl(p):
    return (p["x"] - p["batch"]) ** 2 + 3 * (p["y"] - 0.3 * p["x"]) ** 2 + p["batch"]


def alternate(space, fun, contexts, n, seed=0, **options):
    optimizer = dale.Optimizer(space, seed=seed, **options)
    for k in range(n):
        fixed = contexts[k % len(contexts)]
        trial = optimizer.ask(fixed=fixed)
        assert {name: trial.params[name] for name in fixed} == fixed
        optimizer.tell(trial, fun(trial.params))
    return optimizer


SPACES = {
    "float": (PLANE, [{"batch": 0.1}, {"batch": 1 / 3}, {"batch": 0.9}]),
    "log": (dale.Space(x=(0, 1), k=dale.Float(1e-3, 10, log=True)), [{"k": 0.07}, {"k": 0.3}]),
    "int": (dale.Space(x=(0, 1), n=dale.Int(1, 9)), [{"n": 3}, {"n": 7}]),
    "choice": (dale.Space(x=(0, 1), c=dale.Choice(["a", "b", "c"]), n=dale.Int(1, 5)), [{"c": "b"}, {"c": "c"}]),
    "conditional": (
        dale.Space(kind=dale.Choice(["p", "q"]), degree=dale.Int(2, 5).when(kind="p"), x=(0, 1)),
        [{"kind": "p"}, {"kind": "q"}],
    ),
    "several": (dale.Space(x=(0, 1), y=(0, 1), z=(0, 1), w=(0, 1)), [{"x": 0.3, "w": 0.7}, {"x": 0.1}]),
}


@pytest.mark.parametrize("kind", SPACES)
def test_held_parameters_never_move(kind):
    space, contexts = SPACES[kind]

    def fun(p):
        numbers = [v if isinstance(v, float) else len(str(v)) for v in p.values()]
        return float(sum((v - 0.4) ** 2 for v in numbers))

    optimizer = alternate(space, fun, contexts, 24)
    assert {t.reason.source for t in optimizer.history} - {"initial_design"}


def test_each_value_has_its_own_minimum():
    """Three contexts are solved after five evaluations each: what one teaches, the others use."""
    optimizer = alternate(PLANE, bowl, SPACES["float"][1], 15)
    for fixed in SPACES["float"][1]:
        values = [t.value for t in optimizer.history if t.params["batch"] == fixed["batch"]]
        assert min(values) == pytest.approx(fixed["batch"], abs=1e-6)


def test_a_value_that_was_never_held_before_profits():
    optimizer = alternate(PLANE, bowl, SPACES["float"][1], 15)
    for _ in range(3):
        trial = optimizer.ask(fixed={"batch": 0.6})
        optimizer.tell(trial, bowl(trial.params))
    assert min(t.value for t in optimizer.history[-3:]) == pytest.approx(0.6, abs=1e-3)


def test_best_and_result_are_those_of_the_values_that_are_held():
    optimizer = alternate(PLANE, bowl, SPACES["float"][1], 18)
    assert optimizer.best.params["batch"] == 0.1
    optimizer.hold({"batch": 0.9})
    assert optimizer.best.params["batch"] == optimizer.result().params["batch"] == 0.9
    assert optimizer.ask().params["batch"] == 0.9
    optimizer.hold(None)
    assert optimizer.best.params["batch"] == 0.1


def test_a_copy_of_a_result_knows_what_is_held():
    result = dale.minimize(bowl, PLANE, budget=8, seed=0, fixed={"batch": 0.9}, x0={"x": 0, "y": 0, "batch": 0.1})
    copied = copy.deepcopy(result)
    assert result.fixed == copied.fixed == {"batch": 0.9}
    assert copied.forecast(10) == result.forecast(10)
    assert "fixed" not in dale.minimize(bowl, PLANE, budget=4, seed=0)


def test_why_explains_a_trial_of_the_values_that_are_held():
    optimizer = alternate(PLANE, bowl, [{"batch": 0.1}, {"batch": 0.9}], 16).hold({"batch": 0.9})
    trial = next(t for t in reversed(optimizer.history) if t.params["batch"] == 0.9 and t.reason.step is not None)
    found = dale.why(optimizer, trial.id)
    assert any(alternative.chosen for alternative in found.alternatives)
    assert found.best_before == min(t.value for t in optimizer.history[: trial.id] if t.params["batch"] == 0.9)


def test_minimize_holds_them_and_uses_what_a_store_knows(tmp_path):
    path = tmp_path / "run.db"
    first = dale.minimize(bowl, PLANE, budget=14, seed=0, fixed={"batch": 0.2}, store=path)
    assert {t.params["batch"] for t in first.history} == {0.2}
    assert first.fun == pytest.approx(0.2, abs=1e-6)
    second = dale.minimize(bowl, PLANE, budget=20, seed=0, fixed={"batch": 0.5}, store=path)
    assert second.params["batch"] == 0.5
    assert second.fun == pytest.approx(0.5, abs=1e-3)


def test_a_resumed_run_continues_bit_for_bit(tmp_path):
    whole = alternate(PLANE, bowl, SPACES["float"][1], 14)
    path = tmp_path / "run.db"
    with dale.Optimizer(PLANE, seed=0, store=path) as part:
        for trial in whole.history[:9]:
            asked = part.ask(fixed={"batch": trial.params["batch"]})
            part.tell(asked, bowl(asked.params))
    with dale.Optimizer(PLANE, store=path) as resumed:
        for trial in whole.history[9:]:
            asked = resumed.ask(fixed={"batch": trial.params["batch"]})
            assert asked.params == trial.params
            resumed.tell(asked, bowl(asked.params))


def test_an_interrupted_run_returns_what_is_pending_there_and_then_continues_bit_for_bit(tmp_path):
    path, n = tmp_path / "run.db", []

    def interrupted(p):
        n.append(p)
        if len(n) == 7:
            raise KeyboardInterrupt
        return bowl(p)

    options = {"budget": 12, "seed": 0, "fixed": {"batch": 0.3}}
    whole = dale.minimize(bowl, PLANE, **options)
    dale.minimize(interrupted, PLANE, store=path, **options)
    resumed = dale.minimize(bowl, PLANE, store=path, **options)
    assert [t.params for t in resumed.history] == [t.params for t in whole.history]


def test_a_transient_failure_is_retried_where_it_was():
    optimizer = dale.Optimizer(PLANE, seed=0)
    trial = optimizer.ask(fixed={"batch": 0.3})
    optimizer.fail(trial, "power failure", retry=True)
    assert optimizer.ask(fixed={"batch": 0.8}).params["batch"] == 0.8
    again = optimizer.ask(fixed={"batch": 0.3})
    assert (again.reason.retry_of, again.params) == (trial.id, trial.params)


def test_the_values_that_are_held_are_a_copy():
    optimizer, values = alternate(PLANE, bowl, [{"batch": 0.5}], 6), {"batch": 0.5}
    optimizer.hold(values)
    values["batch"] = 99
    optimizer.tell(optimizer.ask(), 1.0)
    assert optimizer.ask().params["batch"] == 0.5


def test_a_held_parameter_on_its_bound_is_no_limit():
    optimizer = alternate(PLANE, bowl, [{"batch": 1.0}], 14).hold({"batch": 1.0})
    assert "upper bound of batch" not in str(optimizer.result())


def test_a_batch_and_a_list_of_pending_trials():
    optimizer = dale.Optimizer(PLANE, seed=0)
    for _ in range(3):
        trials = optimizer.ask(4, fixed={"batch": 0.3})
        assert len({t.unit_x.tobytes() for t in trials}) == 4
        for trial in trials:
            assert trial.params["batch"] == 0.3
            optimizer.tell(trial, bowl(trial.params))
    assert optimizer.best_value < 0.5


def test_outcome_constraints_and_noise():
    optimizer = dale.Optimizer(PLANE, seed=0)
    for k in range(24):
        trial = optimizer.ask(fixed={"batch": (0.2, 0.8)[k % 2]})
        optimizer.tell(trial, bowl(trial.params), constraints=[trial.params["x"] - 0.5])
    optimizer.hold({"batch": 0.8})
    assert optimizer.best_value == pytest.approx(0.8 + 0.09, abs=0.02)
    rng = np.random.default_rng(0)
    noisy = alternate(PLANE, lambda p: bowl(p) + 0.1 * rng.standard_normal(), [{"batch": 0.2}], 20, noise=0.1)
    assert noisy.best_value < 0.6


def test_a_finite_slice_is_exhausted_and_others_are_not():
    space = dale.Space(n=dale.Int(1, 4), c=dale.Choice(["a", "b"]))
    optimizer = dale.Optimizer(space, seed=0)
    for _ in range(5):  # the last one is a replicate, to test for noise
        trial = optimizer.ask(fixed={"c": "a"})
        optimizer.tell(trial, trial.params["n"])
    assert (trial.reason.source, trial.params) == (Source.REPLICATE, {"n": 1, "c": "a"})
    with pytest.raises(dale.SpaceExhausted, match="all 4 points"):
        optimizer.ask(fixed={"c": "a"})
    assert optimizer.ask(fixed={"c": "b"}).params["c"] == "b"
    assert len(optimizer.ask(9)) == 3
    result = dale.minimize(lambda p: p["n"], space, budget=20, seed=0, fixed={"c": "b"})
    assert (result.status, result.nfev) == (dale.Status.SPACE_EXHAUSTED, 5)


def test_many_points_of_a_large_finite_slice():
    space = dale.Space(a=dale.Int(0, 99), b=dale.Int(0, 99), c=dale.Int(0, 5))
    optimizer = alternate(space, lambda p: (p["a"] - 50) ** 2 + (p["b"] - 20) ** 2, [{"c": 2}], 30)
    assert len({t.unit_x.tobytes() for t in optimizer.history}) == 30


class TestErrors:
    def ask(self, fixed, space=PLANE, **options):
        optimizer = dale.Optimizer(space, seed=0, **options)
        try:
            return optimizer.ask(fixed=fixed)
        finally:
            assert optimizer.history == ()

    def test_names_and_values(self):
        with pytest.raises(dale.SpaceError, match="expected names out of 'x', 'y', 'batch', got 'bach'"):
            self.ask({"bach": 1})
        with pytest.raises(dale.SpaceError, match="batch"):
            self.ask({"batch": 2.0})
        for fixed in ([0.1], {}, "batch"):
            with pytest.raises(TypeError, match="expected the values of some parameters by name"):
                self.ask(fixed)
        with pytest.raises(dale.SpaceError, match=r"got all of them; use ask\(at=\.\.\.\)"):
            self.ask({"x": 0.0, "y": 0.0, "batch": 0.0})

    def test_what_cannot_be_held(self):
        space, _ = SPACES["conditional"]
        with pytest.raises(dale.SpaceError, match="'degree' is conditional"):
            self.ask({"degree": 3}, space)
        with pytest.raises(dale.SpaceError, match="cannot be held under input constraints"):
            self.ask({"batch": 0.5}, constraints=["x + y <= 1"])
        with pytest.raises(TypeError, match="cannot hold parameters"):
            self.ask({"batch": 0.5}, method=dale.methods.paper())

    def test_a_whole_point_besides(self):
        with pytest.raises(ValueError, match="at is one whole point"):
            dale.Optimizer(PLANE).ask(at={"x": 0, "y": 0, "batch": 0}, fixed={"batch": 0})

    def test_minimize(self, tmp_path):
        with pytest.raises(dale.SpaceError, match="got 'bach'"):
            dale.minimize(bowl, PLANE, budget=5, fixed={"bach": 1}, store=tmp_path / "run.db")
        assert list(tmp_path.iterdir()) == []


# --- what a user sees of a run with held values ---


@pytest.fixture(scope="module")
def contexts():
    """A run with two values of ``batch``, of which one is held now."""
    return alternate(PLANE, bowl, [{"batch": 0.1}, {"batch": 0.9}], 24).hold({"batch": 0.9})


def test_views_show_the_trials_with_the_held_values(contexts):
    own = [t for t in contexts.history if t.params["batch"] == 0.9]
    data = convergence_data(contexts)
    assert data.trial.tolist() == [t.id for t in own]
    assert data.best[-1] == contexts.best_value == min(t.value for t in own)
    assert all(t.params["batch"] == 0.9 for t in (contexts.history[i] for i in parallel_data(contexts).trial))
    assert {data.axis.name for data in slice_data(contexts)} == {"x", "y"}
    assert slice_data(contexts, params=["batch"])[0].axis.name == "batch"  # if it is asked for
    assert {axis.name for axis in parallel_data(contexts).axes} == {"x", "y"}
    assert set(calibration_data(contexts).trial) <= {t.id for t in own}
    copied = copy.deepcopy(contexts.result())
    assert convergence_data(copied).trial.tolist() == data.trial.tolist()


def test_importance_and_directions_are_those_of_the_slice(contexts):
    importance = importance_data(contexts)
    assert importance.names == ("x", "y")
    assert np.sum(importance.main) + importance.pairs[0, 1] == pytest.approx(1, abs=1e-6)
    directions = directions_data(contexts)
    assert directions.names == ("x", "y")
    H = np.array([[2 + 6 * 0.09, -6 * 0.3], [-6 * 0.3, 6]]) * np.outer([4, 2], [4, 2])  # in the unit cube
    assert directions.eigenvalues == pytest.approx(np.linalg.eigvalsh(H)[::-1], rel=0.1)


def test_sobol_indices_of_a_slice_agree_with_a_model_of_the_slice(contexts):
    """In closed form, and by sampling."""
    view = view_of(contexts)
    held, model = view.snapshot.domain.held, view.surrogate
    exact, sampled = (indices(model, PLANE, held) for indices in (_in_closed_form, _by_sampling))
    assert exact.total == pytest.approx(sampled.total, abs=0.02)
    assert exact.total[2] == pytest.approx(0, abs=1e-9)


def test_partial_dependence_is_averaged_over_the_slice(contexts):
    (one, _) = corner_data(contexts).single
    y = np.linspace(-1, 1, 201)
    at = one.axis.values[30]
    average = np.mean([bowl({"x": at, "y": v, "batch": 0.9}) for v in y])
    assert one.mean[30] == pytest.approx(average, abs=0.1)


def test_the_page_marks_trials_with_other_values(contexts, tmp_path):
    text = dale.report(contexts, tmp_path / "page.html").read_text()
    data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)[1])
    elsewhere = [t.id for t in contexts.history if t.params["batch"] != 0.9]
    assert data["trials"]["elsewhere"] == elsewhere
    assert [p["varies"] for p in data["params"]] == [True, True, False]
    assert ["Held", "batch = 0.9"] in data["facts"]
    assert "held        batch=0.9" in str(contexts.result())


def test_a_budget_that_was_spent_at_other_values(tmp_path):
    path = tmp_path / "run.db"
    dale.minimize(bowl, PLANE, budget=4, seed=0, fixed={"batch": 0.1}, store=path)
    result = dale.minimize(bowl, PLANE, budget=4, seed=0, fixed={"batch": 0.7}, store=path)
    assert (result.success, result.status, result.x) == (False, dale.Status.NO_VALUE, None)
    assert result.message == (
        "No evaluation with the held values batch = 0.7 has returned a finite value; those with other values have. "
        "The budget is spent: all evaluations in the store count towards it"
    )


def test_the_message_of_a_slice_that_is_exhausted():
    space = dale.Space(n=dale.Int(1, 3), kind=dale.Choice(["p", "q"]))
    optimizer = dale.Optimizer(space, seed=0)
    assert len(optimizer.ask(5, fixed={"kind": "q"})) == 3
    expected = r"all 3 points of the space with the held values kind = 'q' have been proposed; .*or hold other values"
    with pytest.raises(dale.SpaceExhausted, match=expected):
        optimizer.ask(fixed={"kind": "q"})
    result = dale.minimize(lambda p: p["n"], space, budget=9, seed=0, fixed={"kind": "q"})
    assert result.message == "Every point of the space with the held values kind = 'q' has been evaluated"
