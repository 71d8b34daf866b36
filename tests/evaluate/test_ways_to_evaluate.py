"""Whoever runs the objective, a run keeps the same promises."""

import threading
import time

import numpy as np
import pytest
from ways import BOX, FORK_WARNING, WAYS, Counted, Random, arguments, bowl, points_of

import dale
from dale.history.trial import TrialState

pytestmark = pytest.mark.filterwarnings(FORK_WARNING)
each_way = pytest.mark.parametrize("way", WAYS)


def raises(x):
    if x[0] > 0:
        raise RuntimeError("solver diverged")
    return bowl(x)


def asks_for_another_machine(x):
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


@each_way
def test_each_trial_is_executed_once(way, tmp_path):
    fun = Counted(tmp_path)
    with arguments(way) as more:
        result = dale.minimize(fun, BOX, budget=12, seed=0, **more)
    assert fun.points() == points_of(result)
    assert len(result.history) == result.nfev == 12
    assert [t.id for t in result.history] == list(range(12))
    assert all(t.state is TrialState.COMPLETE and t.value == bowl(t.x) for t in result.history)
    assert (result.status, result.success) == (0, True)


@each_way
def test_what_raises_fails_its_trial_with_the_traceback(way):
    with arguments(way) as more:
        result = dale.minimize(raises, BOX, budget=8, seed=0, method=Random(), **more)
    assert {t.state for t in result.history} == {TrialState.COMPLETE, TrialState.FAILED}
    for trial in result.history:
        assert (trial.state is TrialState.FAILED) == (trial.x[0] > 0)
        assert trial.error is None or "in raises" in trial.error
        assert trial.error is None or trial.error.endswith("RuntimeError: solver diverged\n")


@each_way
def test_the_fault_of_the_machine(way):
    with arguments(way, 2) as more:
        result = dale.minimize(asks_for_another_machine, BOX, budget=4, seed=0, **more)
    assert [t.retry for t in result.history] == [True] * 4
    assert len({t.unit_x.tobytes() for t in result.history}) <= 2
    assert (result.status, result.nfev) == (3, 4)


@each_way
def test_several_objectives_are_refused_at_the_first(way):
    with arguments(way) as more, pytest.raises(TypeError, match="dale minimises one objective"):
        dale.minimize(two, BOX, budget=50, seed=0, **more)


@each_way
def test_only_the_callback_may_stop_a_run_with_stopiteration(way):
    with arguments(way) as more:
        result = dale.minimize(stopped, BOX, budget=3, seed=0, **more)
    assert result.nfev == 3
    assert all("StopIteration" in t.error for t in result.history)


@each_way
def test_values_with_noise_and_constraints(way):
    with arguments(way) as more:
        result = dale.minimize(measured, BOX, budget=6, seed=0, **more)
    assert [(t.noise, t.constraints) for t in result.history] == [(0.1, (t.x[0],)) for t in result.history]


@each_way
def test_the_target(way):
    with arguments(way) as more:
        result = dale.minimize(bowl, BOX, budget=60, seed=0, target=1e-3, **more)
    assert (result.status, result.message) == (1, "The target is reached")
    assert result.fun <= 1e-3
    assert result.nfev < 30


@each_way
def test_the_tolerance(way):
    with arguments(way) as more:
        result = dale.minimize(bowl, BOX, budget=60, seed=0, tolerance=0.1, **more)
    assert (result.status, result.nfev < 60) == (6, True)
    assert all(t.state is TrialState.COMPLETE for t in result.history)  # what had begun was waited for


@each_way
def test_the_callback(way):
    seen = []

    def callback(result):
        seen.append(result.nfev)
        if len(seen) == 4:
            raise StopIteration

    with arguments(way) as more:
        result = dale.minimize(bowl, BOX, budget=60, seed=0, callback=callback, **more)
    assert (result.status, result.message, result.success) == (2, "Stopped by the callback", False)
    assert len(seen) == 4
    assert result.nfev < 12


@each_way
def test_the_time_limit(way, tmp_path):
    """After it nothing is begun; what has begun is waited for and told."""
    fun = Counted(tmp_path, later)
    with arguments(way) as more:
        result = dale.minimize(fun, BOX, budget=10_000, seed=0, time_limit=1.0, method=Random(), **more)
    assert (result.status, result.message, result.success) == (5, "The time limit is reached", True)
    told = [t for t in result.history if t.state is TrialState.COMPLETE]
    assert 0 < result.nfev == len(told) < 10_000
    assert fun.points() == sorted(t.x.tobytes().hex() for t in told)
    assert len(result.history) - len(told) <= (2 if way.startswith("dask") else 0)  # on the way to a worker


@each_way
def test_a_finite_space(way):
    with arguments(way) as more:
        result = dale.minimize(narrow, [dale.Int(1, 3), dale.Int(1, 2)], budget=50, seed=0, **more)
    assert (result.status, result.nfev, result.fun) == (4, 6, 2)


@each_way
def test_points_and_values_from_before(way):
    with arguments(way) as more:
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


def test_idle_workers_are_given_work_and_no_more_than_wanted():
    """As many as wanted are out, and as soon as one has ended the next is begun."""
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
            assert first_may_end.wait(60)  # the slowest holds up nobody
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
