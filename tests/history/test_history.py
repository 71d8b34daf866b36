"""The history that the methods see: whatever is asked, told and failed, it is what a loop over all trials gives."""

import dataclasses
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dale
from dale.history import history as module
from dale.history.history import History, Ledger
from dale.history.reason import Reason, Source
from dale.history.trial import Trial, TrialState
from dale.methods.base import Proposal

SCALES = (None, 0.5, 0.25)
GIVEN = (Source.ADDED, Source.USER)


def naive(trials, d):
    """By a loop over all trials for each field."""
    done = [t for t in trials if t.state is not TrialState.PENDING]
    pending = [t for t in trials if t.state is TrialState.PENDING]
    said = [t for t in trials if t.reason.length_scale is not None]
    last = said[-1].reason.length_scale if said else None
    k = max((len(t.constraints) for t in trials), default=0)
    row = [t.id for k, t in enumerate(said) if all(u.reason.length_scale == last for u in said[k:])]
    return History(
        X=np.array([t.unit_x for t in done]).reshape(-1, d),
        y=np.array([np.nan if t.value is None else t.value for t in done]),
        noise=np.array([np.nan if t.noise is None else t.noise for t in done]),
        constraints=np.array([t.constraints or (np.nan,) * k for t in done]).reshape(len(done), k),
        ids=np.array([t.id for t in done], dtype=int),
        pending=np.array([t.unit_x for t in pending]).reshape(-1, d),
        n_asked=sum(t.reason.source not in GIVEN for t in trials),
        n_given=sum(t.reason.source in GIVEN for t in trials),
        length_scale=last,
        adopted=row[0] if row else 0,
        trials=tuple(trials),
    )


def assert_same(one, other):
    for field in dataclasses.fields(History):
        ours, theirs = getattr(one, field.name), getattr(other, field.name)
        if field.name == "trials":
            assert len(ours) == len(theirs)
            assert all(a is b for a, b in zip(ours, theirs, strict=True))
        elif isinstance(theirs, np.ndarray):
            assert ours.shape == theirs.shape
            np.testing.assert_array_equal(ours, theirs)
        else:
            assert ours == theirs, field.name


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
def test_a_ledger_is_a_loop_over_all_trials(events, d, n_constraints):
    """At every moment, with rows for two trials in the beginning so that they have to grow."""
    with mock.patch.object(module, "FIRST_ROWS", 2):
        ledger, trials = Ledger(d), []
    for what, *details in events:
        if what == "ask":
            trials.append(trial(len(trials), d, *details))
            ledger.write(trials[-1])
        elif trials:
            i = details[0] % len(trials)
            told = {"state": TrialState.FAILED}
            if what == "tell":
                value, noise = details[-1], details[1]
                told = {
                    "state": TrialState.COMPLETE,
                    "value": value,
                    "noise": noise,
                    "constraints": (value - 1,) * n_constraints,
                }
            if trials[i].state is not TrialState.COMPLETE:
                trials[i] = dataclasses.replace(trials[i], **told)
                ledger.write(trials[i])
        assert_same(ledger.history(), naive(trials, d))
    assert_same(History.of(trials, d), naive(trials, d))


