"""Noise: how it is specified or detected, what the models do then, and that deterministic functions show none."""

import math
from dataclasses import replace

import numpy as np
import pytest

import dale
from dale.acquisition.noisy import std_reduction, with_std_reduction
from dale.errors import SpaceExhausted
from dale.history.history import History
from dale.history.noise import MIN_MODELLED
from dale.history.reason import Reason, Source
from dale.history.trial import Trial, TrialState
from dale.methods.default.replicate import (
    FAILURES_BEFORE_REPLICATE,
    REPLICATE_OFFSET,
    propose_replicate,
    without_replicate,
)
from dale.models.gaussian_process import GaussianProcess, Prior
from dale.models.kernels.squared_exponential import SquaredExponential
from dale.space.allowed_set import AllowedSet
from dale_bench.functions import get
from hostile import FLAT, bowl

BRANIN, HART6 = get("branin"), get("hart6")
STD = {"branin": 50.4, "hart6": 0.367}  # standard deviation of the values over the box


def with_data(X, y, *, noise="auto", each=None):
    """A run with added data: points (n, d) of the cube, their values, and optionally the noise of each."""
    X = np.asarray(X, dtype=float)
    optimizer = dale.Optimizer([(0.0, 1.0)] * X.shape[1], seed=0, noise=noise)
    for i, (x, value) in enumerate(zip(X, y, strict=True)):
        optimizer.add(x, value, noise=None if each is None else each[i])
    return optimizer


def observations(*args, **kwargs):
    return with_data(*args, **kwargs).snapshot.history.observations


def replicate(optimizer, failures):
    """The replicate of the best observation after so many failures of its region."""
    seen = optimizer.snapshot.history.observations
    return propose_replicate(optimizer.snapshot, seen.X[np.nanargmin(seen.y)], failures)


def noisy(fun, level, seed):
    """The function with normal noise of this standard deviation."""
    rng = np.random.default_rng(seed)
    return lambda x: fun(x) + level * rng.standard_normal()


def replicates(result):
    """Trials that test for noise."""
    return [t for t in result.history if t.reason.source is Source.REPLICATE]


@pytest.fixture
def smooth():
    """30 points of the square and the values of a smooth function there."""
    X = np.random.default_rng(1).random((30, 2))
    return X, np.array([bowl(x) for x in X])


class TestStdReduction:
    @pytest.fixture
    def posterior(self):
        rng = np.random.default_rng(0)
        X = rng.random((12, 3))
        return GaussianProcess.fit(SquaredExponential(0.4), X, rng.normal(size=12), Prior(0.1, 1.5), 0.05)

    @pytest.mark.parametrize("error", [0.0, 0.01, 0.3, 5.0])
    def test_derivatives_against_finite_differences(self, posterior, error):
        A, h = np.random.default_rng(1).random((6, 3)), 1e-4
        derivatives = with_std_reduction(posterior.derivatives(A), error)
        before = posterior.derivatives(A)

        def t(B):
            return std_reduction(posterior.predict(B).std, error)

        np.testing.assert_allclose(derivatives.std, t(A), rtol=1e-9)
        for i, e in enumerate(np.eye(3) * h):
            np.testing.assert_allclose(
                derivatives.std_gradient[:, i], (t(A + e) - t(A - e)) / (2 * h), rtol=1e-5, atol=1e-6
            )
            for j, f in enumerate(np.eye(3) * h):
                second = (t(A + e + f) - t(A + e - f) - t(A - e + f) + t(A - e - f)) / (4 * h * h)
                np.testing.assert_allclose(derivatives.std_hessian[:, i, j], second, rtol=1e-4, atol=1e-4)
        for name in ("mean", "mean_gradient", "mean_hessian"):
            np.testing.assert_array_equal(getattr(derivatives, name), getattr(before, name))

    def test_it_is_the_change_of_the_mean_by_one_more_evaluation(self, posterior):
        """The change of the mean at x after a value there one predictive standard deviation above the mean."""
        x, error = np.array([[0.3, 0.6, 0.2]]), 0.4
        mean, std = posterior.predict(x)
        X = np.vstack([posterior.points, x])
        y = np.append(posterior.values, mean + math.sqrt(std[0] ** 2 + error**2))
        noise = np.append(np.full(12, 0.05), error**2 / posterior.prior.variance)
        after = GaussianProcess.fit(posterior.kernel, X, y, posterior.prior, noise)
        assert after.predict(x).mean[0] - mean[0] == pytest.approx(std_reduction(std, error)[0], rel=1e-6)

    def test_without_uncertainty_it_is_zero(self):
        assert std_reduction(np.array([0.0, 0.0, 1e-200, 1e-3]), 0.0).tolist() == [0.0, 0.0, 0.0, 1e-3]
        assert std_reduction(np.array([0.0]), 0.5).tolist() == [0.0]


