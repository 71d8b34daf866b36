"""Input constraints in all notations."""

import re

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, NonlinearConstraint

import dale
from dale.space.constraints import as_constraints
from dale.space.space import as_space

SQUARE = [(0, 2), (-1, 1)]
POINTS = np.random.default_rng(0).random((400, 2))


def test_all_notations_are_equivalent():
    space = as_space(SQUARE)
    written = {
        "linear": LinearConstraint([[1, 2]], -0.5, 1.0),
        "nonlinear": NonlinearConstraint(lambda x: x[0] + 2 * x[1], -0.5, 1.0),
        "bool": lambda x: -0.5 <= x[0] + 2 * x[1] <= 1.0,
        "numbers": lambda x: [-0.5 - x[0] - 2 * x[1], x[0] + 2 * x[1] - 1.0],
        "text": "-0.5 <= x0 + 2 * x1 <= 1",
        "nonlinear text": "-0.5 <= x0 + 2 * x1 ** 1 <= 1",
    }
    X = np.array([space.decode(p) for p in POINTS])
    expected = (X @ [1, 2] >= -0.5) & (X @ [1, 2] <= 1.0)
    for constraint in written.values():
        read = as_constraints(constraint, space)
        np.testing.assert_array_equal(read.allowed(POINTS), expected)
        np.testing.assert_array_equal(np.all(read.values(POINTS) <= 0, axis=1), expected)
        assert [read.allows(x) for x in X[:50]] == expected[:50].tolist()
    all_of_them = as_constraints(list(written.values()), space)
    assert all_of_them.values(POINTS).shape == (400, 11)
    np.testing.assert_array_equal(np.flatnonzero(all_of_them.boolean), [4])


def test_arguments_in_a_named_space():
    space = dale.Space(b=dale.Float(0, 1), a=dale.Int(0, 10))
    seen = []
    read = as_constraints([lambda p: seen.append(dict(p)) or True, LinearConstraint([[10, 1]], -np.inf, 12)], space)
    assert read.allows({"b": 0.5, "a": 7})
    assert not read.allows({"b": 0.6, "a": 7})
    assert seen[0] == {"b": 0.5, "a": 7}
    assert isinstance(seen[0]["a"], int)


def test_infinite_sides_have_no_values():
    read = as_constraints(LinearConstraint(np.eye(2), [-np.inf, 0], [1, np.inf]), as_space(SQUARE))
    assert read.values(POINTS).shape == (400, 2)
    read = as_constraints(NonlinearConstraint(lambda x: [x[0], x[1]], [-np.inf, 0], [1, np.inf]), as_space(SQUARE))
    assert read.values(POINTS).shape == (400, 2)


def test_integers_on_the_boundary_are_allowed():
    read = as_constraints(LinearConstraint([[1, 1]], -np.inf, 9), as_space([dale.Int(0, 9), dale.Int(0, 9)]))
    assert read.allows(np.array([4.0, 5.0]))
    assert not read.allows(np.array([5.0, 5.0]))


def test_the_order_of_summation_does_not_matter():
    rng = np.random.default_rng(1)
    x = rng.random(7)
    orders = [sum(x[rng.permutation(7)].tolist()) for _ in range(50)]
    space = as_space([(0, 1)] * 7)
    assert not as_constraints(
        LinearConstraint(np.ones(7), -np.inf, min(x @ np.ones(7), np.sum(x)) - 1e-15), space
    ).allows(x)
    assert as_constraints(LinearConstraint(np.ones(7), -np.inf, max(orders) + 1e-15), space).allows(x)


@pytest.mark.parametrize(
    "bad",
    [lambda x: np.nan, lambda x: 1 / 0, lambda x: [0.0, np.nan], lambda x: "yes"],
    ids=["nan", "raises", "part", "str"],
)
def test_exceptions_and_nan_are_not_allowed(bad):
    read = as_constraints(lambda x: x[0] - 1 if x[1] > 0 else bad(x), as_space(SQUARE))
    X = np.array([as_space(SQUARE).decode(p) for p in POINTS])
    np.testing.assert_array_equal(read.allowed(POINTS), (X[:, 1] > 0) & (X[:, 0] <= 1))
    assert not np.any(np.isnan(read.values(POINTS)))


def test_a_constraint_cannot_change_the_point():
    def greedy(x):
        x[:] = 0
        return True

    x = np.array([1.0, 0.5])
    assert as_constraints(greedy, as_space(SQUARE)).allows(x)
    np.testing.assert_array_equal(x, [1.0, 0.5])


