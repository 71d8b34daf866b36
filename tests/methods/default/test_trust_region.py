"""Trust regions: each rule of their update, ties, and their shape."""

import dataclasses
import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest
from region_trials import (
    FAILURE_TOLERANCE,
    FULL,
    HALF_WAY,
    HIGH,
    INITIAL_RADIUS,
    LOW,
    MEDIUM,
    MIDDLE,
    NARROW,
    TINY,
    step,
    trial,
)

import dale
from dale.history.reason import Source
from dale.methods.default.local_model import LocalProblem
from dale.methods.default.local_search import LocalSearch
from dale.methods.default.settings import TaylorSettings, TrustRegionSettings
from dale.methods.default.trust_region import (
    HIGH_RATIO,
    LOW_RATIO,
    MAX_ERROR,
    MAX_MOVE,
    MAX_RADIUS,
    MAX_SPREAD,
    PLATEAU_RTOL,
    SHORT_STEP,
    VERY_SHORT_STEP,
    TrustRegion,
    TrustRegionSet,
)
from dale.models.ellipsoid import Ellipsoid
from dale.space.domain import Domain

IMPATIENT = TrustRegionSettings(failure_tolerance=1)


def after(length, r, **region):
    return TrustRegion(MIDDLE, **{"radius": 0.1} | region).update(step(length), 2.0 * r)


class TestUpdate:
    def test_a_high_ratio_at_the_boundary_doubles_the_radius(self):
        region = after(FULL, HIGH, failures=2)
        assert (region.radius, region.failures, region.confirmed) == (0.2, 0, True)

    def test_a_long_step_doubles_the_radius(self):
        assert after(7.0, HIGH).radius == 0.2

    def test_the_radius_is_at_most_a_half(self):
        assert after(FULL, HIGH, radius=0.8 * MAX_RADIUS).radius == MAX_RADIUS
        assert after(FULL, HIGH, radius=MAX_RADIUS).radius == MAX_RADIUS

    @pytest.mark.parametrize("r", [HIGH, MEDIUM])
    def test_otherwise_the_radius_stays(self, r):
        region = after(HALF_WAY, r, failures=2)
        assert (region.radius, region.failures, region.confirmed) == (0.1, 0, r > HIGH_RATIO)
        assert after(FULL, MEDIUM).radius == 0.1

    @pytest.mark.parametrize("r", [HIGH, MEDIUM])
    def test_a_very_short_success_halves_the_radius(self, r):
        region = after(TINY, r, failures=2)
        assert (region.radius, region.failures) == (0.05, 0)
        assert after(VERY_SHORT_STEP, r).radius == 0.1

    def test_every_third_failure_in_a_row_halves_the_radius(self):
        region, radii = TrustRegion(MIDDLE, 0.1), []
        for _ in range(2 * FAILURE_TOLERANCE):
            region = region.update(step(HALF_WAY), 2.0 * LOW)
            radii.append(region.radius)
        assert radii == [0.1] * (FAILURE_TOLERANCE - 1) + [0.05] * FAILURE_TOLERANCE + [0.025]
        assert region.failures == 2 * FAILURE_TOLERANCE
        assert not region.confirmed

    def test_four_concurrent_failures_count_as_one(self):
        region, beside = TrustRegion(MIDDLE, 0.1), dataclasses.replace(step(HALF_WAY), n_concurrent=3)
        radii = []
        for _ in range(4 * FAILURE_TOLERANCE):
            region = region.update(beside, 2.0 * LOW)
            radii.append(region.radius)
        assert radii == [0.1] * (4 * FAILURE_TOLERANCE - 1) + [0.05]

    def test_failure_tolerance_is_a_setting(self):
        region = TrustRegion(MIDDLE, 0.1).update(step(HALF_WAY), 2.0 * LOW, IMPATIENT)
        assert region.radius == 0.05

    def test_more_failures_in_more_variables(self):
        """Half of the variables and one, from six variables on."""
        tolerances = [TrustRegionSettings().failures_before_halving(d) for d in (1, 2, 5, 6, 7, 8, 20)]
        assert tolerances == [3, 3, 3, 4, 4, 5, 11]
        assert TrustRegionSettings(failure_tolerance=2).failures_before_halving(20) == 2
        region, n = TrustRegion(np.full(20, 0.5), 0.1), 0
        while region.radius == 0.1:
            region, n = region.update(step(HALF_WAY), 2.0 * LOW), n + 1
        assert n == 11

    def test_a_short_failure_halves_the_radius_at_once(self):
        assert after(0.9 * SHORT_STEP, LOW).radius == 0.05
        assert after(SHORT_STEP, LOW).radius == 0.1

    def test_ratios_equal_to_the_thresholds_are_medium(self):
        assert after(FULL, HIGH_RATIO).radius == 0.1
        assert after(HALF_WAY, LOW_RATIO, failures=2).failures == 0

    def test_confirmed_is_permanent(self):
        assert after(HALF_WAY, LOW, confirmed=True).confirmed
        assert after(HALF_WAY, MEDIUM, confirmed=True).confirmed

    @pytest.mark.parametrize("predicted", [0.0, -1.0])
    def test_without_a_predicted_reduction_any_reduction_is_a_success(self, predicted):
        region = TrustRegion(MIDDLE, 0.1)
        assert region.update(step(HALF_WAY, predicted=predicted), 1e-9).failures == 0
        assert region.update(step(HALF_WAY, predicted=predicted), -1e-9).failures == 1