class TestSpecifiedNoise:
    def test_for_all_values(self, smooth):
        noise = observations(*smooth, noise=0.2).noise
        assert (noise.level, noise.modelled) == (0.2, True)
        assert noise.known.tolist() == [0.2] * 30

    def test_zero(self, smooth):
        """Noise that is specified as 0 is 0, even if replicates differ."""
        X, y = smooth
        noise = observations(np.vstack([X, X]), np.append(y, y + 1), noise=0).noise
        assert (noise.level, noise.known, noise.modelled) == (0.0, None, False)

    def test_for_each_value(self, smooth):
        each = np.linspace(0.1, 0.3, 30)
        noise = observations(*smooth, each=each).noise
        assert noise.level == pytest.approx(0.2)
        assert noise.known.tolist() == each.tolist()

    def test_for_some_values(self, smooth):
        """The others get the median of those."""
        noise = observations(*smooth, each=[0.1, 0.2, 0.3] + [None] * 27).noise
        assert noise.known.tolist() == [0.1, 0.2, 0.3] + [0.2] * 27

    def test_noise_of_a_value_overrides_the_default(self, smooth):
        noise = observations(*smooth, noise=0.5, each=[0.1] + [None] * 29).noise
        assert noise.known.tolist() == [0.1] + [0.5] * 29

    @pytest.mark.parametrize("exact", [1, 20, 29])
    def test_zero_for_some_values(self, smooth, exact):
        """A single value with noise is enough for a model with noise."""
        noise = observations(*smooth, each=[0.0] * exact + [0.3] * (30 - exact)).noise
        assert (noise.level, noise.modelled) == (0.3, True)
        assert noise.known.tolist() == [0.0] * exact + [0.3] * (30 - exact)

    def test_noise_below_a_threshold_is_not_modelled(self, smooth):
        X, y = smooth
        little, enough = 0.9 * MIN_MODELLED * np.std(y), 1.1 * MIN_MODELLED * np.std(y)
        for level, modelled in ((little, False), (enough, True)):
            noise = observations(X, y, noise=level).noise
            assert (noise.level, noise.modelled) == (pytest.approx(level), modelled)
        best = with_data(X, y, noise=little).best
        assert best.value == min(y)
        assert with_data(X, y, noise=little).result().noise == little

    def test_of_equal_values(self):
        """A constant function with noise."""
        optimizer = with_data(np.random.default_rng(0).random((6, 2)), np.ones(6), noise=0.1)
        assert optimizer.best_value == pytest.approx(1.0)
        assert optimizer.result().noise == pytest.approx(0.1)
        assert optimizer.ask().reason.source is Source.GLOBAL

    @pytest.mark.parametrize("level", [1e-300, 1e-30, 1e30, 1e300])
    def test_of_any_size(self, smooth, level):
        optimizer = with_data(*smooth, noise=level)
        assert min(smooth[1]) - 1 <= optimizer.best_value <= max(smooth[1])
        optimizer.ask()

    @pytest.mark.parametrize("bad", [-0.1, math.nan, math.inf])
    def test_negative_or_infinite_noise_raises(self, bad):
        optimizer = dale.Optimizer([(0, 1)], seed=0)
        with pytest.raises(ValueError, match="at least 0"):
            optimizer.add([0.5], 1.0, noise=bad)
        with pytest.raises(ValueError, match="at least 0"):
            dale.Optimizer([(0, 1)], noise=bad)
        assert optimizer.history == ()

    @pytest.mark.parametrize("bad", [True, "much", "0.1", [0.1], 1j])
    def test_noise_that_is_not_a_number_raises(self, bad):
        with pytest.raises((TypeError, ValueError), match="noise must be"):
            dale.Optimizer([(0, 1)], noise=bad)

    def test_an_objective_may_return_it(self):
        result = dale.minimize(lambda x: dale.Evaluation(bowl(x), noise=0.1), [(0, 1)] * 2, budget=8, seed=0)
        assert [t.noise for t in result.history] == [0.1] * 8
        assert result.noise == pytest.approx(0.1)


