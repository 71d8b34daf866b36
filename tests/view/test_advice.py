"""Advice with numbers: they are right where the truth is known, and there is none where none is due."""

import numpy as np
import pytest
import zoo

import dale
from dale.history.reason import Source
from dale.view import advice
from dale.view.advice import ConstraintActivity, Failures, FlatterMinimum, Irrelevant, Noise, OnBound
from hostile import bowl
from noisy_runs import rough


def of_kind(run, kind):
    return [item for item in advice(run) if isinstance(item, kind)]


class TestOnBound:
    def test_the_gain_beyond_it_is_that_of_the_objective(self):
        run = dale.minimize(lambda x: (x[0] - 3) ** 2 + x[1] ** 2, [(-2, 2), (-1, 1)], budget=20, seed=0)
        (item,) = of_kind(run, OnBound)
        assert (item.name, item.value, item.side, item.beyond) == ("x0", 2.0, "upper", pytest.approx(2.4))
        assert item.gain == pytest.approx(1 - 0.6**2, abs=1e-3)
        assert "upper bound of x0, 2; at 2.4 the local model expects a value lower by 0.64" in str(run)

    def test_of_an_integer_it_is_the_next_one(self):
        space = dale.Space(n=dale.Int(0, 8), x=(-1.0, 1.0))
        run = dale.minimize(lambda p: (p["n"] + 2) ** 2 / 10 + p["x"] ** 2, space, budget=24, seed=0)
        (item,) = of_kind(run, OnBound)
        assert (item.name, item.side, item.beyond) == ("n", "lower", -1.0)
        assert item.gain == pytest.approx(0.3, abs=0.02)

    def test_on_a_logarithmic_scale_it_is_a_factor(self):
        space = dale.Space(rate=dale.Float(1e-3, 1.0, log=True))
        run = dale.minimize(lambda p: (np.log10(p["rate"]) + 4) ** 2, space, budget=12, seed=0)
        (item,) = of_kind(run, OnBound)
        assert item.beyond == pytest.approx(10**-3.3)
        assert item.gain == pytest.approx(1 - 0.7**2, abs=1e-3)

    def test_a_minimum_on_a_bound_that_is_no_limit(self):
        run = dale.minimize(lambda x: x[0] ** 2, [(0, 2)], budget=12, seed=0)
        assert run.x[0] == 0
        assert of_kind(run, OnBound) == []

    @pytest.mark.parametrize("kind", ["float", "failed", "input constraints"])
    def test_none_inside(self, kind):
        assert of_kind(zoo.run(kind), OnBound) == []


def with_values(fun, n=17):
    """A run with known values on a grid."""
    optimizer = dale.Optimizer([(0, 1), (0, 1)], seed=0)
    grid = [(float(a), float(b)) for a in np.linspace(0, 1, n) for b in np.linspace(0, 1, n)]
    optimizer.add_all([{"x0": a, "x1": b, "value": fun(a, b)} for a, b in grid])
    return optimizer.result()


class TestFlatterMinimum:
    def test_its_cost_and_drift(self):
        def fun(a, b):  # curvatures 80 and 5: four times the drift
            sharp = 40 * ((a - 0.25) ** 2 + (b - 0.25) ** 2)
            return min(sharp, 0.01 + 2.5 * ((a - 0.75) ** 2 + (b - 0.75) ** 2))

        run = with_values(fun)
        assert len(run.local_minima) == 2
        (item,) = of_kind(run, FlatterMinimum)
        assert item.number == 2
        assert item.cost == pytest.approx(0.01, abs=1e-3)
        assert item.drift == pytest.approx(4, rel=0.05)
        assert item.relative_cost == pytest.approx(0.01 / np.ptp(run.func_vals), rel=0.1)
        assert "Minimum 2 costs 0.01" in str(run)

    def test_a_costly_one_is_not_worth_a_word(self):
        def fun(a, b):
            return min(40 * ((a - 0.25) ** 2 + (b - 0.25) ** 2), 0.8 + 2.5 * ((a - 0.75) ** 2 + (b - 0.75) ** 2))

        assert of_kind(with_values(fun), FlatterMinimum) == []


def test_parameters_that_do_not_matter():
    run = dale.minimize(lambda x: (x[0] - 0.5) ** 2 + 1e-4 * x[1], [(0, 1)] * 3, budget=24, seed=0)
    (item,) = of_kind(run, Irrelevant)
    assert item.names == ("x1", "x2")
    assert item.share < 0.01
    assert item.change < 1e-3
    assert of_kind(zoo.run("float"), Irrelevant) == []


def test_a_parameter_that_matters_only_near_the_best_point():
    run = dale.minimize(lambda x: 100 * (x[0] - 0.5) ** 2 + x[1] ** 2, [(-1, 1)] * 2, budget=20, seed=0)
    assert of_kind(run, Irrelevant) == []


def test_failures_noise_and_constraints_have_one_line_each():
    failed = zoo.run("failed")
    (failures,) = of_kind(failed, Failures)
    n = sum(t.error is not None for t in failed.history)
    assert (failures.n, failures.n_evaluated, failures.count) == (n, 22, n)
    assert failures.error.startswith("ValueError: diverged")
    (noise,) = of_kind(zoo.run("noisy"), Noise)
    assert noise.std == pytest.approx(0.1)
    assert 0 < noise.best_std < 0.1
    (constraints,) = of_kind(zoo.run("constrained"), ConstraintActivity)
    infeasible = sum(not t.feasible for t in zoo.run("constrained").history)
    assert (constraints.n_infeasible, constraints.n, constraints.active) == (infeasible, 20, (0,))
    for item in (failures, noise, constraints):
        assert "\n" not in str(item)


def test_a_run_without_a_value():
    run = dale.minimize(lambda x: float("nan"), [(0, 1)], budget=3, seed=0)
    assert [type(item) for item in advice(run)] == [Failures]
    assert "advice" not in str(run)


def test_without_a_feasible_trial_no_constraint_is_said_to_be_inactive():
    assert str(ConstraintActivity(3, 3, (), (0,))) == "3 of 3 trials violate a constraint."
    assert "none is active" in str(ConstraintActivity(2, 3, (), ()))


def test_rough_values():
    run = dale.minimize(lambda x: bowl(x) + 0.01 * rough(x), [(0, 1)] * 2, budget=45, seed=1)
    (found,) = of_kind(run, Noise)
    assert found.best_std is None
    assert found.std == run.roughness > 0
    assert str(found).startswith(f"Values are exact, but scatter by {run.roughness:.2g} (")
    probe = next(t for t in run.history if t.reason.source is Source.PROBE)
    assert f"(trial {probe.reason.probe_of}, jumps of about {probe.reason.scatter:.2g})" in dale.why(run, probe).reason


def test_specified_noise_without_an_error_of_the_best_value_is_not_roughness():
    """The only feasible point is an outlier, which no model sees."""
    optimizer = dale.Optimizer([(0, 1)] * 2, seed=0, noise=0.1)
    for k in range(20):
        trial = optimizer.ask()
        optimizer.tell(trial, 1e9 if k == 5 else bowl(trial.x), constraints=[-1.0 if k == 5 else 1.0])
    (found,) = of_kind(optimizer.result(), Noise)
    assert found.best_std == optimizer.result().fun_std
    assert str(found).startswith("Values have noise of 0.1 (")
