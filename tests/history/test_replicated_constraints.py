"""Outcome constraints with noise: feasible is what the mean of the replicates says, not one lucky evaluation."""

import numpy as np
import pytest

import dale


def run(*constraints, values=None):
    """Replicates of one point with these constraints, and a worse point that is feasible."""
    optimizer = dale.Optimizer({"c": dale.Choice(["a", "b"])}, seed=0)
    for i, each in enumerate(constraints):
        optimizer.add({"c": "a"}, 0.0 if values is None else values[i], constraints=each)
    optimizer.add({"c": "b"}, 1.0, constraints=[-1.0] * len(constraints[0]))
    return optimizer


@pytest.mark.parametrize(
    ("constraints", "best"),
    [((-0.1, 0.3), "b"), ((0.3, -0.1), "b"), ((-0.3, 0.1), "a"), ((0.1, -0.3), "a"), ((0.2, -0.1, -0.1), "a")],
)
@pytest.mark.parametrize("noisy", [False, True])
def test_the_mean_decides(constraints, best, noisy):
    values = 0.01 * np.arange(len(constraints)) if noisy else None
    optimizer = run(*([c] for c in constraints), values=values)
    assert optimizer.best.params == {"c": best}
    assert optimizer.best.feasible
    assert optimizer.result().params == {"c": best}


def test_every_constraint_counts():
    assert run([-1.0, -0.1], [-1.0, 0.3]).best.params == {"c": "b"}
    assert run([-1.0, -0.3], [1.0, -1.0], [-1.0, 0.1]).best.params == {"c": "a"}


def test_the_best_trial_is_one_that_satisfies_them_itself():
    assert run([-1.0, 0.1], [0.1, -1.0]).best.params == {"c": "b"}
    assert run([0.1], [-0.3]).best.constraints == (-0.3,)


def test_failed_and_discarded_replicates_do_not_count():
    optimizer = run([-0.1])
    for _ in range(2):
        optimizer.fail(optimizer.ask(at={"c": "a"}))
    trial = optimizer.tell(optimizer.ask(at={"c": "a"}), 0.0, constraints=[9.0])
    assert optimizer.best.params == {"c": "b"}
    optimizer.discard(trial, "wrong")
    assert optimizer.best.params == {"c": "a"}


def test_equal_values_stay_as_they_are():
    """The sum of three times 0.1 is not 0.3."""
    seen = run([-0.1], [-0.1], [-0.1]).snapshot.history.observations
    assert seen.mean_constraints.tolist() == [[-0.1]] * 3 + [[-1.0]]


def test_replicates_that_a_model_leaves_out_count_too():
    seen = run([-0.1], [0.3]).snapshot.history.observations
    assert seen.feasible.tolist() == [False, False, True]
    assert seen.rows(np.array([True, False, True])).feasible.tolist() == [False, True]


def test_extreme_values():
    seen = run([1.7e308], [1.7e308], [-1.7e308]).snapshot.history.observations
    assert seen.feasible.tolist() == [False, False, False, True]


@pytest.mark.parametrize("seed", range(3))
def test_one_lucky_look_does_not_decide_a_run(seed):
    rng, means = np.random.default_rng(seed), {"a": (0.0, 0.15), "b": (0.5, -0.5), "c": (1.0, -0.5)}

    def fun(p):
        value, constraint = means[p["c"]] + np.array([0.1, 0.2]) * rng.standard_normal(2)
        return dale.Evaluation(value, constraints=[constraint])

    result = dale.minimize(fun, {"c": dale.Choice(list("abc"))}, budget=40, seed=seed, noise=0.1)
    assert any(t.feasible for t in result.history if t.params["c"] == "a")
    assert result.params == {"c": "b"}
