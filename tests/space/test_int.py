"""Int: round trips, equal cells, the values it accepts and those it refuses."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dale import Int, SpaceError

MAX_CELLS, MAX_INT, MAX_LOG_INT = 2**50, 2**53, 2**44


def encoded(p, value):
    """Coordinates of a value; checks that they are in the cube, and that encoding and decoding are inverse."""
    u = p.encode(value)
    assert u.shape == (p.n_coordinates,)
    assert np.all((u >= 0) & (u <= 1))
    back = p.decode(u)
    assert type(back) is int
    assert back == value
    assert p.encode(p.decode(u)).tolist() == u.tolist()
    return u


@settings(deadline=None, derandomize=True, max_examples=500)
@given(low=st.integers(-MAX_INT, MAX_INT), span=st.integers(0, MAX_CELLS - 1), where=st.fractions(0, 1), data=st.data())
def test_round_trip(low, span, where, data):
    p = Int(low, min(low + span, MAX_INT), step=1)
    encoded(p, p.low + math.floor(where * (p.high - p.low)))
    encoded(p, p.high)
    u = data.draw(st.floats(0, 1))
    assert p.low <= p.decode(np.full(p.n_coordinates, u)) <= p.high


@settings(deadline=None, derandomize=True, max_examples=500)
@given(ends=st.lists(st.integers(1, MAX_LOG_INT), min_size=2, max_size=2), where=st.floats(0, 1))
def test_round_trip_on_a_log_scale(ends, where):
    p = Int(*sorted(ends), log=True)
    for value in {p.low, p.high, max(p.high - 1, p.low), p.decode(np.full(p.n_coordinates, where))}:
        encoded(p, value)


@settings(deadline=None, derandomize=True, max_examples=300)
@given(low=st.integers(-1000, 1000), n=st.integers(2, 50), step=st.integers(1, 100), rest=st.integers(0, 99))
def test_round_trip_in_steps(low, n, step, rest):
    p = Int(low, low + (n - 1) * step + rest % step, step=step)
    assert p.cardinality == n
    us = [encoded(p, low + k * step)[0] for k in range(n)]
    assert us == sorted(set(us))
    assert p.derivative(low)[0] == pytest.approx((us[1] - us[0]) / step)


def test_bounds_bit_for_bit():
    """10^5 random ranges of any size, linear and logarithmic: values stay within them, and the ends are reached."""
    rng = np.random.default_rng(0)
    sizes = rng.integers(0, 50, 100_000)
    lows = rng.integers(-(2**52), 2**52, 100_000) >> rng.integers(0, 52, 100_000)
    places = rng.random((100_000, 2))
    for low, size, us in zip(lows.tolist(), sizes.tolist(), places.tolist(), strict=True):
        high = low + 2**size - 1 + size % 2
        p = Int(low, high)
        for u in us if p.n_coordinates else ():
            assert low <= p.decode([u]) <= high
        if p.n_coordinates:
            assert p.decode([0.0]) == low
            assert p.decode([1.0]) == high
    for a, b, us in zip(*(2 ** (44 * rng.random((2, 20_000)))).astype(int).tolist(), places.tolist(), strict=False):
        p = Int(min(a, b), max(a, b), log=True)
        for u in (*us, 0.0, 1.0, 1 - 2**-53) if p.n_coordinates else ():
            assert p.low <= p.decode([u]) <= p.high


def test_all_cells_are_equal():
    p = Int(-2, 4)
    values = [p.decode(np.array([u])) for u in (np.arange(700) + 0.5) / 700]
    assert values == sorted(values)
    assert [values.count(k) for k in range(-2, 5)] == [100] * 7
    assert p.encode(-2).tolist() == [0.5 / 7]
    assert p.encode(1).tolist() == [0.5]


def test_a_log_scale_by_hand():
    """The cell of x extends from x - 1/2 to x + 1/2 on the logarithmic scale."""
    p = Int(1, 100, log=True)
    span = math.log(100.5 / 0.5)
    for x in (1, 2, 10, 99, 100):
        assert p.encode(x)[0] == pytest.approx(math.log(x / 0.5) / span, rel=1e-14)
        for edge, value in ((x - 0.499, x), (x + 0.499, x), (x + 0.501, min(x + 1, 100))):
            assert p.decode(np.array([math.log(edge / 0.5) / span])) == value
    assert p.derivative(10)[0] == pytest.approx(1 / (10 * span))


@pytest.mark.parametrize("log", [False, True])
def test_two_values(log):
    p = Int(1, 2, log=log)
    assert (p.n_coordinates, p.cardinality) == (1, 2)
    assert {p.decode(np.array([u])) for u in (0.0, 0.1)} == {1}
    assert {p.decode(np.array([u])) for u in (0.9, 1.0)} == {2}
    assert abs(encoded(p, 1)[0] - encoded(p, 2)[0]) > 0.3


@pytest.mark.parametrize("log", [False, True])
def test_snap_is_encode_of_decode(log):
    p, U = Int(3, 40, log=log), np.random.default_rng(0).random((500, 1))
    U[:2] = [[0.0], [1.0]]
    np.testing.assert_array_equal(p.snap(U), [p.encode(p.decode(u)) for u in U])
    np.testing.assert_array_equal([p.encode_index(k) for k in range(38)], [p.encode(3 + k) for k in range(38)])


@pytest.mark.parametrize("p", [Int(7, 7), Int(7, 7, log=True), Int(2**53, 2**53), Int(3, 3, step=5)])
def test_one_value_is_fixed(p):
    assert (p.n_coordinates, p.cardinality) == (0, 1)
    assert encoded(p, p.low).shape == p.derivative(p.low).shape == (0,)
    assert p.decode(np.empty(0)) == p.low
    assert p.snap(np.empty((5, 0))).shape == (5, 0)


@pytest.mark.parametrize("number", [3, 3.0, np.int64(3), np.uint8(3), np.float32(3), np.array(3), Fraction(3)])
def test_values_that_are_integers(number):
    p = Int(1, number)
    assert p == Int(1, 3)
    assert type(p.high) is int
    assert type(p.check(number, "n")) is int


@pytest.mark.parametrize("number", [True, np.True_, "3", None, 1j, [3], np.array([3])])
def test_values_must_be_numbers(number):
    with pytest.raises(TypeError, match=r"parameter 'n' must be an integer, got"):
        Int(1, 5).check(number, "parameter 'n'")
    with pytest.raises(TypeError, match=r"high must be an integer, got"):
        Int(1, number)


@pytest.mark.parametrize("number", [2.5, math.nan, math.inf, -math.inf, Fraction(5, 2), np.float32(0.1)])
def test_values_must_be_integers(number):
    with pytest.raises(SpaceError, match=r"parameter 'n' must be an integer, got .*; round it, or use dale\.Float"):
        Int(-5, 5).check(number, "parameter 'n'")
    with pytest.raises(SpaceError, match=r"low must be an integer, got"):
        Int(number, 5)


@pytest.mark.parametrize("value", [0, 11, -1, 10**400], ids=["below", "above", "negative", "huge"])
def test_values_outside(value):
    with pytest.raises(SpaceError, match=r"n must be in \[1, 10\], got .*; omit the point"):
        Int(1, 10).check(value, "n")


def test_values_between_steps():
    with pytest.raises(SpaceError, match=r"n must be one of 1, 4, \.\.\., got 6; the next lower value is 4"):
        Int(1, 10, step=3).check(6, "n")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"low": 5, "high": 1}, "expected low <= high, got [5, 1]; did you mean [1, 5]?"),
        ({"low": 0, "high": 2**53 + 1}, "high must be between -2**53 and 2**53, got 9007199254740993"),
        (
            {"low": 0, "high": 2**50},
            "expected at most 2**50 integers, got 1125899906842625 in [0, 1125899906842624]; use dale",
        ),
        ({"low": 0, "high": 5, "log": True}, "requires low >= 1, got [0, 5]; increase low or use log=False"),
        ({"low": 1, "high": 2**44 + 1, "log": True}, "requires high <= 2**44, got 17592186044417; use dale.Float"),
        ({"low": 1, "high": 9, "log": True, "step": 2}, "cannot have a step, got step=2; omit one of them"),
        ({"low": 1, "high": 9, "step": 0}, "step must be at least 1, got 0"),
        ({"low": 1, "high": 9, "step": 9}, "a step of 9 leaves only one value in [1, 9]"),
    ],
)
def test_invalid_arguments(arguments, words):
    with pytest.raises(SpaceError) as error:
        Int(**arguments)
    assert words in str(error.value)
