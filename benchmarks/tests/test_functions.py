"""Every test function and its variants: the stated minimum is attained, and no value is lower."""

import importlib.util
import pickle

import numpy as np
import pytest
from scipy.optimize import minimize

from dale_bench import functions
from dale_bench.functions import get
from dale_bench.functions.illustration import draw
from dale_bench.functions.variants import continued

RANDOM_POINTS = 100_000
BLOCK = 20_000
SLOW_POINTS = {"ode": 200, "digits": 2}  # a solve for each point; `real` says how far the search went once
TOLERANCE = {"digits": 2 / 1797}  # two images, for another version of scikit-learn
HAS_SKLEARN = importlib.util.find_spec("sklearn") is not None
NAMES = [name for name in functions.names() if name != "digits" or HAS_SKLEARN]
FAST = [name for name in NAMES if name not in SLOW_POINTS]
OTHER_DIMENSIONS = ["quad1", "quad7", "exp1", "exp3", "exp10_paper", "stybtang5", "levy1", "ackley2", "griewank6"]
OTHER_DIMENSIONS += ["michalewicz1", "michalewicz2", "michalewicz10", "ellipsoid2", "ellipsoid10", "ellipsoid3_1e4"]
OTHER_DIMENSIONS += ["step1", "step5", "ridge1", "rastrigin10", "schwefel10"]


