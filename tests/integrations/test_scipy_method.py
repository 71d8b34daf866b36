"""dale.scipy_method behind scipy.optimize.minimize."""

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, NonlinearConstraint, OptimizeResult, OptimizeWarning, minimize

import dale

BOX = [(-2, 2), (-1, 3)]


def bowl(x, a=0.5, b=1.0):
    return (x[0] - a) ** 2 + (x[1] - b) ** 2


def run(fun=bowl, x0=(0.0, 0.0), budget=12, bounds=BOX, seed=0, options=None, **settings):
    options = {"budget": budget, "seed": seed, **(options or {})}
    return minimize(fun, x0, method=dale.scipy_method, bounds=bounds, options=options, **settings)


def test_it_is_dale_with_the_first_point_given():
    result, own = run(), dale.minimize(bowl, BOX, budget=12, seed=0, x0=[0.0, 0.0])
    np.testing.assert_array_equal(result.x_iters, own.x_iters)
    assert isinstance(result, OptimizeResult)
    assert result.nfev == 12
    assert result.success
    assert result.fun < 1e-6


@pytest.mark.parametrize("bounds", [Bounds([-2, -1], [2, 3]), BOX, [[-2, 2], [-1, 3]], np.array(BOX)])
def test_bounds_of_all_kinds(bounds):
    np.testing.assert_array_equal(run(bounds=bounds, budget=4).x_iters, run(budget=4).x_iters)


def test_one_pair_of_bounds_for_all():
    assert run(bounds=Bounds(-1, 2), budget=3).nfev == 3


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        (None, "dale searches within bounds, got none; give the widest range"),
        ([(-2, 2), (None, 3)], r"variable 1: expected finite bounds, got \(None, 3\); give the widest range"),
        (Bounds([-2, 0], [2, np.inf]), r"variable 1: expected finite bounds, got \(0(.0)?, inf\)"),
        ([(-2, 2)], r"expected a pair \(low, high\) for each of 2 variables"),
        ([(-2, 2, 1), (0, 1)], r"expected a pair \(low, high\) for each of 2 variables"),
    ],
)
def test_invalid_bounds(bounds, message):
    with pytest.raises(ValueError, match=message):
        run(bounds=bounds)


def test_arguments_of_the_objective():
    result = run(args=(1.0, 2.0), budget=14)
    np.testing.assert_allclose(result.x, [1, 2], atol=1e-3)
    assert run(args=1.0, budget=3).nfev == 3


def test_arguments_in_other_processes():
    result = run(args=(1.0, 2.0), budget=3, options={"n_parallel": 2})
    assert [trial.error for trial in result.history] == [None] * 3


def test_an_objective_with_its_gradient():
    with pytest.warns(RuntimeWarning, match=r"dale uses no derivatives \(jac\)"):
        result = run(lambda x: (bowl(x), 2 * (x - 0.5)), jac=True, budget=4)
    assert [trial.error for trial in result.history] == [None] * 4


@pytest.mark.parametrize(
    "constraints",
    [
        {"type": "ineq", "fun": lambda x, most: most - x[0] - x[1], "args": (1.0,)},
        [{"type": "ineq", "fun": lambda x: 1 - x[0] - x[1]}, LinearConstraint([[1, 0]], -2, 2)],
        LinearConstraint([[1, 1]], -np.inf, 1),
        NonlinearConstraint(lambda x: x[0] + x[1], -np.inf, 1),
    ],
)
def test_constraints_of_all_kinds(constraints):
    result = run(constraints=constraints, budget=6)
    assert np.all(result.x_iters.sum(axis=1) <= 1 + 1e-12)


def test_the_minimum_on_the_boundary_of_a_constraint():
    result = run(constraints={"type": "ineq", "fun": lambda x: 1 - x[0] - x[1]}, budget=14)
    np.testing.assert_allclose(result.x, [0.25, 0.75], atol=1e-2)


@pytest.mark.parametrize(
    ("constraint", "message"),
    [
        ({"type": "eq", "fun": np.sum}, "for a linear equality use LinearConstraint"),
        ({"fun": np.sum}, 'expected constraints as {"type": "ineq"'),
        ({"type": "ineq"}, 'expected constraints as {"type": "ineq"'),
    ],
)
def test_invalid_constraints(constraint, message):
    with pytest.raises(ValueError, match=message):
        run(constraints=constraint)


def test_both_kinds_of_callbacks():
    points, results = [], []
    run(callback=points.append, budget=4)
    run(callback=lambda intermediate_result: results.append(intermediate_result), budget=4)
    assert [r.nfev for r in results] == [1, 2, 3, 4]
    np.testing.assert_array_equal([r.x for r in results], points)
    assert all(r.fun == bowl(r.x) for r in results)


def test_a_callback_that_stops():
    def stop(intermediate_result):
        if intermediate_result.nfev == 3:
            raise StopIteration

    result = run(callback=stop)
    assert result.nfev == 3
    assert not result.success


def test_tol_is_the_tolerance():
    result = run(tol=0.1, budget=60)
    assert result.status == dale.Status.CONVERGED
    assert result.nfev < 60


@pytest.mark.parametrize(("options", "n"), [({"maxfev": 5}, 5), ({"maxiter": 4}, 4), ({"maxfev": None}, 60)])
def test_the_budget_by_other_names(options, n):
    result = minimize(
        bowl, [0, 0], method=dale.scipy_method, bounds=BOX, options={"seed": 0, "target": 1e-2, **options}
    )
    assert result.nfev == n or result.fun <= 1e-2


def test_unknown_options_and_an_outside_start_are_warned_about():
    with pytest.warns(OptimizeWarning, match="unknown options: ftol, gtol"):
        run(budget=3, options={"gtol": 1, "ftol": 2})
    with pytest.warns(OptimizeWarning, match="x0 is outside the bounds"):
        result = run(x0=(9.0, 0.0), budget=3)
    np.testing.assert_array_equal(result.x_iters[0], [2, 0])


def test_a_variable_may_be_fixed():
    assert np.all(run(bounds=[(-2, 2), (1, 1)], x0=(0, 1), budget=5).x_iters[:, 1] == 1)


def test_a_run_with_a_store_is_resumed(tmp_path):
    options = {"store": str(tmp_path / "run.db")}
    run(budget=4, options=options)
    result = run(budget=7, options=options)
    np.testing.assert_array_equal(result.x_iters, run(budget=7).x_iters)
