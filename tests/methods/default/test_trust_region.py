"""Trust regions: each rule of their update, and that they are a function of the trials, not of the order of values."""

import dataclasses
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dale.history.reason import ClosedRegion, Reason, Source, TrustRegionStep
from dale.history.trial import Trial, TrialState
from dale.methods.default import trust_region as trust
from dale.methods.default.settings import TrustRegionSettings
from dale.methods.default.trust_region import (
    BOUNDARY_STEP,
    HIGH_RATIO,
    LOW_RATIO,
    MAX_CLOSED_RADIUS,
    MAX_MISFIT,
    MAX_MOVE,
    MAX_RADIUS,
    MIN_CLOSED_RADIUS,
    SHORT_STEP,
    VERY_SHORT_STEP,
    RegionReplay,
    TrustRegion,
    TrustRegionSet,
    closing_radius,
)
from dale.models.ellipsoid import Ellipsoid
from dale.models.taylor import TaylorModel

FAILURE_TOLERANCE = TrustRegionSettings().failure_tolerance
INITIAL_RADIUS = TrustRegionSettings().initial_radius
IMPATIENT = TrustRegionSettings(failure_tolerance=1)
MIDDLE = np.array([0.5, 0.5])
FULL, HALF_WAY, TINY = (
    (1 + BOUNDARY_STEP) / 2,
    (SHORT_STEP + BOUNDARY_STEP) / 2,
    VERY_SHORT_STEP / 2,
)  # norms of steps
HIGH, MEDIUM, LOW = (
    HIGH_RATIO + 0.1,
    (HIGH_RATIO + LOW_RATIO) / 2,
    LOW_RATIO - 0.2,
)  # ratios of actual to predicted reduction


def step(norm, center=0, radius=0.1, predicted=2.0):
    return TrustRegionStep(center, radius, norm, predicted)


def after(length, r, **region):
    return TrustRegion(MIDDLE, **{"radius": 0.1} | region).update(step(length), 2.0 * r)


def state(region):
    return region.center.tolist(), region.radius, region.failures, region.confirmed


def trial(number, point, value=None, *, local=None, closed=(), failed=False):
    what = TrialState.FAILED if failed else TrialState.PENDING if value is None else TrialState.COMPLETE
    point = np.array(point, dtype=float)
    return Trial(number, point, point, point, Reason(Source.LOCAL, step=local, closed_regions=closed), what, value)


def trials_with(*outcomes, length=HALF_WAY):
    """Trial 0 in the middle, then steps from it with these ratios of actual to predicted reduction; None fails."""
    trials = [trial(0, MIDDLE, 10.0)]
    radius = 0.1
    for k, r in enumerate(outcomes, 1):
        value = None if r is None else 10.0 - 2.0 * r
        trials.append(trial(k, [0.5, 0.5 + 0.01 * k], value, local=step(length, radius=radius), failed=r is None))
        radius = TrustRegionSet.replay(trials).open[-1].radius
    return trials


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


