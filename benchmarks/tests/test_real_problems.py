"""Real problems: reproducible, valid, and with noise where they say so."""

import math
import subprocess
import sys

import numpy as np
import pytest

from dale.space.float import Float
from dale_bench.problems.problem import Failed
from dale_bench.real import PROBLEMS
from dale_bench.real.data import log_loss, root_mean_square, split
from dale_bench.real.exact import compress, compressor, kinetics, pendulum, pressure_vessel, welded_beam
from dale_bench.real.noisy import cart_pole, curve_fit, epidemic, evolution, inventory, queue
from dale_bench.real.problem import EXACT, NOISY, Real, evaluation_stream
from problem_cases import draws

EXACT_NAMES = [p.name for p in PROBLEMS.values() if p.kind == EXACT]
NOISY_NAMES = [p.name for p in PROBLEMS.values() if p.kind == NOISY]
CENTER = {"svc_cv": {"C": 1.0, "gamma": 0.01}}


def get(name):
    for module in PROBLEMS[name].modules:
        pytest.importorskip(module, reason=f"{name} needs {module} (extra 'real')")
    return PROBLEMS[name]


def evaluate(real, params, seed=0):
    try:
        return real.value(params, np.random.default_rng(seed)) if real.kind == NOISY else real.value(params)
    except Failed:
        return "failed"


def test_there_are_nine_exact_and_ten_noisy_ones():
    assert (len(EXACT_NAMES), len(NOISY_NAMES)) == (9, 10)


@pytest.mark.parametrize("name", PROBLEMS)
def test_values_are_reproducible_numbers(name):
    real = get(name)
    points = draws(real.space, 3, seed=7)
    first, again = ([evaluate(real, params) for params in points] for _ in range(2))
    assert first == again
    assert len(set(first)) > 1
    for params, value in zip(points, first, strict=True):
        assert real.space.check(dict(params)) == params
        assert value == "failed" or math.isfinite(value)
        assert real.kind == NOISY or value == "failed" or value > 0  # a regret is then a value


@pytest.mark.parametrize("name", NOISY_NAMES)
def test_noise_differs_between_evaluations(name):
    real = get(name)
    params = real.space.check(CENTER[name]) if name in CENTER else real.space.decode(np.full(real.space.dimension, 0.5))
    values = {evaluate(real, params, seed) for seed in range(4)}
    assert len(values) > 1
    assert not real.has_options  # so that BADS applies
    assert real.replicates >= 100


def test_the_stream_of_an_evaluation():
    first = evaluation_stream("queue", 3, 5).random()
    assert first == evaluation_stream("queue", 3, 5).random()
    others = [evaluation_stream(*key).random() for key in (("queue", 3, 6), ("queue", 4, 5), ("epidemic", 3, 5))]
    assert len({first, *others}) == 4


def test_a_true_mean_and_its_error():
    real = Real("normal", curve_fit.SPACE, 5, "", lambda p, rng: p["phase"] + 2 * rng.standard_normal(), 2500)
    params = real.space.check({**curve_fit.TRUE, "phase": 1.0})
    mean = real.true_mean(params)
    assert mean == real.true_mean(params)
    assert mean.error == pytest.approx(2 / 50, rel=0.05)
    assert abs(mean.value - 1) < 4 * mean.error
    moved = real.true_mean(real.space.check({**curve_fit.TRUE, "phase": 0.5}))
    assert mean.value - moved.value == pytest.approx(0.5, abs=1e-12)  # common random numbers


