"""Every kind of plot on every kind of run, by its numbers; and drawn once in each style."""

import json
from itertools import combinations

import numpy as np
import pytest
import zoo
from matplotlib.colors import to_hex

import dale
from dale.history.trial import TrialState
from dale.methods.length_scale.floor import length_scale_floor
from dale.view import (
    calibration_data,
    contour_data,
    convergence_data,
    corner_data,
    directions_data,
    importance_data,
    length_scale_data,
    parallel_data,
    slice_data,
    to_json,
)
from dale.view.plot.kinds import KINDS, plot_of_kind
from dale.view.run_view import view_of
from dale.view.style import THEMES

each_run = pytest.mark.parametrize("kind", zoo.KINDS)
FLOATS = ("float", "constrained", "input constraints", "failed")  # smooth values that the surrogate fits closely


def values_of(run):
    return np.array([np.nan if t.value is None else t.value for t in run.history])


@each_run
class TestConvergence:
    def test_marks_every_trial_for_what_it_is(self, kind):
        run = zoo.run(kind)
        data = convergence_data(run)
        np.testing.assert_array_equal(data.value, values_of(run))
        np.testing.assert_array_equal(data.feasible, [t.feasible for t in run.history])
        np.testing.assert_array_equal(data.failed, [t.state is TrialState.FAILED for t in run.history])
        assert data.best[-1] == run.fun
        assert np.all(np.diff(data.best[np.isfinite(data.best)]) <= 0)

    def test_the_best_is_a_posterior_mean_only_under_noise(self, kind):
        data = convergence_data(zoo.run(kind))
        assert np.any(np.isfinite(data.mean)) == (kind == "noisy") == (data.noise > 0)


def test_a_lucky_value_is_not_the_best():
    data = convergence_data(zoo.run("noisy"))
    assert np.min(data.value) < data.best[-1] - 0.05  # noise of 0.1
    assert abs(data.best[-1]) < 0.1  # the true minimum is 0


def test_failed_and_infeasible_trials_are_there():
    assert np.sum(convergence_data(zoo.run("failed")).failed) >= 1
    constrained = convergence_data(zoo.run("constrained"))
    assert np.sum(~constrained.feasible) >= 1
    infeasible = constrained.value[~constrained.feasible]
    assert np.min(infeasible, initial=np.inf) not in constrained.best


@each_run
class TestSlice:
    def test_goes_through_the_best_point(self, kind):
        run = zoo.run(kind)
        view = view_of(run)
        for data in slice_data(run):
            assert len(data.axis.values) == len(data.mean) == len(data.std)
            base = run.history[data.base]
            assert base.feasible
            assert data.axis.name in view.named(base)
            nearest = np.argmin(np.abs(data.axis.values - data.best))
            assert abs(data.mean[nearest] - data.best_value) < 0.1 * np.ptp(view.values)
            assert np.all(data.std >= 0)


@pytest.mark.parametrize("kind", FLOATS)
def test_slices_predict_the_objective(kind):
    run, function = zoo.run(kind), zoo.FUNCTIONS[kind]()
    for data in slice_data(run, grid_points=9):
        for x, mean, std in zip(data.axis.values, data.mean, data.std, strict=True):
            params = {**run.params, data.axis.name: float(x)}
            if kind == "failed" and params["a"] > 1.2:
                continue
            true = function(params)
            true = true.value if isinstance(true, dale.Evaluation) else true
            assert abs(mean - true) < max(4 * std, 0.02 * np.ptp(run.func_vals))


def test_options_have_one_mark_each():
    rate, depth, kind = slice_data(zoo.run("mixed"))
    assert kind.axis.options == ("tree", "line", "wave")
    np.testing.assert_allclose(kind.mean, [0, 1, 2.5], atol=0.5)  # all else at the best point
    np.testing.assert_array_equal(depth.axis.values, np.arange(1, 10))
    assert (rate.axis.log, depth.axis.log) == (True, False)
    assert kind.best == 0


