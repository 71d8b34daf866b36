"""Objectives that fail, jump, are flat or have extreme values: ``checked_run`` checks the same invariants for each.

A short version runs by default. ``DALE_FULL=1 pytest tests/test_hostile.py`` runs the full version: 2 and 6 variables,
60 evaluations and 20 seeds for each objective, which takes about an hour.
"""

import itertools
import math
import os

import numpy as np
import pytest

import dale
from dale.errors import SpaceError
from dale.history.reason import Source
from dale.history.trial import TrialState
from hostile import AS_VALUES, BRANIN, FLAT, HART6, NO_VALUES, MinimumOnBoundary, Sometimes, bowl, checked_run

FULL = os.environ.get("DALE_FULL") == "1"
SEEDS = range(20 if FULL else 1)
FUNCTIONS = (BRANIN, HART6) if FULL else (BRANIN,)
DIMENSIONS = (2, 6) if FULL else (2,)
BUDGET = 60 if FULL else 25
EXTREME = float(np.finfo(float).max)


def cube(dimension):
    return [(0.0, 1.0)] * dimension


KINDS = list(NO_VALUES)
MISTAKES = ("none", "bool", "complex", "complex without imaginary part", "str", "empty", "masked", "raises")


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.name)
@pytest.mark.parametrize("kind", KINDS)
class TestEvaluationsWithoutAValue:
    """Each fails its trial; the run continues, and the best is unaffected."""

    def test_sometimes(self, kind, function, seed):
        fun = Sometimes(function.fun, NO_VALUES[kind], 0.2, seed)
        result = checked_run(fun, function.bounds, BUDGET, seed)
        failed = [t for t in result.history if t.state is TrialState.FAILED]
        assert len(failed) == fun.spoiled > 0
        assert len(result.func_vals) == BUDGET - fun.spoiled
        assert result.fun >= function.minimum - 1e-12
        assert all(t.error and np.isfinite(t.x).all() for t in failed)

    def test_always(self, kind, function, seed):
        fun = Sometimes(function.fun, NO_VALUES[kind], 1.0, seed)
        if kind in MISTAKES:
            with pytest.raises(RuntimeError, match=r"the solver diverged|the first 5 evaluations all failed"):
                checked_run(fun, function.bounds, BUDGET, seed)
            assert fun.spoiled == 5
            return
        result = checked_run(fun, function.bounds, BUDGET, seed)
        assert (result.x, result.fun, result.success, result.status) == (None, None, False, 3)
        assert all(t.state is TrialState.FAILED for t in result.history)


def test_a_ragged_list_fails_one_evaluation():
    """As the first value of a run, it raises an error like any other list of several values."""
    values = iter([1.0, [1.0, [2.0, 3.0]], 0.5])
    result = checked_run(lambda x: next(values), cube(2), 3, 0)
    assert [t.state for t in result.history] == [TrialState.COMPLETE, TrialState.FAILED, TrialState.COMPLETE]


def test_the_traceback_and_the_point_of_a_failed_evaluation_are_kept():
    calls = []

    def fun(x):
        calls.append(x.tolist())
        if len(calls) > 1:
            raise ZeroDivisionError("in the heart of the solver")
        return 1.0

    result = checked_run(fun, cube(2), 5, 0)
    assert [t.x.tolist() for t in result.history] == calls
    for trial in result.history[1:]:
        assert 'raise ZeroDivisionError("in the heart of the solver")' in trial.error  # the source line
        assert trial.error.startswith("Traceback")


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("probability", [0.2, 1.0])
@pytest.mark.parametrize("kind", AS_VALUES)
def test_unusual_types_are_accepted_as_values(kind, probability, seed):
    noisy = probability < 1 and kind in (
        "float32",
        "matrix of one",
        "integer",
    )  # a point may get a rounded and an exact value
    for function in FUNCTIONS:
        fun = Sometimes(function.fun, AS_VALUES[kind], probability, seed)
        result = checked_run(fun, function.bounds, BUDGET, seed, noisy=noisy)
        assert len(result.func_vals) == BUDGET
        assert all(type(t.value) is float for t in result.history)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("dimension", DIMENSIONS)
@pytest.mark.parametrize("name", FLAT)
def test_flat_objectives(name, dimension, seed):
    """In two variables the lower part is found as well, although no gradient leads there."""
    result = checked_run(FLAT[name], cube(dimension), BUDGET, seed)
    if name == "constant":
        assert result.local_minima == ()
    elif dimension == 2:
        assert result.fun < max(result.func_vals)


def regrets(function, budget, seeds, spoil=None):
    """Final regrets, of values that were not spoiled."""
    return [
        checked_run(Sometimes(function.fun, spoil, 0.2 if spoil else 0.0, seed), function.bounds, budget, seed).fun
        - function.minimum
        for seed in seeds
    ]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.name)
