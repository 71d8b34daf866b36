import copy
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest

import dale
from dale.history.reason import Source
from dale.history.trial import TrialState
from dale_bench.functions import get
from evaluated_runs import BOX, bowl, evaluated, points
from snapshots import proposal_after


def test_same_seed_same_run_another_seed_another_run():
    assert points(evaluated(12)) == points(evaluated(12))
    assert points(evaluated(4, seed=0)) != points(evaluated(4, seed=1))


def test_same_seed_in_a_fresh_process_and_global_random_state_untouched():
    code = (
        "import numpy as np, dale\n"
        "np.random.seed(7); before = np.random.get_state()[1].tolist()\n"
        "o = dale.Optimizer([(-5, 10), (0, 15)], seed=0)\n"
        "for _ in range(12):\n"
        "    t = o.ask(); o.tell(t, float((t.x[0] - 1) ** 2 + (t.x[1] - 4) ** 2))\n"
        "assert np.random.get_state()[1].tolist() == before\n"
        "print([t.unit_x.tolist() for t in o.history])\n"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == str(points(evaluated(12)))


def proposed_without_cache(optimizer, trials):
    """The proposal of its method after these trials, with an empty cache."""
    point, reason = proposal_after(optimizer.method, trials, optimizer.space.dimension, optimizer.seed)
    return optimizer.space.snap(point).tolist(), reason


def test_a_proposal_is_a_function_of_the_history():
    """From the first trials of the history, the method proposes the next one, bit for bit."""
    one = evaluated(15)
    for cut in (0, 3, 7, 11, 14):
        point, reason = proposed_without_cache(one, one.history[:cut])
        assert point == one.history[cut].unit_x.tolist()
        assert reason == one.history[cut].reason


@pytest.mark.parametrize("method", [dale.methods.default, dale.methods.paper, dale.methods.ei, dale.methods.imgpo])
@pytest.mark.parametrize("seed", range(3))
def test_the_cache_changes_no_proposal(method, seed):
    """Values, failures, late values, retries and added data arrive in any order between proposals."""
    rng = np.random.default_rng(seed)
    optimizer, seen = dale.Optimizer(BOX, seed=seed, method=method()), set()
    while len(optimizer.history) < 24:
        open_ones = [t for t in optimizer.history if t.state is not TrialState.COMPLETE]
        what = rng.choice(["ask", "ask", "tell", "tell", "tell", "fail", "retry", "add"])
        if what == "ask":
            while (trial := optimizer.ask()).reason.retry_of is not None:
                pass
            expected = proposed_without_cache(optimizer, optimizer.history[:-1])
            assert (trial.unit_x.tolist(), trial.reason) == expected
            seen.add(trial.reason.source)
        elif what == "add":
            optimizer.add(x := rng.uniform([-5, 0], [10, 15]), bowl(x))
        elif open_ones:
            trial = open_ones[rng.integers(len(open_ones))]
            if what == "tell":
                optimizer.tell(trial, bowl(trial.x))
            elif trial.state is TrialState.PENDING:
                optimizer.fail(trial, "not now", retry=what == "retry")
    assert Source.GLOBAL in seen
    assert Source.LOCAL in seen or method not in (dale.methods.default, dale.methods.paper)


def test_the_order_of_values_does_not_matter():
    def proposal(order):
        optimizer = dale.Optimizer(BOX, seed=2)
        trials = optimizer.ask(6)
        for i in order:
            optimizer.tell(trials[i], bowl(trials[i].x))
        return optimizer.ask().unit_x.tolist()

    assert proposal([0, 1, 2, 3, 4, 5]) == proposal([5, 2, 0, 4, 1, 3])


@pytest.mark.parametrize("n_evaluated", [0, 2, 3, 9])
def test_eight_asks_without_a_tell_are_eight_different_points(n_evaluated):
    optimizer = evaluated(n_evaluated)
    trials = optimizer.ask(8)
    P = np.array([t.unit_x for t in trials])
    distance = np.linalg.norm(P[:, None] - P[None], axis=2) + np.eye(len(P))
    assert len(trials) == 8
    assert distance.min() > 1e-6
    assert len({t.unit_x.tobytes() for t in optimizer.history}) == n_evaluated + 8
    assert {t.state for t in trials} == {TrialState.PENDING}


def test_points_are_within_the_bounds_and_read_only():
    optimizer = evaluated(8)
    for t in optimizer.history:
        assert np.all(t.x >= [-5, 0])
        assert np.all(t.x <= [10, 15])
        with pytest.raises(ValueError, match="read-only"):
            t.x[0] = 0


def test_named_parameters():
    optimizer = dale.Optimizer(dale.Space(rate=dale.Float(1e-4, 1.0, log=True), width=(1.0, 3.0)), seed=0)
    trial = optimizer.ask()
    assert list(trial.params) == ["rate", "width"]
    assert trial.x.tolist() == list(trial.params.values())
    optimizer.tell(trial.id, 1.0)
    optimizer.add({"width": 2.0, "rate": 0.1}, 0.5)
    assert optimizer.best.params == {"rate": pytest.approx(0.1), "width": 2.0}
    assert optimizer.best.reason.source is Source.ADDED
    with pytest.raises(TypeError, match="read-only"):
        trial.params["rate"] = 1.0
    assert pickle.loads(pickle.dumps(trial.params)) == trial.params


def test_points_of_the_user_are_kept_bit_for_bit():
    optimizer = dale.Optimizer(BOX, seed=0)
    for value in np.round(np.linspace(-4.9, 9.9, 50), 2):
        assert optimizer.add([value, 7.13], 1.0).x.tolist() == [value, 7.13]
        assert optimizer.ask(at=[value, 3.21]).params.tolist() == [value, 3.21]


def test_tell_takes_numbers_of_any_kind():
    optimizer = dale.Optimizer(BOX, seed=0)
    for value in (1, 2.5, np.float32(0.5), np.int64(3), np.array(4.0), np.array([1.5])):
        assert isinstance(optimizer.tell(optimizer.ask(), value).value, float)


def test_result_before_and_after():
    optimizer = dale.Optimizer(BOX, seed=0)
    empty = optimizer.result()
    assert (empty.x, empty.fun, empty.success, empty.nfev) == (None, None, False, 0)
    assert optimizer.best is None
    optimizer = evaluated(15)
    result = optimizer.result()
    assert result.fun == optimizer.best.value == min(result.func_vals)
    assert result.x_iters.shape == (15, 2)
    assert result.nfev == 15
    assert result.nit == 12
    assert "best value" in str(result)


def test_local_minima_in_the_users_units():
    optimizer = dale.Optimizer(dale.Space(a=(-5, 10), b=dale.Float(0.1, 10.0, log=True)), seed=0)
    for _ in range(20):
        trial = optimizer.ask()
        a, log_b = trial.params["a"], np.log(trial.params["b"])
        optimizer.tell(trial, 3 * (a - 1) ** 2 + 5 * (log_b - 0.5) ** 2)
    (minimum,) = optimizer.result().local_minima
    b = np.exp(0.5)
    assert minimum.params == {"a": pytest.approx(1), "b": pytest.approx(b)}
    assert minimum.fun == pytest.approx(0, abs=1e-9)
    # d2/db2 of 5 (log b - 1/2)^2 is 10 / b^2 where log b = 1/2.
    np.testing.assert_allclose(minimum.hessian, [[6, 0], [0, 10 / b**2]], atol=1e-6)
    assert minimum.converged


def test_a_failed_trial_is_kept_and_its_neighbourhood_avoided():
    optimizer = evaluated(6)
    trial = optimizer.ask()
    failed = optimizer.fail(trial, "diverged")
    assert (failed.state, failed.error, failed.value) == (TrialState.FAILED, "diverged", None)
    for _ in range(5):
        new = optimizer.ask()
        assert np.linalg.norm(new.unit_x - trial.unit_x) > 1e-3
        optimizer.tell(new, bowl(new.x))
    assert len(optimizer.history) == 12
    optimizer.tell(trial, 3.0)  # a late value
    assert optimizer.history[6].value == 3.0


def test_a_failed_minimum_of_a_region_is_not_proposed_again():
    """The objective fails close to its minimum; the search continues around it."""

    def fragile(x):
        if np.linalg.norm(x - [0.37, 0.61]) < 1e-3:
            raise RuntimeError("failed")
        return float(np.sum((x - [0.37, 0.61]) ** 2))

    for seed in range(3):
        result = dale.minimize(fragile, [(0, 1)] * 2, budget=25, seed=seed)
        failed = [t for t in result.history if t.state is TrialState.FAILED]
        assert 1 <= len(failed) <= 5
        assert result.fun < 1.5e-6  # at the edge of the failing disk: 1e-6
        distances = [np.linalg.norm(a.unit_x - b.unit_x) for a in failed for b in result.history if a is not b]
        assert min(distances) > 1e-6


def test_one_point_with_two_values_keeps_the_std_small():
    optimizer = evaluated(8)
    before = optimizer.ask()
    again = optimizer.history[3]
    optimizer.add(again.x, again.value + 0.01)
    after = optimizer.ask()
    assert after.reason.std < 10 * max(before.reason.std, 1.0)
    assert sum(np.array_equal(t.x, again.x) for t in optimizer.history) == 2


def test_a_failure_at_an_observed_point_is_ignored():
    optimizer = evaluated(8)
    trial = optimizer.ask(at=optimizer.history[2].x)
    optimizer.fail(trial, "failed")
    assert optimizer.ask().reason.std < 100


def test_one_huge_value_does_not_make_a_minimum_converged():
    optimizer = dale.Optimizer([(0, 1)] * 2, seed=4)
    for _ in range(30):
        trial = optimizer.ask()
        x = trial.x
        value = float(np.sum((x - 0.4) ** 2) + 0.3 * np.sin(9 * x[0]) * np.sin(7 * x[1]))
        optimizer.tell(trial, 1e9 if x[0] > 0.9 else value)
    best = optimizer.best.value
    assert all(abs(m.fun - best) < 1e-6 for m in optimizer.result().local_minima if m.converged)


def test_results_of_huge_values_have_no_warnings():
    optimizer = dale.Optimizer([(0, 1)] * 2, seed=0)
    for _ in range(15):
        trial = optimizer.ask()
        optimizer.tell(trial, 1e300 * (float(np.sum((trial.unit_x - 0.3) ** 2)) - 0.1))
    (minimum,) = optimizer.result().local_minima
    np.testing.assert_allclose(minimum.hessian, 2e300 * np.eye(2), rtol=1e-6, atol=1e293)


def test_proposals_differ_when_all_evaluations_failed():
    optimizer = dale.Optimizer(BOX, seed=0)
    for _ in range(6):
        optimizer.fail(optimizer.ask(), "no")
    assert len({tuple(p) for p in points(optimizer)}) == 6
    assert optimizer.result().status == 3


@pytest.mark.parametrize(
    "bounds",
    [[(1, 1 + 1e-12)] * 2, [(-1e12, 1e12)] * 2, [(-1.7e308, 1.7e308)] * 2, [(0, 5e-324)] * 2, [(0, 1)], [(0, 1)] * 20],
)
def test_extreme_ranges(bounds):
    optimizer = dale.Optimizer(bounds, seed=0)
    lower, upper = np.array(bounds, dtype=float).T
    for _ in range(12):
        trial = optimizer.ask()
        assert np.all((trial.x >= lower) & (trial.x <= upper))
        optimizer.tell(trial, float(np.sum((trial.unit_x - 0.3) ** 2)))


@pytest.mark.parametrize("values", ["constant", "step", "tiny", "huge", "spike"])
def test_extreme_values(values):
    functions = {
        "constant": lambda u: 1.0,
        "step": lambda u: float(u[0] > 0.5),
        "tiny": lambda u: 1e-310 * float(np.sum(u)),
        "huge": lambda u: 1.7e308 * float(u[0] - u[1]),
        "spike": lambda u: 1e12 if u[0] > 0.8 else float(np.sum(u**2)),
    }
    optimizer = dale.Optimizer([(0, 1)] * 2, seed=0)
    for _ in range(20):
        trial = optimizer.ask()
        optimizer.tell(trial, functions[values](trial.unit_x))
    P = np.array(points(optimizer))
    assert np.all((P >= 0) & (P <= 1))
    n_replicates = sum(trial.reason.source is Source.REPLICATE for trial in optimizer.history)
    assert n_replicates <= (2 if values == "step" else 0)  # to test for noise, where values are tied
    assert len({tuple(p) for p in P}) == 20 - n_replicates


def test_a_converged_local_model_gives_a_minimum_as_accurate_as_the_values():
    branin = get("branin")
    optimizer = dale.Optimizer(branin.bounds, seed=0)
    for _ in range(40):
        trial = optimizer.ask()
        optimizer.tell(trial, branin.fun(trial.x))
    closed = [c for t in optimizer.history for c in t.reason.closed_regions if c.converged]
    assert closed
    first = optimizer.result().local_minima[0]
    assert first.converged
    assert first.fun == pytest.approx(branin.minimum, abs=1e-14)
    assert first.error < 1e-12
    np.testing.assert_allclose(first.x, optimizer.history[closed[0].center].x, atol=1e-6)


def test_several_threads_may_ask_and_tell_one_optimizer():
    """No id twice, no proposal twice, no value lost; threads switch as often as possible."""
    optimizer = dale.Optimizer([(0, 1), (0, 1)], seed=0)
    interval = sys.getswitchinterval()
    errors = []

    def work():
        try:
            for _ in range(8):
                trial = optimizer.ask()
                optimizer.tell(trial, float(np.sum(trial.x)))
        except Exception as error:
            errors.append(error)

    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert errors == []
    assert [t.id for t in optimizer.history] == list(range(24))
    assert len({tuple(t.x) for t in optimizer.history}) == 24
    assert all(t.value == float(np.sum(t.x)) for t in optimizer.history)


def test_a_copy_is_an_optimizer_of_its_own():
    """It shares nothing that changes, and a transaction of the original is not its own."""
    optimizer = dale.Optimizer([(0, 1)], seed=0)
    optimizer.tell(optimizer.ask(), 1.0)
    with optimizer.transaction():
        copied = copy.copy(optimizer)
    assert copied.snapshot.cache is not optimizer.snapshot.cache
    with pytest.raises(ZeroDivisionError), copied.transaction():
        _ = [copied.add([x], 1 / (0.6 - x)) for x in (0.5, 0.6)]
    assert len(copied.history) == len(optimizer.history) == 1
    copied.tell(copied.ask(), 2.0)
    assert len(optimizer.history) == 1
    assert optimizer.ask().x == copied.history[1].x
