"""The numbers behind the pictures."""

import numpy as np
import pytest

import dale
from dale.history.reason import Reason, Source
from dale.history.result import LocalMinimum
from dale.history.trial import Trial, TrialState
from dale.space.space import as_space
from dale.view.data import axis_of, convergence, landscape, slices
from dale.view.surrogate import PlotSurrogate
from dale.view.tolerances import acceptable_rise, ellipse, sharpness

BOUNDS = [(-2.0, 2.0), (0.0, 10.0)]


def bowl(x):
    return float((x[0] - 0.5) ** 2 + 0.1 * (x[1] - 4) ** 2 + 3)


@pytest.fixture(scope="module")
def run():
    return dale.minimize(bowl, BOUNDS, budget=14, seed=0, method=dale.methods.paper())


def trial(number, value, source=Source.GLOBAL, state=TrialState.COMPLETE, **why):
    point = np.array([0.1 * number])
    return Trial(number, point, point, point, Reason(source, **why), state, value)


class TestConvergence:
    def test_best_so_far_passes_over_failures_and_leaves_out_what_is_pending(self):
        history = [
            trial(0, None, Source.INITIAL_DESIGN, TrialState.FAILED),
            trial(1, 5.0, Source.INITIAL_DESIGN),
            trial(2, 7.0, length_scale=1.0),
            trial(3, None, state=TrialState.PENDING),
            trial(4, None, state=TrialState.FAILED, length_scale=0.5, cooled=True),
            trial(5, 2.0, Source.LOCAL, length_scale=0.5),
        ]
        series = convergence(history)
        np.testing.assert_array_equal(series.number, [1, 2, 3, 4, 5])
        np.testing.assert_array_equal(series.value, [np.nan, 5, 7, np.nan, 2])
        np.testing.assert_array_equal(series.best, [np.nan, 5, 5, 5, 2])
        np.testing.assert_array_equal(series.length_scale, [np.nan, np.nan, 1, 0.5, 0.5])
        np.testing.assert_array_equal(series.cooled, [False, False, False, True, False])
        assert series.source == (
            Source.INITIAL_DESIGN,
            Source.INITIAL_DESIGN,
            Source.GLOBAL,
            Source.GLOBAL,
            Source.LOCAL,
        )

    def test_of_a_run(self, run):
        series = convergence(run.history)
        assert len(series.number) == run.nfev
        np.testing.assert_array_equal(series.value, run.func_vals)
        assert series.best[-1] == run.fun
        assert np.all(np.diff(series.best) <= 0)

    def test_of_nothing(self):
        assert len(convergence([]).best) == 0


class TestSurface:
    def test_goes_through_the_observations(self, run):
        mean, std = PlotSurrogate.of(run.history).predict(np.array([t.unit_x for t in run.history]))
        np.testing.assert_allclose(mean, run.func_vals, atol=1e-3 * np.ptp(run.func_vals))
        assert np.all(std < 1e-2 * np.ptp(run.func_vals))

    def test_takes_the_length_scale_it_is_given(self, run):
        assert PlotSurrogate.of(run.history, 0.07).posterior.kernel.length_scale == 0.07

    def test_far_from_all_data_a_short_length_scale_knows_nothing(self, run):
        short, long = (PlotSurrogate.of(run.history, l).predict(np.array([[0.0, 1.0]])).std[0] for l in (0.02, 1.0))
        assert short > 2 * long

    def test_refuses_a_run_without_a_value(self):
        with pytest.raises(ValueError, match="no evaluation has given a value"):
            PlotSurrogate.of([trial(0, None, state=TrialState.FAILED)])


class TestLandscape:
    def test_is_the_function_where_the_data_show_it(self, run):
        seen = landscape(run, as_space(BOUNDS), fine=31)
        X, Y = np.meshgrid(seen.x.values, seen.y.values)
        true = (X - 0.5) ** 2 + 0.1 * (Y - 4) ** 2 + 3
        assert seen.mean.shape == seen.std.shape == (31, 31)
        assert np.median(np.abs(seen.mean - true)) < 0.05 * np.ptp(true)

    def test_axes_are_in_the_users_units_and_order(self):
        space = dale.Space(width=(0.0, 4.0), gain=dale.Float(0.01, 100, log=True))  # the cube has gain first
        run = dale.minimize(lambda p: p["width"] + np.log10(p["gain"]) ** 2, space, budget=10, seed=1)
        seen = landscape(run, space, fine=5)
        assert (seen.x.name, seen.y.name) == ("width", "gain")
        np.testing.assert_allclose(seen.x.values, [0, 1, 2, 3, 4])
        np.testing.assert_allclose(seen.y.values, [0.01, 0.1, 1, 10, 100])
        assert (seen.x.log, seen.y.log) == (False, True)
        np.testing.assert_array_equal(seen.points, run.x_iters)
        assert seen.mean[2, 4] > seen.mean[2, 0]  # along a row the width grows

    def test_minima_and_their_rings(self, run):
        seen = landscape(run, as_space(BOUNDS), fine=5)
        np.testing.assert_allclose(seen.minima, [[0.5, 4]], atol=1e-4)
        heights = np.array([bowl(x) for x in seen.ellipses[0] if np.all(np.isfinite(x))])
        assert len(heights) > 10
        np.testing.assert_allclose(heights, 3 + 0.01 * np.ptp(run.func_vals), rtol=1e-4)

    def test_needs_two_parameters(self):
        run = dale.minimize(lambda x: x[0], [(0, 1)], budget=3, seed=0)
        with pytest.raises(ValueError, match="needs two parameters, got 1"):
            landscape(run, as_space([(0, 1)]))