class TestExact:
    def test_the_true_kinetics_misfit_is_the_noise(self):
        assert kinetics.value(kinetics.TRUE) == pytest.approx(1.0, abs=0.2)
        total = kinetics.concentrations(kinetics.TRUE).sum(axis=1)
        assert total == pytest.approx(np.ones(24))  # nothing is lost

    def test_the_best_known_pressure_vessel(self):
        best = {"shell": 0.8125, "head": 0.4375, "radius": 42.0984, "length": 176.6375}
        assert pressure_vessel.value(best) == pytest.approx(6.0597, abs=1e-3)
        assert np.all(pressure_vessel.constraints(best) < 1e-5)
        assert not np.all(pressure_vessel.constraints({**best, "shell": 0.75}) <= 0)

    def test_the_best_known_welded_beam(self):
        best = {"h": 0.205730, "l": 3.470489, "t": 9.036624, "b": 0.205730}
        assert welded_beam.value(best) == pytest.approx(1.724852, abs=1e-4)
        values = welded_beam.constraints(best)
        assert np.all(values < 1e-4)
        assert np.sum(np.abs(values) < 1e-3) == 4  # all but the deflection are active
        assert np.any(welded_beam.constraints({**best, "t": 8.9}) > 1e-3)

    def test_the_compressor_fails_where_lzma_rejects_the_settings(self):
        pytest.importorskip("sklearn", reason="the table is scikit-learn's")
        good = {"mode": "normal", "mf": "bt4", "nice_len": 64, "depth": 50, "dict_size": 2**14}
        good |= {"lc": 0, "lp": 3, "pb": 3, "delta": False}
        size = compressor.value(compressor.SPACE.check(good))
        assert 20 < size < len(compressor.content()) / 1000
        assert size == compress.size(good, compressor.content())
        assert compressor.value(compressor.SPACE.check({**good, "delta": True, "dist": 8})) != size
        for bad in ({"lc": 3, "lp": 3}, {"dict_size": 2**20}):
            with pytest.raises(Failed):
                compressor.value(compressor.SPACE.check({**good, **bad}))

    def test_the_program_on_its_own(self, tmp_path):
        run = [sys.executable, compress.__file__, str(tmp_path / "p.json"), str(tmp_path / "t.bin")]
        (tmp_path / "t.bin").write_bytes(bytes(1000))
        (tmp_path / "p.json").write_text(
            '{"mode": "fast", "mf": "hc4", "nice_len": 8, "depth": 1, "dict_size": 4096, "lc": 4, "lp": 1, "pb": 0, '
            '"delta": false}'
        )
        done = subprocess.run(run, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (1, "")
        (tmp_path / "p.json").write_text((tmp_path / "p.json").read_text().replace('"lp": 1', '"lp": 0'))
        done = subprocess.run(run, capture_output=True, text=True, check=True)
        assert 0 < float(done.stdout) < 0.2

    def test_the_pendulum_is_held_at_the_top(self):
        params = {"gain": 1.0, "target": 1.0, "switch": 0.5, "stiffness": 20.0, "damping": 5.0}
        angle = 0.1
        assert pendulum.torque(params, math.cos(angle), math.sin(angle), 0.0) == pytest.approx(-2.0)
        assert pendulum.torque(params, math.cos(angle), math.sin(angle), -0.4) == pytest.approx(0.0, abs=1e-12)
        assert pendulum.torque(params, -1.0, 0.0, 0.01) > 0  # below: adds energy in the direction of motion


class TestNoisy:
    def test_departures_one_by_one(self):
        rng = np.random.default_rng(0)
        arrivals, service = np.cumsum(rng.exponential(size=50)), rng.exponential(size=50)
        last, expected = -np.inf, []
        for a, s in zip(arrivals, service, strict=True):
            last = max(a, last) + s
            expected.append(last)
        assert queue.departures(arrivals, service) == pytest.approx(np.array(expected))

    def test_a_policy_without_stock_makes_demand_wait(self):
        low, high = ({"s": s, "batch": 100, "period": 1} for s in (0, 60))
        costs = [np.mean([inventory.value(p, np.random.default_rng(i)) for i in range(50)]) for p in (low, high)]
        assert costs[0] > 1.2 * costs[1]

    def test_an_epidemic_without_closure_infects_most(self):
        never = {"close": 2000.0, "reopen": 1.0, "strictness": 0.0}
        assert np.mean([epidemic.value(never, np.random.default_rng(i)) for i in range(20)]) == pytest.approx(90, abs=5)

    def test_the_true_curve_leaves_the_noise(self):
        values = [curve_fit.value(curve_fit.TRUE, np.random.default_rng(i)) ** 2 for i in range(400)]
        assert np.mean(values) == pytest.approx(curve_fit.STD**2, rel=0.1)
        assert curve_fit.SPACE.check(curve_fit.TRUE) == curve_fit.TRUE

    def test_a_step_size_that_suits_the_strategy_is_better(self):
        good = {"step": 0.5, "adaptation": 0.3, "population": 12, "selected": 0.3}
        values = [
            np.mean([evolution.value({**good, "step": s}, np.random.default_rng(i)) for i in range(20)])
            for s in (0.5, 1e-3)
        ]
        assert values[0] < values[1] - 0.5

    def test_the_cart_balances_with_gains_and_falls_without(self):
        gains = {"position": 1.0, "speed": 2.0, "angle": 40.0, "turn": 8.0}
        rngs = [np.random.default_rng(i) for i in range(5)]
        assert max(cart_pole.value(gains, rng) for rng in rngs) < 0.2
        assert min(cart_pole.value(dict.fromkeys(gains, 0.0), rng) for rng in rngs) > 0.3


class TestData:
    def test_a_split_has_no_common_rows(self):
        pytest.importorskip("sklearn", reason="the data are scikit-learn's")
        data = split("diabetes", 100, 300, np.random.default_rng(0))
        rows = {tuple(row) for row in np.vstack([data.X, data.X_test])}
        assert (len(data.y), len(data.y_test), len(rows)) == (100, 300, 400)
        assert np.vstack([data.X, data.X_test]).mean(axis=0) == pytest.approx(0, abs=0.1)

    def test_errors_by_hand(self):
        assert root_mean_square(np.array([3.0, -4.0])) == pytest.approx(math.sqrt(12.5))
        loss = log_loss(np.array([[0.5, 0.5], [1.0, 0.0]]), np.array([0, 1]))
        assert loss == pytest.approx((math.log(2) + math.log(1e6)) / 2)


def test_kinds_of_spaces():
    assert PROBLEMS["svc"].has_options
    assert not PROBLEMS["inventory"].has_options
    assert not PROBLEMS["inventory"].is_continuous
    assert PROBLEMS["kinetics"].is_continuous
    assert isinstance(PROBLEMS["kinetics"].space.parameters["forward"], Float)
