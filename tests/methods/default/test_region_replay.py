"""Trust regions are a function of the trials, not of the order of values."""

import dataclasses
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from region_trials import (
    FULL,
    HALF_WAY,
    HIGH,
    INITIAL_RADIUS,
    LOW,
    MIDDLE,
    NARROW,
    TINY,
    state,
    step,
    trial,
    trials_with,
)

from dale.history.reason import ClosedRegion
from dale.history.trial import TrialState
from dale.methods.default import trust_region as trust
from dale.methods.default.settings import TrustRegionSettings
from dale.methods.default.trust_region import MAX_MOVE, SHORT_STEP, RegionReplay, TrustRegion, TrustRegionSet
from dale.models.ellipsoid import Ellipsoid


class TestReplay:
    def test_without_steps_there_are_no_regions(self):
        assert TrustRegionSet.replay([trial(k, [0.1 * k, 0.5], 1.0) for k in range(4)]) == TrustRegionSet()

    def test_a_step_opens_a_region_and_later_ones_move_it(self):
        trials = trials_with(HIGH)
        (region,) = TrustRegionSet.replay(trials).open
        assert state(region) == ([0.5, 0.5], 0.1, 0, True, None)
        assert state(TrustRegionSet.replay(trials).at(trials[1].unit_x)) == ([0.5, 0.51], 0.1, 0, True, None)

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

    def test_a_failed_evaluation_changes_nothing(self):
        """It says nothing about the model of the objective."""
        for length in (FULL, HALF_WAY, TINY):
            region = TrustRegionSet.replay(trials_with(None, length=length)).open[-1]
            assert (region.failures, region.radius) == (0, 0.1)

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
        predicted, shape = float(rng.choice([0.5, 3.0])), NARROW if rng.random() < 0.3 else None
        local = step(length, int(rng.choice(evaluated)), radius, predicted, shape)
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
        trials[2] = dataclasses.replace(trials[2], state=TrialState.COMPLETE, value=50.0)
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
