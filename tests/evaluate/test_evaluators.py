"""Tests that every kind of evaluator must pass."""

import threading
import time

import numpy as np
import pytest
from evaluators import BOX, EVALUATORS, FORK_WARNING, Counted, Random, arguments, bowl, points_of

import dale
from dale.history.trial import TrialState

pytestmark = pytest.mark.filterwarnings(FORK_WARNING)
each_evaluator = pytest.mark.parametrize("kind", EVALUATORS)


def raises(x):
    if x[0] > 0:
        raise RuntimeError("solver diverged")
    return bowl(x)


def fails_transiently(x):
    raise dale.Retry("the node died")


def two(x):
    return [1.0, 2.0]


def stopped(x):
    raise StopIteration


def measured(x):
    return dale.Evaluation(bowl(x), noise=0.1, constraints=[x[0]])


def narrow(x):
    return x[0] + x[1]


def later(x):
    time.sleep(0.05)
    return bowl(x)


@each_evaluator
def test_each_trial_is_executed_once(kind, tmp_path):
    fun = Counted(tmp_path)
    with arguments(kind) as more:
        result = dale.minimize(fun, BOX, budget=12, seed=0, **more)
    assert fun.points() == points_of(result)
    assert len(result.history) == result.nfev == 12
    assert [t.id for t in result.history] == list(range(12))
    assert all(t.state is TrialState.COMPLETE and t.value == bowl(t.x) for t in result.history)
    assert (result.status, result.success) == (0, True)


@each_evaluator
def test_an_exception_fails_its_trial_with_the_traceback(kind):
    with arguments(kind) as more:
        result = dale.minimize(raises, BOX, budget=8, seed=0, method=Random(), **more)
    assert {t.state for t in result.history} == {TrialState.COMPLETE, TrialState.FAILED}
    for trial in result.history:
        assert (trial.state is TrialState.FAILED) == (trial.x[0] > 0)
        assert trial.error is None or "in raises" in trial.error
        assert trial.error is None or trial.error.endswith("RuntimeError: solver diverged\n")


@each_evaluator
def test_a_transient_failure_is_retried(kind):
    with arguments(kind, 2) as more:
        result = dale.minimize(fails_transiently, BOX, budget=4, seed=0, **more)
    assert [t.retry for t in result.history] == [True] * 4
    assert len({t.unit_x.tobytes() for t in result.history}) <= 2
    assert (result.status, result.nfev) == (3, 4)


@each_evaluator
def test_several_objectives_are_rejected_after_the_first_evaluation(kind):
    with arguments(kind) as more, pytest.raises(TypeError, match="dale minimises one objective"):
        dale.minimize(two, BOX, budget=50, seed=0, **more)


@each_evaluator
@pytest.mark.usefixtures("all_may_fail")
def test_stopiteration_in_the_objective_does_not_stop_the_run(kind):
    with arguments(kind) as more:
        result = dale.minimize(stopped, BOX, budget=3, seed=0, **more)
    assert result.nfev == 3
    assert all("StopIteration" in t.error for t in result.history)


@each_evaluator
def test_values_with_noise_and_constraints(kind):
    with arguments(kind) as more:
        result = dale.minimize(measured, BOX, budget=6, seed=0, **more)
    assert [(t.noise, t.constraints) for t in result.history] == [(0.1, (t.x[0],)) for t in result.history]


@each_evaluator
def test_the_target(kind):
    with arguments(kind) as more:
        result = dale.minimize(bowl, BOX, budget=60, seed=0, target=1e-3, **more)
    assert (result.status, result.message) == (1, "The target is reached")
    assert result.fun <= 1e-3
    assert result.nfev < 30


@each_evaluator
def test_the_tolerance(kind):
    with arguments(kind) as more:
        result = dale.minimize(bowl, BOX, budget=60, seed=0, tolerance=0.1, **more)
    assert (result.status, result.nfev < 60) == (6, True)
    assert all(t.state is TrialState.COMPLETE for t in result.history)  # running trials were waited for


@each_evaluator
def test_the_callback(kind):
    seen = []

    def callback(result):
        seen.append(result.nfev)
        if len(seen) == 4:
            raise StopIteration

    with arguments(kind) as more:
        result = dale.minimize(bowl, BOX, budget=60, seed=0, callback=callback, **more)
    assert (result.status, result.message, result.success) == (2, "Stopped by the callback or a stopping rule", False)
    assert len(seen) == 4
    assert result.nfev < 12


