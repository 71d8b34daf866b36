"""The life of the Taylor regions: each line of its table, and that only the trials count, not when they were told."""

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
)  # lengths of steps
WELL, SO_SO, BADLY = HIGH_RATIO + 0.1, (HIGH_RATIO + LOW_RATIO) / 2, LOW_RATIO - 0.2  # actual over predicted decrease


def step(length, center=0, radius=0.1, decrease=2.0):
    return TrustRegionStep(center, radius, length, decrease)


def after(length, r, **region):
    return TrustRegion(MIDDLE, **{"radius": 0.1} | region).update(step(length), 2.0 * r)


def state(region):
    return region.center.tolist(), region.radius, region.failures, region.confirmed


def trial(number, point, value=None, *, local=None, closed=(), failed=False):
    what = TrialState.FAILED if failed else TrialState.PENDING if value is None else TrialState.COMPLETE
    point = np.array(point, dtype=float)
    return Trial(number, point, point, point, Reason(Source.LOCAL, step=local, closed_regions=closed), what, value)


def told_in_turn(*outcomes, length=HALF_WAY):
    """Trial 0 in the middle, then steps from it with these actual over predicted decreases; None fails."""
    trials = [trial(0, MIDDLE, 10.0)]
    radius = 0.1
    for k, r in enumerate(outcomes, 1):
        value = None if r is None else 10.0 - 2.0 * r
        trials.append(trial(k, [0.5, 0.5 + 0.01 * k], value, local=step(length, radius=radius), failed=r is None))
        radius = TrustRegionSet.replay(trials).open[-1].radius
    return trials


class TestOneStep:
    def test_good_and_to_the_face_doubles(self):
        region = after(FULL, WELL, failures=2)
        assert (region.radius, region.failures, region.confirmed) == (0.2, 0, True)

    def test_a_leap_doubles_too(self):
        assert after(7.0, WELL).radius == 0.2

    def test_up_to_a_half(self):
        assert after(FULL, WELL, radius=0.8 * MAX_RADIUS).radius == MAX_RADIUS
        assert after(FULL, WELL, radius=MAX_RADIUS).radius == MAX_RADIUS

    @pytest.mark.parametrize("r", [WELL, SO_SO])
    def test_otherwise_it_stays(self, r):
        region = after(HALF_WAY, r, failures=2)
        assert (region.radius, region.failures, region.confirmed) == (0.1, 0, r > HIGH_RATIO)
        assert after(FULL, SO_SO).radius == 0.1

    @pytest.mark.parametrize("r", [WELL, SO_SO])
    def test_a_success_that_is_very_short_halves(self, r):
        region = after(TINY, r, failures=2)
        assert (region.radius, region.failures) == (0.05, 0)
        assert after(VERY_SHORT_STEP, r).radius == 0.1

    def test_every_third_failure_in_a_row_halves(self):
        region, radii = TrustRegion(MIDDLE, 0.1), []
        for _ in range(2 * FAILURE_TOLERANCE):
            region = region.update(step(HALF_WAY), 2.0 * BADLY)
            radii.append(region.radius)
        assert radii == [0.1] * (FAILURE_TOLERANCE - 1) + [0.05] * FAILURE_TOLERANCE + [0.025]
        assert region.failures == 2 * FAILURE_TOLERANCE
        assert not region.confirmed

    def test_four_at_a_time_fail_as_one(self):
        region, beside = TrustRegion(MIDDLE, 0.1), dataclasses.replace(step(HALF_WAY), n_concurrent=3)
        radii = []
        for _ in range(4 * FAILURE_TOLERANCE):
            region = region.update(beside, 2.0 * BADLY)
            radii.append(region.radius)
        assert radii == [0.1] * (4 * FAILURE_TOLERANCE - 1) + [0.05]

    def test_patience_is_a_setting(self):
        region = TrustRegion(MIDDLE, 0.1).update(step(HALF_WAY), 2.0 * BADLY, IMPATIENT)
        assert region.radius == 0.05

    def test_a_short_failure_halves_at_once(self):
        assert after(0.9 * SHORT_STEP, BADLY).radius == 0.05
        assert after(SHORT_STEP, BADLY).radius == 0.1

    def test_the_bounds_belong_to_the_middle(self):
        assert after(FULL, HIGH_RATIO).radius == 0.1
        assert after(HALF_WAY, LOW_RATIO, failures=2).failures == 0

    def test_once_confirmed_always_confirmed(self):
        assert after(HALF_WAY, BADLY, confirmed=True).confirmed
        assert after(HALF_WAY, SO_SO, confirmed=True).confirmed

    @pytest.mark.parametrize("predicted", [0.0, -1.0])
    def test_where_no_decrease_was_predicted_any_is_a_success(self, predicted):
        region = TrustRegion(MIDDLE, 0.1)
        assert region.update(step(HALF_WAY, decrease=predicted), 1e-9).failures == 0
        assert region.update(step(HALF_WAY, decrease=predicted), -1e-9).failures == 1