def test_outliers_increase_the_regret_at_most_tenfold(function):
    """Regrets below 1e-8 count as equal; the clean run has as many evaluations as are not spoiled."""
    budget, seeds = (60, range(20)) if FULL else (30, range(3))
    clean = max(np.median(regrets(function, round(0.8 * budget), seeds)), 1e-8)
    spoiled = regrets(function, budget, seeds, lambda value: 1e12)
    assert np.median(spoiled) <= 10 * clean, (clean, spoiled)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("scale", [1e15, 1e-12, 1e-310, 1e300])
def test_values_of_any_scale(scale, seed):
    """The minimum is found to the same relative accuracy, even if values are subnormal."""
    for dimension in DIMENSIONS:
        best = checked_run(lambda x: scale * bowl(x), cube(dimension), BUDGET, seed).fun / scale
        assert best < (1e-10 if dimension == 2 else 1e-6)


@pytest.mark.parametrize("noise", ["auto", 0, 1.0, 1e307])
def test_values_whose_difference_overflows(noise):
    """Warnings are errors here."""
    result = dale.minimize(lambda x: 1.7e308 * (2 * x[0] - 1), cube(2), budget=14, seed=0, noise=noise)
    assert result.fun < -1e308
    assert "best value" in str(result)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("budget", [60, pytest.param(200, marks=pytest.mark.slow)])
def test_one_variable_and_many_evaluations(budget, seed):
    """After the minimum is found to its last digit, new points are still proposed."""

    def rippled(x):
        return float(np.sin(20 * x[0]) + x[0])

    result = checked_run(rippled, cube(1), budget, seed)
    grid = np.linspace(0, 1, 100_001)
    assert result.fun <= np.min(np.sin(20 * grid) + grid) + 1e-9


@pytest.mark.parametrize("seed", SEEDS)
def test_twenty_variables(seed):
    result = checked_run(bowl, cube(20), 60 if FULL else 30, seed)
    assert result.fun < np.median(result.func_vals)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("lower", "upper"), [(1.0, 1.0 + 1e-12), (-1e12, 1e12), (-EXTREME, EXTREME), (0.0, 1e-320), (1e300, 1.001e300)]
)
def test_narrow_and_wide_ranges(lower, upper, seed):
    """The minimum is found to the resolution of the range; the narrowest has 4503 numbers."""
    for dimension in DIMENSIONS:
        result = checked_run(
            lambda x: bowl((x / 2 - lower / 2) / (upper / 2 - lower / 2)), [(lower, upper)] * dimension, BUDGET, seed
        )
        resolution = max(math.ulp(max(-lower, upper)) / (upper - lower), 1e-5)
        assert result.fun < 100 * dimension * resolution**2


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("lower", "upper"), [(1e-12, 1e12), (5e-324, EXTREME)])
def test_logarithmic_ranges(lower, upper, seed):
    for dimension in DIMENSIONS:
        space = {f"x{i}": dale.Float(lower, upper, log=True) for i in range(dimension)}
        width = np.log(upper) - np.log(lower)
        result = checked_run(lambda x, w=width: bowl((np.log(x) - np.log(lower)) / w), space, BUDGET, seed)
        assert result.fun < (1e-10 if dimension == 2 else 1e-6)


@pytest.mark.parametrize("dimension", [1, 2])
def test_every_number_of_a_range_is_proposed_before_one_is_repeated(dimension):
    """A range of eight floats: 8 points in one dimension, 64 in two."""
    ulp = np.spacing(1.0)
    checked_run(lambda x: bowl((x - 1) / ulp / 7), [(1.0, 1.0 + 7 * ulp)] * dimension, 8**dimension, 0)


FACES = [(*(0.4, 0.55, 0.7)[:i], side, *(0.4, 0.55, 0.7)[i:]) for i in range(4) for side in (0.0, 1.0)]
CORNERS = list(itertools.product((0.0, 1.0), repeat=4))


@pytest.mark.parametrize("gradient", [1.0, 0.0])
@pytest.mark.parametrize("optimum", FACES + CORNERS if FULL else FACES[::3] + CORNERS[::8], ids=str)
def test_minima_on_the_boundary(optimum, gradient):
    """On every face and corner, with a gradient towards the boundary and without."""
    result = checked_run(MinimumOnBoundary(optimum, gradient), cube(4), 40, 0)
    np.testing.assert_allclose(result.x, optimum, atol=1e-6)
    assert result.fun < 1e-12
    if gradient > 0:
        assert all(x == c for x, c in zip(result.x, optimum, strict=True) if c in (0.0, 1.0))  # exactly


@pytest.mark.slow
@pytest.mark.parametrize("signal", [0.0, 1.0], ids=["pure noise", "noise of 10 %"])
def test_no_convergence_is_claimed_on_noise(signal):
    """At most one run in twenty may have a converged minimum."""
    runs, budget = (200, 60) if FULL else (4, 30)
    claims = 0
    for seed in range(runs):
        rng = np.random.default_rng(10_000 + seed)
        result = checked_run(
            lambda x, rng=rng: signal * bowl(x) + 0.1 * rng.standard_normal(), cube(2), budget, seed, noisy=True
        )
        claims += any(m.converged for m in result.local_minima)
    assert claims <= 0.05 * runs