def least_of_random_search(function, points=RANDOM_POINTS, seed=0, wider=0.0):
    """Least value at uniform points of the box, the box made wider by that share of its sides."""
    rng = np.random.default_rng(seed)
    shape = min(points, BLOCK), function.dimension
    draws = (rng.uniform(-wider, 1 + wider, size=shape) for _ in range(max(1, points // BLOCK)))
    return min(float(np.min(function.true(function.from_cube(u)))) for u in draws)


def check_minimum(function, points=RANDOM_POINTS):
    values = function.true(function.minimisers)
    assert values.shape == (len(function.minimisers),)
    np.testing.assert_allclose(values, function.minimum, rtol=0, atol=TOLERANCE.get(function.name, 1e-8))
    assert np.all(function.minimisers >= function.low)
    assert np.all(function.minimisers <= function.high)
    assert least_of_random_search(function, points) >= function.minimum


class TestMinimum:
    @pytest.mark.parametrize("name", NAMES + OTHER_DIMENSIONS)
    def test_it_is_attained_and_no_random_search_finds_less(self, name):
        check_minimum(get(name), SLOW_POINTS.get(name, RANDOM_POINTS))

    @pytest.mark.parametrize("name", FAST)
    def test_no_local_search_from_the_minimiser_finds_less(self, name):
        f = get(name)
        if f.smooth:
            for x in f.minimisers:
                found = minimize(f.true, x, method="L-BFGS-B", bounds=f.bounds)
                assert found.fun >= f.minimum - 1e-9

    @pytest.mark.parametrize(
        "name", ["gp_l01", "gp_l005_quadratic", "gp_l03_quadratic", "ellipsoid5", "ellipsoid10_1e4", "plateau2"]
    )
    @pytest.mark.parametrize("seed", [1, 2, 3])
    def test_for_every_seed(self, name, seed):
        check_minimum(get(name, seed))

    @pytest.mark.parametrize("name", [name for name in FAST + OTHER_DIMENSIONS if get(name).entire])
    def test_an_entire_formula_is_nowhere_lower_outside_the_box(self, name):
        f = get(name)
        assert least_of_random_search(f, wider=1.0) >= f.minimum
        assert least_of_random_search(f, wider=0.2) >= f.minimum

    @pytest.mark.parametrize(
        ("name", "minimum"),
        [
            # Surjanovic & Bingham's library, to the digits printed there
            ("branin", 0.397887),
            ("hart3", -3.86278),
            ("hart6", -3.32237),
            ("goldstein", 3.0),
            ("camel6", -1.0316),
            ("shekel10", -10.5364),
            ("michalewicz2", -1.8013),
            ("michalewicz5", -4.687658),
            ("michalewicz10", -9.66015),
            ("stybtang3", -39.16599 * 3),
        ],
    )
    def test_against_the_literature(self, name, minimum):
        assert get(name).minimum == pytest.approx(minimum, abs=7e-4 if name == "stybtang3" else 5e-5)

    @pytest.mark.parametrize(
        ("name", "x", "value"),
        [
            ("quad2", [1, -2], 5),
            ("rosen2", [-1.2, 1], 24.2),  # the classical starting point
            ("rosen4", [0, 0, 0, 0], 3),
            ("branin", [0, 0], 55.602112642270262),
            ("camel6", [1, 1], 3.2333333333333333),
            ("goldstein", [0, 0], 600),
            ("goldstein", [1, 1], 1876),
            ("levy4", [-3, -3, -3, -3], 3 * (1 + 10 * np.sin(1) ** 2) + 1),
            ("ackley5", [1, 1, 1, 1, 1], 20 - 20 * np.exp(-0.2)),
            ("rastrigin5", [1, 0, 0, 0, 0], 1),
            ("rastrigin2", [0.5, 0], 20.25),
            ("griewank4", [0, 0, 0, 2 * np.pi], np.pi**2 / 1000 + 2),
            ("stybtang3", [1, 1, 1], -15),
            ("schwefel2", [0, 0], 837.96577454486741),
            ("exp2", [1, 0], 1 - np.exp(-0.5)),
            ("exp2_paper", [0, 1], 1 - np.exp(-10)),
            ("exp5", [0, 0, 1, 0, 0], 1 - np.exp(-np.sqrt(10) / 2)),
        ],
    )
    def test_values_computed_by_hand(self, name, x, value):
        assert get(name).fun(np.array(x, dtype=float)) == pytest.approx(value, rel=1e-12)


class TestFunction:
    @pytest.mark.parametrize("name", NAMES)
    def test_it_is_complete(self, name):
        f = get(name)
        assert f.name == name
        assert f.dimension == len(f.low) == len(f.high) == f.minimisers.shape[1] == len(f.bounds)
        assert np.all(f.low < f.high)
        assert f.budget > f.dimension
        assert f.formula
        assert f.source

    @pytest.mark.parametrize("name", [*FAST, "hart6:moved:rotated", "schwefel2:rotated"])
    def test_one_point_is_a_row_of_many_and_the_cube_is_the_box(self, name):
        f = get(name)
        u = np.random.default_rng(0).random((5, f.dimension))
        many = f.true(f.from_cube(u))
        assert many.shape == (5,)
        np.testing.assert_allclose([f.true(f.from_cube(row)) for row in u], many, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(f.to_cube(f.from_cube(u)), u, atol=1e-14)
        if not f.noise:
            assert f.on_cube()(u[0]) == f.fun(f.from_cube(u[0])) == float(f.true(f.from_cube(u[0])))

    @pytest.mark.parametrize("name", [*NAMES, "hart6:moved:rotated"])
    def test_it_can_be_sent_to_a_process(self, name):
        f = get(name, seed=1)
        g = pickle.loads(pickle.dumps(f))
        assert g.fun(f.low) == get(name, seed=1).fun(f.low)

    def test_the_wrong_number_of_coordinates_is_refused(self):
        with pytest.raises(ValueError, match=r"branin: expected a point of 2 coordinates, got shape \(3,\)"):
            get("branin").fun(np.zeros(3))

    def test_centered_names_those_that_a_box_center_solves(self):
        centered = {name for name in FAST if get(name).centered}
        assert centered == {name for name in FAST if name.startswith(("quad", "exp", "griewank", "rastrigin"))}
        assert not any(get(f"{name}:moved").centered for name in FAST)

    @pytest.mark.parametrize(("name", "condition"), [("ellipsoid3", 1e6), ("ellipsoid3_1e4", 1e4)])
    def test_the_condition_of_an_ellipsoid(self, name, condition):
        f = get(name, 1)
        steps = np.eye(3)[:, None] + np.eye(3)  # (3, 3, 3); f(o + e_i + e_j) has the Hessian in it
        single = f.true(f.minimisers[0] + np.eye(3))
        hessian = f.true(f.minimisers[0] + steps) - single[:, None] - single
        values = np.linalg.eigvalsh(hessian)
        np.testing.assert_allclose(values / 2, [1, np.sqrt(condition), condition], rtol=1e-6)

    def test_budgets_of_the_published_curves(self):
        budgets = {"quad2": 30, "exp2": 40, "exp5": 100, "branin": 60, "hart3": 60, "hart6": 100, "goldstein": 80}
        budgets |= {"camel6": 60, "shekel10": 100, "levy4": 100, "ackley5": 100, "stybtang3": 80}
        budgets |= {"rosen2": 60, "rosen4": 120, "levy10": 200, "branin:moved": 60}
        assert {name: get(name).budget for name in budgets} == budgets


class TestVariants:
    @pytest.mark.parametrize("variant", ["moved", "rotated", "moved:rotated"])
    @pytest.mark.parametrize("name", FAST)
    def test_the_minimum_stays_true(self, name, variant):
        for seed in range(3):
            f = get(f"{name}:{variant}", seed)
            assert f.name == f"{name}:{variant}"
            assert f.minimum == get(name, seed).minimum
            check_minimum(f)

    @pytest.mark.parametrize("name", FAST)
    def test_the_minimiser_moves_with_the_seed_and_stays_away_from_the_faces(self, name):
        places = np.array(
            [get(f"{name}:moved", seed).to_cube(get(f"{name}:moved", seed).minimisers[0]) for seed in range(8)]
        )
        assert np.all((places > 0.19) & (places < 0.81))
        assert np.all(np.max(np.abs(places - 0.5), axis=1) > 1e-3)
        assert len(np.unique(places[:, 0])) == 8

    def test_moving_and_rotating_combine(self):
        moved, rotated, both = (get(f"hart3:{v}", 5) for v in ("moved", "rotated", "rotated:moved"))
        assert both.name == "hart3:moved:rotated"
        np.testing.assert_array_equal(both.minimisers, moved.minimisers)
        z = 0.1 * np.random.default_rng(0).standard_normal((50, 3))
        np.testing.assert_allclose(both.true(both.minimisers + z), rotated.true(rotated.minimisers + z), rtol=1e-10)

    def test_a_moved_quadratic_is_a_quadratic(self):
        f = get("quad2:moved", 1)
        x = f.from_cube(np.random.default_rng(0).random((100, 2)))
        np.testing.assert_allclose(f.true(x), np.sum((x - f.minimisers[0]) ** 2, axis=1), atol=1e-12)
        assert f.smooth

    def test_all_three_minimisers_of_branin_turn_along(self):
        counts = [len(get("branin:rotated", seed).minimisers) for seed in range(20)]
        assert min(counts) >= 1
        assert max(counts) > 1

    @pytest.mark.parametrize("name", ["michalewicz5", "schwefel2", "gp_l01", "gp_l005_quadratic"])
    def test_the_continuation_is_continuous_and_not_below_the_minimum(self, name):
        f = get(name)
        assert not get(f"{name}:moved").smooth
        inside = np.random.default_rng(0).random((100, f.dimension))
        np.testing.assert_allclose(continued(f, inside), f.true(f.from_cube(inside)), rtol=1e-9)
        np.testing.assert_allclose(continued(f, -inside), continued(f, inside), rtol=1e-9)
        np.testing.assert_allclose(continued(f, inside + 2), continued(f, inside), rtol=1e-9)
        rng = np.random.default_rng(0)
        outside = rng.uniform(-1, 2, size=(BLOCK, f.dimension))
        assert np.all(continued(f, outside) >= f.minimum)
        face = rng.random((1000, f.dimension))
        face[:, 0] = 1.0
        step = 1e-9 * np.eye(f.dimension)[0]
        gaps = np.abs(continued(f, face + step) - continued(f, face - step))
        assert np.max(gaps) < 1e-5 * np.ptp(f.true(f.from_cube(face)))

    def test_one_dimension_cannot_be_rotated(self):
        with pytest.raises(ValueError, match="levy1:moved"):
            get("levy1:rotated")


class TestNames:
    def test_all_names_are_different_and_known(self):
        assert len(set(functions.names())) == len(functions.names())
        assert {"branin", "step", "noisy", "gp_l01", "ode", "digits"} <= set(functions.names())
        assert "exp<d>_paper" in functions.families()

    def test_groups_are_known_functions_and_all_together_the_names(self):
        groups = functions.GROUPS
        assert {"paper", "development", "rugged", "high", "guard", "envelope"} <= set(groups)
        assert {name for members in groups.values() for name in members} == set(functions.names())
        for members in groups.values():
            assert len(set(members)) == len(members)
            assert all(get(name).name == name for name in members)
        assert len(groups["envelope"]) == 14
        assert not set(groups) & {*functions.FIXED, "all"}

    def test_the_high_group_has_five_families_and_the_usual_budget(self):
        high = [get(f"{name}:moved:rotated") for name in functions.GROUPS["high"]]
        assert [f.dimension for f in high] == [10] * 5 + [20] * 5
        assert all(f.budget == 20 * f.dimension for f in high)

    @pytest.mark.parametrize("name", ["bramin", "", "ackley", "ackley0", "branin2", "exp5_", "Branin", "5"])
    def test_an_unknown_name_lists_the_known_ones(self, name):
        with pytest.raises(ValueError, match=r"unknown function .*branin.*ackley<d>.*:moved and :rotated"):
            get(name)

    def test_a_misspelt_name_gets_a_suggestion(self):
        with pytest.raises(ValueError, match="Did you mean 'branin'"):
            get("bramin")

    @pytest.mark.parametrize("name", ["branin:shifted", "branin:moved:moved", "branin:"])
    def test_an_unknown_variant_is_refused(self, name):
        with pytest.raises(ValueError, match="expected each of the variants"):
            get(name)

    def test_too_few_dimensions_and_negative_seeds_are_refused(self):
        with pytest.raises(ValueError, match=r"rosen<d>: expected d of at least 2"):
            get("rosen1")
        with pytest.raises(ValueError, match="seed"):
            get("branin", seed=-1)


class TestSeeds:
    @pytest.mark.parametrize("name", [*FAST, "branin:moved", "hart6:moved:rotated", "gp_l01:moved"])
    def test_same_seed_same_function(self, name):
        f, g = get(name, 4), get(name, 4)
        u = np.random.default_rng(0).random((20, f.dimension))
        np.testing.assert_array_equal(f.true(f.from_cube(u)), g.true(g.from_cube(u)))
        np.testing.assert_array_equal([f.on_cube()(v) for v in u], [g.on_cube()(v) for v in u])
        np.testing.assert_array_equal(f.minimisers, g.minimisers)

    @pytest.mark.parametrize("name", ["gp_l01", "gp_l03_quadratic", "ellipsoid5", "step", "ridge2", "branin:rotated"])
    def test_another_seed_another_function(self, name):
        f, g = get(name, 0), get(name, 1)
        assert f.true(f.low) != g.true(g.low)


class TestNoise:
    @pytest.mark.parametrize(("name", "share"), [("noisy", 0.05), ("noisy20", 0.2)])
    def test_its_spread_is_as_stated_and_regret_is_free_of_it(self, name, share):
        f = get(name, seed=2)
        x = f.minimisers[0]
        draws = np.array([f.fun(x) for _ in range(2000)]) - f.true(x)
        assert f.noise == pytest.approx(share * 3.86278, rel=1e-5)
        assert f.budget == 100
        assert np.std(draws) == pytest.approx(f.noise, rel=0.1)
        assert abs(np.mean(draws)) < 4 * f.noise / np.sqrt(2000)
        assert f.true(x) == pytest.approx(get("hart3").minimum, abs=1e-12)

    def test_it_depends_on_seed_point_and_repetition_and_not_on_the_order(self):
        x, y = np.full(3, 0.3), np.full(3, 0.7)
        f, g, other = get("noisy", 0), get("noisy", 0), get("noisy", 1)
        first, second, at_y = f.fun(x), f.fun(x), f.fun(y)
        assert first != second
        assert (g.fun(y), g.fun(x), g.fun(x)) == (at_y, first, second)
        assert other.fun(x) != first


class TestIllustration:
    @pytest.mark.parametrize("length_scale", [0.05, 0.1, 0.3])
    def test_the_samples_have_the_covariance_of_the_kernel(self, length_scale):
        rng = np.random.default_rng(0)
        x = np.array([[0.5, 0.5], [0.5 + length_scale, 0.5], [0.5, 0.5 + 2 * length_scale], [0.0, 1.0]])
        values = np.array([draw(length_scale, rng)(x) for _ in range(4000)])
        gaps = np.linalg.norm(x[:, None] - x, axis=-1)
        kernel = np.exp(-((gaps / length_scale) ** 2) / 2)
        np.testing.assert_allclose(values.T @ values / len(values), kernel, atol=0.08)

    def test_a_region_is_an_exact_quadratic_inside(self):
        f = get("gp_l005_quadratic")
        z = np.random.default_rng(0).uniform(-0.08, 0.08, size=(100, 2))
        c = f.minimisers[0]
        rise = f.true(c + z) - f.minimum
        np.testing.assert_allclose(f.true(c + z / 2) - f.minimum, rise / 4, rtol=1e-9, atol=1e-12)
        assert np.all(rise > 0)


class TestReal:
    def test_the_calibration_is_smooth_to_the_last_digits(self):
        f = get("ode")
        x = f.minimisers[0] + 1e-9 * np.arange(10)[:, None]
        assert np.ptp(f.true(x)) < 1e-12

    @pytest.mark.skipif(HAS_SKLEARN, reason="scikit-learn is installed")
    def test_without_scikit_learn_the_error_names_the_extra(self):
        with pytest.raises(ModuleNotFoundError, match=r"dale-bench\[peers\]"):
            get("digits").fun(np.zeros(2))
