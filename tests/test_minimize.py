"""``minimize``: how a run ends, failed evaluations, and what it returns."""

import doctest
import sys

import numpy as np
import pytest
from scipy.optimize import Bounds, OptimizeResult

import dale
import dale.minimize
from dale.history.trial import TrialState

BOX = [(-2, 2), (-2, 2)]


def bowl(x):
    return float((x[0] - 1) ** 2 + 2 * (x[1] + 0.5) ** 2)


def test_docstring_example():
    results = doctest.testmod(sys.modules["dale.minimize"])
    assert results.attempted > 0
    assert results.failed == 0


@pytest.mark.parametrize("space", [BOX, np.array(BOX), Bounds([-2, -2], [2, 2]), Bounds(-2, [2, 2])])
def test_spaces_as_scipy_takes_them(space):
    result = dale.minimize(bowl, space, budget=6, seed=0)
    assert isinstance(result, OptimizeResult)
    assert result.x.shape == (2,)
    assert result.nfev == 6
    assert (result.success, result.status) == (True, 0)
    assert result.fun == bowl(result.x)


def test_named_parameters():
    result = dale.minimize(lambda p: p["a"] ** 2 + p["b"], {"a": (-1, 1), "b": (0, 1)}, budget=5, seed=0)
    assert set(result.params) == {"a", "b"}


@pytest.mark.parametrize(("n_seeds", "n_found"), [(1, 1), pytest.param(5, 4, marks=pytest.mark.slow)])
def test_a_mixed_space(n_seeds, n_found):
    """A separable function of a float, an integer and an option: four of five seeds solve it in 60 evaluations."""
    space = {
        "rate": dale.Float(1e-5, 1e-1, log=True),
        "depth": dale.Int(1, 12),
        "act": dale.Choice(["relu", "gelu", None]),
    }

    def loss(p):
        off = {"relu": 0.5, "gelu": 0, None: 1}[p["act"]]
        return (np.log10(p["rate"]) + 3) ** 2 + 0.1 * (p["depth"] - 7) ** 2 + off

    results = [dale.minimize(loss, space, budget=60, seed=seed) for seed in range(n_seeds)]
    found = [r.params for r in results if r.fun < 1e-6]
    assert len(found) >= n_found
    assert all((p["depth"], p["act"]) == (7, "gelu") for p in found)
    assert [p["rate"] for p in found] == pytest.approx([1e-3] * len(found), rel=1e-2)


def test_a_finite_space_ends_the_run():
    calls = []

    def fun(p):
        calls.append((p["a"], p["b"]))
        return p["a"] + len(p["b"])

    result = dale.minimize(fun, {"a": dale.Int(1, 4), "b": dale.Choice(["", "xx", "yyy"])}, budget=50, seed=0)
    assert (result.status, result.success) == (4, True)
    assert result.message == "Every point of the space has been evaluated"
    assert len(set(calls[:12])) == 12
    assert calls[12:] == [(1, "")]  # the best point again, to test for noise
    assert result.nfev == 13
    assert result.params == {"a": 1, "b": ""}
    assert "Every point of the space has been evaluated after 13 evaluations" in str(result)


def test_a_finite_space_where_all_evaluations_fail():
    result = dale.minimize(lambda x: np.nan, [dale.Int(0, 1)], budget=5, seed=0)
    assert (result.status, result.success, result.nfev) == (3, False, 2)


def test_the_target_stops_the_run():
    result = dale.minimize(bowl, BOX, budget=50, seed=0, target=1e-6)
    assert result.nfev < 20
    assert result.fun <= 1e-6
    assert (result.status, result.message, result.success) == (1, "The target is reached", True)


def test_the_time_limit_stops_the_run(monkeypatch):
    """No point is proposed after it, but a running evaluation completes."""
    clock = [100.0]
    for module in ("dale.minimize", "dale._loop"):
        monkeypatch.setattr(sys.modules[module], "monotonic", lambda: clock[0])

    def slow(x):
        clock[0] += 3.0
        return bowl(x)

    result = dale.minimize(slow, BOX, budget=50, seed=0, time_limit=10)
    assert result.nfev == 4
    assert (result.status, result.message, result.success) == (5, "The time limit is reached", True)
    assert dale.minimize(slow, BOX, budget=4, seed=0, time_limit=12).status == 0


def test_the_callback_gets_the_result_and_may_stop():
    seen = []

    def callback(intermediate_result):
        seen.append(intermediate_result.fun)
        if len(seen) == 4:
            raise StopIteration

    result = dale.minimize(bowl, BOX, budget=50, seed=0, callback=callback)
    assert result.nfev == 4
    assert seen == list(np.minimum.accumulate(result.func_vals))
    assert (result.status, result.success) == (2, False)


def test_ctrl_c_returns_the_best_so_far():
    calls = []

    def interrupted(x):
        calls.append(x)
        if len(calls) == 5:
            raise KeyboardInterrupt
        return bowl(x)

    result = dale.minimize(interrupted, BOX, budget=50, seed=0)
    assert result.nfev == 4
    assert result.fun == min(result.func_vals)
    assert (result.status, result.message) == (dale.Status.INTERRUPTED, "Interrupted")


def test_an_added_value_may_reach_the_target():
    result = dale.minimize(bowl, BOX, budget=10, seed=0, x0=[[1, 1], [0, 0]], y0=[1.0, -2.0], target=0)
    assert (result.nfev, result.status, result.fun) == (0, 1, -2.0)