def test_a_parameter_that_is_inactive_at_the_best_point_is_drawn_where_it_is_active():
    space = dale.Space(on=dale.Choice([False, True]), x=dale.Float(0, 1).when(on=True))
    run = dale.minimize(lambda p: (p["x"] - 0.3) ** 2 + 1 if p["on"] else 0.0, space, budget=12, seed=0)
    assert run.params == {"on": False}
    x = slice_data(run)[1]
    with_x = [t for t in run.history if "x" in t.params]
    assert x.base == min(with_x, key=lambda t: t.value).id
    assert len(x.points) == len(with_x) < len(run.history)
    np.testing.assert_allclose(x.mean, (x.axis.values - 0.3) ** 2 + 1, atol=0.1)


def test_the_probability_of_feasibility_follows_the_constraint():
    a = slice_data(zoo.run("constrained"))[0]
    feasible = a.axis.values + 0.1 * zoo.run("constrained").params["b"] - 1 <= 0
    assert np.mean((a.feasible > 0.5) == feasible) > 0.95
    assert len(slice_data(zoo.run("failed"))[0].feasible) == 0


@each_run
def test_contour_is_the_surrogate_in_the_users_units(kind):
    run = zoo.run(kind)
    view, data = view_of(run), contour_data(run, grid_points=11)
    assert data.mean.shape == (len(data.y.values), len(data.x.values))
    base = run.history[data.base]
    for i, j in ((0, 0), (len(data.y.values) - 1, len(data.x.values) // 2)):
        point = dict(view.named(base))
        for axis, k in ((data.x, j), (data.y, i)):
            options = getattr(view.space.parameters[axis.name], "options", None)
            point[axis.name] = options[k] if options else axis.values[k]
        if kind == "conditional":
            continue  # tested below: a point may be in no space
        params = [point[name] for name in view.space.names] if not view.space.named else point
        predicted = view.surrogate.predict(view.space.encode(params)[None, :])
        assert data.mean[i, j] == pytest.approx(predicted.mean[0])
        assert data.std[i, j] == pytest.approx(predicted.std[0], abs=1e-9)
    assert len(data.points) == len(data.value) == len(view.finished)
    assert len(data.ellipses) == len(data.minima) == len(run.local_minima)


def test_contour_is_empty_where_a_parameter_is_inactive():
    data = contour_data(zoo.run("conditional"), params=("kernel", "degree"))
    assert data.x.options == ("poly", "rbf", "linear")
    assert np.all(np.isfinite(data.mean[:, 0]))
    assert np.all(np.isnan(data.mean[:, 1:]))


def test_contour_knows_what_the_constraints_forbid():
    outcome = contour_data(zoo.run("constrained"), grid_points=21)
    X, Y = np.meshgrid(outcome.x.values, outcome.y.values)
    assert np.mean((outcome.feasible > 0.5) == (X + 0.1 * Y - 1 <= 0)) > 0.9
    assert outcome.allowed.size == 0
    inputs = contour_data(zoo.run("input constraints"), grid_points=21)
    np.testing.assert_array_equal(inputs.allowed, X**2 + (Y / 5 - 1) ** 2 <= 1.5)
    assert inputs.feasible.size == 0


def test_contour_shows_the_regions_of_the_method():
    run = zoo.run("failed")
    regions = contour_data(run, grid_points=5).regions
    assert [r.closed for r in regions].count(False) == 1  # that of the last step
    closed = [c for t in run.history for c in t.reason.closed_regions]
    assert [r.center for r in regions if r.closed] == [c.center for c in closed]
    first = next(r for r in regions if r.closed)
    center, radius = run.history[closed[0].center].unit_x, closed[0].radius
    cube = (first.outline - [-2.0, 0.0]) / [4.0, 10.0]
    inside = np.isfinite(cube[:, 0])
    np.testing.assert_allclose(np.linalg.norm(cube[inside] - center, axis=1), radius)


def test_contour_shows_the_two_parameters_that_matter_most():
    run = dale.minimize(lambda x: x[2] ** 2 + 2 * x[1] + 1e-3 * x[0], [(0, 1)] * 3, budget=14, seed=0)
    data = contour_data(run, grid_points=5)
    assert (data.x.name, data.y.name) == ("x1", "x2")
    other = contour_data(run, params=("x2", "x0"), grid_points=5)
    assert (other.x.name, other.y.name) == ("x2", "x0")


@each_run
def test_corner_averages_the_surrogate(kind):
    run = zoo.run(kind)
    view, data = view_of(run), corner_data(run)
    names = [one.axis.name for one in data.single]
    assert names == list(run.space.names)
    assert [(p.x.name, p.y.name) for p in data.pairs] == list(combinations(names, 2))
    assert data.points.shape == (len(view.finished), len(names))
    for one in data.single:
        assert np.all(np.isfinite(one.mean))
    for pair in data.pairs:
        assert pair.mean.shape == (len(pair.y.values), len(pair.x.values))


def test_partial_dependence_of_a_sum_is_each_of_its_terms():
    gain, delay, _ = corner_data(zoo.run("float")).single
    expected = np.log10(gain.axis.values) ** 2
    np.testing.assert_allclose(gain.mean - np.mean(gain.mean), expected - np.mean(expected), atol=0.15)
    expected = (delay.axis.values - 1) ** 2
    np.testing.assert_allclose(delay.mean - np.mean(delay.mean), expected - np.mean(expected), atol=0.15)


def test_partial_dependence_where_a_parameter_is_inactive():
    data = corner_data(zoo.run("conditional"), params=("kernel", "degree"))
    assert np.all(np.isfinite(data.single[1].mean))
    assert np.all(np.isnan(data.pairs[0].mean[:, 1:]))


@each_run
def test_parallel_coordinates_are_fractions_of_the_axes(kind):
    run = zoo.run(kind)
    data = parallel_data(run)
    finite = data.positions[np.isfinite(data.positions)]
    assert np.all((finite >= -1e-12) & (finite <= 1 + 1e-12))
    assert run.history[data.best].params is run.params
    np.testing.assert_array_equal(data.feasible, [t.feasible for t in run.history])
    if kind == "conditional":
        active = np.array([["degree" in t.params for t in run.history]])
        np.testing.assert_array_equal(np.isfinite(data.positions[:, 1]), active[0])
    if kind == "mixed":
        index = {"tree": 0.0, "line": 0.5, "wave": 1.0}
        np.testing.assert_allclose(data.positions[:, 2], [index[t.params["kind"]] for t in run.history])
        np.testing.assert_allclose(data.positions[:, 0], [np.log10(t.params["rate"]) / 4 + 1 for t in run.history])


@each_run
def test_importance_is_a_decomposition_of_the_variance(kind):
    data = importance_data(zoo.run(kind))
    assert data.names == zoo.SPACES[kind].names
    assert np.all(data.main >= 0)
    assert np.all(data.total >= data.main - 1e-9)
    assert np.all(data.total <= 1 + 1e-5)
    tolerance = 0.1 if kind == "conditional" else 1e-4  # by sampling; rounding errors of the weights
    assert np.sum(data.main) + np.sum(np.triu(data.pairs, 1)) <= 1 + tolerance
    assert np.nansum(data.near_best) == pytest.approx(1)
    assert data.explained > 0.5


def test_importance_finds_what_matters():
    names, main = zoo.FLOAT.names, importance_data(zoo.run("float")).main
    assert main[names.index("offset")] < 0.1 < main[names.index("delay")]
    conditional = importance_data(zoo.run("conditional"))
    assert np.argmax(conditional.total) == 0  # the kernel
    mixed = importance_data(zoo.run("mixed"))
    assert np.argmin(mixed.total) == 1  # the depth
    assert mixed.near_best_model == "surrogate"
    assert np.isnan(mixed.near_best[2])  # an option has no derivative


@each_run
def test_directions_are_those_of_the_hessian(kind):
    run = zoo.run(kind)
    data = directions_data(run)
    k = len(data.names)
    np.testing.assert_allclose(data.vectors @ data.vectors.T, np.eye(k), atol=1e-9)
    assert np.all(np.diff(data.eigenvalues) <= 0)
    assert data.model == ("local model" if run.local_minima else "surrogate")
    rises = np.isfinite(data.tolerance)
    np.testing.assert_allclose(0.5 * data.eigenvalues[rises] * data.tolerance[rises] ** 2, data.rise)
    if np.all(rises):
        np.testing.assert_allclose(np.diag(data.correlations), 1)


def test_directions_of_a_known_minimum():
    data = directions_data(zoo.run("float"))  # H in the cube: diag(32, 18, 8) with 3 between delay and offset
    H = data.vectors.T @ np.diag(data.eigenvalues) @ data.vectors
    np.testing.assert_allclose(H, [[32, 0, 0], [0, 18, 3], [0, 3, 8]], atol=0.05)
    np.testing.assert_allclose(data.correlations[1, 2], -3 / np.sqrt(18 * 8), atol=1e-2)


def test_directions_need_a_minimum_that_exists():
    with pytest.raises(ValueError, match="minimum: expected the number of one of 1 local minima, from 0, got 4"):
        directions_data(zoo.run("float"), minimum=4)


@each_run
def test_length_scales_are_those_of_the_reasons(kind):
    run = zoo.run(kind)
    data = length_scale_data(run)
    reasons = [run.history[i].reason for i in data.trial]
    assert [r.length_scale for r in reasons] == data.length_scale.tolist()
    d = run.space.dimension
    np.testing.assert_allclose(data.floor, [length_scale_floor(int(i), d) for i in data.trial])
    ratios = [np.nan if r.log_alpha_ratio is None else np.exp(r.log_alpha_ratio) for r in reasons]
    np.testing.assert_allclose(data.alpha_ratio, ratios)
    np.testing.assert_array_equal(data.votes, data.alpha_ratio > 1.5)


@each_run
def test_calibration_compares_each_prediction_with_its_value(kind):
    run = zoo.run(kind)
    data = calibration_data(run)
    predicted = [t for t in run.history if t.reason.mean is not None and t.value is not None]
    assert data.trial.tolist() == [t.id for t in predicted]
    np.testing.assert_array_equal(data.actual, [t.value for t in predicted])
    np.testing.assert_array_equal(data.predicted, [t.reason.mean for t in predicted])
    noise = 0.1 if kind == "noisy" else 0.0
    np.testing.assert_allclose(data.std, np.hypot([t.reason.std for t in predicted], noise), rtol=1e-6, atol=1e-12)
    within = np.abs(data.error) <= 1.959964
    assert data.coverage[2] == pytest.approx(np.mean(within))
    assert sum(n for n, _ in data.coverage_by_source.values()) == len(predicted)


@each_run
def test_all_numbers_are_json(kind):
    run = zoo.run(kind)
    for numbers in (convergence_data, length_scale_data, parallel_data, importance_data, directions_data, slice_data):
        data = to_json(numbers(run))
        assert json.loads(json.dumps(data, allow_nan=False)) == data


@each_run
@pytest.mark.parametrize("plot", sorted(set(KINDS) - {"timeline"}))
def test_every_plot_is_drawn(plot, kind):
    style = list(THEMES)[(zoo.KINDS.index(kind) + sorted(KINDS).index(plot)) % 2]
    figure = plot_of_kind(zoo.run(kind), plot, style=style)
    assert to_hex(figure.get_facecolor()) == to_hex(THEMES[style].paper)
    names = {text.get_text() for ax in figure.axes for text in (ax.xaxis.label, ax.yaxis.label, ax.title)}
    ticks = {text.get_text() for ax in figure.axes for text in (*ax.get_xticklabels(), *ax.get_yticklabels())}
    if plot in ("slice", "corner", "parallel", "importance"):
        assert set(zoo.SPACES[kind].names) <= names | ticks
