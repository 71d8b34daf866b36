"""Forecasts of the next evaluations, compared with what came."""

import numpy as np
import pytest

import dale
from dale.cli.main import main
from dale_bench import forecasts
from dale_bench.forecasts import Outcome, bins_table, outcomes_of_run, parts_table, run_missing
from dale_bench.functions import get


@pytest.fixture
def short(monkeypatch):
    monkeypatch.setattr(forecasts, "AFTER", (8, 12))
    monkeypatch.setattr(forecasts, "HORIZONS", (2, 4))


def test_outcomes_are_what_the_run_gained(short):
    outcomes = outcomes_of_run(("branin:moved", 3))
    assert [(o.after, o.n) for o in outcomes] == [(8, 2), (8, 4), (12, 2), (12, 4)]
    function = get("branin:moved", 3)
    optimizer = dale.Optimizer(function.bounds, seed=3)
    for _ in range(12):
        trial = optimizer.ask()
        optimizer.tell(trial, function.fun(trial.x))
    values = np.array([t.value for t in optimizer.history])
    width = np.quantile(values[:8], 0.75) - values[:8].min()
    assert outcomes[1].came == pytest.approx((values[:8].min() - values.min()) / width, rel=1e-12)
    assert outcomes[1].came >= outcomes[0].came >= outcomes[0].elsewhere >= 0
    forecast = optimizer.forecast(4)
    width = np.quantile(values, 0.75) - values.min()
    assert (outcomes[3].gain, outcomes[3].chance) == (pytest.approx(forecast.gain / width), forecast.chance)


def test_a_better_basin_is_one_found_after_the_forecast(short):
    """An evaluation that is no local step, or a step from one, made later than the forecast."""
    for name, seed in (("schwefel2:moved", 0), ("gp_l01", 1)):
        function, outcomes = get(name, seed), outcomes_of_run((name, seed))
        optimizer = dale.Optimizer(function.bounds, seed=seed)
        for _ in range(16):
            trial = optimizer.ask()
            optimizer.tell(trial, function.fun(trial.x))
        for o in outcomes:
            later = optimizer.history[o.after : o.after + o.n]
            best = min(t.value for t in optimizer.history[: o.after])
            new = {t.id for t in later if t.reason.step is None}
            for t in later:
                if t.reason.step is not None and t.reason.step.center in new:
                    new.add(t.id)
            assert (o.elsewhere > 0) == any(t.value < best for t in later if t.id in new)


def test_runs_that_are_in_the_file_are_not_made_again(short, tmp_path):
    path = tmp_path / "rows.jsonl"
    first = run_missing(["branin"], 1, path, jobs=1)
    assert len(first) == 4
    size = path.stat().st_size
    assert run_missing(["branin"], 1, path, jobs=1) == first
    assert path.stat().st_size == size


def outcome(n, gain, local, chance, came, elsewhere):
    return Outcome("f", 0, 20, n, gain, local, chance, came, elsewhere)


def test_tables():
    outcomes = [
        outcome(10, 0.002, 0.001, 0.25, 0.004, 0.0),
        outcome(10, 0.004, 0.003, 0.75, 0.0, 0.0),
        outcome(10, 0.5, 0.4, 0.5, 0.02, 0.0),
        outcome(50, 0.2, 0.1, 0.5, 0.3, 0.3),
        outcome(50, 0.2, 0.1, 0.5, 0.2, 0.0),
    ]
    assert bins_table(outcomes)[1] == [
        ["10", "0 to 0.01", "2", "0.003", "0.002", "0.002"],
        ["10", "above 0.3", "1", "0.5", "0.02", "0.02"],
        ["50", "0.1 to 0.3", "2", "0.2", "0.25", "0.25"],
    ]
    # the median of 0.25 and 20 over those with a local gain; one of the two is within a factor of ten
    assert parts_table(outcomes)[1] == [
        ["10", "0.500", "0.000", "10.12", "0.50"],
        ["50", "0.500", "0.500", "0.50", "1.00"],
    ]


def test_the_command(short, tmp_path, capsys):
    rows = str(tmp_path / "rows.jsonl")
    assert main(["bench", "forecasts", "--functions", "branin", "--seeds", "1", "--jobs", "1", "--rows", rows]) == 0
    assert "Expected gains" in capsys.readouterr().out