class TestDetection:
    def test_by_one_point_with_two_values(self, smooth):
        X, y = smooth
        noise = observations(np.vstack([X, X[:1]]), np.append(y, y[0] + 0.3)).noise
        assert noise.level == pytest.approx(0.3 / math.sqrt(2))
        assert (noise.known, noise.modelled) == (None, True)

    def test_by_many_replicates(self, smooth):
        """The level is the standard deviation of a single value."""
        X, y = smooth
        rng = np.random.default_rng(0)
        X, y = np.repeat(X, 8, axis=0), np.repeat(y, 8) + 0.2 * rng.standard_normal(240)
        assert observations(X, y).noise.level == pytest.approx(0.2, rel=0.1)

    def test_by_points_a_tiny_offset_apart(self, smooth):
        X, y = smooth
        assert observations(
            np.vstack([X, X[:1] + np.array([REPLICATE_OFFSET, 0])]), np.append(y, y[0] + 0.3)
        ).noise.modelled

    def test_not_by_equal_values(self, smooth):
        X, y = smooth
        assert observations(np.vstack([X, X]), np.append(y, y)).noise.level == 0

    def test_not_by_rounding_errors(self, smooth):
        X, y = smooth
        assert observations(np.vstack([X, X]), np.append(y, y * (1 + 4e-16))).noise.level == 0

    @pytest.mark.parametrize("distance", [1e-9, REPLICATE_OFFSET, 1e-8])
    def test_not_by_neighbours_on_a_steep_slope(self, distance):
        """Ten times as steep as between any other points."""
        X = np.random.default_rng(0).random((30, 1))
        wall = np.array([[0.5], [0.5 + distance]])
        y = np.append(np.tanh(1000 * (X[:, 0] - 0.5)), [0.0, 1000 * distance])
        assert observations(np.vstack([X, wall]), y).noise.level == 0

    @pytest.mark.parametrize("distance", [1.1e-8, 1e-6, 1e-3, 0.1])
    def test_not_by_a_jump_between_points_farther_apart(self, smooth, distance):
        X, y = smooth
        X[0] = [0.4, 0.4]
        assert observations(np.vstack([X, X[:1] + np.array([distance, 0])]), np.append(y, y[0] + 5.0)).noise.level == 0

    def test_not_by_an_outlier(self):
        """Outliers are ignored, so an outlier at a repeated point is not noise."""
        optimizer = dale.Optimizer([(0, 1)] * 2, seed=0)
        for x in np.random.default_rng(0).random((12, 2)):
            optimizer.add(x, bowl(x))
        optimizer.add(optimizer.best.x, 1e12)
        assert optimizer.result().noise == 0
        assert optimizer.best.value == min(t.value for t in optimizer.history)

    def test_with_few_values(self):
        assert observations([[0.5]], [1.0]).noise.level == 0
        assert observations([[0.5], [0.5]], [1.0, 1.0]).noise.level == 0
        assert observations([[0.5], [0.5]], [1.0, 3.0]).noise.level == pytest.approx(math.sqrt(2))

    @pytest.mark.parametrize("scale", [1e-300, 1e-155, 1e-12, 1e155, 1e300])
    @pytest.mark.parametrize("shift", [0.0, 3.0])
    def test_in_any_unit(self, smooth, scale, shift):
        X, y = smooth
        X, y = np.vstack([X, X[:1]]), np.append(y, y[0] + 0.3) + shift
        plain, scaled = observations(X, y).noise, observations(X, scale * y).noise
        assert scaled.level / scale == pytest.approx(plain.level, rel=1e-9)
        assert scaled.modelled
        best, fun, error = observations(X, scale * y).best
        expected = observations(X, y).best
        assert (best, fun / scale, error / scale) == pytest.approx(expected, rel=1e-6, abs=1e-9)

    @pytest.mark.parametrize("extreme", [1.7e308, -1.7e308, 5e-324])
    def test_extreme_values(self, smooth, extreme):
        X, y = smooth
        y = np.where(np.arange(30) % 2, y * 0.0, extreme)
        assert observations(X, y).noise.level == 0
        optimizer = with_data(np.vstack([X, X[:1]]), np.append(y, extreme / 2))
        assert 0 <= optimizer.result().noise < math.inf
        optimizer.ask()


