"""The numbers behind the plots."""

import numpy as np
import pytest

import dale
from dale.cli.demo import branin
from dale.history.local_minimum import LocalMinimum
from dale.history.reason import Reason, Source
from dale.history.result import Result
from dale.history.trial import Trial, TrialState
from dale.space.space import as_space
from dale.view.data import contour_data, convergence_data, slice_data
from dale.view.data.axes import axis_of
from dale.view.run_view import view_of
from dale.view.tolerances import acceptable_rise, ellipse, parameter_tolerances

BOUNDS = [(-2.0, 2.0), (0.0, 10.0)]
OUTLIER = 1e12


def quadratic(x):
    return float((x[0] - 0.5) ** 2 + 0.1 * (x[1] - 4) ** 2 + 3)


@pytest.fixture(scope="module")
def run():
    return dale.minimize(quadratic, BOUNDS, budget=14, seed=0, method=dale.methods.paper())


@pytest.fixture(scope="module")
def with_outlier():
    """Branin's function, with one value of 1e12."""

    def fun(x):
        return OUTLIER if tuple(x) == (5, 10) else branin.branin(x)

    return dale.minimize(fun, branin.SPACE, budget=60, seed=0, x0=[[5, 10]])


def trial(number, value, source=Source.GLOBAL, state=TrialState.COMPLETE, **reason):
    point = np.array([0.1 * number])
    return Trial(number, point, point, point, Reason(source, **reason), state, value)


class TestConvergence:
    def test_best_so_far_ignores_failed_and_pending_trials(self):
        history = (
            trial(0, None, Source.INITIAL_DESIGN, TrialState.FAILED),
            trial(1, 5.0, Source.INITIAL_DESIGN),
            trial(2, 7.0, length_scale=1.0),
            trial(3, None, state=TrialState.PENDING),
            trial(4, None, state=TrialState.FAILED, length_scale=0.5, cooled=True),
            trial(5, 2.0, Source.LOCAL, length_scale=0.5),
        )
        data = convergence_data(Result(history=history, local_minima=()), space=[(0, 1)])
        np.testing.assert_array_equal(data.trial, [0, 1, 2, 4, 5])
        np.testing.assert_array_equal(data.value, [np.nan, 5, 7, np.nan, 2])
        np.testing.assert_array_equal(data.best, [np.nan, 5, 5, 5, 2])
        np.testing.assert_array_equal(data.length_scale, [np.nan, np.nan, 1, 0.5, 0.5])
        np.testing.assert_array_equal(data.cooled, [False, False, False, True, False])
        assert data.source == (
            Source.INITIAL_DESIGN,
            Source.INITIAL_DESIGN,
            Source.GLOBAL,
            Source.GLOBAL,
            Source.LOCAL,
        )
        assert not np.any(data.outlier)

    def test_of_a_run(self, run):
        data = convergence_data(run)
        np.testing.assert_array_equal(data.trial, np.arange(run.nfev))
        np.testing.assert_array_equal(data.value, run.func_vals)
        assert data.best[-1] == run.fun
        assert np.all(np.diff(data.best) <= 0)

    def test_outliers_are_marked(self, with_outlier):
        data = convergence_data(with_outlier)
        np.testing.assert_array_equal(data.value[data.outlier], [OUTLIER])

    def test_without_trials(self):
        assert len(convergence_data(Result(history=(), local_minima=()), space=[(0, 1)]).best) == 0


