"""``maximize(f)`` is ``minimize(-f)``, bit for bit, and everything that a user sees has the sign of f."""

import copy
import dataclasses
import inspect
import json
import pickle

import numpy as np
import pytest
from matplotlib.text import Text

import dale
from dale.history.direction import Direction, check_direction
from dale.history.stopping import Clock, Target
from dale.methods.length_scale import Ensemble
from dale.view import (
    advice,
    calibration_data,
    contour_data,
    convergence_data,
    corner_data,
    directions_data,
    forecast,
    importance_data,
    parallel_data,
    predict,
    slice_data,
    summary,
)
from dale.view.plot.marks import levels_of
from dale.view.run_view import view_of

BOX = [(-2, 2), (-1, 3)]


def hill(x):
    """Two maxima, the higher one near (1, 0.5)."""
    first = 3 * np.exp(-((x[0] - 1) ** 2) - 0.7 * (x[1] - 0.5) ** 2)
    return float(first + 2 * np.exp(-2 * (x[0] + 1) ** 2 - (x[1] - 1.5) ** 2) - 1.0)


def negated(fun):
    """The same problem as a minimisation, whatever the objective returns."""

    def other(x):
        value = fun(x)
        if isinstance(value, dale.Evaluation):
            return dataclasses.replace(value, value=-value.value)
        return -value

    return other


def both(fun, space, **options):
    """The results of ``maximize(fun)`` and ``minimize(-fun)``."""
    return dale.maximize(fun, space, **options), dale.minimize(negated(fun), space, **options)


def is_negated(one, other):
    if one is None or other is None:
        return one is other
    return one == -other


def assert_mirrored(up, down):
    assert len(up.history) == len(down.history)
    for one, other in zip(up.history, down.history, strict=True):
        assert np.array_equal(one.unit_x, other.unit_x)
        assert np.array_equal(one.x, other.x)
        assert is_negated(one.value, other.value)
        assert is_negated(one.reason.mean, other.reason.mean)
        assert dataclasses.replace(one.reason, mean=None) == dataclasses.replace(other.reason, mean=None)
        assert (one.state, one.noise, one.constraints) == (other.state, other.noise, other.constraints)
        assert (one.error is None) == (other.error is None)
        assert one.loss == other.loss
    assert is_negated(up.fun, down.fun)
    assert np.array_equal(up.x, down.x)
    assert (up.status, up.nfev, up.nit, up.noise) == (down.status, down.nfev, down.nit, down.noise)
    assert np.array_equal(up.func_vals, -down.func_vals)
    assert len(up.local_minima) == len(down.local_minima)
    for high, low in zip(up.local_minima, down.local_minima, strict=True):
        assert np.array_equal(high.x, low.x)
        assert (high.fun, high.error, high.condition) == (-low.fun, low.error, low.condition)
        assert np.array_equal(high.hessian, -low.hessian)
        assert np.array_equal(high.curvature, low.hessian)


# --- runs ---


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


# --- stores ---


def test_a_stored_run_resumes_and_keeps_the_values(tmp_path):
    path, whole = tmp_path / "run.db", dale.maximize(hill, BOX, budget=20, seed=1)
    dale.maximize(hill, BOX, budget=9, seed=1, store=path)
    resumed = dale.maximize(hill, BOX, budget=20, seed=1, store=path)
    for one, other in zip(whole.history, resumed.history, strict=True):
        assert (one.value, one.reason, one.x.tolist()) == (other.value, other.reason, other.x.tolist())
    run = dale.open(path)
    assert run.direction is Direction.MAXIMIZE
    assert run.best_value == whole.fun == max(t.value for t in run.history)
    run.to_json(tmp_path / "run.json")
    data = json.loads((tmp_path / "run.json").read_text())
    assert data["problem"]["direction"] == "maximize"
    assert [t["value"] for t in data["trials"]] == [t.value for t in whole.history]
    assert [t["reason"].get("mean") for t in data["trials"]] == [t.reason.mean for t in whole.history]
    run.to_csv(tmp_path / "run.csv")
    assert repr(whole.history[3].value) in (tmp_path / "run.csv").read_text()