@each_evaluator
def test_the_time_limit(kind, tmp_path):
    """After it no evaluation starts; running ones are waited for and recorded."""
    fun = Counted(tmp_path, later)
    with arguments(kind) as more:
        result = dale.minimize(fun, BOX, budget=10_000, seed=0, time_limit=1.0, method=Random(), **more)
    assert (result.status, result.message, result.success) == (5, "The time limit is reached", True)
    told = [t for t in result.history if t.state is TrialState.COMPLETE]
    assert 0 < result.nfev == len(told) < 10_000
    assert fun.points() == sorted(t.x.tobytes().hex() for t in told)
    assert len(result.history) - len(told) <= (2 if kind.startswith("dask") else 0)  # waiting for a worker


@each_evaluator
def test_a_finite_space(kind):
    with arguments(kind) as more:
        result = dale.minimize(narrow, [dale.Int(1, 3), dale.Int(1, 2)], budget=50, seed=0, **more)
    assert (result.status, result.nfev, result.fun) == (4, 7, 2)  # the best one twice, to test for noise


@each_evaluator
def test_initial_points_and_known_values(kind):
    with arguments(kind) as more:
        first = dale.minimize(bowl, BOX, budget=5, seed=0, x0=[[1, 1], [0, 0]], **more)
        known = dale.minimize(bowl, BOX, budget=3, seed=0, x0=[[1, 1], [0, 0]], y0=[4.5, 1.5], **more)
    assert [t.x.tolist() for t in first.history[:2]] == [[1, 1], [0, 0]]
    assert (first.nfev, known.nfev, len(known.history)) == (5, 3, 5)


@pytest.mark.parametrize("more", [{}, {"n_parallel": 1}, {"timeout": 60}, {"timeout": 60, "n_parallel": 1}])
def test_a_serial_run_is_ask_and_tell_bit_for_bit(more):
    optimizer = dale.Optimizer(BOX, seed=3)
    for _ in range(15):
        trial = optimizer.ask()
        optimizer.tell(trial, bowl(trial.x))
    result = dale.minimize(lambda x: bowl(x), BOX, budget=15, seed=3, **more)
    assert [t.unit_x.tobytes() for t in result.history] == [t.unit_x.tobytes() for t in optimizer.history]


def test_n_parallel_trials_run_at_any_time():
    """As soon as one completes, the next one starts."""
    lock, out, most, order = threading.Lock(), [0], [0], []
    first_may_end = threading.Event()

    def fun(x):
        with lock:
            out[0] += 1
            most[0] = max(most[0], out[0])
            order.append(len(order))
            me = order[-1]
            if me >= 9:
                first_may_end.set()
        if me == 0:
            assert first_may_end.wait(60)  # the slowest trial does not delay the others
        with lock:
            out[0] -= 1
        return bowl(x)

    with arguments("threads", 8) as more:
        result = dale.minimize(fun, BOX, budget=20, seed=0, n_parallel=4, **more)
    assert result.nfev == 20
    assert not any(t.error for t in result.history)
    assert most[0] <= 4


@pytest.mark.parametrize(
    ("change", "error", "match"),
    [
        ({"n_parallel": 0}, ValueError, "n_parallel must be at least 1, got 0"),
        ({"n_parallel": 2.0}, TypeError, "n_parallel must be a positive integer or None, got 2.0"),
        ({"n_parallel": True}, TypeError, "n_parallel must be a positive integer or None, got True"),
        ({"timeout": 0}, ValueError, "timeout must be positive, got 0"),
        ({"timeout": np.nan}, ValueError, "timeout must be positive, got nan"),
        ({"timeout": "1 h"}, TypeError, "timeout must be a number of seconds or None, got '1 h'"),
        ({"executor": 3}, TypeError, "executor must be a concurrent.futures.Executor, got 3"),
    ],
)
def test_bad_arguments(change, error, match):
    with pytest.raises(error, match=match):
        dale.minimize(bowl, BOX, budget=5, **change)


def with_extra(x):
    return dale.Evaluation(bowl(x), extra={"point": [np.float64(v) for v in x], "note": None})


@each_evaluator
def test_extra_values_come_with_the_value(kind):
    with arguments(kind) as more:
        result = dale.minimize(with_extra, BOX, budget=4, seed=0, **more)
    assert [t.extra for t in result.history] == [{"point": tuple(t.x), "note": None} for t in result.history]
    assert all(type(t.extra["point"][0]) is float for t in result.history)
