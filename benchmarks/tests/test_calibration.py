"""The standardised errors of local steps, and their histogram."""

import numpy as np
import pytest

import dale
from dale.cli.main import main
from dale_bench.ablation import VARIANTS
from dale_bench.calibration import errors_of_runs, histogram, standardised_errors
from dale_bench.functions import get


def test_errors_are_those_of_the_steps_in_units_of_their_std():
    function = get("branin")
    optimizer = dale.Optimizer(function.bounds, seed=0)
    for _ in range(15):
        trial = optimizer.ask()
        optimizer.tell(trial, function.fun(trial.x))
    optimizer.fail(optimizer.ask(), "no value")
    steps = [t for t in optimizer.history if t.reason.step is not None and t.value is not None]
    errors = standardised_errors(optimizer.history)
    assert len(errors) == len(steps) > 3
    k = len(steps) - 1
    assert errors[k] * steps[k].reason.std == pytest.approx(steps[k].value - steps[k].reason.mean, rel=1e-12)


def test_runs_in_processes_give_the_errors_of_all_of_them():
    names = ["branin:moved:rotated", "hart3:moved:rotated"]
    both = errors_of_runs(names, 1, jobs=2)
    apart = [errors_of_runs([name], 1, jobs=1) for name in names]
    np.testing.assert_array_equal(both, np.concatenate(apart))


@pytest.mark.slow
def test_calibrated_predictions_are_right_more_often():
    names = ["ackley5:moved:rotated", "griewank4:moved:rotated"]
    calibrated, other = (errors_of_runs(names, 1, method) for method in (None, VARIANTS["not-calibrated"]()))
    assert np.mean(np.abs(calibrated) < 2) > np.mean(np.abs(other) < 2) + 0.1


def test_the_histogram_of_normal_errors_is_normal():
    lines = histogram(np.random.default_rng(0).normal(size=100_000)).splitlines()
    for line in lines[3:13]:
        share, normal = map(float, line.split()[2:4])
        assert share == pytest.approx(normal, abs=0.005)
    assert "0.68" in lines[-1].split("(")[0]
    assert histogram(np.zeros(0))


def test_the_command(capsys):
    assert main(["bench", "calibration", "--functions", "branin", "--seeds", "1", "--jobs", "1"]) == 0
    assert "local steps" in capsys.readouterr().out
