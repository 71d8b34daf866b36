"""Constraints in the public interface: input constraints are never violated, outcome constraints are modelled."""

import pickle
import re
from typing import ClassVar

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, NonlinearConstraint

import dale
from dale.history.snapshot import Cache
from dale.history.trial import TrialState
from dale.view.summary import summary


def bowl(x):
    return float((x[0] - 0.7) ** 2 + (x[1] - 0.2) ** 2)


def branin(x):
    a = x[1] - 5.1 / (4 * np.pi**2) * x[0] ** 2 + 5 / np.pi * x[0] - 6
    return a**2 + 10 * (1 - 1 / (8 * np.pi)) * np.cos(x[0]) + 10


def gramacy(x):
    """Gramacy et al. (2016): the best feasible value is 0.5998."""
    first = 1.5 - x[0] - 2 * x[1] - 0.5 * np.sin(2 * np.pi * (x[0] ** 2 - 2 * x[1]))
    return dale.Evaluation(x[0] + x[1], constraints=[first, x[0] ** 2 + x[1] ** 2 - 1.5])


UNIT = [(0, 1)] * 2
MIXED = dale.Space(
    a=dale.Int(0, 20), b=dale.Float(0.01, 1, log=True), c=dale.Choice(["u", "v"]), d=dale.Float(0, 2, step=0.25)
)


def mixed(p):
    return (p["a"] - 15) ** 2 / 50 + (p["b"] - 0.5) ** 2 + (p["c"] == "u") + (p["d"] - 1) ** 2


PROBLEMS = {
    "corner": (bowl, UNIT, LinearConstraint([[1, 1]], -np.inf, 1e-3), lambda x: x[0] + x[1] <= 1e-3),
    "disc": (
        bowl,
        UNIT,
        lambda x: np.hypot(x[0] - 0.3, x[1] - 0.4) - 0.05,
        lambda x: np.hypot(x[0] - 0.3, x[1] - 0.4) <= 0.05,
    ),
    "ring": (
        bowl,
        UNIT,
        NonlinearConstraint(lambda x: np.hypot(x[0] - 0.5, x[1] - 0.5), 0.3, 0.301),
        lambda x: 0.3 <= np.hypot(x[0] - 0.5, x[1] - 0.5) <= 0.301,
    ),
    "boolean": (bowl, UNIT, lambda x: x[0] + x[1] <= 0.4, lambda x: x[0] + x[1] <= 0.4),
    "mixed": (
        mixed,
        MIXED,
        lambda p: p["a"] * p["b"] - 4 - (p["c"] == "u"),
        lambda p: p["a"] * p["b"] - 4 - (p["c"] == "u") <= 0,
    ),
    "ranges": (
        lambda x: float(np.sum(np.asarray(x) ** 2)),
        [(1e6, 1e6 + 1), (-1e-9, 1e-9), (0, 1)],
        LinearConstraint([[1, 0, -0.5], [0, 1e9, 1]], -np.inf, [1e6 + 0.2, 0.5]),
        lambda x: x[0] - 0.5 * x[2] <= 1e6 + 0.2 and 1e9 * x[1] + x[2] <= 0.5,
    ),
}


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", PROBLEMS)
def test_no_proposal_violates_an_input_constraint(name, seed):
    fun, space, constraint, allowed = PROBLEMS[name]
    optimizer = dale.Optimizer(space, seed=seed, constraints=constraint)
    trials = []
    for k in range(10):
        batch = optimizer.ask(3) if k == 6 else [optimizer.ask()]
        for trial in batch:
            optimizer.fail(trial, "lost") if k == 7 else optimizer.tell(trial, fun(trial.params))
        trials += batch
    assert all(allowed(t.params) for t in trials)
    assert len({t.unit_x.tobytes() for t in trials}) == len(trials)


@pytest.mark.parametrize(
    ("constraint", "minimum"),
    [
        (LinearConstraint([[1, 1]], -np.inf, 4), 2.3859586806),
        (NonlinearConstraint(lambda x: (x[0] - 2.5) ** 2 + (x[1] - 7.5) ** 2, -np.inf, 25), 0.45837682),
    ],
    ids=["line", "disc"],
)
def test_an_optimum_on_the_boundary_is_reached_to_many_digits(constraint, minimum):
    result = dale.minimize(branin, [(-5, 10), (0, 15)], budget=28, seed=0, constraints=constraint)
    assert result.success
    assert abs(result.fun - minimum) < 1e-6
    # No point of a fine grid along the boundary is better.
    if isinstance(constraint, LinearConstraint):
        a = np.linspace(result.x[0] - 1e-3, result.x[0] + 1e-3, 20001)
        assert result.fun < min(branin((v, 4 - v)) for v in a) + 1e-8