class TestAllTrials:
    def test_no_steps_no_regions(self):
        assert TrustRegionSet.replay([trial(k, [0.1 * k, 0.5], 1.0) for k in range(4)]) == TrustRegionSet()

    def test_a_step_opens_a_region_and_later_ones_move_it(self):
        trials = told_in_turn(WELL)
        (region,) = TrustRegionSet.replay(trials).open
        assert state(region) == ([0.5, 0.5], 0.1, 0, True)
        assert state(TrustRegionSet.replay(trials).at(trials[1].unit_x)) == ([0.5, 0.51], 0.1, 0, True)

    def test_reach(self):
        regions = TrustRegionSet((TrustRegion(MIDDLE, 0.1, failures=2, confirmed=True),))
        near, far = MIDDLE + 0.0999 * MAX_MOVE, MIDDLE + 0.1001 * MAX_MOVE
        assert regions.at(near).failures == 2
        new = regions.at(far, initial_radius=0.07)
        assert (new.radius, new.failures, new.confirmed) == (0.07, 0, False)
        assert regions.at(far).radius == INITIAL_RADIUS

    def test_the_region_used_last_comes_first(self):
        regions = TrustRegionSet((TrustRegion(MIDDLE, 0.1, 1), TrustRegion(MIDDLE + 0.1, 0.1, 2)))
        assert regions.at(MIDDLE + 0.05).failures == 2

    def test_a_failed_evaluation_is_a_failure(self):
        for length in (FULL, HALF_WAY, TINY):
            failed, bad = (TrustRegionSet.replay(told_in_turn(r, length=length)).open[-1] for r in (None, -99.0))
            assert state(failed) == state(bad)
            assert failed.failures == 1

    def test_what_the_machine_failed_is_no_failure(self):
        """Neither the trial nor its radius counts, until it has been asked again."""
        lost = dataclasses.replace(trial(1, [0.6, 0.5], failed=True, local=step(TINY)), retry=True)
        [region] = TrustRegionSet.replay([trial(0, MIDDLE, 10.0), lost]).open
        assert (region.failures, region.radius) == (0, 0.1)
        again = trial(2, [0.6, 0.5], 9.0, local=step(TINY))
        [with_it] = TrustRegionSet.replay([trial(0, MIDDLE, 10.0), lost, again]).open
        [without] = TrustRegionSet.replay([trial(0, MIDDLE, 10.0), dataclasses.replace(again, id=1)]).open
        assert state(with_it) == state(without)

    def test_a_pending_one_changes_nothing(self):
        trials = told_in_turn(WELL, BADLY, BADLY)
        before = TrustRegionSet.replay(trials)
        pending = trial(4, [0.5, 0.58], local=step(FULL, radius=before.open[-1].radius))
        assert [state(r) for r in TrustRegionSet.replay([*trials, pending]).open] == [state(r) for r in before.open]

    def test_the_radius_is_the_one_that_the_step_was_made_with(self):
        """A method may have shrunk it before the step."""
        trials = [*told_in_turn(WELL), trial(2, [0.5, 0.6], 20.0, local=step(0.9 * SHORT_STEP, radius=0.03))]
        (region,) = TrustRegionSet.replay(trials).open
        assert (region.radius, region.failures) == (0.015, 1)

    def test_regions_apart_live_apart(self):
        other = trial(2, [0.1, 0.1], 9.0)
        trials = [*told_in_turn(BADLY), other, trial(3, [0.1, 0.2], 7.0, local=step(FULL, center=2))]
        first, second = TrustRegionSet.replay(trials).open
        assert (first.failures, first.radius, first.confirmed) == (1, 0.1, False)
        assert (second.failures, second.radius, second.confirmed) == (0, 0.2, True)

    def test_closing_removes_the_region_and_leaves_a_ball(self):
        trials = told_in_turn(WELL, BADLY)
        closing = trial(3, [0.9, 0.9], 1.0, closed=(ClosedRegion(1, 0.07),))
        regions = TrustRegionSet.replay([*trials, closing])
        assert regions.open == ()
        (ball,) = regions.closed
        assert ball.radius == 0.07
        np.testing.assert_array_equal(ball.center, trials[1].unit_x)
        inside = regions.covers(trials[1].unit_x + np.array([[0.069, 0.0], [0.071, 0.0]]))
        assert inside.tolist() == [True, False]

    def test_closing_spares_what_is_far(self):
        far = TrustRegion(np.array([0.05, 0.05]), 0.1)
        regions = TrustRegionSet((TrustRegion(MIDDLE, 0.1), far)).close(Ellipsoid(MIDDLE + 0.01, 0.02))
        assert regions.open == (far,)

    def test_when_they_were_told_does_not_show(self):
        """Any order of the tells leads through other states to the same one."""
        final = told_in_turn(WELL, BADLY, None, BADLY)
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