class TestEarlierPoints:
    @pytest.mark.parametrize("outside", [[0.5, 1.0000001], [-1e-300, 0.5], [np.nan, 0.5], [np.inf, 0.5]])
    def test_points_outside_raise_and_are_not_added(self, outside):
        optimizer = dale.Optimizer(cube(2), seed=0)
        with pytest.raises((SpaceError, ValueError)):
            optimizer.add(outside, 1.0)
        assert optimizer.history == ()
        optimizer.add([0.0, 1.0], 1.0)  # the boundary is part of the cube

    def test_ten_thousand_added_points(self):
        rng = np.random.default_rng(0)
        optimizer = dale.Optimizer(cube(6), seed=0)
        for x in rng.random((10_000, 6)):
            optimizer.add(x, bowl(x))
        best_added = optimizer.best.value
        for _ in range(3):
            trial = optimizer.ask()
            assert ((trial.x >= 0) & (trial.x <= 1)).all()
            optimizer.tell(trial, bowl(trial.x))
        assert optimizer.best.value < 0.1 * best_added
        assert optimizer.best.reason.source is not Source.ADDED

    def test_duplicates_with_different_values_are_kept(self):
        optimizer = dale.Optimizer(cube(2), seed=0, noise=0)
        values = [1.0, 2.0, 1.0, -3.0, 1e6]
        for value in values:
            optimizer.add([0.5, 0.5], value)
        assert [t.value for t in optimizer.history] == values
        for _ in range(12):
            trial = optimizer.ask()
            assert trial.x.tolist() != [0.5, 0.5]
            optimizer.tell(trial, bowl(trial.x))
        result = optimizer.result()
        assert result.func_vals[:5].tolist() == values
        assert result.fun == -3.0
        assert len({tuple(t.x) for t in optimizer.history[5:]}) == 12

    def test_duplicates_with_different_values_are_noise(self):
        """Neither the lowest value nor the outlier among them is the best."""
        optimizer = dale.Optimizer(cube(2), seed=0)
        for value in [1.0, 2.0, 1.0, -3.0, 1e6]:
            optimizer.add([0.5, 0.5], value)
        for _ in range(12):
            trial = optimizer.ask()
            optimizer.tell(trial, bowl(trial.x))
        result = optimizer.result()
        assert len(result.func_vals) == 17
        assert 0.1 < result.noise < 3
        assert -1 < result.fun < 1

    @pytest.mark.parametrize("seed", range(3))
    def test_a_flat_function_with_lucky_values(self, seed):
        """All other values are predicted without an error, so any error is infinitely larger than the typical one."""
        optimizer, X = dale.Optimizer(cube(2), seed=0), np.random.default_rng(seed).random((20, 2))
        for x, value in zip([X[0], *X], [-1.0, *[0.0] * 20], strict=True):
            optimizer.add(x, value)
        for _ in range(3):
            optimizer.tell(optimizer.ask(), 0.0)
        assert optimizer.result().fun == pytest.approx(0.0, abs=1e-6)


def test_points_are_within_bounds_bit_for_bit():
    """Random pairs of floats of all magnitudes, some of them adjacent."""
    rng = np.random.default_rng(18)
    for _ in range(100 if FULL else 5):
        bounds = np.sort(random_floats(rng, (1000, 2)), axis=1)
        near = rng.random(1000) < 0.3
        bounds[near, 1] = np.nextafter(bounds[near, 0], np.inf)
        bounds = bounds[(bounds[:, 0] < bounds[:, 1]) & np.isfinite(bounds).all(axis=1)]
        space = [dale.Float(lo, hi, log=bool(lo > 0 and rng.random() < 0.5)) for lo, hi in bounds]
        optimizer = dale.Optimizer({f"x{i}": p for i, p in enumerate(space)}, seed=int(rng.integers(1000)))
        X = [optimizer.ask().x for _ in range(3)]
        edges = (0.0, 5e-324, 2.0**-53, 0.5, np.nextafter(1.0, 0.0), 1.0)
        X += [optimizer.space.as_array(optimizer.space.decode(np.full(len(space), u))) for u in edges]
        assert (bounds[:, 0] <= X).all()
        assert (bounds[:, 1] >= X).all()
        assert (X[3] == bounds[:, 0]).all()
        assert (X[-1] == bounds[:, 1]).all()


def random_floats(rng, shape):
    """Finite floats with random bits."""
    values = rng.integers(0, 2**64, shape, dtype=np.uint64, endpoint=False).view(np.float64)
    return np.where(np.isfinite(values), values, 1.0)