@pytest.mark.parametrize(
    "bad", [np.nan, np.inf, None, np.array([np.nan]), np.array(np.inf), "1.0", 1j, [], [1.0, 2.0], "raise"]
)
def test_failed_evaluations_do_not_end_the_run(bad):
    calls = []

    def sometimes_fails(x):
        calls.append(x)
        if len(calls) % 3 == 0:
            if isinstance(bad, str) and bad == "raise":
                raise RuntimeError("solver diverged")
            return bad
        return bowl(x)

    result = dale.minimize(sometimes_fails, BOX, budget=12, seed=0)
    failed = [t for t in result.history if t.state is TrialState.FAILED]
    assert len(failed) == 4
    text = "solver diverged" if isinstance(bad, str) and bad == "raise" else f"returned {bad!r}"
    assert all(text in t.error for t in failed)
    assert len(result.func_vals) == 8


def test_all_failed():
    result = dale.minimize(lambda x: np.nan, BOX, budget=5, seed=0)
    assert (result.x, result.status, result.success) == (None, 3, False)
    assert result.nfev == 5
    assert "the last error: the objective returned nan" in result.message


def test_a_transient_failure_is_retried():
    calls = []

    def flaky(x):
        calls.append(tuple(x))
        if len(calls) in (2, 5, 6):
            raise dale.Retry("the node died")
        return bowl(x)

    result = dale.minimize(flaky, BOX, budget=12, seed=0)
    assert calls[1] == calls[2]
    assert calls[4] == calls[5] == calls[6]
    assert result.nfev == len(calls) == 12
    assert len(set(calls)) == len(result.func_vals) == 9
    failed = [t for t in result.history if t.retry]
    assert [t.id for t in failed] == [1, 4, 5]
    assert all("Retry: the node died" in t.error for t in failed)


def test_transient_failures_without_end_spend_the_budget():
    def always_fails(x):
        raise dale.Retry("no licence")

    result = dale.minimize(always_fails, BOX, budget=4, seed=0)
    assert (result.nfev, result.status, result.success) == (4, 3, False)
    assert str(result).startswith(
        "No evaluation has returned a finite value (the last error: dale.errors.Retry: no licen"
    )


def test_a_typo_in_the_objective_ends_the_run():
    calls = []
    with pytest.raises(NameError, match="name 'undefined_name' is not defined"):
        dale.minimize(lambda x: calls.append(1) or undefined_name, BOX, budget=40, seed=0)  # noqa: F821
    assert len(calls) == 5


def test_the_objective_cannot_change_the_history():
    def modifies_its_argument(x):
        value = bowl(x)
        x[:] = 99
        return value

    result = dale.minimize(modifies_its_argument, BOX, budget=5, seed=0)
    assert np.all(np.abs(result.x_iters) <= 2)


def test_the_result_has_the_seed():
    one = dale.minimize(bowl, BOX, budget=5)
    two = dale.minimize(bowl, BOX, budget=5, seed=one.seed)
    assert one.x_iters.tolist() == two.x_iters.tolist()


class WithoutRepr:
    def __repr__(self):
        raise RuntimeError("no repr")


@pytest.mark.parametrize("value", ["x" * 10**6, [0.5] * 10**6, WithoutRepr()], ids=["text", "list", "without repr"])
def test_errors_about_long_or_unprintable_values_are_short(value):
    calls = []

    def fun(x):
        calls.append(1)
        return value if len(calls) == 3 else bowl(x)

    result = dale.minimize(fun, BOX, budget=4, seed=0)
    assert [t.error is None for t in result.history] == [True, True, False, True]
    assert result.history[2].error.startswith("the objective returned ")
    assert len(result.history[2].error) < 1100


@pytest.mark.parametrize("values", [[1.0, 2.0], (1.0, 2.0, 3.0), np.ones(2), np.ones((1, 2)), {"loss": 1.0, "time": 2}])
class TestSeveralObjectives:
    MESSAGE = (
        r"must be one real number, got .*; dale minimises one objective: .* weighted sum, or use Optuna or BoTorch"
    )

    def test_the_first_evaluation_raises(self, values):
        """With and without added values."""
        for known in ({}, {"x0": [[1, 1], [0, 0]], "y0": [4.5, 1.5]}):
            calls = []
            with pytest.raises(TypeError, match=self.MESSAGE):
                dale.minimize(lambda x, calls=calls: calls.append(1) or values, BOX, budget=5, **known)
            assert len(calls) == 1

    def test_a_later_evaluation_fails_its_trial(self, values):
        calls = []

        def fun(x):
            calls.append(1)
            return values if len(calls) == 3 else bowl(x)

        result = dale.minimize(fun, BOX, budget=5, seed=0)
        assert result.history[2].error == f"the objective returned {values!r}"
        assert len(result.func_vals) == 4

    def test_tell_and_add_raise(self, values):
        optimizer = dale.Optimizer(BOX, seed=0)
        trial = optimizer.ask()
        with pytest.raises(TypeError, match=self.MESSAGE):
            optimizer.tell(trial, values)
        with pytest.raises(TypeError, match=self.MESSAGE):
            optimizer.add([0, 0], values)
        assert [t.state for t in optimizer.history] == [TrialState.PENDING]


def test_progress_is_silent_unless_requested(capsys):
    dale.minimize(bowl, BOX, budget=4, seed=0)
    assert capsys.readouterr().err == ""
    dale.minimize(bowl, BOX, budget=4, seed=0, progress=True)
    assert "4/4" in capsys.readouterr().err