def somewhere(number):
    """Trials come in three valleys, near to each other and apart."""
    return np.random.default_rng(number).choice([0.1, 0.5, 0.85]) + 0.1 * np.random.default_rng([number, 1]).random(2)


def proposed(number, trials, draw):
    """One more trial: with a step from a trial that is known, or not, and some closed regions."""
    rng = np.random.default_rng(draw)
    known = [t.id for t in trials if t.value is not None]
    local, closed = None, ()
    if known and rng.random() < 0.7:
        radius, length = float(rng.choice([0.2, 0.05, 0.01])), float(rng.choice([TINY, HALF_WAY, FULL]))
        local = step(length, int(rng.choice(known)), radius, decrease=float(rng.choice([0.5, 3.0])))
    if known and rng.random() < 0.15:
        closed = (ClosedRegion(int(rng.choice(known)), 0.07),)
    return trial(number, somewhere([number, draw]), local=local, closed=closed)


events = st.lists(
    st.tuples(
        st.sampled_from(["ask", "ask", "ask", "tell", "tell", "fail", "cut", "failure_tolerance", "other"]),
        st.integers(0, 99),
    ),
    min_size=8,
    max_size=40,
)


class TestLife:
    """What is remembered does not show."""

    @settings(deadline=None, derandomize=True, max_examples=150)
    @given(events=events)
    def test_any_history_with_one_object(self, events):
        """Values in any order, failures that get a value later, dropped trials, other settings, another run."""
        life, trials, settings = RegionReplay(), [], TrustRegionSettings()
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
                    trials[0] = trial(0, somewhere(number), 1.0)
            elif trials and trials[i].value is None:
                told = (
                    {"state": TrialState.COMPLETE, "value": number / 10}
                    if what == "tell"
                    else {"state": TrialState.FAILED}
                )
                trials[i] = dataclasses.replace(trials[i], **told)
            assert states(life.now(trials, settings)) == states(TrustRegionSet.replay(trials, settings))
            assert states(life.now(tuple(trials), settings)) == states(TrustRegionSet.replay(trials, settings))

    @pytest.mark.parametrize("order", list(itertools.permutations(range(1, 5))))
    def test_told_in_any_order(self, order):
        final, life = told_in_turn(WELL, BADLY, None, BADLY), RegionReplay()
        now = [final[0]] + [dataclasses.replace(t, state=TrialState.PENDING, value=None) for t in final[1:]]
        for k in order:
            assert states(life.now(now)) == states(TrustRegionSet.replay(now))
            now[k] = final[k]
        assert states(life.now(now)) == states(TrustRegionSet.replay(final))

    def test_a_value_after_a_failure(self):
        life, trials = RegionReplay(), told_in_turn(WELL, None, BADLY)
        before = states(life.now(trials))
        trials[2] = dataclasses.replace(trials[2], state=TrialState.COMPLETE, value=-50.0)
        assert states(life.now(trials)) == states(TrustRegionSet.replay(trials)) != before

    def test_other_patience(self):
        life, trials = RegionReplay(), told_in_turn(BADLY, BADLY)
        radii = [life.now(trials, TrustRegionSettings(failure_tolerance=k)).open[-1].radius for k in (3, 1, 2, 3)]
        assert radii == [
            TrustRegionSet.replay(trials, TrustRegionSettings(failure_tolerance=k)).open[-1].radius
            for k in (3, 1, 2, 3)
        ]
        assert radii[0] != radii[1]

    def test_a_shorter_history_and_the_longer_one_again(self):
        life, trials = RegionReplay(), told_in_turn(WELL, BADLY, BADLY, BADLY)
        for n in (5, 3, 4, 0, 5, 1):
            assert states(life.now(trials[:n])) == states(TrustRegionSet.replay(trials[:n]))

    def test_an_answer_stays_as_it_was(self):
        life, trials = RegionReplay(), told_in_turn(WELL, BADLY, BADLY, BADLY)
        early = life.now(trials[:2])
        before = states(early)
        life.now(trials)
        assert states(early) == before

    def test_what_is_known_is_not_replayed(self, monkeypatch):
        """From the last remembered state before the first trial that is new or has changed."""
        replayed, after = [], TrustRegionSet.after

        def noted(self, trial, trials, settings):
            replayed.append(trial.id)
            return after(self, trial, trials, settings)

        monkeypatch.setattr(TrustRegionSet, "after", noted)
        monkeypatch.setattr(trust, "CHECKPOINT_INTERVAL", 2)
        life, trials = RegionReplay(), told_in_turn(WELL, BADLY, BADLY, BADLY)
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
            life.now(now)
            seen.append([*replayed])
        assert seen == [[0, 1], [2], [2, 3, 4], [4], [2, 3, 4]]