class TestContour:
    def test_mean_is_close_to_the_objective(self, run):
        data = contour_data(run, as_space(BOUNDS), grid_points=31)
        X, Y = np.meshgrid(data.x.values, data.y.values)
        true = (X - 0.5) ** 2 + 0.1 * (Y - 4) ** 2 + 3
        assert data.mean.shape == data.std.shape == (31, 31)
        assert np.median(np.abs(data.mean - true)) < 0.05 * np.ptp(true)

    def test_axes_are_in_the_users_units_and_order(self):
        space = dale.Space(width=(0.0, 4.0), gain=dale.Float(0.01, 100, log=True))  # the unit cube has gain first
        run = dale.minimize(lambda p: p["width"] + np.log10(p["gain"]) ** 2, space, budget=10, seed=1)
        data = contour_data(run, space, grid_points=5)
        assert (data.x.name, data.y.name) == ("width", "gain")
        np.testing.assert_allclose(data.x.values, [0, 1, 2, 3, 4])
        np.testing.assert_allclose(data.y.values, [0.01, 0.1, 1, 10, 100])
        assert (data.x.log, data.y.log) == (False, True)
        np.testing.assert_array_equal(data.points, run.x_iters)
        assert data.mean[2, 4] > data.mean[2, 0]  # the width increases along a row

    def test_minima_and_their_rings(self, run):
        data = contour_data(run, as_space(BOUNDS), grid_points=5)
        np.testing.assert_allclose(data.minima, [[0.5, 4]], atol=1e-4)
        heights = np.array([quadratic(x) for x in data.ellipses[0] if np.all(np.isfinite(x))])
        assert len(heights) > 10
        np.testing.assert_allclose(heights, 3 + 0.01 * np.ptp(run.func_vals), rtol=1e-4)

    def test_one_outlier_leaves_the_three_minima_of_branin(self, with_outlier):
        data = contour_data(with_outlier, branin.SPACE, grid_points=61)
        X, Y = np.meshgrid(data.x.values, data.y.values)
        for x in branin.MINIMISERS:
            distance = np.hypot(X - x[0], Y - x[1])
            lowest = np.argmin(np.where(distance < 2, data.mean, np.inf))
            assert distance.ravel()[lowest] < 0.7
            assert abs(data.mean.ravel()[lowest] - branin.MINIMUM) < 2
        assert data.value_range[1] < 310  # the maximum of Branin's function is 308
        assert data.rise < 3.1

    def test_needs_two_parameters(self):
        run = dale.minimize(lambda x: x[0], [(0, 1)], budget=3, seed=0)
        with pytest.raises(ValueError, match=r"expected a space of at least two parameters, got 1; dale\.plot\.slice"):
            contour_data(run, as_space([(0, 1)]))


class TestSlice:
    def test_pass_through_the_best_point(self, run):
        slices = slice_data(run, as_space(BOUNDS), grid_points=41)
        assert [data.axis.name for data in slices] == ["x0", "x1"]
        for i, data in enumerate(slices):
            assert data.best == run.x[i]
            nearest = np.argmin(np.abs(data.axis.values - data.best))
            assert abs(data.mean[nearest] - run.fun) < 0.02 * np.ptp(run.func_vals)
            np.testing.assert_array_equal(data.points, run.x_iters[:, i])
            np.testing.assert_array_equal(data.values, run.func_vals)

    def test_one_outlier_does_not_change_the_scale(self, with_outlier):
        for data in slice_data(with_outlier, branin.SPACE):
            assert np.max(np.abs(data.mean) + 2 * data.std) < 600
            assert len(data.points) == len(data.values) == with_outlier.nfev - 1
            assert np.max(data.values) < 310

    def test_needs_a_feasible_trial(self):
        run = dale.minimize(
            lambda x: dale.Evaluation(x[0], constraints=[1.0]), [(0, 1)], budget=3, seed=0, progress=False
        )
        with pytest.raises(ValueError, match="expected a feasible trial to slice through, got none"):
            slice_data(run, as_space([(0, 1)]))


class TestUnsupported:
    def test_a_run_without_a_value(self):
        run = dale.minimize(lambda x: float("nan"), BOUNDS, budget=3, seed=0)
        for data in (contour_data, slice_data):
            with pytest.raises(ValueError, match="expected at least one completed trial to plot, got none"):
                data(run)

    def test_parameters_without_an_axis(self):
        space = dale.Space(c=dale.Choice(["only"]), y=(0, 1))
        view = view_of(dale.minimize(lambda p: p["y"], space, budget=4, seed=0))
        with pytest.raises(TypeError, match="expected parameters that vary, got 'c'"):
            axis_of(view, "c")
        with pytest.raises(ValueError, match=r"params: expected different names out of 'y', got \['c'\]"):
            slice_data(view, params=["c"])
        with pytest.raises(ValueError, match=r"params: expected 2 different names out of 'y', got 'y'"):
            contour_data(view, params="y")