def test_a_finite_space_ends_after_all_allowed_points():
    space = [dale.Int(0, 4), dale.Int(0, 4)]
    result = dale.minimize(
        lambda x: float(x[0] - x[1]), space, budget=40, seed=0, constraints=lambda x: x[0] + x[1] - 4
    )
    assert (result.status, result.message.split(",")[0]) == (4, "Every point that the constraints allow")
    assert result.nfev == 15 + 1  # the best point again, as a test for noise
    optimizer = dale.Optimizer(space, seed=0, constraints=lambda x: x[0] + x[1] <= 0)
    for _ in range(2):
        optimizer.tell(optimizer.ask(), 1.0)
    with pytest.raises(dale.SpaceExhausted, match="that the constraints allow"):
        optimizer.ask()


class TestPointsOfTheUser:
    constraint = LinearConstraint([[1, 1]], -np.inf, 0.5)

    def test_a_point_to_evaluate_must_be_allowed(self):
        optimizer = dale.Optimizer(UNIT, constraints=self.constraint)
        with pytest.raises(dale.SpaceError, match=re.escape("do not allow (0.4, 0.2)")):
            optimizer.ask(at=[0.4, 0.2])
        assert optimizer.history == ()
        assert optimizer.ask(at=[0.3, 0.2]).params.tolist() == [0.3, 0.2]
        with pytest.raises(dale.SpaceError, match="do not allow"):
            dale.minimize(bowl, UNIT, budget=3, x0=[0.9, 0.9], constraints=self.constraint)

    def test_an_added_point_that_is_not_allowed_is_not_the_best(self):
        optimizer = dale.Optimizer(UNIT, seed=0, constraints=self.constraint)
        added = optimizer.add([0.7, 0.2], -100.0)
        assert added.state is TrialState.COMPLETE
        assert not added.allowed
        assert not added.feasible
        assert optimizer.best is None
        assert optimizer.result().status == 7
        for _ in range(8):
            trial = optimizer.ask()
            assert sum(trial.params) <= 0.5
            optimizer.tell(trial, bowl(trial.params))
        assert optimizer.best.value > 0

    def test_without_an_allowed_point_the_run_raises_at_once(self):
        with pytest.raises(dale.SpaceError, match="no point that the constraints allow"):
            dale.minimize(bowl, UNIT, budget=3, constraints=lambda x: False)


class TestEarlierData:
    COLUMNS: ClassVar = {
        "x0": (0.9, 0.1, 0.5),
        "x1": (0.9, 0.2, 0.5),
        "value": (-5.0, 1.0, 2.0),
        "stress": (0.3, -1.0, ""),
    }

    def test_the_points_of_a_table_are_checked(self):
        optimizer = dale.Optimizer(UNIT, seed=0, constraints=lambda x: x[0] + x[1] - 1)
        assert [t.allowed for t in optimizer.add_all(self.COLUMNS)] == [False, True, True]
        assert optimizer.best.value == 1.0

    def test_columns_for_constraints_and_noise(self):
        optimizer = dale.Optimizer(UNIT, seed=0)
        table = {**self.COLUMNS, "error": [0.1, None, 0.2]}
        trials = optimizer.add_all(table, noise="error", constraints=["stress"])
        assert [(t.state, t.noise, t.constraints) for t in trials] == [
            (TrialState.COMPLETE, 0.1, (0.3,)),
            (TrialState.COMPLETE, None, (-1.0,)),
            (TrialState.FAILED, None, ()),  # without its constraint, a value cannot be used
        ]
        assert optimizer.best.value == 1.0
        optimizer.tell(optimizer.ask(), 0.5, constraints=[-0.1])

    def test_a_table_without_constraints_raises_if_other_trials_have_them(self):
        optimizer = dale.Optimizer(UNIT, seed=0)
        optimizer.tell(optimizer.ask(), 0.5, constraints=[-0.1])
        with pytest.raises(ValueError, match=r"row 1 .*expected 1 constraints.*Nothing was recorded"):
            optimizer.add_all(self.COLUMNS)
        with pytest.raises(ValueError, match=r"row 2 .*noise must be .*Nothing was recorded"):
            optimizer.add_all({**self.COLUMNS, "e": [0.1, -1, 0]}, noise="e", constraints=["stress"])
        with pytest.raises(TypeError, match="list with names of columns, got 'stress'"):
            optimizer.add_all(self.COLUMNS, constraints="stress")
        assert len(optimizer.history) == 1

    def test_data_with_another_number_of_constraints_end_the_run_at_once(self):
        """Otherwise every evaluation would fail and waste the budget."""
        calls = []

        def simulate(x):
            calls.append(x)
            return gramacy(x)

        with pytest.raises(ValueError, match=r"expected 0 constraints.*added data included"):
            dale.minimize(simulate, UNIT, budget=8, seed=0, x0=[[0.1, 0.9]], y0=[1.0])
        assert len(calls) == 1

    def test_y0_may_be_evaluations(self):
        X = [[0.2, 0.5], [0.9, 0.9], [0.1, 0.1]]
        result = dale.minimize(gramacy, UNIT, budget=6, seed=0, x0=X, y0=[gramacy(x) for x in X])
        assert all(t.state is TrialState.COMPLETE and len(t.constraints) == 2 for t in result.history)