class TestReplicate:
    @pytest.fixture
    def smooth_run(self, smooth):
        return with_data(*smooth)

    def test_at_a_tiny_offset_from_the_best(self, smooth_run):
        seen = smooth_run.snapshot.history.observations
        best = int(np.argmin(seen.y))
        proposal = replicate(smooth_run, FAILURES_BEFORE_REPLICATE)
        assert proposal.reason.source is Source.REPLICATE
        assert np.max(np.abs(proposal.point - seen.X[best])) == pytest.approx(REPLICATE_OFFSET)
        assert "to test for noise" in str(proposal.reason)

    def test_not_after_few_failures(self, smooth_run):
        assert replicate(smooth_run, FAILURES_BEFORE_REPLICATE - 1) is None

    @pytest.mark.parametrize("noise", [0.0, 0.3])
    def test_not_if_noise_was_specified(self, smooth, noise):
        assert replicate(with_data(*smooth, noise=noise), 100) is None
        assert replicate(with_data(*smooth, each=[noise] + [None] * 29), 100) is None

    @pytest.mark.parametrize("corner", [(0.0, 0.0), (1.0, 1.0), (0.5, 0.5)])
    def test_within_the_cube(self, corner):
        X = np.vstack([corner, np.random.default_rng(0).random((5, 2))])
        point = replicate(with_data(X, np.arange(6.0)), FAILURES_BEFORE_REPLICATE).point
        assert ((point >= 0) & (point <= 1)).all()
        assert np.max(np.abs(point - corner)) == pytest.approx(REPLICATE_OFFSET)

    def test_along_a_continuous_coordinate(self):
        space = {"n": dale.Int(0, 9), "x": (0.0, 1.0), "c": dale.Choice(["u", "v", "w"])}
        optimizer = dale.Optimizer(space, seed=0)
        optimizer.add({"n": 3, "x": 0.25, "c": "v"}, 1.0)
        params = optimizer.space.decode(replicate(optimizer, FAILURES_BEFORE_REPLICATE).point)
        assert params == {"n": 3, "x": pytest.approx(0.25 + REPLICATE_OFFSET, abs=1e-12), "c": "v"}

    def test_not_along_an_inactive_coordinate(self):
        space = dale.Space(a=dale.Float(0, 1).when(kind="bent"), b=(0, 1), kind=dale.Choice(["plain", "bent"]))
        optimizer = dale.Optimizer(space, seed=0)
        for i in range(6):
            optimizer.add({"b": 0.1 * i, "kind": "plain"}, i)
        point = replicate(optimizer, FAILURES_BEFORE_REPLICATE).point
        assert 0 < optimizer.space.decode(point)["b"] < 1e-8

    @pytest.mark.parametrize(
        "allowed", [lambda A: A[:, 0] <= 0.3, lambda A: np.abs(A[:, 0] - 0.3) < 1e-9], ids=["a half", "a line"]
    )
    def test_input_constraints_allow_it(self, allowed):
        """A larger first coordinate is not allowed in either set, a smaller one only in the first."""
        optimizer = dale.Optimizer([(0, 1)] * 2, seed=0)
        optimizer.add([0.3, 0.2], 1.0)
        X = optimizer.snapshot.history.observations.X
        allowed_set = AllowedSet(allowed, lambda A: np.zeros((len(A), 0)), np.empty(0, dtype=bool), np.empty(0), X)
        snapshot = replace(optimizer.snapshot, domain=replace(optimizer.snapshot.domain, allowed_set=allowed_set))
        point = propose_replicate(snapshot, X[0], FAILURES_BEFORE_REPLICATE).point
        assert np.max(np.abs(point - [0.3, 0.2])) == pytest.approx(REPLICATE_OFFSET)
        assert allowed(point[None, :])[0]

    def test_none_in_a_space_without_continuous_parameters(self):
        optimizer = dale.Optimizer({"n": dale.Int(0, 9), "c": dale.Choice(["u", "v", "w"])}, seed=0)
        optimizer.add({"n": 3, "c": "v"}, 1.0)
        assert replicate(optimizer, 100) is None

    @pytest.mark.parametrize("outcome", ["pending", "failed", "same value"])
    def test_once_in_a_run(self, outcome):
        """Even if the replicate is pending, has failed or has the same value."""
        optimizer = dale.Optimizer([(0, 1)] * 2, seed=0)
        found = 0
        for _ in range(45):
            trial = optimizer.ask()
            if trial.reason.source is not Source.REPLICATE or outcome == "same value":
                optimizer.tell(trial, FLAT["stairs"](trial.x))
            elif outcome == "failed":
                optimizer.fail(trial)
            found += trial.reason.source is Source.REPLICATE
        assert found == 1
        assert optimizer.result().noise == 0


