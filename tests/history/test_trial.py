"""Trials, reasons and results: frozen, and readable."""

import dataclasses

import numpy as np
import pytest
from scipy.optimize import OptimizeResult

from dale._arrays import frozen
from dale.history.local_minimum import LocalMinimum
from dale.history.reason import Reason, Source
from dale.history.result import Result
from dale.history.trial import Trial, TrialState
from dale.space.point import format_point


def trial(**changes):
    point = frozen([0.5, 0.25])
    return dataclasses.replace(Trial(3, point, point, point, Reason(Source.INITIAL_DESIGN)), **changes)


@pytest.mark.parametrize("thing", [trial(), Reason(Source.GLOBAL)])
def test_frozen(thing):
    for field in dataclasses.fields(thing):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(thing, field.name, None)


def test_frozen_arrays():
    values = np.array([1.0, 2.0])
    copy = frozen(values)
    values[0] = 9
    assert copy.tolist() == [1.0, 2.0]
    assert copy.dtype == np.float64
    with pytest.raises(ValueError, match="read-only"):
        copy[0] = 9


def test_a_new_trial_is_pending():
    assert trial().state is TrialState.PENDING
    assert trial().value is None


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        (Reason(Source.USER), ["point of the user"]),
        (Reason(Source.INITIAL_DESIGN), ["initial design"]),
        (Reason(Source.SPACE_FILLING), ["far from all other points"]),
        (
            Reason(Source.GLOBAL, length_scale=0.25, mean=1.5, std=0.3, expected_improvement=0.02, cooled=True),
            ["global model", "1.5", "0.3", "expected improvement 0.02", "length-scale 0.25 (cooled)"],
        ),
        (Reason(Source.LOCAL, region=2, mean=-1.0, std=0.0), ["quadratic region 2", "-1"]),
    ],
)
def test_a_reason_as_text(reason, words):
    for word in words:
        assert word in str(reason)


def test_a_reason_without_cooling():
    assert "cooled" not in str(Reason(Source.GLOBAL, length_scale=0.25))


def test_points_as_text():
    assert format_point(np.array([1.5, -0.25])) == "(1.5, -0.25)"
    assert format_point({"lr": 0.001, "depth": 3, "kind": "a"}) == "lr=0.001, depth=3, kind=a"


def result(**changes):
    minimum = LocalMinimum(
        x=np.array([0.1]),
        params=np.array([0.1]),
        fun=-1.0,
        error=0.01,
        hessian=np.eye(1),
        condition=1.0,
        radius=0.1,
        n_points=5,
        converged=True,
    )
    fields = {
        "x": np.array([0.1]),
        "fun": -1.0,
        "noise": 0.0,
        "nfev": 7,
        "message": "The budget is spent",
        "params": np.array([0.1]),
        "local_minima": (minimum,),
    }
    return Result(**(fields | changes))


def test_a_result_is_an_optimize_result():
    assert isinstance(result(), OptimizeResult)
    assert result()["fun"] == result().fun == -1.0


def test_a_result_as_text():
    text = str(result())
    for word in ("The budget is spent after 7 evaluations", "best value  -1", "best point  (0.1)", "converged"):
        assert word in text
    assert text in repr(result())


def test_a_result_without_a_value_as_text():
    assert "best" not in str(result(x=None, fun=None, params=None, local_minima=()))


def test_a_result_states_the_noise():
    assert "best value  -1 (values there have noise of 0.25)" in str(result(noise=0.25))
    assert "noise" not in str(result())