class TestTies:
    """A step that comes back with exactly the value of the center says nothing about the slope."""

    @pytest.mark.parametrize("length", [FULL, HALF_WAY, TINY])
    def test_an_exact_tie_doubles_the_radius_and_counts_as_a_failure(self, length):
        region = after(length, 0.0, failures=1, confirmed=True)
        assert (region.radius, region.failures, region.confirmed) == (0.2, 2, True)

    def test_every_tie_doubles_it_up_to_a_half(self):
        region, radii = TrustRegion(MIDDLE, 0.05), []
        for _ in range(2 * FAILURE_TOLERANCE):
            region = region.update(step(HALF_WAY), 0.0)
            radii.append(region.radius)
        assert radii == [0.1, 0.2, 0.4, MAX_RADIUS, MAX_RADIUS, MAX_RADIUS]

    def test_a_tie_beside_pending_steps_is_a_part_of_a_failure(self):
        beside = dataclasses.replace(step(HALF_WAY), n_concurrent=3)
        assert TrustRegion(MIDDLE, 0.1).update(beside, 0.0).failures == 0.25

    def test_the_smallest_difference_is_no_tie(self):
        for actual in (5e-324, -5e-324):
            region = TrustRegion(MIDDLE, 0.1).update(step(0.9 * SHORT_STEP), actual)
            assert (region.radius, region.failures) == (0.05, 1)

    def test_a_tie_below_the_resolution_of_the_values_is_a_failure(self):
        """Where no more than a rounding error was predicted, the region has converged: it shrinks."""
        small = step(0.9 * SHORT_STEP, predicted=1e-10)
        assert TrustRegion(MIDDLE, 0.1).update(small, 0.0, plateau=1e-9).radius == 0.05
        assert TrustRegion(MIDDLE, 0.1).update(small, 0.0, plateau=1e-11).radius == 0.2

    @pytest.mark.parametrize(("factor", "radius"), [(0.9, 0.05), (1.1, 0.2)])
    def test_the_resolution_is_that_of_the_center(self, factor, radius):
        local = step(0.9 * SHORT_STEP, predicted=factor * PLATEAU_RTOL * 10.0)
        [region] = TrustRegionSet.replay([trial(0, MIDDLE, -10.0), trial(1, [0.5, 0.52], -10.0, local=local)]).open
        assert (region.radius, region.failures) == (radius, 1)

    @pytest.mark.parametrize(("actual", "failures", "n_failed"), [(-3.0, 2, 3), (0.0, 2, 3), (0.01, 0, 0), (5.0, 0, 0)])
    def test_a_step_to_a_neighbouring_integer_says_nothing_about_the_radius(self, actual, failures, n_failed):
        """But a failure may be a sign of noise."""
        beyond = dataclasses.replace(step(4.0), is_neighbour=True)
        region = TrustRegion(MIDDLE, 0.1, failures=2, n_failed=2).update(beyond, actual)
        assert (region.radius, region.failures, region.n_failed, region.confirmed) == (0.1, failures, n_failed, False)

    def test_a_failed_evaluation_is_neither_a_tie_nor_a_failure(self):
        [region] = TrustRegionSet.replay(
            [trial(0, MIDDLE, 10.0), trial(1, [0.6, 0.5], failed=True, local=step(0.9 * SHORT_STEP))]
        ).open
        assert (region.radius, region.failures) == (0.1, 0)


