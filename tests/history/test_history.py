"""The history of a run, compared with loops over all trials after any sequence of events."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dale
from dale.history.history import History
from dale.history.reason import Reason, Source
from dale.history.trial import Trial, TrialState
from dale.methods.base import Proposal
from user_method import UserMethod

SCALES = (None, 0.5, 0.25)
GIVEN = (Source.ADDED, Source.USER)


def naive(trials, d):
    """Each field, computed by a loop over all trials."""
    done = [t for t in trials if t.state is not TrialState.PENDING and not t.retry]
    with_scale = [t for t in trials if t.reason.length_scale is not None]
    last = with_scale[-1].reason.length_scale if with_scale else None
    k = max((len(t.constraints) for t in trials), default=0)
    since = [t.id for i, t in enumerate(with_scale) if all(u.reason.length_scale == last for u in with_scale[i:])]
    return {
        "X": np.array([t.unit_x for t in done]).reshape(-1, d),
        "y": np.array([np.nan if t.value is None else t.value for t in done]),
        "noise_std": np.array([np.nan if t.noise is None else t.noise for t in done]),
        "constraints": np.array([t.constraints or (np.nan,) * k for t in done]).reshape(len(done), k),
        "ids": np.array([t.id for t in done], dtype=int),
        "allowed": np.array([t.allowed for t in done], dtype=bool),
        "pending": np.array([t.unit_x for t in trials if t.state is TrialState.PENDING]).reshape(-1, d),
        "n_asked": sum(t.reason.source not in GIVEN and not t.retry for t in trials),
        "n_user": sum(t.reason.source in GIVEN and not t.retry for t in trials),
        "length_scale": last,
        "length_scale_since": since[0] if since else 0,
    }


def assert_same(history, trials, d):
    """The fields of a history are those of the loops."""
    assert len(history.trials) == len(trials)
    assert all(a is b for a, b in zip(history.trials, trials, strict=True))
    for name, expected in naive(trials, d).items():
        ours = getattr(history.observations, name) if hasattr(history.observations, name) else getattr(history, name)
        if isinstance(expected, np.ndarray):
            assert ours.shape == expected.shape, name
            np.testing.assert_array_equal(ours, expected)
        else:
            assert ours == expected, name


def trial(number, d, source=Source.GLOBAL, length_scale=None):
    point = np.random.default_rng(number).random(d)
    return Trial(number, point, point, point, Reason(source, length_scale=length_scale))


events = st.lists(
    st.one_of(
        st.tuples(st.just("ask"), st.sampled_from(Source), st.sampled_from(SCALES)),
        st.tuples(st.just("tell"), st.integers(0, 20), st.sampled_from([None, 0.0, 0.5]), st.floats(-10, 10)),
        st.tuples(st.just("fail"), st.integers(0, 20)),
    ),
    max_size=30,
)


@settings(deadline=None, derandomize=True, max_examples=150)
@given(events=events, d=st.integers(1, 3), n_constraints=st.integers(0, 2))
def test_a_history_agrees_with_loops_over_all_trials(events, d, n_constraints):
    """After each event; adding all trials at once gives the same as one by one."""
    history, trials = History.empty(d), []
    for what, *details in events:
        if what == "ask":
            trials.append(trial(len(trials), d, *details))
            history = history.with_trials(trials[-1:])
        elif trials:
            i = details[0] % len(trials)
            outcome = {"state": TrialState.FAILED}
            if what == "tell":
                value, noise = details[-1], details[1]
                outcome = {
                    "state": TrialState.COMPLETE,
                    "value": value,
                    "noise": noise,
                    "constraints": (value - 1,) * n_constraints,
                }
            if trials[i].state is not TrialState.COMPLETE:
                trials[i] = dataclasses.replace(trials[i], **outcome)
                history = history.with_trials([trials[i]])
        assert_same(history, trials, d)
    assert_same(History.of(trials, d), trials, d)


def test_a_history_is_immutable():
    """A later history does not change an earlier one."""
    trials = [trial(i, 2) for i in range(5)]
    before = History.of([*trials[:2], dataclasses.replace(trials[2], state=TrialState.FAILED)], 2)
    seen = before.trials
    after = before.with_trials(
        [*(dataclasses.replace(t, state=TrialState.COMPLETE, value=1.0) for t in trials[:3]), trials[3]]
    )
    assert_same(before, seen, 2)
    before.observations.X[:] = before.pending[:] = 7.0
    assert np.all(after.pending < 1)
    assert np.all(after.observations.X < 1)


def test_pending_trials_share_the_observations():
    """So a batch of proposals analyses the values once. An outcome makes new observations."""
    done = dataclasses.replace(trial(0, 2), state=TrialState.COMPLETE, value=1.0)
    history = History.of([done], 2)
    asked = history.with_trials([trial(1, 2)]).with_trials([trial(2, 2)])
    assert asked.observations is history.observations
    assert len(asked.pending) == 2
    failed = asked.with_trials([dataclasses.replace(trial(1, 2), state=TrialState.FAILED)])
    assert failed.observations is not history.observations
    again = failed.with_trials([trial(1, 2)])
    assert again.observations.ids.tolist() == [0]


def test_without_pending():
    history = History.of([trial(0, 2), trial(1, 2)], 2)
    alone = history.without_pending()
    assert alone.pending.shape == (0, 2)
    assert (alone.n_asked, alone.observations) == (history.n_asked, history.observations)
    assert alone.without_pending() is alone


def test_before_the_first_trial():
    history = History.empty(3)
    assert_same(history, [], 3)
    assert (history.observations.X.shape, history.pending.shape, history.dimension) == ((0, 3), (0, 3), 3)
    assert history.observations.best is None


def test_rows_with_a_value():
    trials = [trial(i, 2) for i in range(4)]
    trials[1] = dataclasses.replace(trials[1], state=TrialState.COMPLETE, value=3.0)
    trials[2] = dataclasses.replace(trials[2], state=TrialState.FAILED)
    trials[3] = dataclasses.replace(trials[3], state=TrialState.COMPLETE, value=0.0)
    observations = History.of(trials, 2).observations
    assert observations.ids.tolist() == [1, 2, 3]
    assert observations.has_value.tolist() == [True, False, True]
    assert observations.best.row == 2


def test_a_point_that_is_not_allowed_is_never_feasible():
    trials = [
        dataclasses.replace(trial(i, 2), state=TrialState.COMPLETE, value=float(i), allowed=i > 0) for i in range(3)
    ]
    observations = History.of(trials, 2).observations
    assert observations.feasible.tolist() == [False, True, True]
    assert observations.best.row == 1


class RecordingMethod(UserMethod):
    """A method that keeps the histories that it is given."""

    name, revision = "recording", 1

    def changed_settings(self):
        return {}

    def __init__(self):
        self.histories = []

    def propose(self, snapshot, rng):
        self.histories.append(snapshot.history)
        k = len(snapshot.history.trials)
        return Proposal(np.random.default_rng(k).random(2), Reason(Source.GLOBAL, length_scale=SCALES[k % 5 % 3]))


@settings(deadline=None, derandomize=True, max_examples=60)
@given(
    events=st.lists(
        st.tuples(st.sampled_from(["ask", "ask", "at", "add", "tell", "tell", "fail"]), st.integers(0, 50)), max_size=40
    )
)
def test_an_optimizer_gives_its_method_the_current_history(events):
    method = RecordingMethod()
    optimizer = dale.Optimizer([(-1, 3), (0, 2)], seed=0, method=method)
    for what, number in events:
        trials = optimizer.history
        point = np.random.default_rng([7, len(trials)]).uniform([-1, 0], [3, 2])
        if what == "ask":
            optimizer.ask()
            assert_same(method.histories[-1], trials, 2)
        elif what == "at":
            optimizer.ask(at=point)
        elif what == "add":
            optimizer.add(point, float(number))
        elif trials and trials[number % len(trials)].state is not TrialState.COMPLETE:
            getattr(optimizer, what)(trials[number % len(trials)], "no" if what == "fail" else float(number))
    assert all(t.id == i for i, t in enumerate(optimizer.history))


@pytest.mark.parametrize("what", ["tell", "fail", "add"])
def test_an_invalid_report_changes_nothing(what):
    method = RecordingMethod()
    optimizer = dale.Optimizer([(0, 1)] * 2, seed=0, method=method)
    first = optimizer.tell(optimizer.ask(), 1.0)
    optimizer.ask()
    invalid = {
        "tell": lambda: optimizer.tell(first, 2.0),
        "fail": lambda: optimizer.fail(first, "late"),
        "add": lambda: optimizer.add([0.5, 1.5], 1.0),
    }
    with pytest.raises(ValueError, match=r"nothing was changed|must be in"):
        invalid[what]()
    before = optimizer.history
    optimizer.ask()
    assert_same(method.histories[-1], before, 2)
    assert len(before) == 2


def test_values_without_noise_get_the_default():
    history = History.empty(1, noise=0.25)
    for t, noise in zip([trial(i, 1) for i in range(2)], (None, 3.0), strict=True):
        done = dataclasses.replace(t, state=TrialState.COMPLETE, value=1.0, noise=noise)
        history = history.with_trials([done])
    assert history.observations.noise_std.tolist() == [0.25, 3.0]
