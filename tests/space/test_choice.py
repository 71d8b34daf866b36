"""Choice: options are distinguished by type and value, and are ordered only on request."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import pdist

from dale import Choice, SpaceError
from dale.models.kernels.squared_exponential import SquaredExponential
from dale.space.choice import MAX_COORDINATES, OPTION_DISTANCE

scalars = st.none() | st.booleans() | st.integers(-3, 3) | st.floats(-3, 3) | st.text(max_size=3) | st.just(math.nan)
values = scalars | st.lists(st.integers(0, 2), max_size=2) | st.tuples(st.integers(0, 2), st.text(max_size=1))


def kind_and_value(option):
    return type(option).__name__, repr(option + 0.0 if isinstance(option, float) else option)  # -0.0 is 0.0


@settings(deadline=None, derandomize=True, max_examples=300)
@given(options=st.lists(values, min_size=1, max_size=9, unique_by=kind_and_value), ordered=st.booleans())
def test_round_trip(options, ordered):
    p = Choice(options, ordered=ordered)
    assert p.cardinality == len(options)
    for k, option in enumerate(options):
        u = p.encode(option)
        assert u.shape == (p.n_coordinates,)
        assert np.all((u >= 0) & (u <= 1))
        assert p.decode(u) is option
        assert p.check(option, "x") is option
        assert p.encode_index(k).tolist() == u.tolist()


@pytest.mark.parametrize(
    ("n", "ordered", "width"),
    [(1, False, 0), (2, False, 1), (3, False, 3), (3, True, 1), (16, False, 16), (17, False, 16)],
)
def test_coordinates(n, ordered, width):
    assert Choice(range(n), ordered=ordered).n_coordinates == width


def test_all_options_are_equally_far_apart():
    """The initial model of the default method has a moderate correlation between two options."""
    p = Choice(list("abcdefghij"))
    X = np.array([p.encode(option) for option in p.options])
    K = SquaredExponential(0.35)(X, X)[~np.eye(len(X), dtype=bool)]
    np.testing.assert_allclose(K, math.exp(-(0.5**2) / (2 * 0.35**2)))
    assert 0.3 < K[0] < 0.4
    two = Choice(["a", "b"])
    assert abs(two.encode("a")[0] - two.encode("b")[0]) == 0.5


@pytest.mark.parametrize("p", [Choice(list("abc")), Choice([1, 2]), Choice([1, 2, 3, 4], ordered=True)])
def test_uniform_points_give_uniform_options(p):
    U = np.random.default_rng(0).random((4000, p.n_coordinates))
    chosen = [p.decode(u) for u in U]
    for option in p.options:
        assert chosen.count(option) == pytest.approx(4000 / p.cardinality, rel=0.15)


@pytest.mark.parametrize(
    "p", [Choice([1, 2, 3]), Choice([1, 2]), Choice([1, 2, 3, 4], ordered=True), Choice([1]), Choice(range(50))]
)
def test_snap_is_encode_of_decode(p):
    U = np.random.default_rng(0).random((200, p.n_coordinates))
    U[:3] = [np.zeros(p.n_coordinates), np.ones(p.n_coordinates), np.full(p.n_coordinates, 0.5)]
    np.testing.assert_array_equal(p.snap(U), np.array([p.encode(p.decode(u)) for u in U]).reshape(U.shape))
    np.testing.assert_array_equal(p.snap(p.snap(U)), p.snap(U))


def test_the_first_largest_coordinate_is_decoded():
    p = Choice(["a", "b", "c"])
    assert p.decode(np.array([0.1, 0.3, 0.2])) == "b"
    assert p.decode(np.array([0.1, 0.3, 0.3])) == "b"
    assert p.decode(np.zeros(3)) == "a"


def test_many_options_share_coordinates():
    """So the cost of a proposal does not grow with their number; they are about as far apart as few options are."""
    p = Choice(range(1000))
    assert p.n_coordinates == MAX_COORDINATES
    X = np.array([p.encode(option) for option in p.options])
    assert np.all((X > 0) & (X < 1))
    assert [p.decode(x) for x in X] == list(p.options)
    distances = pdist(X)
    assert np.sqrt(np.mean(distances**2)) == pytest.approx(OPTION_DISTANCE, rel=0.01)
    assert np.min(distances) > OPTION_DISTANCE / 3
    assert len({p.decode(u) for u in np.random.default_rng(0).random((20000, MAX_COORDINATES))}) > 990


def test_more_options_keep_the_coordinates_of_the_first():
    few, many = Choice(range(20)), Choice(range(40))
    np.testing.assert_array_equal(few.encode(7), many.encode(7))


def test_ordered_options_share_one_coordinate():
    p = Choice(["small", "medium", "large"], ordered=True)
    assert [p.encode(o)[0] for o in p.options] == pytest.approx([1 / 6, 1 / 2, 5 / 6])


def test_options_are_distinguished_by_type_and_value():
    p = Choice([1, 1.0, True, "1", None, [1], (1,), math.nan])
    for k, option in enumerate(p.options):
        assert p.encode(option).tolist() == p.encode_index(k).tolist()
    assert p.check(np.int64(1), "x") is p.options[0]
    assert p.check(np.float64(1), "x") is p.options[1]
    assert p.check(np.True_, "x") is True
    assert p.check(np.str_("1"), "x") == "1"
    assert p.check(float("nan"), "x") is p.options[-1]


def test_arrays_are_options():
    p = Choice([np.array([1, 2]), np.array([1.0, 2.0]), np.zeros((2, 2))])
    for k, option in enumerate(p.options):
        assert p.encode(option.copy()).tolist() == p.encode_index(k).tolist()


def test_one_option_is_a_fixed_value():
    p = Choice([None])
    assert (p.n_coordinates, p.cardinality) == (0, 1)
    assert p.decode(p.encode(None)) is None
    assert p.derivative(None).shape == (0,)


def test_there_is_no_derivative():
    assert np.all(np.isnan(Choice([1, 2, 3]).derivative(1)))


def test_equality_considers_types():
    assert Choice([1, 2]) == Choice((1, 2)) == Choice(np.array([1, 2]))
    assert hash(Choice([1, [2]])) == hash(Choice((1, [2])))
    assert hash(Choice([1, 2])) == hash(Choice(np.array([1, 2])))
    for other in (Choice([1, 2.0]), Choice([1, True]), Choice([2, 1]), Choice([1, 2, 3]), Choice([1, 2], ordered=True)):
        assert Choice([1, 2]) != other


@pytest.mark.parametrize("p", [Choice(["a", None, 1.0]), Choice([True], ordered=True)])
def test_repr_can_be_evaluated(p):
    assert eval(repr(p), {"Choice": Choice}) == p


@pytest.mark.parametrize("options", [[1, 2, 1], ["a", "a"], [[1], [1]], [None, None], [1, np.int64(1)], [math.nan] * 2])
def test_repeated_options_are_refused(options):
    with pytest.raises(
        SpaceError, match=r"expected different options, got .* at positions 0 and .; remove one of them"
    ):
        Choice(options)


def test_an_empty_list_is_refused():
    with pytest.raises(SpaceError, match=r"expected at least one option, .* got none"):
        Choice([])


@pytest.mark.parametrize("options", ["relu", b"ab", 5, None])
def test_other_types_are_refused(options):
    with pytest.raises(TypeError, match=r"options must be a list, such as dale\.Choice.*, got"):
        Choice(options)


def test_a_set_is_refused():
    with pytest.raises(TypeError, match=r"options must be a list, got the set .* runs with the same seed would differ"):
        Choice({"a", "b"})


def test_options_as_separate_arguments_are_refused():
    with pytest.raises(TypeError, match=r"ordered must be True or False, got 'gelu'; put all options into one list"):
        Choice(["relu"], "gelu")


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("tanh", "parameter 'act' must be one of ['relu', 1, None], got 'tanh'; omit the point or add the"),
        (1.0, "must be one of ['relu', 1, None], got 1.0; options are distinguished by type: use 1"),
        (True, "distinguished by type: use 1"),
        ("None", "distinguished by type: use None"),
    ],
)
def test_values_that_are_not_options(value, words):
    with pytest.raises(SpaceError) as error:
        Choice(["relu", 1, None]).check(value, "parameter 'act'")
    assert words in str(error.value)