class TestCalibration:
    """The spread follows the standardised errors of the steps."""

    def errors(self, errors, spread=1.0):
        """The spread after steps with these errors."""
        region = TrustRegion(MIDDLE, 0.1, spread=spread)
        for error in errors:
            region = region.with_error_of(self.trial(3.0 + 0.5 * error, region.spread))
        return region.spread

    def trial(self, value, spread=1.0, mean=3.0, std=0.5):
        local = dataclasses.replace(step(FULL), spread=spread)
        return SimpleNamespace(value=value, reason=dale.Reason(Source.LOCAL, mean=mean, std=std, step=local))

    def test_errors_of_the_size_of_the_std_change_nothing(self):
        assert self.errors([1.0, -1.0, 1.0], spread=4.0) == pytest.approx(4.0)

    def test_large_errors_raise_it_and_small_ones_reduce_it_down_to_1(self):
        assert self.errors([3.0]) == pytest.approx(math.sqrt(7 / 8 + 9 / 8))
        assert self.errors([-3.0, 0.0]) == pytest.approx(math.sqrt(2.0 * 7 / 8))
        assert self.errors([0.0] * 50, spread=9.0) == 1.0

    def test_one_surprise_counts_only_so_much(self):
        assert self.errors([1e9]) == self.errors([MAX_ERROR])
        assert self.errors([1e9] * 50) == MAX_SPREAD

    def test_steps_beside_pending_ones_do_not_count(self):
        region, late = TrustRegion(MIDDLE, 0.1, spread=2.0), self.trial(9.0)
        assert region.with_error_of(late).spread > 2
        late.reason = dataclasses.replace(late.reason, step=dataclasses.replace(late.reason.step, n_concurrent=1))
        assert region.with_error_of(late) is region

    def test_it_is_not_used_beside_pending_points(self):
        observations = SimpleNamespace(X=np.array([MIDDLE]), has_value=np.array([True]))
        regions = TrustRegionSet((TrustRegion(MIDDLE, 0.1, spread=5.0),))
        for pending, spread in ((np.zeros((0, 2)), 5.0), (np.ones((1, 2)), 1.0)):
            snapshot = SimpleNamespace(history=SimpleNamespace(pending=pending))
            search = LocalSearch(snapshot, observations, TrustRegionSettings(), TaylorSettings(), None)
            assert search.region_of(0, regions).spread == spread

    def test_it_converges_to_the_true_spread(self):
        """Gaussian errors, 20 times as large as the model believes: the standardised ones become of size 1."""
        rng, region, standardised = np.random.default_rng(0), TrustRegion(MIDDLE, 0.1), []
        for error in 20 * rng.normal(size=400):
            standardised.append(error / region.spread)
            region = region.with_error_of(self.trial(error, region.spread, mean=0.0, std=region.spread))
        assert 0.8 < np.std(standardised[20:]) < 1.3

    def test_without_a_value_or_a_finite_prediction_it_stays(self):
        region = TrustRegion(MIDDLE, 0.1, spread=2.0)
        for value, mean, std in ((None, 1.0, 1.0), (1.0, None, None), (1.0, 1.0, 0.0), (1e308, math.inf, math.inf)):
            assert region.with_error_of(self.trial(value, mean=mean, std=std)) is region
        assert region.with_error_of(self.trial(1.7e308, mean=-1.7e308, std=1e300)).spread > 2

    def test_it_scales_the_std_of_the_model(self):
        rng = np.random.default_rng(0)
        X = rng.random((12, 2))
        y = np.sin(5 * X).sum(axis=1)
        center = int(np.argmin(y))
        stds = [
            LocalProblem(
                X=X,
                y=y,
                constraints=np.empty((12, 0)),
                center=center,
                region=TrustRegion(X[center], 0.1, spread=spread),
                pending=np.empty((0, 2)),
                domain=Domain.unit(2),
                target=float(np.min(y)),
                min_reduction=0.0,
                settings=TaylorSettings(calibrated=calibrated),
            ).objective.predict(np.ones((1, 2)))[1][0]
            for spread, calibrated in ((1.0, True), (5.0, True), (5.0, False))
        ]
        assert stds[1] == pytest.approx(5 * stds[0])
        assert stds[2] == stds[0]


