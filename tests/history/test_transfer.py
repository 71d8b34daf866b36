"""Trials as evaluations in another space."""

import pytest

import dale
from dale.history.transfer import transfer

SPACE = dale.Space(a=(0.0, 1.0), n=dale.Int(1, 9), kind=dale.Choice(["x", "y"]), c=dale.Float(0, 1).when(kind="y"))


@pytest.fixture
def trials():
    optimizer = dale.Optimizer(SPACE, seed=0)
    optimizer.add({"a": 0.1, "n": 2, "kind": "x"}, 1.0, noise=0.5)
    optimizer.add({"a": 0.9, "n": 8, "kind": "y", "c": 0.5}, 2.0)
    optimizer.fail(optimizer.ask(at={"a": 0.2, "n": 3, "kind": "x"}), "broken")
    optimizer.fail(optimizer.ask(at={"a": 0.3, "n": 3, "kind": "x"}), "no power", retry=True)
    optimizer.tell(optimizer.ask(at={"a": 0.4, "n": 3, "kind": "x"}), 3.0)
    optimizer.discard(4)
    optimizer.ask(at={"a": 0.5, "n": 3, "kind": "x"})
    return optimizer.history


def declared(**changes):
    return dale.Space({**{name: SPACE.declared(name) for name in SPACE.names}, **changes})


def moved(trials, space, **fill):
    rows, n_outside = transfer(trials, SPACE, space, fill)
    return [dict(row.params) for row in rows], n_outside


def test_outcomes_go_along_and_other_trials_stay_behind(trials):
    rows, n_outside = transfer(trials, SPACE, declared(a=(0, 2)))
    assert [(r.params["a"], r.evaluation and r.evaluation.value, r.error) for r in rows] == [
        (0.1, 1.0, None),
        (0.9, 2.0, None),
        (0.2, None, "broken"),
    ]
    assert rows[0].evaluation.noise == 0.5
    assert n_outside == 0


def test_narrower_bounds(trials):
    points, n_outside = moved(trials, declared(a=(0, 0.5), n=dale.Int(1, 4)))
    assert ([p["a"] for p in points], n_outside) == ([0.1, 0.2], 1)


def test_a_fixed_parameter_takes_the_trials_with_its_value(trials):
    points, n_outside = moved(trials, declared(n=dale.Int(3, 3)))
    assert ([p["a"] for p in points], n_outside) == ([0.2], 2)


def test_another_type(trials):
    points, n_outside = moved(trials, declared(n=dale.Choice([2, "many"])))
    assert ([p["n"] for p in points], n_outside) == ([2], 2)


def test_a_new_parameter_has_a_value_in_the_past(trials):
    points, n_outside = moved(trials, declared(b=(0, 9)), b=3)
    assert ([p["b"] for p in points], n_outside) == ([3.0, 3.0, 3.0], 0)


def test_a_new_conditional_parameter_only_where_it_is_active(trials):
    points, _ = moved(trials, declared(b=dale.Float(0, 9).when(kind="x")), b=3)
    assert ["b" in p for p in points] == [True, False, True]


def test_a_parameter_that_is_always_active_now(trials):
    points, _ = moved(trials, declared(c=(0, 1)), c=0.25)
    assert [p["c"] for p in points] == [0.25, 0.5, 0.25]


def test_a_space_without_names():
    optimizer = dale.Optimizer([(0, 1), (0, 1)], seed=0)
    optimizer.add([0.25, 0.75], 1.0)
    named = dale.Space(x0=(0, 2), x1=(0, 1), x2=(0, 1))
    [row], _ = transfer(optimizer.history, optimizer.space, named, {"x2": 0.5})
    assert dict(row.params) == {"x0": 0.25, "x1": 0.75, "x2": 0.5}
    longer = dale.Space.from_pairs([(0, 2), (0, 1), (0, 1)])
    [row], _ = transfer(optimizer.history, optimizer.space, longer, {"x2": 0.5})
    assert row.params.tolist() == [0.25, 0.75, 0.5]


@pytest.mark.parametrize(
    ("space", "fill", "error", "message"),
    [
        (dale.Space(a=(0, 1)), None, dale.SpaceError, r"'n', 'kind', 'c': varied in the run, .*Float\(0.3, 0.3\)"),
        (declared(b=(0, 1)), None, dale.SpaceError, r"'b': new in this space.*fill={'b': ...}.*--set b="),
        (declared(b=(0, 1)), {"b": 7}, dale.SpaceError, "fill, parameter 'b' must be in"),
        (declared(), {"a": 0.5}, dale.SpaceError, "expected only parameters without a value, got 'a'; which"),
        (declared(), {"z": 0.5}, dale.SpaceError, "got 'z'; the new space has 'a'"),
        (declared(), [("z", 0.5)], TypeError, "fill: expected a mapping"),
    ],
)
def test_misuse(trials, space, fill, error, message):
    with pytest.raises(error, match=message):
        transfer(trials, SPACE, space, fill)
