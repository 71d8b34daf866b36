"""Noisy runs: the std reduction, the incumbent, detection within a run, and none in deterministic functions."""

import math

import numpy as np
import pytest

import dale
from dale.acquisition.noisy import std_reduction, with_std_reduction
from dale.errors import SpaceExhausted
from dale.history.reason import Source
from dale.models.gaussian_process import GaussianProcess, Prior
from dale.models.kernels.squared_exponential import SquaredExponential
from dale_bench.functions import get
from hostile import FLAT, bowl
from noisy_runs import with_data

BRANIN, HART6 = get("branin"), get("hart6")
STD = {"branin": 50.4, "hart6": 0.367}  # standard deviation of the values over the box


def noisy(fun, level, seed):
    """The function with normal noise of this standard deviation."""
    rng = np.random.default_rng(seed)
    return lambda x: fun(x) + level * rng.standard_normal()


def replicates(result):
    """Trials that test for noise."""
    return [t for t in result.history if t.reason.source is Source.REPLICATE]


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
    """However rugged it is. The tests cost one evaluation, two after many failures; the best is the lowest value."""
    fun, bounds, budget = {**SMOOTH, **RUGGED}[name]
    for seed in range(2):
        result = dale.minimize(fun, bounds, budget=budget, seed=seed)
        assert len(replicates(result)) <= (2 if name in RUGGED else 1)
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
        assert "(values there have noise of 0.2)" in str(result)
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
    """Noise of 5 and 20 % of the std: detected, with a lower true regret, and estimated within a factor of 2.

    Where it is detected late in a run, in one seed of four, within a factor of 4.
    """
    level, budget = part * STD[function.name], BUDGET[function.name]
    estimates = []
    regrets = {"auto": [], 0: []}
    for seed in SEEDS[function.name]:
        for noise, regret in regrets.items():
            result = dale.minimize(
                noisy(function.fun, level, seed), function.bounds, budget=budget, seed=seed, noise=noise
            )
            regret.append(function.fun(result.x) - function.minimum)
            assert not any(m.converged for m in result.local_minima) or noise == 0
            if noise == "auto":
                estimates.append(result.noise / level)
                assert len(replicates(result)) == 1
            else:
                assert result.noise == 0
                assert result.fun == min(result.func_vals)
    factors = np.maximum(estimates, np.reciprocal(estimates))
    assert np.mean(factors < 2) >= 0.75, estimates
    assert np.max(factors) < 4, estimates
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

    @pytest.mark.parametrize("n_points", [2, 4])
    def test_a_batch_in_a_finite_space_repeats_points(self, n_points):
        """However many are asked for, also before the first value; but a failed point is not repeated."""
        space = {"n": dale.Int(0, n_points - 1)}
        first = dale.Optimizer(space, seed=0, noise=0.5).ask(8)
        assert {t.params["n"] for t in first[:n_points]} == set(range(n_points))
        assert len(first) == 8
        optimizer = evaluated(dale.Optimizer(space, seed=0, noise=0.5), lambda p: float(p["n"]), 6)
        assert len(optimizer.ask(8)) == 8
        failing = dale.Optimizer(space, seed=0, noise=0.5)
        for trial in failing.ask(n_points):
            failing.fail(trial)
        with pytest.raises(SpaceExhausted):
            failing.ask()

    def test_a_batch_of_a_method_that_does_not_model_noise_spreads_first(self):
        optimizer = dale.Optimizer({"n": dale.Int(0, 3)}, seed=0, noise=0.5, method=dale.methods.ei())
        trials = evaluated(optimizer, lambda p: float(p["n"]), 6).ask(8)
        assert (len(trials), {t.params["n"] for t in trials[:4]}) == (8, {0, 1, 2, 3})

    def test_a_batch_without_noise_exhausts_a_finite_space(self):
        assert len(dale.Optimizer({"n": dale.Int(0, 3)}, seed=0, noise=0).ask(8)) == 4
        assert len(dale.Optimizer({"n": dale.Int(0, 3)}, seed=0).ask(8)) == 4

    @pytest.mark.parametrize("seed", range(3))
    def test_evaluations_in_parallel_are_at_the_options_that_matter(self, seed):
        """Two options are close, and the third is worse by six stds: two or three looks at it are enough."""
        rng, means, pending = np.random.default_rng(seed), {"a": 0.0, "b": 0.2, "c": 2.0}, []
        optimizer = dale.Optimizer({"c": dale.Choice(list("abc"))}, seed=seed, noise=0.3)
        for _ in range(24):
            pending.append(optimizer.ask())
            if len(pending) == 4:
                trial = pending.pop(0)
                optimizer.tell(trial, means[trial.params["c"]] + 0.3 * rng.standard_normal())
        assert sum(t.params["c"] == "c" for t in optimizer.history) <= 4  # alike, all three would have eight

    def test_a_batch_with_noise_and_constraints_in_a_finite_space(self):
        optimizer = dale.Optimizer({"n": dale.Int(0, 3)}, seed=0, noise=0.5)
        for _ in range(3):
            for trial in optimizer.ask(8):
                optimizer.tell(trial, float(trial.params["n"]), constraints=[0.5 - trial.params["n"]])
        assert optimizer.best.params == {"n": 1}

    @pytest.mark.parametrize("told", [0.0, 0.5])
    @pytest.mark.parametrize("seed", range(3))
    def test_one_told_noise_does_not_hide_that_of_all_others(self, told, seed):
        """Noise of 0.05 in 40 values is detected and estimated, whatever was told of one value elsewhere."""
        optimizer = dale.Optimizer([(0, 1)] * 2, seed=seed)
        optimizer.add([0.9, 0.9], bowl([0.9, 0.9]), noise=told)
        result = evaluated(optimizer, noisy(bowl, 0.05, seed), 40).result()
        assert any(t.reason.source is Source.REPLICATE for t in result.history)
        assert result.noise == pytest.approx(0.05, rel=0.5)
        assert result.fun > -0.05

    def test_one_told_noise_does_not_blur_exact_values(self):
        optimizer = dale.Optimizer([(0, 1)] * 2, seed=0)
        for i in range(25):
            trial = optimizer.ask()
            optimizer.tell(trial, bowl(trial.x), noise=0.5 if i == 10 else None)
        assert optimizer.best_value == pytest.approx(0.0, abs=1e-6)
        assert optimizer.result().noise < 1e-3

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

        runs = [dale.minimize(noisy(fun, 0.05, s), [(0, 1)] * 2, budget=40, seed=s, noise=0.05) for s in range(3)]
        assert all(0 < run.n_failed < 15 for run in runs)
        assert np.median([fun(run.x) for run in runs]) < 0.02

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
        assert {t.reason.source for t in result.history} == {Source.INITIAL_DESIGN, Source.GLOBAL, Source.LOCAL}
        assert all("model" in str(t.reason) and "predicted" in str(t.reason) for t in result.history[3:])


def test_noise_that_only_an_outlier_proves_is_modelled():
    """A replicate that fails by returning 1e12 shows that values are not exact."""
    trend, regrets = lambda x: float(np.sum((x - 0.37) ** 2 * [1, 9])), []
    for seed in range(3):
        fun, optimizer = noisy(trend, 0.05, seed), dale.Optimizer([(0, 1)] * 2, seed=seed)
        for _ in range(45):
            trial = optimizer.ask()
            first = trial.reason.source is Source.REPLICATE and len(replicates(optimizer.result())) == 1
            optimizer.tell(trial, 1e12 if first else fun(trial.x))
        modelled = optimizer.snapshot.history.observations.modelled
        assert modelled.noise.modelled
        assert np.nanmax(modelled.y) < 100
        regrets.append(trend(optimizer.best.x))
    assert np.mean(regrets) < 0.005
