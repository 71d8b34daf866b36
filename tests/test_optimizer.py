import dataclasses
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest

import dale
from dale.bench.functions import get
from dale.methods import History
from dale.methods.memory import Memory
from dale.trial import Source, State

BOX = [(-5, 10), (0, 15)]


def bowl(x):
    return float((x[0] - 1) ** 2 + (x[1] - 4) ** 2)


def told(n, seed=0, space=BOX):
    optimizer = dale.Optimizer(space, seed=seed)
    for _ in range(n):
        trial = optimizer.ask()
        optimizer.tell(trial, bowl(trial.x))
    return optimizer


def points(optimizer):
    return [t.point.tolist() for t in optimizer.history]


def test_same_seed_same_run_another_seed_another_run():
    assert points(told(12)) == points(told(12))
    assert points(told(4, seed=0)) != points(told(4, seed=1))


def test_same_seed_in_a_fresh_process_and_global_random_state_untouched():
    code = (
        "import numpy as np, dale\n"
        "np.random.seed(7); before = np.random.get_state()[1].tolist()\n"
        "o = dale.Optimizer([(-5, 10), (0, 15)], seed=0)\n"
        "for _ in range(12):\n"
        "    t = o.ask(); o.tell(t, float((t.x[0] - 1) ** 2 + (t.x[1] - 4) ** 2))\n"
        "assert np.random.get_state()[1].tolist() == before\n"
        "print([t.point.tolist() for t in o.history])\n"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == str(points(told(12)))


def proposed_afresh(optimizer, trials):
    """What its method proposes after these trials if it remembers nothing."""
    point, reason = optimizer.method.propose(History.of(trials, optimizer.space.dimension), optimizer.seed, Memory())
    return optimizer.space.snap(point).tolist(), reason


def test_a_proposal_is_a_function_of_the_history():
    """Handed a part of the history, the method proposes bit for bit what the optimizer did then."""
    one = told(15)
    for cut in (0, 3, 7, 11, 14):
        point, reason = proposed_afresh(one, one.history[:cut])
        assert point == one.history[cut].point.tolist()
        assert reason == one.history[cut].reason


@pytest.mark.parametrize("method", [dale.methods.default, dale.methods.paper, dale.methods.ei, dale.methods.imgpo])
@pytest.mark.parametrize("seed", range(3))
def test_what_is_remembered_does_not_show(method, seed):
    """However trials are told, fail, are told after all, or come from elsewhere, between one ask and the next."""
    rng = np.random.default_rng(seed)
    optimizer, seen = dale.Optimizer(BOX, seed=seed, method=method()), set()
    while len(optimizer.history) < 24:
        open_ones = [t for t in optimizer.history if t.state is not State.TOLD]
        what = rng.choice(["ask", "ask", "tell", "tell", "tell", "fail", "retry", "add"])
        if what == "ask":
            while (trial := optimizer.ask()).reason.again is not None:
                pass
            expected = proposed_afresh(optimizer, optimizer.history[:-1])
            assert (trial.point.tolist(), trial.reason) == expected
            seen.add(trial.reason.source)
        elif what == "add":
            optimizer.add(x := rng.uniform([-5, 0], [10, 15]), bowl(x))
        elif open_ones:
            trial = open_ones[rng.integers(len(open_ones))]
            if what == "tell":
                optimizer.tell(trial, bowl(trial.x))
            elif trial.state is State.PENDING:
                optimizer.fail(trial, "not now", retry=what == "retry")
    assert Source.GLOBAL in seen
    assert Source.REGION in seen or method not in (dale.methods.default, dale.methods.paper)


def test_the_order_of_the_tells_does_not_show():
    def proposal(order):
        optimizer = dale.Optimizer(BOX, seed=2)
        trials = optimizer.ask(6)
        for i in order:
            optimizer.tell(trials[i], bowl(trials[i].x))
        return optimizer.ask().point.tolist()

    assert proposal([0, 1, 2, 3, 4, 5]) == proposal([5, 2, 0, 4, 1, 3])


@pytest.mark.parametrize("n_told", [0, 2, 3, 9])
def test_eight_asks_without_a_tell_are_eight_different_points(n_told):
    optimizer = told(n_told)
    trials = optimizer.ask(8)
    P = np.array([t.point for t in trials])
    distance = np.linalg.norm(P[:, None] - P[None], axis=2) + np.eye(len(P))
    assert len(trials) == 8
    assert distance.min() > 1e-6
    assert len({t.point.tobytes() for t in optimizer.history}) == n_told + 8
    assert {t.state for t in trials} == {State.PENDING}


def test_points_are_within_the_bounds_and_read_only():
    optimizer = told(8)
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
    assert optimizer.best.reason.source is Source.KNOWN
    with pytest.raises(TypeError, match="cannot be changed"):
        trial.params["rate"] = 1.0
    assert pickle.loads(pickle.dumps(trial.params)) == trial.params


def test_given_points_are_kept_to_the_last_bit():
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
    optimizer = told(15)
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
    optimizer = told(6)
    trial = optimizer.ask()
    failed = optimizer.fail(trial, "diverged")
    assert (failed.state, failed.error, failed.value) == (State.FAILED, "diverged", None)
    for _ in range(5):
        new = optimizer.ask()
        assert np.linalg.norm(new.point - trial.point) > 1e-3
        optimizer.tell(new, bowl(new.x))
    assert len(optimizer.history) == 12
    optimizer.tell(trial, 3.0)  # it arrived after all
    assert optimizer.history[6].value == 3.0


def test_a_failed_minimum_of_a_region_is_not_asked_again():
    """The objective breaks down right where it is best: the search must go on around it."""

    def fragile(x):
        if np.linalg.norm(x - [0.37, 0.61]) < 1e-3:
            raise RuntimeError("breaks down")
        return float(np.sum((x - [0.37, 0.61]) ** 2))

    for seed in range(3):
        result = dale.minimize(fragile, [(0, 1)] * 2, budget=25, seed=seed)
        failed = [t for t in result.history if t.state is State.FAILED]
        assert 1 <= len(failed) <= 3
        distances = [np.linalg.norm(a.point - b.point) for a in failed for b in result.history if a is not b]
        assert min(distances) > 1e-6


def test_one_point_with_two_values_does_not_blow_up_the_model():
    optimizer = told(8)
    before = optimizer.ask()
    again = optimizer.history[3]
    optimizer.add(again.x, again.value + 0.01)
    after = optimizer.ask()
    assert after.reason.spread < 10 * max(before.reason.spread, 1.0)
    assert sum(np.array_equal(t.x, again.x) for t in optimizer.history) == 2


def test_a_failure_beside_a_value_does_not_count():
    optimizer = told(8)
    trial = optimizer.ask(at=optimizer.history[2].x)
    optimizer.fail(trial, "the machine's fault")
    assert optimizer.ask().reason.spread < 100


def test_one_huge_value_makes_nothing_converged():
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
        optimizer.tell(trial, 1e300 * (float(np.sum((trial.point - 0.3) ** 2)) - 0.1))
    (minimum,) = optimizer.result().local_minima
    np.testing.assert_allclose(minimum.hessian, 2e300 * np.eye(2), rtol=1e-6, atol=1e293)


def test_all_failed_still_asks():
    optimizer = dale.Optimizer(BOX, seed=0)
    for _ in range(6):
        optimizer.fail(optimizer.ask(), "no")
    assert len({tuple(p) for p in points(optimizer)}) == 6
    assert optimizer.result().status == 3


class TestBadInput:
    """A clear error, and nothing changed."""

    @pytest.fixture
    def optimizer(self):
        return told(4)

    def unchanged(self, optimizer):
        return [(t.id, t.state, t.value, t.point.tolist()) for t in optimizer.history]

    @pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
    def test_values_that_are_not_finite(self, optimizer, value):
        trial = optimizer.ask()
        before = self.unchanged(optimizer)
        with pytest.raises(ValueError, match=r"must be finite, got .*fail"):
            optimizer.tell(trial, value)
        with pytest.raises(ValueError, match="must be finite"):
            optimizer.add([0, 1], value)
        assert self.unchanged(optimizer) == before

    @pytest.mark.parametrize("value", [None, "1.0", 1j, [1.0, 2.0], np.array([1.0, 2.0]), True])
    def test_values_that_are_no_number(self, optimizer, value):
        trial = optimizer.ask()
        before = self.unchanged(optimizer)
        with pytest.raises(TypeError, match="one real number, got"):
            optimizer.tell(trial, value)
        assert self.unchanged(optimizer) == before

    def test_unknown_trials(self, optimizer):
        before = self.unchanged(optimizer)
        with pytest.raises(ValueError, match="trial 99 is unknown here; this run has 4 trials"):
            optimizer.tell(99, 1.0)
        with pytest.raises(ValueError, match="unknown"):
            optimizer.tell(-1, 1.0)
        with pytest.raises(ValueError, match="unknown"):
            optimizer.tell(told(1, seed=9).history[0], 1.0)
        with pytest.raises(TypeError, match="wanted a Trial"):
            optimizer.tell("0", 1.0)
        assert self.unchanged(optimizer) == before

    def test_telling_twice(self, optimizer):
        value = optimizer.history[0].value
        before = self.unchanged(optimizer)
        optimizer.tell(0, value)  # the same again is no change
        with pytest.raises(ValueError, match=r"trial 0 was told .* before, got .*nothing was changed"):
            optimizer.tell(0, value + 1)
        with pytest.raises(ValueError, match="cannot fail"):
            optimizer.fail(0, "late")
        assert self.unchanged(optimizer) == before

    def test_add_outside_the_box_or_of_a_wrong_shape(self, optimizer):
        before = self.unchanged(optimizer)
        with pytest.raises(ValueError, match=r"coordinate 0 = 11.0 is outside its bounds \[-5.0, 10.0\]"):
            optimizer.add([11, 3], 1.0)
        with pytest.raises(ValueError, match="wanted 2 numbers"):
            optimizer.add([1, 2, 3], 1.0)
        with pytest.raises(ValueError, match="wanted 2 numbers"):
            optimizer.add([[1, 2]], 1.0)
        with pytest.raises(TypeError, match="no names"):
            optimizer.add({"a": 1}, 1.0)
        with pytest.raises(TypeError, match="sequence of 2 numbers"):
            optimizer.add(3.0, 1.0)
        assert self.unchanged(optimizer) == before

    def test_unknown_and_missing_names(self):
        optimizer = dale.Optimizer(dale.Space(a=(0, 1), b=(0, 1)))
        with pytest.raises(ValueError, match="unknown parameter 'c'; missing parameter 'b'; the space has 'a', 'b'"):
            optimizer.add({"a": 0.5, "c": 0.5}, 1.0)
        with pytest.raises(TypeError, match="this space has names"):
            optimizer.add([0.5, 0.5], 1.0)
        assert optimizer.history == ()

    @pytest.mark.parametrize(("n", "error"), [(0, ValueError), (-3, ValueError), (1.5, TypeError), (True, TypeError)])
    def test_ask_for_a_strange_number(self, optimizer, n, error):
        with pytest.raises(error, match="n must be a positive integer"):
            optimizer.ask(n)

    def test_method_and_seed(self):
        with pytest.raises(TypeError, match=r"method must be one of dale\.methods"):
            dale.Optimizer(BOX, method="paper")
        with pytest.raises(TypeError, match="seed must be"):
            dale.Optimizer(BOX, seed="0")
        with pytest.raises(ValueError, match="seed must be"):
            dale.Optimizer(BOX, seed=-1)


@pytest.mark.parametrize(
    "bounds",
    [[(1, 1 + 1e-12)] * 2, [(-1e12, 1e12)] * 2, [(-1.7e308, 1.7e308)] * 2, [(0, 5e-324)] * 2, [(0, 1)], [(0, 1)] * 20],
)
def test_strange_ranges(bounds):
    optimizer = dale.Optimizer(bounds, seed=0)
    lower, upper = np.array(bounds, dtype=float).T
    for _ in range(12):
        trial = optimizer.ask()
        assert np.all((trial.x >= lower) & (trial.x <= upper))
        optimizer.tell(trial, float(np.sum((trial.point - 0.3) ** 2)))


@pytest.mark.parametrize("values", ["constant", "step", "tiny", "huge", "spike"])
def test_strange_values(values):
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
        optimizer.tell(trial, functions[values](trial.point))
    P = np.array(points(optimizer))
    assert np.all((P >= 0) & (P <= 1))
    assert len({tuple(p) for p in P}) == 20


def test_a_minimum_where_a_local_model_has_converged_is_as_fine_as_the_values():
    branin = get("branin")
    optimizer = dale.Optimizer(branin.bounds, seed=0)
    for _ in range(40):
        trial = optimizer.ask()
        optimizer.tell(trial, branin.fun(trial.x))
    closed = [c for t in optimizer.history for c in t.reason.closed if c.converged]
    assert closed
    first = optimizer.result().local_minima[0]
    assert first.converged
    assert first.fun == optimizer.history[closed[0].centre].value == pytest.approx(branin.minimum, abs=1e-10)
    assert first.error < 1e-10


class TestSpacesOfAnyKind:
    """Whole numbers, steps, options and fixed values, and what is left of a finite space."""

    SPACE = dale.Space(
        rate=dale.Float(1e-5, 1e-1, log=True),
        depth=dale.Int(1, 12),
        act=dale.Choice(["relu", "gelu", None]),
        version=dale.Choice(["v2"]),
    )

    def value(self, params):
        off = {"relu": 0.5, "gelu": 0.0, None: 1.0}[params["act"]]
        return (np.log10(params["rate"]) + 3) ** 2 + 0.1 * (params["depth"] - 7) ** 2 + off

    def run(self, space, n, seed=0):
        optimizer = dale.Optimizer(space, seed=seed)
        for _ in range(n):
            trial = optimizer.ask()
            optimizer.tell(trial, self.value(trial.params))
        return optimizer

    def test_a_mixed_space(self):
        optimizer = self.run(self.SPACE, 12)
        result = optimizer.result()
        assert result.x.tolist() == list(result.params.values())
        assert result.x_iters.shape == (12, 4)
        assert result.local_minima == ()
        assert "version=v2" in str(result)
        assert {type(t.params["depth"]) for t in optimizer.history} == {int}
        for t in optimizer.history:
            np.testing.assert_array_equal(t.point, self.SPACE.encode(t.params))
        optimizer.add({"rate": 1e-3, "depth": np.int64(7), "act": "gelu", "version": "v2"}, 0.0)
        assert optimizer.best.value == 0.0

    def test_the_order_of_the_names_does_not_show(self):
        other = dale.Space(dict(reversed(self.SPACE.parameters.items())))
        assert points(self.run(self.SPACE, 12)) == points(self.run(other, 12))

    def test_without_names(self):
        optimizer = dale.Optimizer([(0, 1), dale.Int(1, 5), dale.Choice(["a", [1, 2], [3, 4]])], seed=0)
        for _ in range(8):
            trial = optimizer.ask()
            optimizer.tell(trial, trial.x[0] + trial.x[1] + (trial.x[2] == "a"))
        result = optimizer.result()
        assert result.x_iters.shape == (8, 3)
        assert optimizer.add(result.x, result.fun).x.tolist() == result.x.tolist()
        assert str(result.params[2]) in str(result)

    def test_minima_of_whole_numbers(self):
        """The Hessian is that along the line that they lie on; the minimum is one of them."""
        optimizer = dale.Optimizer(dale.Space(n=dale.Int(0, 40), s=dale.Float(0, 4, step=0.1), c=(5, 5)), seed=0)
        for _ in range(25):
            trial = optimizer.ask()
            n, s = trial.params["n"], trial.params["s"]
            optimizer.tell(trial, 0.02 * (n - 17.3) ** 2 + 3 * (s - 2.2) ** 2)
        minimum = optimizer.result().local_minima[0]
        assert minimum.params == {"n": 17, "s": 2.2, "c": 5.0}
        assert minimum.fun == pytest.approx(0.02 * 0.3**2, abs=1e-9)
        np.testing.assert_allclose(minimum.hessian[:2, :2], [[0.04, 0], [0, 6]], atol=1e-6)
        assert np.all(np.isnan(minimum.hessian[2]))

    @pytest.mark.parametrize("method", [dale.methods.default, dale.methods.paper, dale.methods.ei, dale.methods.imgpo])
    def test_a_finite_space_is_asked_once(self, method):
        space = dale.Space(a=dale.Int(1, 2), b=dale.Choice(["x", None]), c=dale.Float(0, 1, step=0.5))
        optimizer = dale.Optimizer(space, seed=0, method=method())
        for _ in range(12):
            trial = optimizer.ask()
            optimizer.tell(trial, trial.params["a"] + trial.params["c"] + (trial.params["b"] is None))
        assert len({tuple(t.params.values()) for t in optimizer.history}) == 12
        assert optimizer.best.params == {"a": 1, "b": "x", "c": 0.0}
        for n in (None, 3):
            with pytest.raises(dale.SpaceExhausted, match=r"all 12 points of the space have been asked, .*result"):
                optimizer.ask(n)
        assert len(optimizer.history) == 12
        assert optimizer.ask(at=trial.params).params == trial.params  # a user may evaluate a point again

    def test_a_batch_is_what_is_left(self):
        optimizer = dale.Optimizer([dale.Int(0, 4)], seed=0)
        optimizer.add([3], 1.0)
        optimizer.add([3], 1.0)
        assert sorted(t.x[0] for t in optimizer.ask(9)) == [0, 1, 2, 4]
        with pytest.raises(dale.SpaceExhausted):
            optimizer.ask()

    @pytest.mark.parametrize("left", [0, 1, 123, 2499])
    def test_the_last_point_of_a_larger_space_is_found(self, left):
        """Too many points to look through all: even what hardly any random point rounds to is found."""
        space = dale.Space(a=dale.Int(1, 1250, log=True), b=dale.Choice([False, True]))
        optimizer = dale.Optimizer(space, seed=0, method=dale.methods.ei())
        for k in range(2500):
            if k != left:
                optimizer.fail(optimizer.ask(at=space.decode(space.point(k))))
        trial = optimizer.ask()
        np.testing.assert_array_equal(trial.point, space.point(left))
        with pytest.raises(dale.SpaceExhausted):
            optimizer.ask()


class TestEarlierData:
    ROWS = ({"x0": 1.0, "x1": 4.5, "value": 0.25}, {"x0": -2.0, "x1": 3.0, "value": ""}, {"x0": 3, "x1": 4, "value": 4})

    def test_each_row_is_a_trial(self):
        optimizer = dale.Optimizer(BOX, seed=0)
        first, second, third = optimizer.add_all(list(self.ROWS))
        assert optimizer.history == (first, second, third)
        assert [t.reason.source for t in optimizer.history] == [Source.KNOWN] * 3
        assert [t.state for t in optimizer.history] == [State.TOLD, State.FAILED, State.TOLD]
        assert (second.error, second.value) == ("no value in row 2", None)
        assert (optimizer.best.value, optimizer.best.x.tolist()) == (0.25, [1.0, 4.5])
        assert optimizer.result().nfev == 0

    def test_it_is_what_add_and_fail_record(self):
        one, other = dale.Optimizer(BOX, seed=0), dale.Optimizer(BOX, seed=0)
        one.add_all(list(self.ROWS))
        other.add([1.0, 4.5], 0.25)
        other.fail(other.ask(at=[-2.0, 3.0]))
        other.add([3, 4], 4)
        assert one.ask().point.tolist() == other.ask().point.tolist()

    @pytest.mark.parametrize("method", [dale.methods.default, dale.methods.paper, dale.methods.ei])
    def test_it_stands_in_for_the_initial_design(self, method):
        optimizer = dale.Optimizer(BOX, seed=0, method=method())
        optimizer.add_all(list(self.ROWS))
        for _ in range(6):
            trial = optimizer.ask()
            assert trial.reason.source is not Source.DESIGN
            optimizer.tell(trial, bowl(trial.x))

    def test_all_of_it_failed(self):
        """Nothing is known, but where not to look."""
        optimizer = dale.Optimizer(BOX, seed=0)
        optimizer.add_all([row | {"value": np.nan} for row in self.ROWS])
        trial = optimizer.ask()
        assert trial.reason.source is Source.EXPLORE
        optimizer.tell(trial, 1.0)
        optimizer.ask()

    def test_all_or_nothing(self):
        optimizer = dale.Optimizer(BOX, seed=0)
        for bad in ({"x0": 99.0}, {"value": "lost"}):
            with pytest.raises(ValueError, match=r"row 3 .*Nothing was recorded"):
                optimizer.add_all([*self.ROWS[:2], self.ROWS[2] | bad])
        assert optimizer.history == ()

    def test_the_column_of_the_values(self):
        optimizer = dale.Optimizer({"a": (0, 1)}, seed=0)
        [trial] = optimizer.add_all({"a": [0.5], "loss": [3.0], "value": ["no"]}, value="loss")
        assert trial.value == 3.0
        with pytest.raises(ValueError, match="'a' is a parameter"):
            optimizer.add_all({"a": [0.5]}, value="a")
        with pytest.raises(TypeError, match="name of a column, got 3"):
            optimizer.add_all({"a": [0.5]}, value=3)

    def test_ten_thousand_rows(self):
        X = np.random.default_rng(0).uniform([-5, 0], [10, 15], (10_000, 2))
        optimizer = dale.Optimizer(BOX, seed=0)
        optimizer.add_all({"x0": X[:, 0], "x1": X[:, 1], "value": [bowl(x) for x in X]})
        trial = optimizer.ask()
        optimizer.tell(trial, bowl(trial.x))
        assert bowl(trial.x) < 0.1 * np.min([bowl(x) for x in X])


class TestConverged:
    def until(self, tolerance):
        optimizer = dale.Optimizer(BOX, seed=0)
        while not optimizer.converged(tolerance):
            trial = optimizer.ask()
            optimizer.tell(trial, bowl(trial.x))
            assert trial.id < 60
        return optimizer

    def test_asking_whether_changes_nothing(self):
        optimizer = self.until(2.0)
        assert points(optimizer) == points(told(len(optimizer.history)))
        assert optimizer.ask().point.tolist() == told(len(optimizer.history) - 1).ask().point.tolist()

    def test_the_last_proposals_promised_little(self):
        *_, last = [t for t in self.until(2.0).history if (t.reason.acquisition or 9) >= 2.0]
        after = self.until(2.0).history[last.id + 1 :]
        assert sum(t.reason.source is Source.GLOBAL for t in after) >= 6

    def test_trials_that_are_out_or_failed_are_no_evidence(self):
        """However many are asked: what nobody has told proves nothing."""
        optimizer = told(8)
        trials = optimizer.ask(30)
        assert not optimizer.converged(1e6)
        for trial in trials:
            optimizer.fail(trial, "lost")
        assert not optimizer.converged(1e6)

    def test_a_gain_is_a_reason_to_go_on(self):
        """What promised little and gave much."""
        optimizer = self.until(2.0)
        trial = optimizer.ask()
        assert trial.reason.acquisition < 2.0
        optimizer.tell(trial, -100.0)
        assert not optimizer.converged(2.0)

    def test_not_before_what_the_machine_failed_is_told(self):
        optimizer = self.until(2.0)
        optimizer.fail(optimizer.ask(), "the node died", retry=True)
        assert not optimizer.converged(2.0)

    def test_an_exhausted_space(self):
        optimizer = dale.Optimizer([dale.Int(0, 3)], seed=0)
        trials = optimizer.ask(4)
        assert not optimizer.converged(1e-9)
        for trial in trials:
            optimizer.tell(trial, float(trial.x[0]))
        assert optimizer.converged(1e-9)

    def test_before_the_first_ask(self):
        assert not dale.Optimizer(BOX).converged(1.0)


class TestAskedAgain:
    """``fail(trial, why, retry=True)``: the machine is to blame, not the point."""

    def test_the_point_is_asked_again_once_and_the_history_keeps_everything(self):
        optimizer = told(7)
        trial = optimizer.ask()
        failed = optimizer.fail(trial, "the node died", retry=True)
        assert (failed.state, failed.error, failed.retry) == (State.FAILED, "the node died", True)
        again = optimizer.ask()
        assert again.id == trial.id + 1
        assert again.point.tolist() == trial.point.tolist()
        assert again.x.tolist() == trial.x.tolist()
        assert again.reason == dataclasses.replace(trial.reason, again=trial.id, closed=())
        assert str(again.reason) == f"{trial.reason}; trial {trial.id} again, which the machine failed"
        assert optimizer.history[trial.id] is failed
        another = optimizer.ask()
        assert another.point.tolist() != trial.point.tolist()
        optimizer.fail(again, "and again", retry=True)
        assert optimizer.ask().reason.again == again.id
        optimizer.fail(trial, "we knew that", retry=True)
        assert optimizer.ask().reason.again is None
        assert optimizer.result().nit == sum(t.reason.again is None for t in optimizer.history[3:])

    @pytest.mark.parametrize(
        "method", [dale.methods.default, dale.methods.paper, dale.methods.ei, dale.methods.imgpo, dale.methods.lcb]
    )
    def test_no_model_sees_it(self, method):
        """A run with such failures proposes bit for bit what it would without, designs and steps included."""

        def run(fails):
            optimizer = dale.Optimizer(BOX, seed=3, method=method())
            while sum(not t.retry for t in optimizer.history) < 30:
                trial = optimizer.ask()
                if trial.id in fails:
                    optimizer.fail(trial, "out of memory", retry=True)
                else:
                    optimizer.tell(trial, bowl(trial.x))
            return [t for t in optimizer.history if not t.retry]

        plain, shaken = run(()), run((0, 2, 5, 6, 11, 17, 18, 19, 30))
        assert [t.point.tolist() for t in plain] == [t.point.tolist() for t in shaken]
        assert [t.value for t in plain] == [t.value for t in shaken]

    def test_in_a_batch_too(self):
        """All that the machine failed comes first, in order; the length-scale does not go back to that of the first."""
        optimizer = told(14)
        trials = optimizer.ask(5)
        for trial in trials[::-1]:
            optimizer.fail(trial, retry=True)
        again = optimizer.ask(7)
        assert [t.reason.again for t in again] == [*(t.id for t in trials), None, None]
        assert [t.point.tolist() for t in again[:5]] == [t.point.tolist() for t in trials]
        assert {t.reason.length_scale for t in again[:5]} == {trials[-1].reason.length_scale}

    def test_a_value_that_comes_late_is_taken_and_nothing_is_asked_again(self):
        optimizer = told(4)
        trial = optimizer.ask()
        optimizer.fail(trial, "no answer", retry=True)
        late = optimizer.tell(trial, 3.0)
        assert (late.state, late.value, late.retry, late.error) == (State.TOLD, 3.0, False, None)
        assert optimizer.ask().reason.again is None

    def test_failed_after_all(self):
        optimizer = told(4)
        trial = optimizer.ask()
        optimizer.fail(trial, "no answer", retry=True)
        assert not optimizer.fail(trial, "it was the point").retry
        assert optimizer.ask().reason.again is None

    def test_a_finite_space_is_not_exhausted_before(self):
        optimizer = dale.Optimizer([dale.Int(0, 3)], seed=0)
        trials = optimizer.ask(4)
        optimizer.fail(trials[2], retry=True)
        [again] = optimizer.ask(3)
        assert again.x.tolist() == trials[2].x.tolist()
        with pytest.raises(dale.SpaceExhausted):
            optimizer.ask()

    def test_a_point_of_the_user_s(self):
        optimizer = dale.Optimizer(BOX, seed=0)
        trial = optimizer.ask(at=[0.5, 0.1])
        optimizer.fail(trial, retry=True)
        again = optimizer.ask()
        assert (again.reason.source, again.x.tolist()) == (Source.GIVEN, [0.5, 0.1])
        assert optimizer.ask().reason.source is Source.DESIGN

    def test_retry_is_true_or_false(self):
        optimizer = told(4)
        with pytest.raises(TypeError, match="retry must be True or False, got 3"):
            optimizer.fail(optimizer.ask(), "x", retry=3)


def test_several_threads_may_ask_and_tell_one_optimizer():
    """No id twice, no proposal twice, nothing lost; switched as often as Python can."""
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


class TestNoiseAndConstraintsAreTold:
    def test_they_are_kept_with_the_value(self):
        optimizer = dale.Optimizer([(0, 1)], seed=0)
        told = optimizer.tell(optimizer.ask(), 1.0, noise=np.float32(0.5), constraints=np.array([-1, 2]))
        assert (told.noise, told.constraints, told.feasible) == (0.5, (-1.0, 2.0), False)
        added = optimizer.add([0.5], 2.0, noise=0, constraints=[0, -3])
        assert (added.noise, added.constraints, added.feasible) == (0.0, (0.0, -3.0), True)

    def test_telling_the_same_again_changes_nothing_and_anything_else_is_refused(self):
        optimizer = dale.Optimizer([(0, 1)], seed=0)
        trial = optimizer.tell(optimizer.ask(), 1.0, noise=0.5, constraints=[1])
        assert optimizer.tell(trial, 1.0, noise=0.5, constraints=1.0) is trial
        for other in ({"noise": 0.4, "constraints": [1]}, {"noise": 0.5, "constraints": [2]}):
            with pytest.raises(ValueError, match="nothing was changed"):
                optimizer.tell(trial, 1.0, **other)

    @pytest.mark.parametrize("noise", [-1, np.nan, np.inf, True, "0.1", [0.1]])
    def test_what_is_no_noise_is_refused(self, noise):
        optimizer = dale.Optimizer([(0, 1)], seed=0)
        trial = optimizer.ask()
        with pytest.raises((TypeError, ValueError), match="noise must be"):
            optimizer.tell(trial, 1.0, noise=noise)
        assert optimizer.history[0].value is None
        with pytest.raises((TypeError, ValueError), match="noise must be"):
            dale.Optimizer([(0, 1)], noise=noise)

    @pytest.mark.parametrize("constraints", [np.nan, [1, np.inf], "ab", ["a"], [[1, 2]], [True], {"a": 1}])
    def test_what_are_no_constraints_is_refused(self, constraints):
        optimizer = dale.Optimizer([(0, 1)], seed=0)
        trial = optimizer.ask()
        with pytest.raises(ValueError, match="constraints must be finite numbers"):
            optimizer.tell(trial, 1.0, constraints=constraints)
        assert optimizer.history[0].value is None

    def test_as_many_constraints_each_time(self):
        optimizer = dale.Optimizer([(0, 1)], seed=0)
        optimizer.tell(optimizer.ask(), 1.0, constraints=[1, 2])
        with pytest.raises(ValueError, match=r"wanted 2 constraints, as trial 0 was told, got \[1\]"):
            optimizer.tell(optimizer.ask(), 1.0, constraints=[1])
        with pytest.raises(ValueError, match="wanted 2 constraints"):
            optimizer.add([0.3], 1.0)
        assert len(optimizer.history) == 2

    def test_an_objective_returns_them_with_the_value(self):
        result = dale.minimize(lambda x: dale.Evaluation(x[0], noise=0.1, constraints=[x[0] - 2]), [(0, 1)], budget=2)
        assert all(t.noise == 0.1 and t.constraints == (t.value - 2,) for t in result.history)

    def test_an_evaluation_that_is_none_fails(self):
        result = dale.minimize(lambda x: dale.Evaluation(x[0], constraints=[np.nan]), [(0, 1)], budget=2)
        assert result.status == 3
        assert "constraints=[nan]" in result.history[0].error