class TestReplay:
    def test_without_steps_there_are_no_regions(self):
        assert TrustRegionSet.replay([trial(k, [0.1 * k, 0.5], 1.0) for k in range(4)]) == TrustRegionSet()

    def test_a_step_opens_a_region_and_later_ones_move_it(self):
        trials = trials_with(HIGH)
        (region,) = TrustRegionSet.replay(trials).open
        assert state(region) == ([0.5, 0.5], 0.1, 0, True)
        assert state(TrustRegionSet.replay(trials).at(trials[1].unit_x)) == ([0.5, 0.51], 0.1, 0, True)

    def test_maximum_move(self):
        regions = TrustRegionSet((TrustRegion(MIDDLE, 0.1, failures=2, confirmed=True),))
        near, far = MIDDLE + 0.0999 * MAX_MOVE, MIDDLE + 0.1001 * MAX_MOVE
        assert regions.at(near).failures == 2
        new = regions.at(far, initial_radius=0.07)
        assert (new.radius, new.failures, new.confirmed) == (0.07, 0, False)
        assert regions.at(far).radius == INITIAL_RADIUS

    def test_the_most_recently_used_region_comes_first(self):
        regions = TrustRegionSet((TrustRegion(MIDDLE, 0.1, 1), TrustRegion(MIDDLE + 0.1, 0.1, 2)))
        assert regions.at(MIDDLE + 0.05).failures == 2

    def test_a_failed_evaluation_is_a_failure(self):
        for length in (FULL, HALF_WAY, TINY):
            failed, bad = (TrustRegionSet.replay(trials_with(r, length=length)).open[-1] for r in (None, -99.0))
            assert state(failed) == state(bad)
            assert failed.failures == 1

    def test_a_transient_failure_is_not_a_failure(self):
        """Only its retry counts."""
        failed = dataclasses.replace(trial(1, [0.6, 0.5], failed=True, local=step(TINY)), retry=True)
        [region] = TrustRegionSet.replay([trial(0, MIDDLE, 10.0), failed]).open
        assert (region.failures, region.radius) == (0, 0.1)
        again = trial(2, [0.6, 0.5], 9.0, local=step(TINY))
        [with_it] = TrustRegionSet.replay([trial(0, MIDDLE, 10.0), failed, again]).open
        [without] = TrustRegionSet.replay([trial(0, MIDDLE, 10.0), dataclasses.replace(again, id=1)]).open
        assert state(with_it) == state(without)

    def test_a_pending_step_does_not_count(self):
        trials = trials_with(HIGH, LOW, LOW)
        before = TrustRegionSet.replay(trials)
        pending = trial(4, [0.5, 0.58], local=step(FULL, radius=before.open[-1].radius))
        assert [state(r) for r in TrustRegionSet.replay([*trials, pending]).open] == [state(r) for r in before.open]

    def test_the_radius_is_that_of_the_step(self):
        """The method may have shrunk the region before the step."""
        trials = [*trials_with(HIGH), trial(2, [0.5, 0.6], 20.0, local=step(0.9 * SHORT_STEP, radius=0.03))]
        (region,) = TrustRegionSet.replay(trials).open
        assert (region.radius, region.failures) == (0.015, 1)

    def test_separate_regions_are_updated_separately(self):
        other = trial(2, [0.1, 0.1], 9.0)
        trials = [*trials_with(LOW), other, trial(3, [0.1, 0.2], 7.0, local=step(FULL, center=2))]
        first, second = TrustRegionSet.replay(trials).open
        assert (first.failures, first.radius, first.confirmed) == (1, 0.1, False)
        assert (second.failures, second.radius, second.confirmed) == (0, 0.2, True)

    def test_closing_removes_the_region_and_leaves_a_ball(self):
        trials = trials_with(HIGH, LOW)
        closing = trial(3, [0.9, 0.9], 1.0, closed=(ClosedRegion(1, 0.07),))
        regions = TrustRegionSet.replay([*trials, closing])
        assert regions.open == ()
        (ball,) = regions.closed
        assert ball.radius == 0.07
        np.testing.assert_array_equal(ball.center, trials[1].unit_x)
        inside = regions.covers(trials[1].unit_x + np.array([[0.069, 0.0], [0.071, 0.0]]))
        assert inside.tolist() == [True, False]

    def test_closing_leaves_other_regions_open(self):
        far = TrustRegion(np.array([0.05, 0.05]), 0.1)
        regions = TrustRegionSet((TrustRegion(MIDDLE, 0.1), far)).close(Ellipsoid(MIDDLE + 0.01, 0.02))
        assert regions.open == (far,)

    def test_the_order_of_values_does_not_matter(self):
        """Every order of the values leads to the same regions."""
        final = trials_with(HIGH, LOW, None, LOW)
        expected = TrustRegionSet.replay(final).open[-1]
        for order in itertools.permutations(range(1, 5)):
            now = [final[0]] + [dataclasses.replace(t, state=TrialState.PENDING, value=None) for t in final[1:]]
            for k in order:
                now[k] = final[k]
                (region,) = TrustRegionSet.replay(now).open
            assert state(region) == state(expected)


def states(regions):
    """Everything that two sets of regions can differ in."""
    return [state(r) for r in regions.open], [(b.center.tolist(), b.radius) for b in regions.closed]


def point_in_a_cluster(number):
    """A point in one of three clusters."""
    return np.random.default_rng(number).choice([0.1, 0.5, 0.85]) + 0.1 * np.random.default_rng([number, 1]).random(2)