def test_more_trials_than_rows():
    trials = [trial(i, 2, length_scale=SCALES[(i // 50) % 3]) for i in range(3 * module.FIRST_ROWS + 1)]
    for i in range(0, len(trials), 3):
        trials[i] = dataclasses.replace(trials[i], state=TrialState.COMPLETE, value=float(i))
    ledger = Ledger(2)
    for k, t in enumerate(trials, 1):
        ledger.write(t)
        if k % module.FIRST_ROWS in (0, 1):
            assert_same(ledger.history(), naive(trials[:k], 2))


def test_a_history_stays_as_it_was():
    """What is written later does not show in it."""
    trials, ledger = [trial(i, 2) for i in range(5)], Ledger(2)
    for t in trials[:3]:
        ledger.write(t)
    ledger.write(dataclasses.replace(trials[2], state=TrialState.FAILED))
    before = ledger.history()
    expected = naive(before.trials, 2)
    for t in trials[:3]:
        ledger.write(dataclasses.replace(t, state=TrialState.COMPLETE, value=1.0))
    ledger.write(trials[3])
    assert_same(before, expected)
    before.X[:] = before.pending[:] = 7.0
    assert np.all(ledger.history().pending < 1)


def test_before_the_first_trial():
    history = History.of([], 3)
    assert_same(history, naive([], 3))
    assert (history.X.shape, history.pending.shape, history.dimension) == ((0, 3), (0, 3), 3)


def test_told_rows_are_those_with_a_value():
    trials = [trial(i, 2) for i in range(4)]
    trials[1] = dataclasses.replace(trials[1], state=TrialState.COMPLETE, value=3.0)
    trials[2] = dataclasses.replace(trials[2], state=TrialState.FAILED)
    trials[3] = dataclasses.replace(trials[3], state=TrialState.COMPLETE, value=0.0)
    history = History.of(trials, 2)
    assert history.ids.tolist() == [1, 2, 3]
    assert history.told.tolist() == [True, False, True]


class Onlooker:
    """A method that keeps the histories that it is shown."""

    name, revision = "onlooker", 1

    def changed_settings(self):
        return {}

    def __init__(self):
        self.shown = []

    def propose(self, history, seed, memory):
        self.shown.append(history)
        k = len(history.trials)
        return Proposal(np.random.default_rng(k).random(2), Reason(Source.GLOBAL, length_scale=SCALES[k % 5 % 3]))


@settings(deadline=None, derandomize=True, max_examples=60)
@given(
    events=st.lists(
        st.tuples(st.sampled_from(["ask", "ask", "at", "add", "tell", "tell", "fail"]), st.integers(0, 50)), max_size=40
    )
)
def test_what_an_optimizer_shows_its_method(events):
    method = Onlooker()
    optimizer = dale.Optimizer([(-1, 3), (0, 2)], seed=0, method=method)
    for what, number in events:
        trials = optimizer.history
        somewhere = np.random.default_rng([7, len(trials)]).uniform([-1, 0], [3, 2])
        if what == "ask":
            optimizer.ask()
            assert_same(method.shown[-1], naive(trials, 2))
        elif what == "at":
            optimizer.ask(at=somewhere)
        elif what == "add":
            optimizer.add(somewhere, float(number))
        elif trials and trials[number % len(trials)].state is not TrialState.COMPLETE:
            getattr(optimizer, what)(trials[number % len(trials)], "no" if what == "fail" else float(number))
    assert all(t.id == i for i, t in enumerate(optimizer.history))


@pytest.mark.parametrize("what", ["tell", "fail", "add"])
def test_what_is_refused_is_not_written(what):
    method = Onlooker()
    optimizer = dale.Optimizer([(0, 1)] * 2, seed=0, method=method)
    first = optimizer.tell(optimizer.ask(), 1.0)
    optimizer.ask()
    refused = {
        "tell": lambda: optimizer.tell(first, 2.0),
        "fail": lambda: optimizer.fail(first, "late"),
        "add": lambda: optimizer.add([0.5, 1.5], 1.0),
    }
    with pytest.raises(ValueError, match=r"nothing was changed|outside its bounds"):
        refused[what]()
    before = optimizer.history
    optimizer.ask()
    assert_same(method.shown[-1], naive(before, 2))
    assert len(before) == 2


def test_values_told_without_noise_have_the_usual_one():
    ledger = Ledger(1, noise=0.25)
    for t, noise in zip([trial(i, 1) for i in range(2)], (None, 3.0), strict=True):
        ledger.write(dataclasses.replace(t, state=TrialState.COMPLETE, value=1.0, noise=noise))
    assert ledger.history().noise.tolist() == [0.25, 3.0]