def minimum_with(hessian, x=(0.0, 0.0)):
    x = np.array(x)
    return LocalMinimum(x, x, 0.0, 0.01, np.array(hessian), 1.0, 0.1, 8, True)


class TestTolerances:
    def test_of_a_diagonal_hessian(self):
        tolerances = parameter_tolerances(minimum_with([[2.0, 0.0], [0.0, 8.0]]), 1.0)
        np.testing.assert_allclose(tolerances.individual, [1.0, 0.5])
        np.testing.assert_allclose(tolerances.joint, tolerances.individual)

    def test_correlated_parameters_compensate_for_each_other(self):
        H = np.array([[1.0, 0.9], [0.9, 1.0]])
        tolerances = parameter_tolerances(minimum_with(H), 0.5)
        np.testing.assert_allclose(tolerances.individual, [1, 1])
        np.testing.assert_allclose(tolerances.joint, np.sqrt(np.diag(np.linalg.inv(H))))
        assert np.all(tolerances.joint > 2)

    def test_units_may_be_far_apart(self):
        units = np.array([1e-9, 1e9])
        H = np.array([[1.0, 0.9], [0.9, 1.0]])
        tolerances = parameter_tolerances(minimum_with(H / np.outer(units, units)), 0.5)
        np.testing.assert_allclose(tolerances.joint / units, np.sqrt(np.diag(np.linalg.inv(H))))

    def test_a_move_by_the_tolerance_costs_the_rise(self):
        run = dale.minimize(quadratic, BOUNDS, budget=14, seed=0)
        rise = acceptable_rise(run.func_vals)
        (found,) = run.local_minima
        for i, step in enumerate(parameter_tolerances(found, rise).individual):
            moved = found.x.copy()
            moved[i] += step
            assert quadratic(moved) - found.fun == pytest.approx(rise, rel=1e-3)

    def test_no_values_no_rise(self):
        assert acceptable_rise(np.array([])) == 0


class TestEllipse:
    def test_is_broken_where_it_leaves_the_bounds(self):
        space = as_space([(0.0, 1.0), (0.0, 1.0)])
        found = minimum_with([[8.0, 0.0], [0.0, 8.0]], x=(0.05, 0.5))
        curve = ellipse(found, space, 0.16, space.names)  # a circle of radius 0.2
        outside = np.isnan(curve[:, 0])
        assert 0 < np.sum(outside) < len(curve) / 2
        np.testing.assert_allclose(np.linalg.norm(curve[~outside] - [0.05, 0.5], axis=1), 0.2)

    def test_on_a_logarithmic_axis_is_an_ellipse_in_the_unit_cube(self):
        space = dale.Space(a=dale.Float(1e-2, 1e2, log=True), b=(0.0, 1.0))
        hessian = np.array([[40.0, 5.0], [5.0, 10.0]])  # in the unit cube
        params = {"a": 1.0, "b": 0.5}
        found = LocalMinimum(np.array([1.0, 0.5]), params, 0.0, 0.01, space.hessian(params, hessian), 1, 0.1, 8, True)
        step = (
            np.array([space.encode(dict(zip("ab", x, strict=True))) for x in ellipse(found, space, 0.1, space.names)])
            - 0.5
        )
        np.testing.assert_allclose(np.einsum("ij,jk,ik->i", step, hessian, step) / 2, 0.1)


def test_the_hessian_is_in_the_users_units(run):
    """Guards the factor of two between x'Hx and x'Hx / 2: the second derivatives are 2 and 0.2."""
    np.testing.assert_allclose(run.local_minima[0].hessian, [[2, 0], [0, 0.2]], atol=1e-6)
