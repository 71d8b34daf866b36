"""``maximize(f)`` is ``minimize(-f)``, bit for bit."""

import inspect

import numpy as np
import pytest

import dale
from dale.history.direction import Direction, check_direction
from dale.history.stopping import Clock, Target
from dale.methods.length_scale import Ensemble
from mirrored_runs import BOX, assert_mirrored, both, hill, negated


@pytest.mark.parametrize(
    "method", [None, dale.methods.paper(), dale.methods.ei(), dale.methods.imgpo(), dale.methods.ei(Ensemble())]
)
def test_a_run_is_mirrored(method):
    up, down = both(hill, BOX, budget=18, seed=3, method=method)
    assert_mirrored(up, down)


def test_a_long_run_finds_both_maxima():
    up, down = both(hill, BOX, budget=45, seed=1)
    assert_mirrored(up, down)
    assert up.fun == pytest.approx(2.0, abs=0.05)
    assert up.local_minima[0].converged
    assert np.all(np.linalg.eigvalsh(up.local_minima[0].hessian) < 0)
    assert up.direction is Direction.MAXIMIZE
    assert down.direction is Direction.MINIMIZE


def test_a_noisy_run_is_mirrored():
    def noisy(seed):
        rng = np.random.default_rng(seed)
        return lambda x: hill(x) + 0.2 * rng.standard_normal()

    up = dale.maximize(noisy(0), BOX, budget=25, seed=0)
    down = dale.minimize(negated(noisy(0)), BOX, budget=25, seed=0)
    assert_mirrored(up, down)
    known = both(lambda x: dale.Evaluation(hill(x), noise=0.1), BOX, budget=14, seed=0)
    assert_mirrored(*known)


def test_constraints_failures_and_extra_values_are_mirrored():
    def fun(x):
        if x[0] + x[1] > 3:
            raise ValueError("diverged")
        return dale.Evaluation(hill(x), constraints=[x[0] - 0.5], extra={"sum": x[0] + x[1]})

    with pytest.warns(dale.EvaluationWarning):
        up, down = both(fun, BOX, budget=24, seed=2, constraints=lambda x: x[1] < 2.5)
    assert_mirrored(up, down)
    assert up.n_failed > 0
    assert up.history[0].extra == down.history[0].extra


def test_named_spaces_and_held_parameters_are_mirrored():
    space = dale.Space(x=(-2, 2), n=dale.Int(0, 6), kind=dale.Choice(["p", "q"]), y=(-1, 3))

    def fun(p):
        return hill([p["x"], p["y"]]) - 0.1 * (p["n"] - 3) ** 2 - 0.3 * (p["kind"] == "q")

    assert_mirrored(*both(fun, space, budget=20, seed=0))
    up, down = both(fun, space, budget=14, seed=0, fixed={"kind": "q", "n": 2})
    assert_mirrored(up, down)
    assert {t.params["kind"] for t in up.history} == {"q"}


def test_known_values_and_batches_are_mirrored():
    points = [[-1.0, 0.0], [0.5, 2.0], [1.5, 0.1]]
    up = dale.maximize(hill, BOX, budget=8, seed=0, x0=points, y0=[hill(x) for x in points])
    down = dale.minimize(negated(hill), BOX, budget=8, seed=0, x0=points, y0=[-hill(x) for x in points])
    assert_mirrored(up, down)
    runs = []
    for direction, sign in (("maximize", 1), ("minimize", -1)):
        optimizer = dale.Optimizer(BOX, seed=4, direction=direction)
        for _ in range(5):
            for trial in reversed(optimizer.ask(4)):
                optimizer.tell(trial, sign * hill(trial.x))
        runs.append(optimizer.result())
    assert_mirrored(*runs)


def test_corrections_are_mirrored():
    runs = []
    for direction, sign in (("maximize", 1), ("minimize", -1)):
        optimizer = dale.Optimizer(BOX, seed=4, direction=direction)
        for k in range(22):
            trial = optimizer.ask()
            optimizer.tell(trial, sign * hill(trial.x))
            if k == 12:
                optimizer.amend(3, value=sign * 1.9)
                optimizer.discard(5)
        runs.append(optimizer.result())
    assert_mirrored(*runs)


def test_rules_that_end_a_run_are_mirrored():
    up, down = dale.maximize(hill, BOX, budget=60, seed=1, target=1.9), None
    down = dale.minimize(negated(hill), BOX, budget=60, seed=1, target=-1.9)
    assert up.status is dale.Status.TARGET_REACHED
    assert_mirrored(up, down)
    up, down = both(lambda x: -(x[0] ** 2), [(-1, 2)], budget=60, seed=0, tolerance=0.05)
    assert up.status is dale.Status.CONVERGED
    assert_mirrored(up, down)
    snapshot = dale.Optimizer([(0, 1)], direction="maximize").snapshot
    assert Target(1.0).check(snapshot, Clock(0.0, 0)) is None


def test_the_best_trial_is_the_one_with_the_highest_value():
    optimizer = dale.Optimizer({"a": (0, 1)}, seed=0, direction="maximize")
    for a, value in ((0.1, -3.0), (0.5, 2.0), (0.9, 1.0)):
        optimizer.add({"a": a}, value)
    assert (optimizer.best.value, optimizer.best_value, optimizer.result().fun) == (2.0, 2.0, 2.0)
    assert optimizer.direction == "maximize"
    assert [t.value for t in optimizer.history] == [-3.0, 2.0, 1.0]
    assert list(optimizer.to_frame()["value"]) == [-3.0, 2.0, 1.0]


def test_the_signature_is_that_of_minimize():
    assert inspect.signature(dale.maximize) == inspect.signature(dale.minimize)
    assert "direction" not in inspect.signature(dale.maximize).parameters
    with pytest.raises(TypeError, match="maximize: missing a required argument: 'budget'"):
        dale.maximize(hill, BOX)
    with pytest.raises(TypeError, match="minimize: got an unexpected keyword argument 'direction'"):
        dale.minimize(hill, BOX, budget=3, direction="maximize")


@pytest.mark.parametrize("direction", ["max", True, None, 1])
def test_a_direction_that_is_none(direction):
    with pytest.raises(ValueError, match='direction: expected "minimize" or "maximize", got'):
        dale.Optimizer(BOX, direction=direction)


def test_directions():
    assert check_direction("maximize") is Direction.MAXIMIZE
    for direction in Direction:
        values = np.array([1.5, -2.0, 0.0])
        assert np.array_equal(direction.from_loss(direction.loss(values)), values)
    assert str(Direction.MAXIMIZE.loss(0.0)) == "0.0"  # a negative zero would be printed