class TestShape:
    """A region has the shape of its last step, and is measured in it."""

    region = TrustRegion(MIDDLE, 0.1, shape=np.array([[4.0, 0.0], [0.0, 0.25]]))

    def test_it_comes_from_the_reason_of_the_step(self):
        trials = [trial(0, MIDDLE, 10.0), trial(1, [0.6, 0.5], 9.0, local=step(HALF_WAY, shape=NARROW))]
        [region] = TrustRegionSet.replay(trials).open
        np.testing.assert_array_equal(region.shape, NARROW)
        np.testing.assert_array_equal(region.ellipsoid.shape, NARROW)
        moved = TrustRegionSet.replay(trials).at(trials[1].unit_x)
        np.testing.assert_array_equal(moved.shape, NARROW)
        np.testing.assert_array_equal(moved.ellipsoid.center, trials[1].unit_x)

    def test_a_later_step_replaces_it(self):
        trials = [trial(0, MIDDLE, 10.0), trial(1, [0.5, 0.52], 8.0, local=step(HALF_WAY, shape=NARROW))]
        trials += [trial(2, [0.5, 0.53], 6.0, local=step(HALF_WAY, center=1))]
        [region] = TrustRegionSet.replay(trials).open
        assert region.shape is None
        assert region.confirmed

    def test_a_pending_step_has_a_shape_too(self):
        [region] = TrustRegionSet.replay(
            [trial(0, MIDDLE, 10.0), trial(1, [0.6, 0.5], local=step(1, shape=NARROW))]
        ).open
        np.testing.assert_array_equal(region.shape, NARROW)

    def test_an_update_keeps_it(self):
        for length, r in itertools.product([FULL, HALF_WAY, TINY], [HIGH, MEDIUM, LOW, 0.0]):
            assert self.region.update(step(length), 2.0 * r).shape is self.region.shape

    def test_maximum_move_in_the_metric_of_the_shape(self):
        for i, axis in enumerate((4.0, 0.25)):
            e = np.eye(2)[i]
            assert self.region.can_move_to(MIDDLE + 0.0999 * MAX_MOVE * axis * e)
            assert not self.region.can_move_to(MIDDLE + 0.1001 * MAX_MOVE * axis * e)

    def test_a_region_beyond_the_maximum_move_is_new_and_a_ball(self):
        regions = TrustRegionSet((self.region,))
        across, along = MIDDLE + np.array([0.0, 0.06]), MIDDLE + np.array([0.3, 0.0])
        assert regions.at(across).shape is None
        assert regions.at(across).radius == INITIAL_RADIUS
        assert regions.at(along).shape is self.region.shape

    def test_closing_a_ball_removes_the_regions_that_reach_its_center(self):
        regions = TrustRegionSet((self.region,))
        assert regions.close(Ellipsoid(MIDDLE + np.array([0.3, 0.0]), 0.02)).open == ()
        assert regions.close(Ellipsoid(MIDDLE + np.array([0.0, 0.06]), 0.02)).open == (self.region,)
