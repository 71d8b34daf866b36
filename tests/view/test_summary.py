"""The text summary of a result."""

import copy
import re

import numpy as np
import pytest
import zoo

import dale
from dale.history.result import with_std
from dale.view.summary import summary

SPACE = dale.Space(rate=dale.Float(1e-3, 1, log=True), depth=(1.0, 9.0))


@pytest.fixture(scope="module")
def run():
    return dale.minimize(
        lambda p: 3 + np.log10(p["rate"] / 0.1) ** 2 + 0.01 * (p["depth"] - 4) ** 2, SPACE, budget=16, seed=0
    )


def test_says_what_was_found_by_name(run):
    text = summary(run)
    assert "The budget is spent after 16 evaluations (3 initial design, " in text
    assert " local model); " in text
    assert "seed 0" in text
    assert re.search(r"value +3 +found in trial \d+", text)
    assert re.search(r"rate +0\.1(00\d*)?\n", text)
    assert re.search(r"depth +4(\.00\d*)?\n", text)


def test_the_best_noisy_trial_is_that_of_the_result():
    """The lowest posterior mean, not the lowest single value."""
    rng = np.random.default_rng(1)
    result = dale.minimize(lambda x: x[0] ** 2 + 0.3 * rng.standard_normal(), [(-1, 1)], budget=20, seed=0, noise=0.3)
    found = int(re.search(r"found in trial (\d+)", summary(result))[1])
    assert result.history[found].x.tolist() == result.x.tolist()
    assert result.history[found].value > min(result.func_vals)


def test_a_noisy_value_has_its_error():
    result = zoo.detected_noise()
    said = re.search(r"value +(\S+ ± \S+) +found in trial \d+; values there have noise of (\S+)\n", summary(result))
    assert said.groups() == (with_std(result.fun, result.fun_std), f"{result.noise:.2g}")


@pytest.mark.parametrize(
    ("value", "std", "text"),
    [
        (0.0209937, 0.0, "0.0209937"),
        (0.0209937, 0.0131, "0.021 ± 0.013"),
        (-123.456789, 1e-9, "-123.457 ± 1e-09"),
        (0.001, 20.0, "0.001 ± 20"),
        (0.0, 0.5, "0 ± 0.5"),
        (1e300, 5e-324, "1e+300 ± 4.9e-324"),
        (5e-324, 1e300, "5e-324 ± 1e+300"),
    ],
)
def test_a_value_has_the_digits_of_its_error(value, std, text):
    assert with_std(value, std, 6) == text


def test_prints_the_tolerances_of_the_minimum(run):
    text = summary(run)
    assert re.search(r"1\. predicted value 3 ± \S+, converged; basin \S+ times as long as wide", text)
    rise = 0.01 * np.ptp(run.func_vals)
    assert f"rises by {rise:.2g} (1 % of the observed range)" in text
    assert "if the other is adjusted)" in text
    assert f"± {np.sqrt(rise / 0.01):.2g}" in text  # of the depth: 0.01 dx^2 = rise


def test_explains_the_last_proposals(run):
    lines = summary(run, n_explained=3).split("Last trials and why they were proposed\n")[1].splitlines()
    assert len(lines) == 3
    for line, trial in zip(lines, run.history[-3:], strict=True):
        assert line.split()[:2] == ["trial", str(trial.id)]
        assert line.endswith(str(trial.reason))
    assert "Last trials" not in summary(run, n_explained=0)


def test_without_names_coordinates_are_numbered():
    text = summary(dale.minimize(lambda x: float((x[0] - 1) ** 2), [(-2, 2)], budget=8, seed=0))
    assert re.search(r"x0 +1\n", text)
    assert "adjusted" not in text
    assert "basin round" in text


def test_without_local_minima_it_says_so():
    assert "none identified yet: no local model predicts its observations well enough" in summary(
        dale.minimize(lambda x: float(x[0]), [(0, 1), (0, 1)], budget=4, seed=0)
    )


@pytest.mark.parametrize("kind", [dale.Choice(["u", "v"]), dale.Float(0, 1).when(n=1)], ids=["choice", "conditional"])
def test_where_there_never_are_minima_it_says_so(kind):
    space = dale.Space(x=(0, 1), n=dale.Int(0, 1), kind=kind)
    result = dale.minimize(lambda p: p["x"] ** 2, space, budget=8, seed=0)
    for same in (result, copy.copy(result)):
        assert "Local minima\n  none: a model across unordered options" in summary(same)
        assert "yet" not in summary(same)


def test_failures_are_listed():
    def fails(x):
        if x[0] > 0.5:
            raise RuntimeError("too hot")
        return float(x[0])

    text = summary(dale.minimize(fails, [(0, 1)], budget=6, seed=0))
    listed = (
        r"[1-5] of 6 evaluations failed\n  [1-5] x RuntimeError: too hot \(test_summary.py, line \d+\), (the last )?in "
    )
    assert re.search(listed + r"trial \d", text)
    assert re.search(r"\d  failed ", text)


def test_a_run_without_a_value_has_no_best_point():
    text = summary(dale.minimize(lambda x: float("nan"), [(0, 1)], budget=3, seed=0))
    assert text.startswith("No evaluation has returned a finite value (the last error: the objective returned nan)")
    assert "Best point" not in text


def test_before_the_first_evaluation():
    assert "after 0 evaluations" in summary(dale.Optimizer([(0, 1)], seed=0).result())


def test_a_fixed_parameter_has_no_tolerance_and_is_not_counted():
    space = dale.Space(a=dale.Float(-1, 1), b=dale.Float(2, 2), n=dale.Float(0, 3))
    result = dale.minimize(lambda p: (p["a"] - 0.3) ** 2 + (p["n"] - 1) ** 2, space, budget=25, seed=1, progress=False)
    text = summary(result)
    assert "nan" not in text
    assert ["b", "2", "fixed"] in [line.split() for line in text.splitlines()]
    assert "if the other is adjusted" in text


def test_an_outlier_does_not_change_the_tolerances():
    """Otherwise the acceptable rise would be 1 % of 1e12."""

    def fun(x):
        return 1e12 if x[0] == -2 else float((x[0] - 1) ** 2)

    text = summary(dale.minimize(fun, [(-2, 2)], budget=12, seed=0, x0=[[-2]]))
    assert float(re.search(r"rises by (\S+) \(1 %", text)[1]) < 0.1