def test_tell_takes_an_evaluation_or_its_parts():
    one, other = dale.Optimizer(UNIT, seed=0), dale.Optimizer(UNIT, seed=0)
    whole = one.tell(one.ask(), dale.Evaluation(1.0, noise=0.1, constraints=[0.2]))
    parts = other.tell(other.ask(), 1.0, noise=0.1, constraints=[0.2])
    assert (whole.value, whole.noise, whole.constraints) == (parts.value, parts.noise, parts.constraints)
    with pytest.raises(TypeError, match="one of the two ways"):
        one.tell(one.ask(), dale.Evaluation(1.0, constraints=[0.2]), constraints=[0.2])


def test_another_number_of_constraints_fails_the_trial():
    result = dale.minimize(
        lambda x: 5.0 if x[0] < 0.3 else dale.Evaluation(x[0], constraints=[0.5 - x[0]]), [(0, 1)], budget=8, seed=1
    )
    failed = [t for t in result.history if t.state is TrialState.FAILED]
    assert failed
    assert all(t.error.startswith("the objective returned 5.0: expected 1 constraints") for t in failed)


def disc(x):
    return x[0] ** 2 + x[1] ** 2


def test_an_optimizer_with_a_scipy_constraint_can_be_pickled():
    first = dale.Optimizer(UNIT, seed=0, constraints=NonlinearConstraint(disc, 0.1, 0.6))
    second = pickle.loads(pickle.dumps(first))
    assert first.ask().x.tolist() == second.ask().x.tolist()


def test_infinite_constraint_values():
    """-inf satisfies the upper bound of 0.6, and there is no lower bound."""
    constraint = NonlinearConstraint(lambda x: -np.inf if x[0] < 0.5 else x[0], -np.inf, 0.6)
    optimizer = dale.Optimizer(UNIT, seed=0, constraints=constraint)
    assert optimizer.ask(at=[0.2, 0.2]).allowed
    with pytest.raises(dale.SpaceError, match="do not allow"):
        optimizer.ask(at=[0.7, 0.2])


