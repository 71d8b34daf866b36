"""``minimize(..., tolerance=...)``: the run stops when the expected improvement is below it."""

import numpy as np
import pytest

import dale

BOX = [(-2, 2), (-2, 2)]


def bowl(x):
    return float((x[0] - 1) ** 2 + 2 * (x[1] + 0.5) ** 2)


class TestTolerance:
    """The expected improvement counts locally and globally."""

    @pytest.mark.parametrize("seed", range(4))
    def test_a_convex_function_stops_soon_after_its_minimum_is_found(self, seed):
        result = dale.minimize(bowl, BOX, budget=60, seed=seed, tolerance=0.1)  # values go up to 21.5
        assert (result.status, result.success) == (6, True)
        assert result.message == "Converged: the expected improvement is below the tolerance"
        assert result.fun < 1e-9
        assert result.nfev < 30
        within = next(t.id for t in result.history if t.value < 0.1)
        assert result.nfev > within + 6  # convergence needs 3 d global proposals

    @pytest.mark.parametrize(("n_seeds", "n_found"), [(8, 6), pytest.param(32, 28, marks=pytest.mark.slow)])
    def test_a_better_basin_elsewhere_is_mostly_found_first(self, n_seeds, n_found):
        """A wide basin 0.6 deep, and one of a fifth of its area that is 1 deep, which no search is certain to hit."""

        def two(x):
            wide, narrow = (x - [0.25, 0.3]) @ (x - [0.25, 0.3]), (x - [0.8, 0.8]) @ (x - [0.8, 0.8])
            return float(-0.6 * np.exp(-wide / 0.1) - np.exp(-narrow / 0.02))

        box = [(0, 1), (0, 1)]
        results = [dale.minimize(two, box, budget=100, seed=seed, tolerance=0.003) for seed in range(n_seeds)]
        # 61 of 64 seeds do: fewer than 6 of 8, or than 28 of 32, by chance in less than 2 of 100 cases
        assert sum(result.fun < -1 for result in results) >= n_found

    @pytest.mark.parametrize("seed", range(4))
    def test_branin_is_explored_in_all_quarters(self, seed):
        def branin(x):
            bend = x[1] - 5.1 / (4 * np.pi**2) * x[0] ** 2 + 5 / np.pi * x[0] - 6
            return float(bend**2 + 10 * (1 - 1 / (8 * np.pi)) * np.cos(x[0]) + 10)

        result = dale.minimize(branin, [(-5, 10), (0, 15)], budget=100, seed=seed, tolerance=2.0)
        assert result.status == 6
        assert result.fun < 0.39789
        quarters = (result.x_iters > [2.5, 7.5]) @ [1, 2]
        assert np.all(np.bincount(quarters, minlength=4) >= 1)

    @pytest.mark.parametrize("seed", range(4))
    def test_pure_noise_does_not_converge(self, seed):
        rng = np.random.default_rng(seed)
        result = dale.minimize(lambda x: rng.normal(), BOX, budget=40, seed=seed, tolerance=0.05)
        assert result.status == 0

    @pytest.mark.parametrize("noise", ["auto", 1.0])
    def test_pure_noise_does_not_converge_by_a_few_looks(self, noise):
        """The noise of a single value hides a gain, but is no reason to expect none."""
        for seed in range(4):
            rng = np.random.default_rng(1000 + seed)
            result = dale.minimize(
                lambda x, rng=rng: rng.normal(), BOX, budget=30, seed=seed, tolerance=0.1, noise=noise
            )
            assert result.status == 0

    @pytest.mark.parametrize("level", [1e-7, 1e-4])
    @pytest.mark.parametrize("seed", range(2))
    def test_noise_far_below_the_tolerance_does_not_matter(self, level, seed):
        rng = np.random.default_rng(seed)

        def fun(x):
            return float(np.sum((x - 0.3) ** 2)) + level * rng.standard_normal()

        result = dale.minimize(fun, [(0, 1)] * 2, budget=60, seed=seed, tolerance=1e-2)
        assert result.status == 6
        assert 0 < result.noise < 1e-3
        assert result.nfev < 45

    @pytest.mark.parametrize("maximize", [False, True])
    def test_noise_above_the_tolerance_stops_once_the_best_value_is_known(self, maximize):
        rng, sign = np.random.default_rng(0), -1 if maximize else 1
        run = dale.maximize if maximize else dale.minimize

        def fun(x):
            return sign * (bowl(x) + 0.1 * rng.standard_normal())

        result = run(fun, BOX, budget=60, seed=0, tolerance=0.08, noise=0.1)
        assert result.status == 6
        assert result.fun_std < 0.08
        assert bowl(result.x) < 0.08

    def test_noise_of_a_finite_space(self):
        """Not when every point has been evaluated, but when another evaluation is not expected to change the best."""
        rng = np.random.default_rng(0)

        def fun(p):
            return abs(p["n"] - 2) + 0.3 * rng.standard_normal()

        result = dale.minimize(fun, {"n": dale.Int(0, 4)}, budget=80, seed=0, tolerance=0.1, noise=0.3)
        assert result.status == 6
        assert result.nfev > 8
        assert result.params == {"n": 2}

    @pytest.mark.parametrize("method", [dale.methods.lcb, dale.methods.imgpo])
    def test_a_method_without_expected_improvement_spends_the_budget(self, method):
        result = dale.minimize(bowl, BOX, budget=20, seed=0, tolerance=1e9, method=method())
        assert result.status == 0

    @pytest.mark.parametrize("method", [dale.methods.ei, dale.methods.paper])
    def test_other_methods_with_expected_improvement(self, method):
        result = dale.minimize(bowl, BOX, budget=60, seed=0, tolerance=0.1, method=method())
        assert result.status == 6
        assert result.fun < 0.1

    def test_without_a_tolerance_the_budget_is_spent(self):
        assert dale.minimize(bowl, BOX, budget=40, seed=0).status == 0
