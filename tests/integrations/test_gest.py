"""DaleGenerator: the gest-api standard."""

import math

import pytest
from gest_api.vocs import VOCS, ContextualVariable

import dale
from dale.integrations.gest import DaleGenerator

VARIABLES = {"x": [-2.0, 2.0], "n": {1, 2, 4}, "kind": {"a", "b"}}


def problem(**more):
    return VOCS(variables=VARIABLES, objectives={"f": "MINIMIZE"}, **more)


def loss(point):
    return (point["x"] - 1) ** 2 + abs(point["n"] - 2) + (point["kind"] == "a")


def test_a_run_is_that_of_dale():
    generator = DaleGenerator(problem(constants={"c": 3.5}), seed=0)
    space = dale.Space(x=dale.Float(-2, 2), n=dale.Choice([1, 2, 4], ordered=True), kind=dale.Choice(["a", "b"]))
    optimizer = dale.Optimizer(space, seed=0)
    for _ in range(12):
        (point,) = generator.suggest(1)
        trial = optimizer.ask()
        assert point == {**trial.params, "c": 3.5, "_id": trial.id}
        optimizer.tell(trial, loss(point))
        generator.ingest([{**point, "f": loss(point)}])
    assert generator.optimizer.best_value < 0.1
    generator.finalize()


def test_maximization_and_several_points():
    generator = DaleGenerator(VOCS(variables={"x": [0, 1]}, objectives={"f": "MAXIMIZE"}), seed=0)
    for _ in range(4):
        points = generator.suggest(3)
        assert len({point["x"] for point in points}) == 3
        generator.ingest([{**point, "f": -((point["x"] - 0.3) ** 2)} for point in reversed(points)])
    assert abs(generator.optimizer.best.params["x"] - 0.3) < 1e-3
    assert len(generator.suggest()) == 1


def test_constraints():
    constraints = {"c": ["LESS_THAN", 2.0], "d": ["GREATER_THAN", 0.5], "e": ["BOUNDS", -1.0, 1.0]}
    vocs = VOCS(variables={"x": [0, 3]}, objectives={"f": "MINIMIZE"}, constraints=constraints)
    generator = DaleGenerator(vocs, seed=0)
    generator.ingest([{"x": 1.5, "f": 1.0, "c": 2.5, "d": 0.75, "e": 0.0}])
    assert generator.optimizer.history[0].constraints == (0.5, -0.25, -1.0, -1.0)
    assert generator.optimizer.best is None


def test_failures_and_data_from_elsewhere():
    generator = DaleGenerator(problem(), seed=0)
    (point,) = generator.suggest(1)
    elsewhere = {"x": 0.5, "n": 2, "kind": "b"}
    generator.ingest([{**point, "f": math.nan}, {**elsewhere, "f": 0.25}, {**elsewhere, "x": 0.75, "f": math.inf}])
    assert [str(trial.state) for trial in generator.optimizer.history] == ["failed", "complete", "failed"]
    assert generator.optimizer.best_value == 0.25


def test_nothing_is_recorded_if_one_result_is_refused():
    generator = DaleGenerator(problem(), seed=0)
    (point,) = generator.suggest(1)
    with pytest.raises(ValueError, match="_id: expected a number that suggest has returned, below 1, got 7"):
        generator.ingest([{**point, "f": 1.0}, {**point, "f": 1.0, "_id": 7}])
    assert generator.optimizer.n_evaluated == 0


def test_a_finite_space_ends_with_an_error():
    generator = DaleGenerator(VOCS(variables={"n": {1, 2, 3}}, objectives={"f": "MINIMIZE"}), seed=0)
    with pytest.raises(ValueError, match="expected 4 new points, but only 3 are left"):
        generator.suggest(4)
    assert len(generator.suggest(3)) == 3


@pytest.mark.parametrize(
    ("vocs", "message"),
    [
        (VOCS(variables={"x": [0, 1]}, objectives={"f": "MINIMIZE", "g": "MINIMIZE"}), "one objective, got"),
        (VOCS(variables={"x": [0, 1]}), "one objective, got"),
        (VOCS(variables={"x": [0, 1]}, objectives={"f": "EXPLORE"}), "objective 'f': expected MINIMIZE or MAXIMIZE"),
        (
            VOCS(variables={"x": [0, 1], "t": ContextualVariable()}, objectives={"f": "MINIMIZE"}),
            "variable 't': expected bounds or a set of values",
        ),
    ],
)
def test_problems_that_dale_does_not_solve(vocs, message):
    with pytest.raises(ValueError, match=message):
        DaleGenerator(vocs)