def bowl(X):
    return np.sum((X - 0.5) ** 2, axis=1) + 0.3 * (X[:, 0] - 0.5) * (X[:, 1] - 0.5)


def valley(distances, wrong=()):
    """A model of a bowl, and observations at these distances; at some of them the value is off by half its rise."""
    rng = np.random.default_rng(0)
    near = 0.5 + 0.05 * rng.uniform(-1, 1, (12, 2))
    model = TaylorModel.fit(near, bowl(near), MIDDLE, 0.0, 0.05)
    X = np.array([MIDDLE + r * np.array([np.cos(7 * r), np.sin(7 * r)]) for r in distances])
    y = bowl(X) * np.where(np.isin(distances, wrong), 1 + 2.5 * MAX_MISFIT, 1.0)
    return dataclasses.replace(model, rho=10.0), X, y


class TestClosingRadius:
    region = TrustRegion(MIDDLE, 0.004, confirmed=True)

    def test_reaches_to_the_last_observation_before_one_that_the_model_gets_wrong(self):
        model, X, y = valley([0.15, 0.03, 0.09, 0.06, 0.12], wrong=[0.12])
        assert closing_radius(model, self.region, X, y) == pytest.approx(0.09)

    def test_all_right_is_as_far_as_there_are_observations(self):
        model, X, y = valley([0.15, 0.03, 0.09])
        assert closing_radius(model, self.region, X, y) == pytest.approx(0.15)

    def test_all_wrong_is_the_least_ball(self):
        model, X, y = valley([0.03, 0.09], wrong=[0.03])
        assert closing_radius(model, self.region, X, y) == MIN_CLOSED_RADIUS

    def test_no_less_than_two_radii_of_the_region(self):
        model, X, y = valley([0.03, 0.09], wrong=[0.03])
        assert closing_radius(model, dataclasses.replace(self.region, radius=0.04), X, y) == 0.08

    @pytest.mark.parametrize("radius", [1e-6, 0.04, MAX_RADIUS])
    def test_never_above_the_largest_or_half_of_rho(self, radius):
        model, X, y = valley([0.1, 0.2, 0.3, 0.4])
        region = dataclasses.replace(self.region, radius=radius)
        assert closing_radius(model, region, X, y) == MAX_CLOSED_RADIUS
        assert closing_radius(dataclasses.replace(model, rho=0.1), region, X, y) == 0.05

    @pytest.mark.parametrize("radius", [1e-8, 0.01, INITIAL_RADIUS, MAX_RADIUS])
    def test_hardly_at_all_where_nothing_was_confirmed(self, radius):
        model, X, y = valley([0.03, 0.09, 0.15])
        assert 0 < closing_radius(model, TrustRegion(MIDDLE, radius), X, y) <= min(2 * radius, MAX_CLOSED_RADIUS)
        narrow = dataclasses.replace(model, rho=0.05)
        assert 0 < closing_radius(narrow, TrustRegion(MIDDLE, radius), X, y) <= min(2 * radius, 0.025)