def test_a_store_has_one_direction(tmp_path):
    up, down = tmp_path / "up.db", tmp_path / "down.db"
    dale.maximize(hill, BOX, budget=3, seed=1, store=up)
    dale.minimize(hill, BOX, budget=3, seed=1, store=down)
    assert "direction" not in dale.open(down).problem  # as in stores from before there was a direction
    with pytest.raises(dale.StoreError, match="direction is 'maximize' in the store and 'minimize' here"):
        dale.minimize(hill, BOX, budget=4, seed=1, store=up)
    with pytest.raises(dale.StoreError, match="direction is 'minimize' in the store and 'maximize' here"):
        dale.maximize(hill, BOX, budget=4, seed=1, store=down)
    assert len(dale.open(up).history) == len(dale.open(down).history) == 3


def test_corrections_of_a_store(tmp_path):
    path = tmp_path / "run.db"
    dale.maximize(hill, BOX, budget=6, seed=1, store=path)
    with dale.Optimizer(BOX, store=path, direction="maximize") as optimizer:
        optimizer.amend(2, value=99.0)
    assert (dale.open(path).best.id, dale.open(path).best_value) == (2, 99.0)


def test_forks_keep_the_direction(tmp_path):
    path = tmp_path / "run.db"
    result = dale.maximize(hill, BOX, budget=12, seed=1, store=path)
    for source in (result, path, dale.open(path), copy.deepcopy(result)):
        fork = dale.fork(source, at=8)
        assert fork.direction is Direction.MAXIMIZE
        assert fork.ask().x.tolist() == result.history[8].x.tolist()
        assert fork.best_value == max(t.value for t in result.history[:8])
    stored = dale.fork(path, tmp_path / "fork.db", at=8)
    assert stored.ask().x.tolist() == result.history[8].x.tolist()
    assert dale.open(tmp_path / "fork.db").direction is Direction.MAXIMIZE
    wider = dale.fork(result, space=[(-3, 3), (-1, 3)])
    assert (wider.direction, wider.best_value) == (Direction.MAXIMIZE, result.fun)


def test_a_run_with_the_other_direction_is_no_earlier_data(tmp_path):
    path = tmp_path / "run.db"
    result = dale.maximize(hill, BOX, budget=5, seed=1, store=path)
    for source in (result, path, dale.open(path)):
        with pytest.raises(ValueError, match="expected a run with the direction 'minimize', as this one"):
            dale.Optimizer(BOX).add_all(source)
        optimizer = dale.Optimizer(BOX, direction="maximize")
        optimizer.add_all(source)
        assert optimizer.best_value == result.fun
    optimizer = dale.Optimizer(BOX)
    optimizer.add_all(result.to_frame())  # values of the same objective, to be minimised now
    assert optimizer.best_value == min(t.value for t in result.history)


# --- what a user reads ---


@pytest.fixture(scope="module")
def runs():
    return both(hill, BOX, budget=40, seed=1)


def test_data_of_plots_are_mirrored(runs):
    up, down = runs
    high, low = convergence_data(up), convergence_data(down)
    assert np.array_equal(high.best, -low.best)
    assert np.array_equal(high.best, np.maximum.accumulate(high.value))
    for of_up, of_down in zip(slice_data(up), slice_data(down), strict=True):
        assert np.array_equal(of_up.mean, -of_down.mean)
        assert np.array_equal(of_up.std, of_down.std)
        assert of_up.best_value == -of_down.best_value == up.fun
        assert np.array_equal(of_up.values, -of_down.values)
    contours = contour_data(up, grid_points=9), contour_data(down, grid_points=9)
    assert np.array_equal(contours[0].mean, -contours[1].mean)
    assert np.array_equal(contours[0].ellipses[0], contours[1].ellipses[0], equal_nan=True)
    assert contours[0].value_range == tuple(-v for v in reversed(contours[1].value_range))
    corners = corner_data(up), corner_data(down)
    assert np.array_equal(corners[0].single[0].mean, -corners[1].single[0].mean)
    assert np.array_equal(parallel_data(up).value, -parallel_data(down).value)
    assert np.array_equal(importance_data(up).total, importance_data(down).total)
    assert np.array_equal(importance_data(up).near_best, importance_data(down).near_best)
    assert np.array_equal(directions_data(up).eigenvalues, directions_data(down).eigenvalues)
    errors = calibration_data(up), calibration_data(down)
    assert np.array_equal(errors[0].error, -errors[1].error)
    assert errors[0].coverage == errors[1].coverage