SMOOTH = {
    "bowl": (bowl, [(0.0, 1.0)] * 3, 40),
    "branin": (BRANIN.fun, BRANIN.bounds, 50),
    "hart6": (HART6.fun, HART6.bounds, 50),
    "rosenbrock": (lambda x: 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2, [(-2.0, 2.0)] * 2, 50),
}
RUGGED = {
    "step": (FLAT["step"], [(0.0, 1.0)] * 2, 40),
    "stairs": (FLAT["stairs"], [(0.0, 1.0)] * 2, 40),
    "rastrigin": (lambda x: float(np.sum(x**2 - 10 * np.cos(2 * np.pi * x) + 10)), [(-5.0, 4.0)] * 2, 50),
    "ripples": (lambda x: float(np.sum(np.sin(300 * x)) + np.sum(x)), [(0.0, 1.0)] * 2, 50),
    "cliff at the minimum": (lambda x: float(x[0] + x[1]) if x[0] + 0.7 * x[1] > 0.43 else 3.0, [(0.0, 1.0)] * 2, 50),
    "cusp": (lambda x: float(np.sum(np.abs(x - 0.37) ** 0.2)), [(0.0, 1.0)] * 2, 50),
}


@pytest.mark.parametrize("name", [*SMOOTH, *RUGGED])
def test_no_noise_is_detected_in_a_deterministic_function(name):
    """However rugged it is. The test costs at most one evaluation, and the best is the lowest value."""
    fun, bounds, budget = {**SMOOTH, **RUGGED}[name]
    for seed in range(2):
        result = dale.minimize(fun, bounds, budget=budget, seed=seed)
        assert len(replicates(result)) <= 1
        assert result.noise == 0
        assert result.fun == min(result.func_vals)
        assert "noise" not in str(result)