CASES = {
    "equality": (
        NonlinearConstraint(lambda x: x[0] * x[1], 1, 1),
        SQUARE,
        dale.SpaceError,
        "nonlinear equality .*not supported; remove one parameter",
    ),
    "crossed": (LinearConstraint([[1, 1]], 2, 1), SQUARE, dale.SpaceError, "expected lb <= ub"),
    "infinite": (LinearConstraint([[1, 1]], np.inf, np.inf), SQUARE, dale.SpaceError, "expected lb <= ub"),
    "columns": (LinearConstraint([[1, 1, 1]], 0, 1), SQUARE, dale.SpaceError, "expected 2 columns"),
    "choices": (
        LinearConstraint([[1, 1]], 0, 1),
        dale.Space(a=dale.Choice(["u", "v"]), b=(0, 1)),
        dale.SpaceError,
        "the space has 'a', which is not numeric; use a callable",
    ),
    "conditional": (
        LinearConstraint([[1, 1]], 0, 1),
        dale.Space(n=dale.Int(1, 3), x=dale.Float(0, 1).when(n=2)),
        dale.SpaceError,
        "the space has the conditional 'x'; use a callable",
    ),
    "dictionary": ([{"type": "ineq", "fun": len}], SQUARE, TypeError, "opposite sign"),
    "number": (3, SQUARE, TypeError, "got 3"),
    "text": ("x0 < x1", SQUARE, dale.SpaceError, "position 4: .*got '<'; did you mean '<='"),
    "text of a choice": (
        "a + b <= 1",
        dale.Space(a=dale.Choice(["u", "v"]), b=(0, 1)),
        dale.SpaceError,
        "involves 'a', which is not numeric; in Python, use a callable",
    ),
    "text of a conditional parameter": (
        "n + x <= 1",
        dale.Space(n=dale.Int(1, 3), x=dale.Float(0, 1).when(n=2)),
        dale.SpaceError,
        "involves 'x', which is conditional",
    ),
    "nonlinear equality as text": ("x0 * x1 == 1", SQUARE, dale.SpaceError, "is a nonlinear equality"),
    "text without a parameter": ("x0 - x0 <= 1", SQUARE, dale.SpaceError, "because they cancel"),
    "division by zero": ("x0 / 0 <= 1", SQUARE, dale.SpaceError, "cannot be evaluated: float division by zero"),
    "overflow": ("1e300 * 1e300 * x0 <= 1", SQUARE, dale.SpaceError, "expected finite numbers"),
}


@pytest.mark.parametrize("case", CASES)
def test_invalid_constraints(case):
    constraint, space, error, text = CASES[case]
    with pytest.raises(error, match=text):
        as_constraints(constraint, as_space(space))


def test_no_constraints():
    assert as_constraints(None, as_space(SQUARE)) is None
    assert as_constraints([], as_space(SQUARE)) is None


def test_the_number_of_values_must_be_constant():
    read = as_constraints(lambda x: [x[0]] * (1 + int(x[1] > 0)), as_space(SQUARE))
    with pytest.raises(dale.SpaceError, match=re.escape("as many numbers from constraint 0 at every point")):
        read.values(POINTS)


def test_decode_columns_is_decode():
    space = dale.Space(
        a=(-3.0, 7.7), c=dale.Float(1e-3, 1, log=True), b=dale.Int(2, 9), f=(2, 2), e=dale.Float(0, 1, step=0.1)
    )
    points = np.vstack([np.random.default_rng(2).random((50, 4)), np.zeros(4), np.ones(4)])
    assert space.decode_columns(points) == {name: [space.decode(p)[name] for p in points] for name in space.names}


class TestText:
    def test_linear_comparisons_become_rows(self):
        space = dale.Space(a=(0, 2), b=(0, 2), c=dale.Choice(["u", "v"]), d=dale.Int(0, 3))
        read = as_constraints("0 <= 2 * (a - b) / 4 + 1 <= d", space)
        (linear,) = read.functions
        assert linear.names == ("a", "b", "d")
        np.testing.assert_array_equal(linear.A, [[-0.5, 0.5, 0], [0.5, -0.5, -1]])
        np.testing.assert_array_equal(linear.upper, [1, -1])
        assert read.allows({"a": 1.0, "b": 1.0, "c": "u", "d": 1})
        assert not read.allows({"a": 1.0, "b": 1.0, "c": "u", "d": 0})

    def test_the_boundary_is_allowed_as_in_python(self):
        read = as_constraints("x0 + x1 <= 0.3", as_space([(0, 1), (0, 1)]))
        assert not read.allows(np.array([0.1, 0.2]))  # 0.30000000000000004
        assert read.allows(np.array([0.15, 0.15]))

    def test_beside_conditional_parameters(self):
        space = dale.Space(n=dale.Int(1, 3), x=dale.Float(0, 1).when(n=2), y=(0, 1))
        read = as_constraints(["n * y <= 2", "n + y <= 3"], space)
        points = np.random.default_rng(0).random((50, space.dimension))
        params = [space.decode(p) for p in points]
        expected = [p["n"] * p["y"] <= 2 and p["n"] + p["y"] <= 3 for p in params]
        assert [read.allows(p) for p in params] == expected == read.allowed(points).tolist()

    def test_a_math_error_is_not_allowed(self):
        read = as_constraints("sqrt(x1) <= x0", as_space(SQUARE))
        assert read.allows(np.array([1.0, 0.5]))
        assert not read.allows(np.array([1.0, -0.5]))
        assert "math domain error" in read.last_error

    def test_constraints_of_the_space_come_first(self, tmp_path):
        (tmp_path / "space.toml").write_text('constraints = ["a + b <= 1"]\na = [0, 1]\nb = [0, 1]\n')
        read = as_constraints("a >= 0.5", dale.Space.from_toml(tmp_path / "space.toml"))
        assert read.labels == ("constraint 'a + b <= 1'", "constraint 'a >= 0.5'")
        assert [read.allows({"a": a, "b": 0.3}) for a in (0.4, 0.6, 0.8)] == [False, True, False]
