"""Linear equalities: which parameters they determine, with which values, and what is refused."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import LinearConstraint

import dale
from dale.space.constraints import as_constraints
from dale.space.domain import Domain
from dale.space.equalities import TOLERANCE, Equality, format_sum
from dale.space.space import as_space


def constrained(space, *constraints):
    return as_constraints(list(constraints), as_space(space)).space


ABC = dale.Space(b=(0, 1), a=(0, 1), c=(0, 1))


class TestWhichAreDetermined:
    def test_the_last_of_equals(self):
        space = constrained(ABC, "a + b + c == 1")
        assert space.equalities.determined == ("c",)
        assert space.equalities.free == ("a", "b")
        assert space.dimension == 2
        assert space.names == ("b", "a", "c")
        assert [space.n_coordinates(name) for name in space.names] == [1, 1, 0]

    def test_the_one_that_moves_the_sum_most(self):
        assert constrained(ABC, "3 * a + b + c == 1").equalities.determined == ("a",)
        assert constrained({"a": (0, 5), "b": (0, 1)}, "a + b == 1").equalities.determined == ("a",)

    def test_the_order_of_the_parameters_does_not_matter(self):
        one, other = (
            constrained(dale.Space(names), "a + b + c == 1", "a == 2 * b")
            for names in ({"a": (0, 1), "b": (0, 1), "c": (0, 1)}, {"c": (0, 1), "b": (0, 1), "a": (0, 1)})
        )
        assert one.equalities.determined == other.equalities.determined
        assert dict(one.decode(np.array([0.2]))) == dict(other.decode(np.array([0.2])))

    def test_twelve_without_names(self):
        space = constrained([(0, 1)] * 12, LinearConstraint(np.ones(12), 1, 1))
        assert space.equalities.determined == ("x11",)

    def test_inequalities_and_equalities_in_one_constraint(self):
        read = as_constraints(LinearConstraint([[1, 1, 1], [1, -1, 0]], [1, 0], [1, np.inf]), as_space([(0, 1)] * 3))
        assert read.space.dimension == 2
        assert [len(f.upper) for f in read.functions] == [2, 1]  # the bounds of x2, and the inequality

    def test_redundant_equalities_do_not_count(self):
        space = constrained(ABC, "a + b + c == 1", "0.1 * a + 0.1 * b + 0.1 * c == 0.1", "a + b + c == 1")
        assert space.dimension == 2
        assert space == constrained(ABC, "a + b + c == 1")

    def test_fixed_parameters_are_constants(self):
        space = constrained({"a": (0, 1), "b": (0, 1), "f": (0.25, 0.25), "n": dale.Int(2, 2)}, "a + b + f + n == 3")
        assert space.dimension == 1
        assert sum(space.decode(np.array([0.3])).values()) == 3
        assert constrained({"a": (0, 1), "f": (1, 1)}, "f == 1", "a <= 1").equalities is None

    def test_other_parameters_may_be_of_any_kind(self):
        space = constrained(
            {
                "a": (0, 1),
                "b": (0, 1),
                "k": dale.Choice(["u", "v"]),
                "n": dale.Int(1, 9),
                "m": dale.Int(1, 3).when(k="u"),
            },
            "a + b == 1",
        )
        params = space.decode(np.full(space.dimension, 0.4))
        assert params["a"] + params["b"] == 1
        np.testing.assert_array_equal(space.encode(params), space.snap(np.full(space.dimension, 0.4)))


class TestValues:
    def test_they_are_correctly_rounded(self):
        """The float nearest to the exact solution, also where terms cancel."""
        rng = np.random.default_rng(0)
        coefficients = {"a": 0.1, "b": -1e6, "c": 3.3, "d": 1e7}
        space = constrained(dict.fromkeys(coefficients, (-1000.0, 1000.0)), f"{format_sum(coefficients)} == 0.7")
        assert space.equalities.determined == ("d",)
        for u in rng.random((200, 3)):
            p = space.decode(u)
            exact = Fraction(0.7) - sum(Fraction(coefficients[n]) * Fraction(p[n]) for n in "abc")
            assert p["d"] == float(exact / Fraction(1e7))

    def test_one_point_or_many(self):
        space = constrained(
            [(0, 1), (-3, 7.7), (0, 2), (1, 5)], LinearConstraint([[1, 2, 3, 4], [1, 1, 0, -1]], [9, 1], [9, 1])
        )
        assert space.dimension == 2
        points = np.random.default_rng(1).random((50, 2))
        columns = space.decode_columns(points)
        np.testing.assert_array_equal(np.array(list(columns.values())).T, [space.decode(p) for p in points])
        assert all(len(column) == 0 for column in space.decode_columns(points[:0]).values())

    def test_a_bound_is_reached_exactly(self):
        space = constrained(ABC, "a + b + c == 1")
        u = space.encode({"a": 0.1, "b": 0.9, "c": 0.0})
        assert 0.1 + 0.9 == 1  # yet the sum of these floats is a little more than 1
        assert space.decode(u)["c"] == 0
        assert Domain.of(space).allows(u)

    def test_beyond_the_bounds_no_point_is_allowed(self):
        space = constrained(ABC, "a + b + c == 1")
        domain = Domain.of(space)
        assert space.decode(np.array([0.8, 0.7]))["c"] == pytest.approx(-0.5)
        np.testing.assert_array_equal(domain.allowed(np.array([[0.8, 0.7], [0.2, 0.7]])), [False, True])

    def test_some_parameters_may_have_one_value_only(self):
        space = constrained(ABC, "a + b == 1", "a - b == 0.5")
        assert space.decode(np.array([0.3])) == {"a": 0.75, "b": 0.25, "c": 0.3}


class TestPointsOfTheUser:
    def test_rounded_digits_are_accepted_as_they_are(self):
        space = constrained(ABC, "a + b + c == 1")
        point = {"a": 0.3333333, "b": 0.3333333, "c": 0.3333333}
        assert space.check(point) == point
        assert TOLERANCE == 1e-6

    def test_others_are_not(self):
        space = constrained(ABC, "a + b + c == 1")
        for call in (space.check, space.encode, space.read):
            with pytest.raises(dale.SpaceError, match=r"expected a \+ b \+ c == 1, got 0.9.* on the left side"):
                call({"a": 0.3, "b": 0.3, "c": 0.3})

    def test_nor_are_those_out_of_bounds(self):
        with pytest.raises(dale.SpaceError, match="'c' must be in"):
            constrained(ABC, "a + b + c == 1").check({"a": 0.8, "b": 0.7, "c": -0.5})


REFUSED = {
    "integer": (
        {"a": (0, 1), "n": dale.Int(0, 5)},
        ["a + n == 2"],
        "'n', which is Int.*continuous.*remove one parameter",
    ),
    "logarithmic": ({"a": (0, 1), "b": dale.Float(0.1, 1, log=True)}, ["a + b == 1"], "'b', which is Float.*log=True"),
    "steps": ({"a": (0, 1), "b": dale.Float(0, 1, step=0.1)}, ["a + b == 1"], "'b', which is Float.*step=0.1"),
    "choice": ({"a": (0, 1), "b": dale.Choice([1, 2])}, ["a + b == 1"], "'b', which is not numeric"),
    "conditional": ({"n": dale.Int(1, 2), "a": dale.Float(0, 1).when(n=1)}, ["a == 1"], "'a', which is conditional"),
    "wide": ({"a": (-1e308, 1e308), "b": (0, 1)}, ["a + b == 1"], "'a', which is Float"),
    "huge": ({"a": (0, 1e300), "b": (0, 1)}, ["a + b == 1"], "expected numbers of at most 1e\\+280"),
    "outside": (ABC, ["a + b + c == 4"], r"no point within the bounds satisfies a \+ b \+ c == 4: .* between 0 and 3"),
    "corner": (ABC, ["a + b == 2"], "only one point within the bounds satisfies .*'a', 'b' at their bounds"),
    "contradiction": (ABC, ["a + b + c == 1", "2 * a + 2 * b + 2 * c == 3"], "contradicts the others"),
    "fixed": ({"a": (0, 1), "f": (1, 1)}, ["f == 2"], "no point within the bounds satisfies f == 2"),
    "all determined": ({"a": (0, 1), "b": (0, 1)}, ["a + b == 1", "a == b"], "all parameters are determined"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case):
    space, constraints, said = REFUSED[case]
    with pytest.raises(dale.SpaceError, match=said):
        dale.Optimizer(space, constraints=constraints)


def test_together_they_leave_no_point():
    """Each has points within the bounds, but no point satisfies both."""
    with pytest.raises(dale.SpaceError, match="no point that the constraints allow was found"):
        dale.Optimizer(ABC, constraints=["a + b == 1.9", "a - b == 0.9"])


def test_methods_without_input_constraints_say_so():
    with pytest.raises(TypeError, match="takes no input constraints"):
        dale.Optimizer(ABC, constraints="a + b + c == 1", method=dale.methods.paper())


def test_texts():
    assert str(Equality({"a": 1.0, "b": -2.0, "c": 0.0}, 0.5)) == "a - 2 * b == 0.5"
    assert str(Equality({"a": -1.0}, 1.0)) == "-a == 1"
    assert format_sum({"a": 0.0}) == "0"


def test_spaces_with_different_equalities_are_different():
    one, same, other = (constrained(ABC, text) for text in ("a + b == 1", "a + b == 1", "a + b == 0.5"))
    assert one == same
    assert one != other
    assert one != ABC
