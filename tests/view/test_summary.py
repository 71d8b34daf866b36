"""The result in words."""

import re

import numpy as np
import pytest

import dale
from dale.view.summary import summary

SPACE = dale.Space(rate=dale.Float(1e-3, 1, log=True), depth=(1.0, 9.0))


@pytest.fixture(scope="module")
def run():
    return dale.minimize(
        lambda p: 3 + np.log10(p["rate"] / 0.1) ** 2 + 0.01 * (p["depth"] - 4) ** 2, SPACE, budget=16, seed=0
    )


def test_says_what_was_found_by_name(run):
    text = summary(run)
    assert "The budget is spent after 16 evaluations (3 initial_design" in text
    assert "seed 0" in text
    assert re.search(r"value +3 +found by evaluation \d+", text)
    assert re.search(r"rate +0\.1(00\d*)?\n", text)
    assert re.search(r"depth +4(\.00\d*)?\n", text)


def test_the_best_of_noisy_values_is_found_where_the_result_says():
    """Not by the luckiest evaluation, whose value is the lowest."""
    rng = np.random.default_rng(1)
    result = dale.minimize(lambda x: x[0] ** 2 + 0.3 * rng.standard_normal(), [(-1, 1)], budget=20, seed=0, noise=0.3)
    found = int(re.search(r"found by evaluation (\d+)", summary(result))[1])
    assert result.history[found - 1].x.tolist() == result.x.tolist()
    assert result.history[found - 1].value > min(result.func_vals)


def test_says_how_sharp_the_minimum_is(run):
    text = summary(run)
    assert re.search(r"1\. 3 ± \S+ predicted, reached: a valley", text)
    rise = 0.01 * np.ptp(run.func_vals)
    assert f"rises by {rise:.2g} (1 % of the range seen)" in text
    assert "if the other follows)" in text
    assert f"± {np.sqrt(rise / 0.01):.2g}" in text  # of the depth: 0.01 dx^2 = rise


def test_explains_the_last_choices(run):
    choices = summary(run, last=3).split("Why the last points were chosen\n")[1].splitlines()
    assert len(choices) == 3
    for line, trial in zip(choices, run.history[-3:], strict=True):
        assert line.split()[0] == str(trial.id + 1)
        assert line.endswith(str(trial.reason))
    assert "Why" not in summary(run, last=0)


def test_without_names_coordinates_are_numbered():
    text = summary(dale.minimize(lambda x: float((x[0] - 1) ** 2), [(-2, 2)], budget=8, seed=0))
    assert re.search(r"x0 +1\n", text)
    assert "follow" not in text
    assert "a round bowl" in text


def test_no_minimum_is_said_to_be_none():
    assert "none yet" in summary(dale.minimize(lambda x: float(x[0]), [(0, 1), (0, 1)], budget=4, seed=0))


def test_failures_are_told():
    def fails(x):
        if x[0] > 0.5:
            raise RuntimeError("too hot")
        return float(x[0])

    text = summary(dale.minimize(fails, [(0, 1)], budget=6, seed=0))
    assert re.search(r"[1-5] of 6 evaluations failed; the last at \(.*\): RuntimeError: too hot", text)
    assert re.search(r"\d  failed ", text)


def test_a_run_without_a_value_has_no_best_point():
    text = summary(dale.minimize(lambda x: float("nan"), [(0, 1)], budget=3, seed=0))
    assert text.startswith("No evaluation has given a finite value (the last error: the objective returned nan)")
    assert "Best point" not in text


def test_before_the_first_tell():
    assert "after 0 evaluations" in summary(dale.Optimizer([(0, 1)], seed=0).result())


def test_a_fixed_parameter_has_no_slack_and_does_not_count_as_another():
    space = dale.Space(a=dale.Float(-1, 1), b=dale.Float(2, 2), n=dale.Float(0, 3))
    result = dale.minimize(lambda p: (p["a"] - 0.3) ** 2 + (p["n"] - 1) ** 2, space, budget=25, seed=1, progress=False)
    text = summary(result)
    assert "nan" not in text
    assert ["b", "2", "fixed"] in [line.split() for line in text.splitlines()]
    assert "if the other follows" in text