class TestSlices:
    def test_pass_through_the_best_point(self, run):
        space = as_space(BOUNDS)
        cuts = slices(run, space, fine=41)
        assert [c.axis.name for c in cuts] == ["x0", "x1"]
        for i, cut in enumerate(cuts):
            assert cut.best == run.x[i]
            nearest = np.argmin(np.abs(cut.axis.values - cut.best))
            assert abs(cut.mean[nearest] - run.fun) < 0.02 * np.ptp(run.func_vals)
            np.testing.assert_array_equal(cut.points, run.x_iters[:, i])

    def test_know_numbers_only(self):
        class Wide:
            width = 2

        space = as_space(BOUNDS)
        space.parameters["x0"] = Wide()
        with pytest.raises(TypeError, match="pictures know numbers only"):
            axis_of(space, "x0")
        with pytest.raises(TypeError, match="pictures know numbers only"):
            axis_of(dale.Space(c=dale.Choice(["a", "b"]), y=(0, 1)), "c")


def test_pictures_of_conditional_parameters_are_refused():
    space = dale.Space(n=dale.Int(1, 3), x=dale.Float(0, 1).when(n=[2, 3]))
    result = dale.minimize(lambda p: p["n"] + p.get("x", 0.5), space, budget=8, seed=0)
    for draw in (slices, landscape):
        with pytest.raises(TypeError, match="pictures know no conditional parameters, and 'x' is one"):
            draw(result, space)


def minimum_with(hessian, x=(0.0, 0.0)):
    x = np.array(x)
    return LocalMinimum(x, x, 0.0, 0.01, np.array(hessian), 1.0, 0.1, 8, True)


class TestSharpness:
    def test_of_a_diagonal_hessian(self):
        moves = sharpness(minimum_with([[2.0, 0.0], [0.0, 8.0]]), 1.0)
        np.testing.assert_allclose(moves.alone, [1.0, 0.5])
        np.testing.assert_allclose(moves.followed, moves.alone)

    def test_a_valley_lets_parameters_follow_each_other(self):
        H = np.array([[1.0, 0.9], [0.9, 1.0]])
        moves = sharpness(minimum_with(H), 0.5)
        np.testing.assert_allclose(moves.alone, [1, 1])
        np.testing.assert_allclose(moves.followed, np.sqrt(np.diag(np.linalg.inv(H))))
        assert np.all(moves.followed > 2)

    def test_units_may_be_far_apart(self):
        units = np.array([1e-9, 1e9])
        H = np.array([[1.0, 0.9], [0.9, 1.0]])
        moves = sharpness(minimum_with(H / np.outer(units, units)), 0.5)
        np.testing.assert_allclose(moves.followed / units, np.sqrt(np.diag(np.linalg.inv(H))))

    def test_moving_so_far_costs_the_rise(self):
        run = dale.minimize(bowl, BOUNDS, budget=14, seed=0)
        rise = acceptable_rise(run.func_vals)
        (found,) = run.local_minima
        for i, step in enumerate(sharpness(found, rise).alone):
            moved = found.x.copy()
            moved[i] += step
            assert bowl(moved) - found.fun == pytest.approx(rise, rel=1e-3)

    def test_a_ring_is_broken_where_it_leaves_the_box(self):
        space = as_space([(0.0, 1.0), (0.0, 1.0)])
        line = ellipse(minimum_with([[8.0, 0.0], [0.0, 8.0]], x=(0.05, 0.5)), space, 0.16)  # a circle of radius 0.2
        outside = np.isnan(line[:, 0])
        assert 0 < np.sum(outside) < len(line) / 2
        np.testing.assert_allclose(np.linalg.norm(line[~outside] - [0.05, 0.5], axis=1), 0.2)

    def test_a_ring_on_a_logarithmic_axis_is_an_ellipse_in_the_cube(self):
        space = dale.Space(a=dale.Float(1e-2, 1e2, log=True), b=(0.0, 1.0))
        cube = np.array([[40.0, 5.0], [5.0, 10.0]])
        params = {"a": 1.0, "b": 0.5}
        found = LocalMinimum(np.array([1.0, 0.5]), params, 0.0, 0.01, space.hessian(params, cube), 1, 0.1, 8, True)
        step = np.array([space.encode(dict(zip("ab", x, strict=True))) for x in ellipse(found, space, 0.1)]) - 0.5
        np.testing.assert_allclose(np.einsum("ij,jk,ik->i", step, cube, step) / 2, 0.1)

    def test_no_values_no_rise(self):
        assert acceptable_rise(np.array([])) == 0


def test_the_hessian_is_that_of_the_users_units(run):
    """Guards the factor of two between x'Hx and x'Hx / 2: the bowl has second derivatives 2 and 0.2."""
    np.testing.assert_allclose(run.local_minima[0].hessian, [[2, 0], [0, 0.2]], atol=1e-6)