def proposed(number, trials, draw):
    """One more trial, with or without a step from an evaluated trial, and with or without a closed region."""
    rng = np.random.default_rng(draw)
    evaluated = [t.id for t in trials if t.value is not None]
    local, closed = None, ()
    if evaluated and rng.random() < 0.7:
        radius, length = float(rng.choice([0.2, 0.05, 0.01])), float(rng.choice([TINY, HALF_WAY, FULL]))
        local = step(length, int(rng.choice(evaluated)), radius, predicted=float(rng.choice([0.5, 3.0])))
    if evaluated and rng.random() < 0.15:
        closed = (ClosedRegion(int(rng.choice(evaluated)), 0.07),)
    return trial(number, point_in_a_cluster([number, draw]), local=local, closed=closed)


events = st.lists(
    st.tuples(
        st.sampled_from(["ask", "ask", "ask", "tell", "tell", "fail", "cut", "failure_tolerance", "other"]),
        st.integers(0, 99),
    ),
    min_size=8,
    max_size=40,
)


class TestRegionReplay:
    """Stored states do not change the result."""

    @settings(deadline=None, derandomize=True, max_examples=150)
    @given(events=events)
    def test_any_sequence_of_events(self, events):
        """Values in any order, failures that get a value later, dropped trials, other settings, another run."""
        replay, trials, settings = RegionReplay(), [], TrustRegionSettings()
        for what, number in events:
            i = number % max(len(trials), 1)
            if what == "ask":
                trials.append(proposed(len(trials), trials, number))
            elif what == "cut":
                trials = trials[: len(trials) - number % 3]
            elif what == "failure_tolerance":
                settings = TrustRegionSettings(failure_tolerance=1 + number % 3)
            elif what == "other":
                trials = [dataclasses.replace(t) for t in trials]  # equal, but not the same ones
                if trials:
                    trials[0] = trial(0, point_in_a_cluster(number), 1.0)
            elif trials and trials[i].value is None:
                outcome = (
                    {"state": TrialState.COMPLETE, "value": number / 10}
                    if what == "tell"
                    else {"state": TrialState.FAILED}
                )
                trials[i] = dataclasses.replace(trials[i], **outcome)
            assert states(replay.now(trials, settings)) == states(TrustRegionSet.replay(trials, settings))
            assert states(replay.now(tuple(trials), settings)) == states(TrustRegionSet.replay(trials, settings))

    @pytest.mark.parametrize("order", list(itertools.permutations(range(1, 5))))
    def test_values_in_any_order(self, order):
        final, replay = trials_with(HIGH, LOW, None, LOW), RegionReplay()
        now = [final[0]] + [dataclasses.replace(t, state=TrialState.PENDING, value=None) for t in final[1:]]
        for k in order:
            assert states(replay.now(now)) == states(TrustRegionSet.replay(now))
            now[k] = final[k]
        assert states(replay.now(now)) == states(TrustRegionSet.replay(final))

    def test_a_value_after_a_failure(self):
        replay, trials = RegionReplay(), trials_with(HIGH, None, LOW)
        before = states(replay.now(trials))
        trials[2] = dataclasses.replace(trials[2], state=TrialState.COMPLETE, value=-50.0)
        assert states(replay.now(trials)) == states(TrustRegionSet.replay(trials)) != before

    def test_other_failure_tolerance(self):
        replay, trials = RegionReplay(), trials_with(LOW, LOW)
        radii = [replay.now(trials, TrustRegionSettings(failure_tolerance=k)).open[-1].radius for k in (3, 1, 2, 3)]
        assert radii == [
            TrustRegionSet.replay(trials, TrustRegionSettings(failure_tolerance=k)).open[-1].radius
            for k in (3, 1, 2, 3)
        ]
        assert radii[0] != radii[1]

    def test_shorter_and_longer_histories(self):
        replay, trials = RegionReplay(), trials_with(HIGH, LOW, LOW, LOW)
        for n in (5, 3, 4, 0, 5, 1):
            assert states(replay.now(trials[:n])) == states(TrustRegionSet.replay(trials[:n]))

    def test_a_result_does_not_change_later(self):
        replay, trials = RegionReplay(), trials_with(HIGH, LOW, LOW, LOW)
        early = replay.now(trials[:2])
        before = states(early)
        replay.now(trials)
        assert states(early) == before

    def test_only_changed_trials_are_replayed(self, monkeypatch):
        """From the last stored state before the first trial that is new or has changed."""
        replayed, after = [], TrustRegionSet.after

        def recorded(self, trial, trials, settings):
            replayed.append(trial.id)
            return after(self, trial, trials, settings)

        monkeypatch.setattr(TrustRegionSet, "after", recorded)
        monkeypatch.setattr(trust, "CHECKPOINT_INTERVAL", 2)
        replay, trials = RegionReplay(), trials_with(HIGH, LOW, LOW, LOW)
        pending = dataclasses.replace(trials[3], state=TrialState.PENDING, value=None)
        seen = []
        for now in (
            trials[:2],
            trials[:3],
            [*trials[:3], pending, trials[4]],
            [*trials[:3], pending, trials[4]],
            trials,
        ):
            replayed.clear()
            replay.now(now)
            seen.append([*replayed])
        assert seen == [[0, 1], [2], [2, 3, 4], [4], [2, 3, 4]]


