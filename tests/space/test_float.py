"""Float: round trips, bounds bit for bit, steps, and what it refuses."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dale import Float, SpaceError

LARGEST, LEAST = float(np.finfo(float).max), 5e-324  # the least subnormal number
PLACES = (0.0, 5e-324, 1e-300, 1e-17, 0.25, 1 / 3, 0.5, 0.7, 0.9, float(np.nextafter(1.0, 0.0)), 1.0)
RANGES = {
    "plain": (-5.0, 10.0),
    "one float apart": (1.0, float(np.nextafter(1.0, 2.0))),
    "narrow": (1.0, 1.0 + 1e-12),
    "wide": (-1e12, 1e12),
    "no float between": (0.0, LEAST),
    "subnormal": (3 * LEAST, 1000 * LEAST),
    "around zero": (-LEAST, LEAST),
    "beyond the largest float": (-LARGEST, LARGEST),
    "at the largest float": (float(np.nextafter(LARGEST, 0.0)), LARGEST),
    "far from zero": (1e15, 1e15 + 1),
}
LOG_RANGES = {
    "plain": (1e-5, 1e-1),
    "24 decades": (1e-12, 1e12),
    "all positive floats": (LEAST, LARGEST),
    "one float apart": (1.5, float(np.nextafter(1.5, 2.0))),
    "narrow": (1e6, 1e6 * (1 + 1e-12)),
    "subnormal": (3 * LEAST, 1000 * LEAST),
    "at the largest float": (LARGEST / 2, LARGEST),
}


def ulp(x):
    return math.ulp(abs(x))


def assert_within(p):
    for u in PLACES:
        x = p.decode(np.array([u]))
        assert type(x) is float
        assert p.low <= x <= p.high
    assert p.decode(np.array([0.0])) == p.low
    assert p.decode(np.array([1.0])) == p.high
    assert p.encode(p.low).tolist() == [0.0]
    assert p.encode(p.high).tolist() == [1.0]


@pytest.mark.parametrize("name", RANGES)
def test_within_bounds(name):
    assert_within(Float(*RANGES[name]))


@pytest.mark.parametrize("name", LOG_RANGES)
def test_within_bounds_on_a_log_scale(name):
    assert_within(Float(*LOG_RANGES[name], log=True))


def random_floats(rng, n):
    """Finite floats with all bit patterns equally likely: every magnitude, subnormal ones included."""
    bits = rng.integers(0, 2**64, 2 * n, dtype=np.uint64)
    values = bits.view(np.float64)
    return values[np.isfinite(values)][:n]


def test_bounds_bit_for_bit():
    """10^5 random ranges: any two floats, two floats next to each other, and narrow ranges far from zero."""
    rng = np.random.default_rng(0)
    a, b = random_floats(rng, 100_000), random_floats(rng, 100_000)
    b[25_000:50_000] = np.nextafter(a[25_000:50_000], np.inf)
    b[50_000:75_000] = 0.5 * a[50_000:75_000] * (2 - 10 ** rng.uniform(-16, 0, 25_000))
    places = np.where(
        rng.random((100_000, 3)) < 0.5, rng.random((100_000, 3)), 1 - 2.0 ** -rng.integers(30, 54, (100_000, 3))
    )
    tried = 0
    for low, high, us in zip(np.minimum(a, b).tolist(), np.maximum(a, b).tolist(), places.tolist(), strict=True):
        if not (low < high and math.isfinite(high)):
            continue
        tried += 1
        for p in (Float(low, high), Float(low, high, log=True)) if low > 0 else (Float(low, high),):
            assert p.decode([0.0]) == low
            assert p.decode([1.0]) == high
            for u in us:
                assert low <= p.decode([u]) <= high
    assert tried > 95_000


def test_coordinates_outside_of_the_cube_are_clipped():
    p = Float(-5, 10)
    assert p.decode(np.array([-1e-9])) == -5
    assert p.decode(np.array([1 + 1e-9])) == 10


@settings(deadline=None, derandomize=True, max_examples=300)
@given(
    low=st.floats(-1e300, 1e300),
    width=st.floats(1e-12, 1e300),
    u=st.floats(0, 1),
)
def test_round_trip(low, width, u):
    high = low + width
    if low >= high or not math.isfinite(high):
        return
    p = Float(low, high)
    x = p.decode(np.array([u]))
    lost = 4 * ulp(max(abs(low), abs(high))) / (high - low)  # the resolution of floats between the bounds
    assert p.encode(x)[0] == pytest.approx(u, abs=lost + 1e-15)
    assert p.decode(p.encode(x)) == pytest.approx(x, abs=4 * ulp(max(abs(low), abs(high))))


@settings(deadline=None, derandomize=True, max_examples=300)
@given(log_low=st.floats(-300, 300), decades=st.floats(-12, 2.7), u=st.floats(0, 1))
def test_round_trip_on_a_log_scale(log_low, decades, u):
    low = 10.0**log_low
    high = low * 10.0**10.0**decades if max(log_low, 0.0) + 10.0**decades < 308 else math.inf
    if low >= high or not math.isfinite(high):
        return
    p = Float(low, high, log=True)
    x = p.decode(np.array([u]))
    span = math.log1p((high - low) / low) if high < 2 * low else math.log(high) - math.log(low)
    assert p.encode(x)[0] == pytest.approx(u, abs=4 * 2.3e-16 / span + 1e-14)
    assert p.decode(p.encode(x)) == pytest.approx(x, rel=1e-12)


def test_linear_by_hand():
    p = Float(-5, 10)
    assert p.decode(np.array([0.5])) == 2.5
    assert p.encode(2.5).tolist() == [0.5]
    assert p.derivative(7.0).tolist() == [1 / 15]


def test_log_by_hand():
    p = Float(1e-4, 1e2, log=True)
    assert p.decode(np.array([0.5])) == pytest.approx(0.1, rel=1e-14)
    assert p.encode(1e-3)[0] == pytest.approx(1 / 6, rel=1e-14)
    assert p.derivative(0.1)[0] == pytest.approx(1 / (0.1 * math.log(1e6)), rel=1e-14)


@pytest.mark.parametrize("log", [False, True])
def test_monotone(log):
    for low, high in (LOG_RANGES if log else RANGES).values():
        p = Float(low, high, log=log)
        values = [p.decode(np.array([u])) for u in np.linspace(0, 1, 501)]
        assert values == sorted(values)


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("x", [0.2, 1.0, 3.0, 4.5])
def test_derivative_against_central_differences(log, x):
    p = Float(0.1, 5.0, log=log)
    h = 1e-6 * x
    expected = (p.encode(x + h)[0] - p.encode(x - h)[0]) / (2 * h)
    assert p.derivative(x)[0] == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("log", [False, True])
def test_derivative_in_any_range(log):
    """If there is no float between the bounds, the derivative is the slope between them."""
    for low, high in (LOG_RANGES if log else RANGES).values():
        slope = Float(low, high, log=log).derivative(high)[0]
        assert slope > 0
        if high < 1.001 * low and high - low > 1e-300:
            assert slope == pytest.approx(1 / (high - low), rel=1e-3)


@pytest.mark.parametrize("number", [1, np.int64(1), np.float32(1), np.float64(1), Fraction(1)])
def test_any_real_number_is_a_bound(number):
    p = Float(0, number)
    assert p == Float(0.0, 1.0)
    assert type(p.high) is float


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (1.0, 0.0, ["expected low <= high, got [1.0, 0.0]", "did you mean [0.0, 1.0]?"]),
        (math.nan, 1.0, ["low must be finite", "nan"]),
        (0.0, math.nan, ["high must be finite", "nan"]),
        (-math.inf, 1.0, ["low must be finite", "-inf", "widest range"]),
        (0.0, math.inf, ["high must be finite", "inf"]),
        (0, 10**400, ["high must be finite"]),
        (-(10**400), 0, ["low must be finite"]),
    ],
)
def test_invalid_bounds(low, high, words):
    with pytest.raises(SpaceError) as error:
        Float(low, high)
    for word in words:
        assert word in str(error.value)


@pytest.mark.parametrize("bound", ["1", None, 1j, True, np.True_, [1.0], np.array([1.0]), object])
@pytest.mark.parametrize("side", ["low", "high"])
def test_bounds_must_be_numbers(bound, side):
    with pytest.raises(TypeError, match=rf"{side} must be a number, got"):
        Float(**({"low": 0.0, "high": 2.0} | {side: bound}))


@pytest.mark.parametrize("low", [0.0, -1.0, -0.0])
def test_a_log_scale_needs_positive_bounds(low):
    with pytest.raises(SpaceError, match=r"requires low > 0, got \[.*, 10.0\]; increase low or use log=False"):
        Float(low, 10, log=True)


def test_values_are_checked():
    p = Float(-5, 10)
    assert p.check(np.array(3), "x") == 3.0
    for value in (-5, 10, np.float32(1.5), Fraction(1, 3)):
        assert type(p.check(value, "x")) is float


@pytest.mark.parametrize("value", [-5.0000001, 10.1, math.nan, math.inf, 10**400, -(10**400)])
def test_values_outside_are_refused(value):
    with pytest.raises(SpaceError, match=r"coordinate 3 must be in \[-5.0, 10.0\], got .*; omit the point"):
        Float(-5, 10).check(value, "coordinate 3")


@pytest.mark.parametrize("value", ["1", None, 1j, True, [1.0], np.array([1.0]), {}])
def test_values_must_be_numbers(value):
    with pytest.raises(TypeError, match="coordinate 3 must be a number, got"):
        Float(-5, 10).check(value, "coordinate 3")


class TestSteps:
    def test_values_are_exact_decimals(self):
        p = Float(0, 1, step=0.1)
        assert [p.decode(p.encode_index(k)) for k in range(p.cardinality)] == [k / 10 for k in range(11)]
        assert [p.decode(u) for u in p.snap(np.linspace(0, 1, 12)[:-1, None] + 1e-9)] == [k / 10 for k in range(11)]
        p = Float(-0.3, 0.3, step=0.15)
        assert [p.decode(p.encode_index(k)) for k in range(p.cardinality)] == [-0.3, -0.15, 0.0, 0.15, 0.3]

    def test_the_last_value_is_not_above_the_bound(self):
        p = Float(0, 1, step=0.3)
        assert [p.decode(np.array([u])) for u in (0.0, 0.3, 0.6, 1.0)] == [0.0, 0.3, 0.6, 0.9]

    @settings(deadline=None, derandomize=True, max_examples=300)
    @given(
        low=st.decimals(-1000, 1000, places=3),
        step=st.decimals("0.001", 100, places=3),
        n=st.integers(2, 10_000),
        where=st.floats(0, 1),
    )
    def test_round_trip(self, low, step, n, where):
        high = float(low + (n - 1) * step)
        p = Float(float(low), high, step=float(step))
        assert p.cardinality == n
        k = round(where * (n - 1))
        for number in (0, 1, k, n - 1):
            x = p.decode(p.encode_index(number))
            assert x == float(low + number * step)
            assert p.check(x, "x") == x
            assert p.encode(x).tolist() == p.encode_index(number).tolist()
            assert p.check(float(low) + number * float(step), "x") == x if number < n - 1 else True
        x = p.decode(np.array([where]))
        assert p.low <= x <= p.high
        assert p.decode(p.encode(x)) == x

    @settings(deadline=None, derandomize=True, max_examples=300)
    @given(
        ends=st.lists(st.floats(-1e300, 1e300), min_size=2, max_size=2, unique=True),
        n=st.floats(1, 1e12),
        u=st.floats(0, 1),
    )
    def test_any_range(self, ends, n, u):
        low, high = sorted(ends)
        try:
            p = Float(low, high, step=(high - low) / n)
        except SpaceError:
            return
        x = p.decode(np.array([u]))
        assert low <= x <= high
        assert p.decode(p.encode(x)) == x
        assert p.check(x, "x") == x

    def test_snap_and_derivative(self):
        p, U = Float(-5, 10, step=0.5), np.random.default_rng(0).random((300, 1))
        np.testing.assert_array_equal(p.snap(U), [p.encode(p.decode(u)) for u in U])
        assert p.derivative(1.0)[0] == pytest.approx((p.encode(1.5)[0] - p.encode(1.0)[0]) / 0.5)
        assert not p.continuous

    def test_values_between_steps_are_refused(self):
        p = Float(0, 1, step=0.1)
        assert p.check(0.1 + 0.2, "x") == 0.3
        with pytest.raises(
            SpaceError, match=r"x must be one of 0.0, 0.1, ... in steps of 0.1, got 0.26; the nearest value is 0.3"
        ):
            p.check(0.26, "x")
        with pytest.raises(SpaceError, match="x must be in"):
            p.check(1.1, "x")

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            ({"step": 0}, "step must be positive and finite, got 0.0"),
            ({"step": -0.1}, "step must be positive and finite, got -0.1"),
            ({"step": math.nan}, "step must be positive and finite, got nan"),
            ({"step": math.inf}, "step must be positive and finite, got inf"),
            (
                {"step": 2},
                "a step of 2.0 leaves only one value in [0.5, 1.0]; use a smaller step, or fix the parameter",
            ),
            ({"step": 1e-17}, "a step of 1e-17 is too small for floats in [0.5, 1.0]; omit it"),
            ({"step": 0.1, "log": True}, "a logarithmic parameter cannot have a step, got step=0.1; omit one of them"),
        ],
    )
    def test_invalid_steps(self, arguments, words):
        with pytest.raises(SpaceError) as error:
            Float(0.5, 1, **arguments)
        assert words in str(error.value)

    @pytest.mark.parametrize("step", ["0.1", True, [0.1], 1j])
    def test_steps_must_be_numbers(self, step):
        with pytest.raises(TypeError, match="step must be a number or None, got"):
            Float(0, 1, step=step)


@pytest.mark.parametrize("p", [Float(2, 2), Float(2, 2, log=True), Float(2, 2, step=0.1), Float(-0.0, 0.0)])
def test_equal_bounds_fix_the_value(p):
    assert (p.n_coordinates, p.cardinality) == (0, 1)
    assert p.decode(p.encode(p.low)) == p.decode(np.empty(0)) == p.low
    assert p.derivative(p.low).shape == p.encode_index(0).shape == (0,)
    assert p.snap(np.empty((3, 0))).shape == (3, 0)
    with pytest.raises(SpaceError, match="x must be in"):
        p.check(2.5, "x")


def test_snap_is_encode_of_decode_bit_for_bit():
    U = np.random.default_rng(0).random((200, 1))
    U[:4] = [[0.0], [1.0], [5e-324], [np.nextafter(1.0, 0.0)]]
    for log, ranges in ((False, RANGES), (True, LOG_RANGES)):
        for low, high in ranges.values():
            p = Float(low, high, log=log)
            np.testing.assert_array_equal(p.snap(U), [p.encode(p.decode(u)) for u in U])