class TestIncumbent:
    """The observation with the lowest posterior mean, and its value."""

    def test_not_the_lowest_value(self):
        X = np.linspace(0, 1, 21)[:, None]
        y = (X[:, 0] - 0.3) ** 2 + 0.02 * (-1.0) ** np.arange(21)
        y[18] = -0.1  # at x = 0.9, where the neighbours have values near 0.36
        optimizer = with_data(X, y, noise=0.2)
        assert optimizer.best.x[0] == pytest.approx(0.3, abs=0.11)
        assert optimizer.best.value != min(y)
        assert optimizer.best_value == pytest.approx(0.0, abs=0.1)
        result = optimizer.result()
        assert result.x.tolist() == optimizer.best.x.tolist()
        assert result.fun == optimizer.best_value
        assert result.noise == pytest.approx(0.2)
        assert "(values have noise of 0.2)" in str(result)
        assert result.func_vals.tolist() == y.tolist()
        assert with_data(X, y, noise=0).best.value == -0.1

    def test_the_mean_of_replicates(self):
        """Fifty values at each of two points; the lowest single value is at the worse one."""
        errors = np.random.default_rng(0).standard_normal(50)
        y = np.append(1.0 + errors - np.mean(errors), 2.0 + errors - np.mean(errors))
        y[99] = min(y) - 1
        optimizer = with_data(np.repeat([[0.2], [0.8]], 50, axis=0), y)
        assert optimizer.best.x.tolist() == [0.2]
        assert optimizer.best_value == pytest.approx(1.0, abs=0.2)
        assert optimizer.result().noise == pytest.approx(1.0, rel=0.25)

    def test_with_more_observations_than_the_model_holds(self):
        rng = np.random.default_rng(0)
        X = rng.random((400, 2))
        y = np.array([bowl(x) for x in X]) + 0.1 * rng.standard_normal(400)
        optimizer = with_data(np.vstack([X, X[:1]]), np.append(y, y[0] + 0.1))
        assert bowl(optimizer.best.x) < 0.02
        assert optimizer.result().noise == pytest.approx(0.1, rel=0.3)

    def test_no_minimum_has_converged(self):
        """Not even if noise is too small to be modelled; without noise, the same values have a converged minimum."""
        X = np.random.default_rng(0).random((40, 2))
        y = np.sum((X - 0.4) ** 2, axis=1)
        assert any(
            m.converged for m in with_data(np.vstack([X, [[0.4, 0.4]]]), np.append(y, 0.0)).result().local_minima
        )
        for noise in (1e-9, 1e-3):
            minima = with_data(np.vstack([X, [[0.4, 0.4]]]), np.append(y, 0.0), noise=noise).result().local_minima
            assert minima
            assert not any(m.converged for m in minima)


SEEDS = {"branin": range(8), "hart6": range(4)}
BUDGET = {"branin": 50, "hart6": 60}


@pytest.mark.slow
@pytest.mark.parametrize("part", [0.05, 0.2])
@pytest.mark.parametrize("function", [BRANIN, HART6], ids=lambda f: f.name)
def test_noise_is_detected_and_lowers_the_regret(function, part):
    """Noise of 5 and 20 % of the std: detected, estimated within a factor of 2, with a lower true regret."""
    level, budget = part * STD[function.name], BUDGET[function.name]
    regrets = {"auto": [], 0: []}
    for seed in SEEDS[function.name]:
        for noise, regret in regrets.items():
            result = dale.minimize(
                noisy(function.fun, level, seed), function.bounds, budget=budget, seed=seed, noise=noise
            )
            regret.append(function.fun(result.x) - function.minimum)
            assert not any(m.converged for m in result.local_minima) or noise == 0
            if noise == "auto":
                assert level / 2 < result.noise < 2 * level, seed
                assert len(replicates(result)) == 1
            else:
                assert result.noise == 0
                assert result.fun == min(result.func_vals)
    assert np.median(regrets["auto"]) < np.median(regrets[0]), regrets


