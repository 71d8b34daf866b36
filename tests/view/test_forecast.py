"""Expected gains of the next evaluations: right where the truth is known, and never more than is possible."""

import math

import numpy as np
import pytest
import zoo

import dale
from dale.view import forecast
from dale.view.advice import advice
from dale.view.forecast import RATE, SIZE, STEPS, Outlook


def with_values(fun, X):
    optimizer = dale.Optimizer([(-1, 1)] * X.shape[1], seed=0)
    optimizer.add_all([{**{f"x{i}": v for i, v in enumerate(x)}, "value": fun(x)} for x in X.tolist()])
    return optimizer


class TestLocal:
    def test_the_reduction_within_reach_of_a_quadratic(self):
        """A quadratic with its minimum within reach: the whole difference to it, times that of n steps."""
        X = np.random.default_rng(0).uniform(-1, 1, (30, 2))
        best = X[np.argmin(np.sum((X - 0.1) ** 2, axis=1))]
        bottom = best + 1e-3
        optimizer = with_values(lambda x: float(np.sum((x - bottom) ** 2)), X)
        found = optimizer.forecast(10)
        assert found.local == pytest.approx(STEPS * math.log(11) * 2e-6, rel=1e-3)

    def test_no_more_than_the_range_of_the_values_makes_credible(self):
        X = np.random.default_rng(0).uniform(-1, 1, (30, 2))
        optimizer = with_values(lambda x: float(1e3 * x[0] - x[1]), X)
        values = np.array([t.value for t in optimizer.history])
        width = np.quantile(values, 0.75) - values.min()
        assert 0 < optimizer.forecast(10).local < STEPS * math.log(11) * width / 4

    def test_none_at_a_converged_minimum(self):
        result = dale.minimize(lambda x: (x[0] - 1) ** 2 + 3 * x[1] ** 2, [(-2, 2)] * 2, budget=24, seed=0)
        assert result.forecast(50).local == 0.0

    def test_none_beyond_a_bound(self):
        result = dale.minimize(lambda x: x[0] + x[1] ** 2, [(0, 1), (-1, 1)], budget=24, seed=0)
        assert result.x[0] == 0
        assert result.forecast(10).local == 0.0

    def test_none_where_constraints_forbid_it(self):
        """The objective falls on beyond an active constraint, by 4 per unit; models know where that is up to 0.01."""
        fall = {"budget": 30, "seed": 0}
        free = dale.minimize(lambda x: (x[0] + x[1] - 3) ** 2, [(0, 1)] * 2, **fall)
        assert free.fun == 1.0
        result = dale.minimize(
            lambda x: dale.Evaluation((x[0] + x[1] - 3) ** 2, constraints=[x[0] + x[1] - 1]), [(0, 1)] * 2, **fall
        )
        assert result.forecast(10).local < 0.05
        allowed = dale.minimize(
            lambda x: (x[0] + x[1] - 3) ** 2, [(0, 1)] * 2, constraints=[lambda x: x[0] + x[1] <= 1], budget=15, seed=0
        )
        assert allowed.forecast(10).local < 0.01

    def test_more_evaluations_gain_more(self):
        result = dale.minimize(
            lambda x: 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2, [(-2, 2)] * 2, budget=20, seed=0
        )
        gains = [result.forecast(n) for n in (1, 10, 50)]
        assert gains[0].local < gains[1].local < gains[2].local
        assert gains[0].chance < gains[1].chance < gains[2].chance


class TestElsewhere:
    def test_the_chance_falls_with_the_evaluations_that_were_no_steps(self):
        for n_added in (10, 100):
            X = np.random.default_rng(0).uniform(-1, 1, (n_added, 2))
            found = with_values(lambda x: float(np.sum(np.square(x))), X).forecast(5)
            assert found.chance == pytest.approx(1 - (1 + 5 / n_added) ** -RATE, rel=1e-12)

    def test_the_gain_is_the_local_one_and_that_of_a_better_basin(self):
        optimizer = with_values(lambda x: float(np.sum(np.square(x))), np.random.default_rng(0).uniform(-1, 1, (40, 2)))
        values = np.array([t.value for t in optimizer.history])
        found = optimizer.forecast(10)
        width = np.quantile(values, 0.75) - values.min()
        assert found.gain == pytest.approx(found.local + found.chance * SIZE * width, rel=1e-12)


class TestKindsOfRuns:
    @pytest.mark.parametrize("kind", zoo.SPACES)
    def test_every_kind_has_a_finite_forecast(self, kind):
        run = zoo.run(kind)
        found = forecast(run, 10)
        assert 0 <= found.local <= found.gain < np.ptp(run.func_vals)
        assert 0 < found.chance < 1

    def test_an_exhausted_space_has_nothing_left(self):
        optimizer = dale.Optimizer(dale.Space(n=dale.Int(1, 6)), seed=0)
        for _ in range(6):
            trial = optimizer.ask()
            optimizer.tell(trial, trial.params["n"] ** 2)
        assert optimizer.forecast(10).gain == 0
        assert not [item for item in advice(optimizer) if isinstance(item, Outlook)]

    def test_a_plateau_promises_nothing(self):
        optimizer = with_values(lambda x: 1.0, np.random.default_rng(0).uniform(-1, 1, (12, 2)))
        assert optimizer.forecast(10).gain == 0

    def test_the_same_run_has_the_same_forecast(self, tmp_path):
        path = tmp_path / "run.db"
        result = dale.minimize(lambda x: np.sin(3 * x[0]) + x[0] ** 2, [(-2, 2)], budget=12, seed=0, store=path)
        assert forecast(path, 10) == result.forecast(10) == forecast(dale.open(path), 10)


class TestTexts:
    def test_a_forecast_is_a_sentence(self):
        result = dale.minimize(lambda x: np.sin(3 * x[0]) + x[0] ** 2, [(-2, 2)], budget=8, seed=0)
        assert str(result.forecast(1)).startswith("The next evaluation is expected to gain ")
        assert "10 evaluations are" in str(result.forecast(10))

    def test_the_outlook_is_part_of_what_a_result_says(self):
        result = dale.minimize(lambda x: (x[0] - 0.3) ** 2, [(-2, 2)], budget=10, seed=0)
        (line,) = [line for line in str(result).splitlines() if "expected to gain" in line]
        assert line.startswith("outlook     The next 10 (50) evaluations are expected to gain nothing (nothing) near")
        assert "chance of a better basin elsewhere" in dale.view.summary(result)


class TestErrors:
    @pytest.mark.parametrize("n", [0, -3, 1.5, True, "10"])
    def test_the_number_of_evaluations(self, n):
        run = zoo.run("float")
        with pytest.raises((TypeError, ValueError), match=f"n must be a positive integer, got {n!r}"):
            run.forecast(n)

    def test_too_few_values(self):
        optimizer = dale.Optimizer([(0, 1)] * 2, seed=0)
        optimizer.add([0.5, 0.5], 1.0)
        with pytest.raises(ValueError, match="needs 4 values, got 1 values; evaluate more points first"):
            optimizer.forecast(10)
        assert "expected to gain" not in str(optimizer.result())

    def test_no_feasible_value(self):
        optimizer = dale.Optimizer([(0, 1)], seed=0)
        for _ in range(5):
            optimizer.tell(optimizer.ask(), 1.0, constraints=[1.0])
        with pytest.raises(ValueError, match="needs a feasible value"):
            optimizer.forecast(10)