def quadratic(X):
    return np.sum((X - 0.5) ** 2, axis=1) + 0.3 * (X[:, 0] - 0.5) * (X[:, 1] - 0.5)


def model_and_data(distances, wrong=()):
    """A model of a quadratic, and observations at these distances; at some of them, half of the rise is added."""
    rng = np.random.default_rng(0)
    near = 0.5 + 0.05 * rng.uniform(-1, 1, (12, 2))
    model = TaylorModel.fit(near, quadratic(near), MIDDLE, 0.0, 0.05)
    X = np.array([MIDDLE + r * np.array([np.cos(7 * r), np.sin(7 * r)]) for r in distances])
    y = quadratic(X) * np.where(np.isin(distances, wrong), 1 + 2.5 * MAX_MISFIT, 1.0)
    return dataclasses.replace(model, rho=10.0), X, y


class TestClosingRadius:
    region = TrustRegion(MIDDLE, 0.004, confirmed=True)

    def test_up_to_the_last_observation_before_one_that_the_model_gets_wrong(self):
        model, X, y = model_and_data([0.15, 0.03, 0.09, 0.06, 0.12], wrong=[0.12])
        assert closing_radius(model, self.region, X, y) == pytest.approx(0.09)

    def test_up_to_the_farthest_observation_if_the_model_is_right(self):
        model, X, y = model_and_data([0.15, 0.03, 0.09])
        assert closing_radius(model, self.region, X, y) == pytest.approx(0.15)

    def test_the_minimum_radius_if_the_model_is_wrong(self):
        model, X, y = model_and_data([0.03, 0.09], wrong=[0.03])
        assert closing_radius(model, self.region, X, y) == MIN_CLOSED_RADIUS

    def test_at_least_two_radii_of_the_region(self):
        model, X, y = model_and_data([0.03, 0.09], wrong=[0.03])
        assert closing_radius(model, dataclasses.replace(self.region, radius=0.04), X, y) == 0.08

    @pytest.mark.parametrize("radius", [1e-6, 0.04, MAX_RADIUS])
    def test_at_most_the_maximum_radius_or_half_of_rho(self, radius):
        model, X, y = model_and_data([0.1, 0.2, 0.3, 0.4])
        region = dataclasses.replace(self.region, radius=radius)
        assert closing_radius(model, region, X, y) == MAX_CLOSED_RADIUS
        assert closing_radius(dataclasses.replace(model, rho=0.1), region, X, y) == 0.05

    @pytest.mark.parametrize("radius", [1e-8, 0.01, INITIAL_RADIUS, MAX_RADIUS])
    def test_small_if_no_step_confirmed_the_model(self, radius):
        model, X, y = model_and_data([0.03, 0.09, 0.15])
        assert 0 < closing_radius(model, TrustRegion(MIDDLE, radius), X, y) <= min(2 * radius, MAX_CLOSED_RADIUS)
        narrow = dataclasses.replace(model, rho=0.05)
        assert 0 < closing_radius(narrow, TrustRegion(MIDDLE, radius), X, y) <= min(2 * radius, 0.025)