def evaluated(optimizer, fun, n):
    """The optimizer after n more evaluations."""
    for _ in range(n):
        trial = optimizer.ask()
        optimizer.tell(trial, fun(trial.params))
    return optimizer


class TestRuns:
    def test_points_of_a_finite_space_are_repeated(self):
        """The space is not exhausted, because replicates reduce the error; the best is the true minimum."""
        space = {"n": dale.Int(0, 5)}
        fun = noisy(lambda p: 0.3 * abs(p["n"] - 4), 0.3, 0)
        result = dale.minimize(fun, space, budget=30, seed=0, noise=0.3)
        assert (result.status, result.nfev) == (0, 30)
        assert result.params == {"n": 4}
        counts = np.bincount([t.params["n"] for t in result.history], minlength=6)
        assert np.argmax(counts) == 4
        assert dale.minimize(fun, space, budget=30, seed=0, noise=0).status == 4

    def test_little_noise_exhausts_a_finite_space(self):
        """Points are not repeated if noise is not modelled."""
        result = dale.minimize(lambda p: p["n"] ** 2, {"n": dale.Int(0, 5)}, budget=30, seed=0, noise=1e-9)
        assert (result.status, result.nfev) == (4, 6)

    def test_no_point_of_a_finite_space_is_pending_twice(self):
        optimizer = evaluated(dale.Optimizer({"n": dale.Int(0, 3)}, seed=0, noise=0.5), lambda p: float(p["n"]), 6)
        trials = optimizer.ask(8)
        assert sorted(t.params["n"] for t in trials) == [0, 1, 2, 3]
        with pytest.raises(SpaceExhausted):
            optimizer.ask()
        optimizer.tell(trials[0], 1.0)
        assert optimizer.ask().params == trials[0].params

    def test_a_batch_spreads(self):
        optimizer = evaluated(dale.Optimizer([(0, 1)] * 2, seed=0, noise=0.1), noisy(bowl, 0.1, 0), 12)
        X = np.array([t.unit_x for t in optimizer.ask(8)])
        distances = np.max(np.abs(X[:, None] - X), axis=2)[np.triu_indices(8, 1)]
        assert np.min(distances) > 1e-6

    def test_the_same_history_leads_to_the_same_proposal(self):
        """Whatever the order of the values."""
        runs = [dale.Optimizer([(0, 1)] * 2, seed=3, noise=0.2) for _ in range(2)]
        errors = np.random.default_rng(0).standard_normal(24)
        for _ in range(3):
            batches = [optimizer.ask(8) for optimizer in runs]
            for optimizer, trials, order in zip(runs, batches, (1, -1), strict=True):
                for t in trials[::order]:
                    optimizer.tell(t, bowl(t.x) + 0.2 * errors[t.id])
                    assert optimizer.best is not None  # reading it changes no proposal
        points, again = ([t.x.tolist() for t in optimizer.history] for optimizer in runs)
        assert points == again
        assert runs[0].ask().x.tolist() == runs[1].ask().x.tolist()
        assert runs[0].best_value == runs[1].best_value

    @pytest.mark.parametrize(("scale", "shift"), [(2.0**-900, 0.0), (2.0**900, 0.0), (1e-12, 0.0), (370.0, 1e4)])
    def test_the_unit_of_the_values_does_not_matter(self, scale, shift):
        def points(a, b):
            fun = noisy(bowl, 0.2, 5)
            optimizer = dale.Optimizer([(0, 1)] * 2, seed=1, noise=0.2 * a)
            return np.array([t.unit_x for t in evaluated(optimizer, lambda x: a * fun(x) + b, 20).history])

        np.testing.assert_allclose(points(scale, shift), points(1.0, 0.0), atol=1e-6)

    def test_failed_evaluations(self):
        """A third of the square fails, next to the minimum."""

        def fun(x):
            if x[0] > 0.65:
                raise RuntimeError("the solver diverged")
            return (x[0] - 0.6) ** 2 + (x[1] - 0.5) ** 2

        result = dale.minimize(noisy(fun, 0.05, 0), [(0, 1)] * 2, budget=40, seed=0, noise=0.05)
        failed = [t for t in result.history if t.state is TrialState.FAILED]
        assert 0 < len(failed) < 15
        assert fun(result.x) < 0.02

    def test_mixed_spaces(self):
        space = {"x": (0.0, 1.0), "n": dale.Int(0, 10), "c": dale.Choice(["u", "v", "w"])}

        def fun(p):
            middle, floor = {"u": (0.2, 0.6), "v": (0.7, 0.4), "w": (0.5, 0.0)}[p["c"]]
            return 4 * (p["x"] - middle) ** 2 + 0.05 * (p["n"] - 8 * p["x"]) ** 2 + floor

        result = dale.minimize(noisy(fun, 0.1, 0), space, budget=50, seed=0, noise=0.1)
        assert result.params["c"] == "w"
        assert fun(result.params) < 0.2
        assert all(type(t.params["n"]) is int for t in result.history)

    def test_a_target_is_compared_with_the_posterior_mean(self):
        """Single values below the target do not end the run."""
        fun = noisy(bowl, 0.5, 0)
        result = dale.minimize(fun, [(0, 1)] * 2, budget=25, seed=0, noise=0.5, target=-0.4)
        assert min(result.func_vals) < -0.4
        assert (result.status, result.nfev) == (0, 25)
        result = dale.minimize(noisy(bowl, 0.02, 0), [(0, 1)] * 2, budget=40, seed=0, noise=0.02, target=0.05)
        assert result.status == 1
        assert result.fun <= 0.05
        assert bowl(result.x) < 0.1

    def test_evaluations_concentrate_at_the_minimum(self):
        """Half of the later ones; by chance it would be one in twenty."""
        result = dale.minimize(noisy(bowl, 0.1, 0), [(0, 1)] * 2, budget=50, seed=0, noise=0.1)
        late = np.array([t.x for t in result.history[25:]])
        assert np.mean(np.max(np.abs(late - 0.3), axis=1) < 0.12) > 0.5
        assert all(t.reason.source in (Source.INITIAL_DESIGN, Source.GLOBAL) for t in result.history)
        assert all("global model: predicted" in str(t.reason) for t in result.history[3:])