def test_predictions_and_forecasts(runs):
    up, down = runs
    points = [[0.0, 0.0], [1.0, 0.5]]
    assert np.array_equal(predict(up, points).mean, -predict(down, points).mean)
    assert predict(up, points).mean[1] == pytest.approx(hill([1.0, 0.5]), abs=0.05)
    assert forecast(up, 10) == forecast(down, 10)


def test_a_copy_knows_its_direction(runs):
    up, _ = runs
    again = pickle.loads(pickle.dumps(up))
    assert again.direction is Direction.MAXIMIZE
    assert np.array_equal(convergence_data(again).best, convergence_data(up).best)
    assert view_of(again).snapshot.incumbent.value == up.fun


def test_why(runs):
    up, down = runs
    for trial in range(len(up.history)):
        high, low = dale.why(up, trial), dale.why(down, trial)
        assert repr(high.record) == repr(low.record)
        assert (high.predicted_reduction, high.actual_reduction) == (low.predicted_reduction, low.actual_reduction)
        assert is_negated(high.best_before, low.best_before)
        assert [a.point for a in high.alternatives] == [a.point for a in low.alternatives]
        assert all(is_negated(a.mean, b.mean) for a, b in zip(high.alternatives, low.alternatives, strict=True))
    texts = [str(dale.why(up, trial)) for trial in range(len(up.history))]
    assert any("predicted increase" in text for text in texts)
    assert not any("reduction" in text for text in texts)
    assert any("standard deviations below), " in text for text in texts)
    assert any("improved by" in text for text in texts)


def test_texts_speak_of_maxima(runs, tmp_path):
    up, down = runs
    html = up._repr_html_()
    page = dale.report(up, tmp_path / "page.html").read_text()
    for text in (str(up), summary(up), html):
        assert "maximum" in text or "maxima" in text
        assert "minim" not in text
        assert "lower value" not in text
    assert '"maximize":true' in page
    assert "dale.maximize(objective, space" in page
    assert '"maximize":false' in dale.report(down, tmp_path / "down.html").read_text()
    bound = dale.maximize(lambda x: -((x[0] - 3) ** 2), [(-2, 2)], budget=12, seed=0)
    assert "expects a value higher by" in str(advice(bound)[0])
    at_minimum = dale.minimize(lambda x: (x[0] - 3) ** 2, [(-2, 2)], budget=12, seed=0)
    assert advice(bound)[0].gain == advice(at_minimum)[0].gain


def test_covariance_of_a_fit_by_its_likelihood():
    """Minus the inverse of the Hessian, where the logarithm of a likelihood is maximised."""

    def log_likelihood(x):
        return -0.5 * ((x[0] - 1) / 0.2) ** 2 - 0.5 * ((x[1] + 0.5) / 0.1) ** 2

    up, down = both(log_likelihood, [(-2, 2)] * 2, budget=20, seed=0)
    covariance = up.local_minima[0].covariance()
    assert np.sqrt(np.diag(covariance)) == pytest.approx([0.2, 0.1], rel=1e-6)
    assert np.array_equal(covariance, down.local_minima[0].covariance())
    assert np.array_equal(up.local_minima[0].intervals(), down.local_minima[0].intervals())


@pytest.mark.parametrize("kind", ["convergence", "contour", "slice", "corner", "parallel", "directions"])
def test_plots_are_drawn(runs, kind):
    figure = runs[0].plot(kind)
    texts = " ".join(text.get_text() for text in figure.findobj(Text))
    assert "minimum" not in texts


def test_the_plot_of_the_regret(runs):
    figure = dale.plot.convergence(runs[0], minimum=2.1)
    top = figure.axes[0]
    assert top.get_ylabel() == "maximum − objective"
    (best,) = [line for line in top.lines if line.get_label() == "best so far"]
    assert np.all(np.diff(best.get_ydata()) <= 0)
    assert best.get_ydata()[-1] == pytest.approx(2.1 - runs[0].fun)


def test_contour_levels_are_dense_at_the_best_value():
    up, down = (levels_of(np.array([0.0, 1.0]), direction) for direction in (Direction.MAXIMIZE, Direction.MINIMIZE))
    assert np.all(np.diff(up) > 0)
    assert np.diff(up)[0] > 10 * np.diff(up)[-1]
    assert np.diff(down)[-1] > 10 * np.diff(down)[0]


# --- arguments ---


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