class TestOutcomeConstraints:
    def test_the_best_feasible_value_is_found_on_the_boundary(self):
        result = dale.minimize(gramacy, UNIT, budget=40, seed=0)
        assert result.success
        assert abs(result.fun - 0.5997880520) < 1e-6
        best = next(t for t in result.history if t.value == result.fun)
        assert best.feasible
        assert max(best.constraints) <= 0
        feasible = [t.value for t in result.history if t.feasible]
        assert result.fun == min(feasible) > min(result.func_vals)

    def test_a_feasible_point_is_found_where_there_are_few(self):
        def narrow(x):
            return dale.Evaluation(np.sin(x[0]) + x[1], constraints=[np.sin(x[0]) * np.sin(x[1]) + 0.95])

        result = dale.minimize(narrow, [(0, 6)] * 2, budget=45, seed=0)
        assert result.success
        assert result.fun < 0.2533

    def test_a_result_without_a_feasible_point(self):
        result = dale.minimize(lambda x: dale.Evaluation(x[0], constraints=[1 + x[0]]), UNIT, budget=12, seed=0)
        assert (result.status, result.success, result.message) == (7, False, "No feasible point was found")
        assert result.x is None
        assert result.fun is None
        assert len(result.history) == 12
        assert min(t.x[0] for t in result.history) < 1e-6  # where the violation is least
        text = summary(result)
        assert "No feasible point was found after 12 evaluations" in text
        assert "(infeasible)" in text

    def test_only_feasible_values_reach_a_target(self):
        result = dale.minimize(gramacy, UNIT, budget=40, seed=1, target=0.65)
        assert result.status == 1
        assert 0.5997 < result.fun <= 0.65

    def test_with_input_constraints(self):
        result = dale.minimize(gramacy, UNIT, budget=40, seed=1, constraints=LinearConstraint([[1, 0]], 0.3, np.inf))
        assert all(t.x[0] >= 0.3 for t in result.history)
        x1 = np.linspace(0.3, 1, 701)
        grid = np.array([(a, b) for a in x1 for b in np.linspace(0, 1, 701)])
        values = gramacy(grid.T)
        feasible = (values.constraints[0] <= 0) & (values.constraints[1] <= 0)
        assert result.fun <= np.min(np.sum(grid, axis=1)[feasible]) + 1e-6

    def test_integers(self):
        def beam(p):
            return dale.Evaluation(p["n"] * p["w"], constraints=[12 - p["n"] ** 2 * p["w"]])

        result = dale.minimize(beam, dale.Space(n=dale.Int(1, 6), w=dale.Float(0.2, 4)), budget=18, seed=0)
        assert result.fun == pytest.approx(2.0, abs=1e-5)  # n = 6, w = 1/3

    def test_batches_are_of_different_points(self):
        optimizer = dale.Optimizer(UNIT, seed=0)
        for trial in optimizer.ask(6):
            optimizer.tell(trial, 1.0, constraints=[1 + bowl(trial.params)])  # no point is feasible
        batch = np.array([t.unit_x for t in optimizer.ask(5)])
        distances = np.linalg.norm(batch[:, None] - batch[None], axis=2) + np.eye(5)
        assert np.min(distances) > 1e-4

    def test_failed_evaluations(self):
        def fails_in_part(x):
            if x[0] < 0.2:
                raise ArithmeticError("no")
            return gramacy(x)

        result = dale.minimize(fails_in_part, UNIT, budget=20, seed=0)
        assert result.success
        assert result.fun < 1.2
        assert any(t.state is TrialState.FAILED for t in result.history) or min(t.x[0] for t in result.history) >= 0.2

    def test_scales_of_constraints_do_not_matter(self):
        def scaled(x):
            value, (a, b) = gramacy(x).value, gramacy(x).constraints
            return dale.Evaluation(value, constraints=[2.0**40 * a, 2.0**-40 * b])

        assert abs(dale.minimize(scaled, UNIT, budget=35, seed=0).fun - 0.5997880520) < 1e-6


@pytest.mark.parametrize("cut", [6, 13])
def test_a_resumed_run_continues_like_the_uninterrupted_one(cut):
    constraint = LinearConstraint([[1, 0]], 0.1, np.inf)
    first = dale.Optimizer(UNIT, seed=3, constraints=constraint)
    for _ in range(cut):
        evaluation = gramacy((trial := first.ask()).params)
        first.tell(trial, evaluation.value, constraints=evaluation.constraints)
    second = pickle.loads(pickle.dumps(first))
    second._cache = Cache()
    for _ in range(2):
        one, other = first.ask(), second.ask()
        np.testing.assert_array_equal(one.unit_x, other.unit_x)
        evaluation = gramacy(one.params)
        first.tell(one, evaluation.value, constraints=evaluation.constraints)
        second.tell(other, evaluation.value, constraints=evaluation.constraints)


@pytest.mark.parametrize(
    "method", [dale.methods.paper(), dale.methods.ei(), dale.methods.imgpo()], ids=["paper", "ei", "imgpo"]
)
class TestOtherMethods:
    def test_input_constraints_raise(self, method):
        with pytest.raises(TypeError, match=r"takes no .*constraints.*use the default method"):
            dale.Optimizer(UNIT, method=method, constraints=lambda x: True)

    def test_outcome_constraints_raise_and_the_trial_stays_pending(self, method):
        optimizer = dale.Optimizer(UNIT, method=method)
        trial = optimizer.ask()
        with pytest.raises(TypeError, match=r"takes no .*constraints"):
            optimizer.tell(trial, 1.0, constraints=[0.5])
        assert optimizer.history[0].state is TrialState.PENDING
        with pytest.raises(TypeError, match=r"takes no .*constraints"):
            dale.minimize(gramacy, UNIT, budget=5, method=method)