class TestWithoutReplicate:
    """The models do not see a replicate that showed no noise."""

    def trials(self, value):
        X = np.random.default_rng(0).random((4, 2))
        columns = [(*X, X[0] + REPLICATE_OFFSET), (1.0, 3.0, 2.0, 4.0, value), (*[Source.GLOBAL] * 4, Source.REPLICATE)]
        return [
            Trial(i, x, x, x, Reason(source), TrialState.COMPLETE, y)
            for i, (x, y, source) in enumerate(zip(*columns, strict=True))
        ]

    def test_it_is_left_out(self):
        history = History.of(self.trials(1.0 + 1e-12), 2)
        left = without_replicate(history.observations, history)
        assert left.ids.tolist() == [0, 1, 2, 3]
        assert len(left.X) == len(left.y) == len(left.noise_std) == len(left.constraints) == 4

    def test_but_not_if_it_is_the_best(self):
        history = History.of(self.trials(1.0 - 1e-12), 2)
        assert without_replicate(history.observations, history) is history.observations

    def test_a_step_function_loses_only_the_evaluation(self):
        """With its replicate the gradient would be 0, which cost half of the seeds a factor of ten in regret."""
        regrets = []
        for seed in (0, 1):
            f = get("step:moved:rotated", seed)
            optimizer = dale.Optimizer([(0.0, 1.0)] * f.dimension, seed=seed)
            for _ in range(30):
                trial = optimizer.ask()
                optimizer.tell(trial, float(f.true(f.from_cube(trial.x))))
            assert any(t.reason.source is Source.REPLICATE for t in optimizer.history)
            regrets.append(optimizer.best.value - f.minimum)
        assert max(regrets) < 1e-5
