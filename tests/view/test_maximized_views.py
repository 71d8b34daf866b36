"""What a user sees of a maximisation: plots, texts and numbers have the sign of the objective."""

import pickle

import numpy as np
import pytest
from matplotlib.text import Text

import dale
from dale.history.direction import Direction
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
from mirrored_runs import BOX, both, hill, is_negated


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
