"""Copies of results: they know what the result knows, also constraints that are code."""

import copy

import numpy as np
import pytest

import dale
from dale.view import contour_data, summary


def bowl(x):
    return float((x[0] - 0.8) ** 2 + (x[1] - 0.7) ** 2)


@pytest.fixture(scope="module")
def result():
    return dale.minimize(bowl, [(0, 1)] * 2, budget=15, seed=0, constraints=lambda x: x[0] + x[1] <= 1)


COPIES = {"copy": copy.copy, "deepcopy": copy.deepcopy, "method": lambda result: result.copy()}


@pytest.mark.parametrize("kind", COPIES)
def test_a_copy_knows_the_constraints(result, kind):
    copied = COPIES[kind](result)
    assert copied is not result
    assert isinstance(copied, dale.Result)
    assert str(copied) == str(result)
    assert summary(copied) == summary(result)
    assert np.array_equal(contour_data(copied, grid_points=7).allowed, contour_data(result, grid_points=7).allowed)
    assert not contour_data(copied, grid_points=7).allowed.all()
    fork = dale.fork(copied)
    for _ in range(3):
        trial = fork.ask()
        assert sum(trial.x) <= 1
        fork.tell(trial, bowl(trial.x))
    assert [t.x.tolist() for t in dale.fork(result).ask(2)] == [t.x.tolist() for t in dale.fork(copied).ask(2)]


def test_a_copy_can_be_changed(result):
    copied = copy.deepcopy(result)
    copied["note"], copied.message = "mine", "changed"
    copied.func_vals[0] = 99.0
    assert "note" not in result
    assert result.message == "The budget is spent"
    assert result.func_vals[0] != 99.0
