"""Space: conversion between the user's units and the cube, all ways to describe a space, and error messages."""

import math
from typing import ClassVar

import numpy as np
import pytest
from scipy.optimize import Bounds

from dale import Choice, Float, Int, Space, SpaceError
from dale.space.space import as_space

PAIRS = [(-5.0, 10.0), (0.0, 15.0)]
MIXED = Space(
    rate=Float(1e-5, 1e-1, log=True),
    depth=Int(1, 12),
    act=Choice(["relu", "gelu", None]),
    drop=Float(0, 0.5, step=0.1),
    width=Int(16, 1024, log=True),
    size=Choice(["s", "m", "l"], ordered=True),
    bias=Choice([True, False]),
    version=Choice(["v2"]),
    shift=Float(3.0, 3.0),
)


class TestWithoutNames:
    def test_round_trip(self):
        space = as_space(PAIRS)
        assert (space.dimension, space.named, space.names) == (2, False, ("x0", "x1"))
        point = space.encode([-5, 7.5])
        assert point.tolist() == [0.0, 0.5]
        assert space.decode(point).tolist() == [-5.0, 7.5]
        assert space.as_array(space.decode(point)).tolist() == [-5.0, 7.5]

    def test_random_round_trips(self):
        space, rng = as_space([(-1, 1), (1e-12, 1e12), (1e12, 1e12 + 1)]), np.random.default_rng(0)
        for u in rng.random((200, 3)):
            np.testing.assert_allclose(space.encode(space.decode(u)), u, atol=1e-3)  # the last has 8192 floats
            np.testing.assert_allclose(space.encode(space.decode(u))[:2], u[:2], rtol=1e-12, atol=1e-15)

    def test_arrays_are_frozen_copies(self):
        space = as_space(PAIRS)
        for array in (space.encode([0, 0]), space.decode(np.array([0.5, 0.5])), space.snap(np.array([0.5, 0.5]))):
            assert array.dtype == np.float64
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 1.0

    @pytest.mark.parametrize("x", [(1, 2), [1, 2], np.array([1, 2]), np.array([1.0, 2.0], dtype=np.float32)])
    def test_any_sequence_is_a_point(self, x):
        np.testing.assert_array_equal(as_space(PAIRS).encode(x), as_space(PAIRS).encode([1.0, 2.0]))

    @pytest.mark.parametrize("x", [[1], [1, 2, 3], [], [[1, 2]], np.zeros((1, 2)), [[1], [2]], [1, [2, [3]]]])
    def test_wrong_shapes_are_refused(self, x):
        with pytest.raises(SpaceError, match="expected 2 numbers, one for each pair of bounds, got"):
            as_space(PAIRS).encode(x)

    @pytest.mark.parametrize("x", [{"x0": 1, "x1": 2}, "12"])
    def test_names_are_refused(self, x):
        with pytest.raises(TypeError, match="this space has no names: expected a sequence of 2 numbers, got"):
            as_space(PAIRS).encode(x)

    @pytest.mark.parametrize("x", [1.0, None, np.array(1.0)])
    def test_a_point_must_be_a_sequence(self, x):
        with pytest.raises(TypeError, match="expected a sequence of 2 numbers, got"):
            as_space(PAIRS).encode(x)

    def test_values_outside_are_refused_by_number(self):
        with pytest.raises(SpaceError, match=r"coordinate 1 must be in \[0.0, 15.0\], got 15.5"):
            as_space(PAIRS).encode([0, 15.5])


class TestWithNames:
    def test_round_trip(self):
        space = Space(lr=Float(1e-5, 1e-1, log=True), width=(0, 8))
        assert (space.dimension, space.named, space.names) == (2, True, ("lr", "width"))
        point = space.encode({"width": 2, "lr": 1e-3})
        assert point == pytest.approx([0.5, 0.25])
        assert space.decode(point) == {"lr": pytest.approx(1e-3), "width": pytest.approx(2.0)}
        assert space.as_array(space.decode(point)) == pytest.approx([1e-3, 2.0])

    def test_another_order_is_the_same_cube(self):
        a, b, c = Float(0, 1), Float(1, 100, log=True), Float(-5, 5)
        one, other = Space(a=a, b=b, c=c), Space(c=c, a=a, b=b)
        params = {"b": 7.0, "c": 1.0, "a": 0.3}
        np.testing.assert_array_equal(one.encode(params), other.encode(params))
        u = np.array([0.2, 0.5, 0.9])
        assert one.decode(u) == other.decode(u)
        assert list(other.decode(u)) == ["c", "a", "b"]  # points keep the order in which the user wrote them
        assert other.as_array(other.decode(u)).tolist() == [other.decode(u)[n] for n in "cab"]

    def test_equal_spaces_have_equal_hashes(self):
        one, other = Space(a=(0, 1), b=(0, 2)), Space(b=(0, 2), a=(0, 1))
        assert one == other
        assert hash(one) == hash(other)
        assert one != Space(a=(0, 1), b=(0, 3))
        assert Space(x0=(0, 1)) != as_space([(0, 1)])
        assert as_space([(0, 1)]) == as_space(Bounds([0], [1]))
        assert hash(as_space([(0, 1)])) == hash(as_space(Bounds([0], [1])))

    def test_names_that_are_not_identifiers(self):
        name = "'; DROP TABLE trials;--"
        space = Space({name: (0, 1), "learning rate": (0, 1), "": (0, 1)})
        assert space.encode({name: 0.5, "learning rate": 0.25, "": 1.0}).tolist() == [1.0, 0.5, 0.25]
        assert list(space.decode(np.zeros(3))) == [name, "learning rate", ""]

    @pytest.mark.parametrize(
        ("params", "words"),
        [
            ({"a": 0.5}, ["missing parameter 'b'", "the space has 'a', 'b'"]),
            ({"a": 0.5, "b": 0.5, "c": 1}, ["unknown parameter 'c'", "the space has 'a', 'b'"]),
            ({"a": 0.5, "B": 0.5}, ["unknown parameter 'B'", "missing parameter 'b'"]),
            ({}, ["missing parameter 'a', 'b'"]),
            ({"a": 0.5, "b": 0.5, 3: 1}, ["unknown parameter '3'"]),
            ({"a": 0.5, "b": 2.0}, ["parameter 'b' must be in [0.0, 1.0], got 2.0"]),
        ],
    )
    def test_wrong_names_and_values(self, params, words):
        with pytest.raises(SpaceError) as error:
            Space(a=(0, 1), b=(0, 1)).encode(params)
        for word in words:
            assert word in str(error.value)

    @pytest.mark.parametrize("params", [[0.5, 0.5], 0.5, None, "ab"])
    def test_a_point_must_be_a_mapping(self, params):
        with pytest.raises(TypeError, match="this space has names: expected a mapping with 'a', 'b', got"):
            Space(a=(0, 1), b=(0, 1)).encode(params)

    def test_values_must_be_numbers(self):
        with pytest.raises(TypeError, match=r"parameter 'a' must be a number, got '0\.5'"):
            Space(a=(0, 1)).encode({"a": "0.5"})


class TestDescriptions:
    @pytest.mark.parametrize(
        "written",
        [
            PAIRS,
            tuple(PAIRS),
            [list(p) for p in PAIRS],
            np.array(PAIRS),
            [Float(-5, 10), (0, 15)],
            Bounds([-5, 0], [10, 15]),
            Bounds(np.array([-5, 0]), np.array([10, 15])),
        ],
    )
    def test_the_same_space(self, written):
        assert as_space(written) == Space.from_pairs(PAIRS)

    def test_scalar_bounds_are_broadcast(self):
        assert as_space(Bounds(0, [1, 2, 3])) == as_space([(0, 1), (0, 2), (0, 3)])
        assert as_space(Bounds([-3, -2], 1)) == as_space([(-3, 1), (-2, 1)])
        assert as_space(Bounds(0, 1)) == as_space([(0, 1)])

    def test_a_space_is_returned_unchanged(self):
        space = Space(a=(0, 1))
        assert as_space(space) is space
        assert as_space({"a": (0, 1)}) == space

    @pytest.mark.parametrize("nothing", [[], (), {}, np.empty((0, 2)), Bounds([], [])])
    def test_empty(self, nothing):
        with pytest.raises(SpaceError, match=r"expected at least one parameter, such as"):
            as_space(nothing)
        with pytest.raises(SpaceError, match="expected at least one parameter"):
            Space()

    @pytest.mark.parametrize("written", [5, None, "abc", b"ab", {(0, 1)}, lambda x: x, np.array(5.0), iter(PAIRS)])
    def test_other_types_are_refused(self, written):
        with pytest.raises(TypeError, match=r"sequence of \(low, high\) pairs, .*got"):
            as_space(written)

    @pytest.mark.parametrize("pair", [5, None, "01", b"01", 0.5, np.array(0.5), Float, {0, 1}])
    def test_bounds_must_be_pairs(self, pair):
        with pytest.raises(TypeError, match=r"bounds 1: expected a pair \(low, high\) or a parameter such as .*got"):
            as_space([(0, 1), pair])

    @pytest.mark.parametrize("pair", [(), (1,), (1, 2, 3), [[0, 1], [2, 3]], ([1, [2, 3]], 4), np.zeros((2, 2))])
    def test_wrong_shapes_are_refused(self, pair):
        with pytest.raises(SpaceError, match=r"bounds 1: expected a pair \(low, high\), got"):
            as_space([(0, 1), pair])

    @pytest.mark.parametrize("array", [np.zeros(3), np.zeros((2, 3)), np.zeros((1, 2, 2))])
    def test_wrong_arrays_are_refused(self, array):
        with pytest.raises((SpaceError, TypeError), match="bounds 0: expected a pair"):
            as_space(array)

    @pytest.mark.parametrize(
        ("pair", "word"),
        [
            ((1, 0), "expected low <= high"),
            ((0, math.nan), "finite"),
            ((-math.inf, 0), "finite"),
            ((0, 10**400), "finite"),
        ],
    )
    def test_invalid_bounds_are_refused_by_name(self, pair, word):
        with pytest.raises(SpaceError, match=rf"bounds 1: .*{word}"):
            as_space([(0, 1), pair])
        with pytest.raises(SpaceError, match=rf"parameter 'width': .*{word}"):
            Space(width=pair)

    def test_infinite_scipy_bounds_are_refused(self):
        with pytest.raises(SpaceError, match=r"bounds 1: low must be finite, got -inf; give the widest range"):
            as_space(Bounds([0, -np.inf], [1, np.inf]))
        with pytest.raises(SpaceError, match="must be finite"):
            as_space(Bounds())

    def test_bounds_of_two_shapes_are_refused(self):
        bounds = Bounds([0, 0], [1, 1])
        bounds.ub = np.ones(3)
        with pytest.raises(SpaceError, match=r"same shape, got \(2,\) and \(3,\)"):
            as_space(bounds)

    def test_names_must_be_strings(self):
        with pytest.raises(TypeError, match="name of a parameter must be a string, got 3"):
            as_space({3: (0, 1)})

    @pytest.mark.parametrize("parameters", [(0, 1), [(0, 1), (0, 1)]])
    def test_bounds_without_names_are_refused(self, parameters):
        with pytest.raises(TypeError, match=r"parameters by name.*Space\.from_pairs.*got [\[(]"):
            Space(parameters)

    def test_bounds_must_be_numbers(self):
        with pytest.raises(TypeError, match="parameter 'a': high must be a number, got '1'"):
            Space(a=(0, "1"))

    def test_repr_can_be_evaluated(self):
        for space in (Space(a=(0, 1), b=Float(1, 10, log=True)), as_space(PAIRS), MIXED, as_space([Int(1, 2), (0, 1)])):
            assert eval(repr(space), {"Space": Space, "Float": Float, "Int": Int, "Choice": Choice}) == space

    @pytest.mark.parametrize(
        "written", [["relu", "gelu"], ["relu", "gelu", "tanh"], {"relu", "gelu"}, "relu", [None, 1]]
    )
    def test_options_without_choice_are_refused(self, written):
        with pytest.raises((SpaceError, TypeError), match=r"parameter 'act': .*got .*dale\.Choice\(\[\.\.\.\]\)"):
            Space(act=written)

    @pytest.mark.parametrize("written", [[(1, 1)], {"a": (2, 2), "b": Choice(["x"])}, [Int(3, 3), Float(0, 0)]])
    def test_all_parameters_fixed(self, written):
        with pytest.raises(SpaceError, match=r"all parameters are fixed, .*; expected at least one"):
            as_space(written)


class TestSnap:
    def test_is_the_point_the_objective_sees(self):
        space = as_space([(1.0, float(np.nextafter(1.0, 2.0))), (0.0, 1.0)])
        assert space.snap(np.array([0.3, 0.3])).tolist() == [0.0, 0.3]
        assert space.snap(np.array([0.7, 0.3])).tolist() == [1.0, 0.3]

    def test_stays_in_the_cube(self):
        space, rng = as_space([(-1e12, 1e12), (1, 1 + 1e-15), (1e-300, 1e300)]), np.random.default_rng(0)
        for u in rng.random((100, 3)):
            snapped = space.snap(u)
            assert np.all((snapped >= 0) & (snapped <= 1))
            np.testing.assert_allclose(space.snap(snapped), snapped, atol=1e-15)


class TestMixed:
    """Numbers, steps, options and fixed values together; the cube has them in alphabetical order."""

    POINT: ClassVar = {
        "rate": 1e-3, "depth": 7, "act": None, "drop": 0.3, "width": 64, "size": "m", "bias": False, "version": "v2",
        "shift": 3.0,
    }  # fmt: skip

    def test_coordinates(self):
        assert MIXED.dimension == 3 + 1 + 1 + 1 + 1 + 1 + 1
        assert MIXED.continuous.tolist() == [False] * 6 + [True] + [False] * 2
        assert MIXED.ordered.tolist() == [False] * 4 + [True] * 5
        for mask in (MIXED.continuous, MIXED.ordered):
            with pytest.raises(ValueError, match="read-only"):
                mask[0] = True

    def test_round_trip(self):
        decoded = MIXED.decode(MIXED.encode(self.POINT))
        assert decoded == {**self.POINT, "rate": pytest.approx(1e-3)}
        assert list(decoded) == list(MIXED.parameters)
        assert [type(v) for v in decoded.values()] == [type(v) for v in self.POINT.values()]
        rng = np.random.default_rng(0)
        for u in rng.random((100, MIXED.dimension)):
            snapped = MIXED.snap(u)
            np.testing.assert_allclose(MIXED.snap(snapped), snapped, atol=1e-15)
            assert MIXED.check(MIXED.decode(u)) == MIXED.decode(u)

    def test_snap_all_is_snap(self):
        U = np.random.default_rng(1).random((300, MIXED.dimension))
        np.testing.assert_array_equal(MIXED.snap_all(U), [MIXED.snap(u) for u in U])
        other = as_space([(-1e12, 1e12), (-1.7e308, 1.7e308), Float(1e-300, 1e300, log=True), Int(-3, 3), (0, 5e-324)])
        U = np.random.default_rng(2).random((300, 5))
        np.testing.assert_array_equal(other.snap_all(U), [other.snap(u) for u in U])
        assert MIXED.snap_all(np.empty((0, MIXED.dimension))).shape == (0, MIXED.dimension)

    def test_options_make_an_array_of_objects(self):
        x = MIXED.as_array(MIXED.check(self.POINT))
        assert x.dtype == object
        assert x.tolist() == list(self.POINT.values())

    def test_without_names(self):
        space = as_space([(0, 1), Int(1, 5), Choice([1, 2.0, True, [3, 4], [5, 6]])])
        for option in (1, 2.0, True, [3, 4]):
            x = space.check([0.5, 3, option])
            assert x.dtype == object
            assert x.tolist() == [0.5, 3, option]
            assert space.decode(space.encode(x)).tolist() == x.tolist()
        with pytest.raises(SpaceError, match="expected 3 values, one for each"):
            space.check([0.5, 3])
        numbers = as_space([(0, 1), Int(1, 5)])
        assert numbers.check([0.5, 3]).dtype == np.float64
        assert numbers.check(numbers.check([0.5, 3])).tolist() == [0.5, 3.0]

    @pytest.mark.parametrize(
        ("space", "n"),
        [
            (MIXED, None),
            (as_space(PAIRS), None),
            (Space(a=Int(1, 4), b=Choice(["x", "y", "z"]), c=Float(0, 1, step=0.5), d=(2, 2)), 36),
            (as_space([Int(0, 1)]), 2),
            (as_space([Int(1, 2**40, log=True)] * 9), 2**360),
        ],
    )
    def test_cardinality(self, space, n):
        assert space.cardinality == n

    def test_points_of_a_finite_space(self):
        space = Space(
            b=Int(1, 4, log=True), a=Choice(["x", "y", "z"]), c=Float(0, 1, step=0.5), d=(2, 2), e=Int(0, 9, step=9)
        )
        points = [space.encode_index(k) for k in range(space.cardinality)]
        assert len({p.tobytes() for p in points}) == space.cardinality == 72
        for p in points:
            np.testing.assert_array_equal(space.snap(p), p)
        for k in (-1, 72):
            with pytest.raises(IndexError, match=f"index of one of 72 points, got {k}"):
                space.encode_index(k)
        with pytest.raises(IndexError):
            MIXED.encode_index(0)

    def test_another_order_is_the_same_cube(self):
        other = Space(dict(reversed(MIXED.parameters.items())))
        assert other == MIXED
        assert hash(other) == hash(MIXED)
        assert other.encode(self.POINT).tolist() == MIXED.encode(self.POINT).tolist()
        np.testing.assert_array_equal(other.continuous, MIXED.continuous)


class TestHessian:
    """From the cube to the user's units, at a point where the gradient is zero."""

    def numeric(self, f, x, steps):
        E = np.diag(steps)
        return np.array(
            [
                [(f(x + a + b) - f(x + a - b) - f(x - a + b) + f(x - a - b)) / (4 * h * k) for b, k in zip(E, steps)]  # noqa: B905
                for a, h in zip(E, steps)  # noqa: B905
            ]
        )

    def test_linear_and_log(self):
        lr, width = 3e-3, 4.0
        C = np.array([[2.0, 0.7], [0.7, 1.0]])

        def objective(x):
            t = np.array([np.log(x[0] / lr), (x[1] - width) / 3])
            return t @ C @ t + t[1] ** 3

        space = Space(width=(0, 10), lr=Float(1e-5, 1e-1, log=True))  # the cube has lr first, the user width
        params = {"width": width, "lr": lr}
        u = np.array(space.encode(params))

        def in_cube(v):
            p = space.decode(v)
            return objective([p["lr"], p["width"]])

        cube_hessian = self.numeric(in_cube, u, [1e-4, 1e-4])
        expected = self.numeric(lambda x: objective(x[::-1]), np.array([width, lr]), [1e-4, 1e-4 * lr])
        np.testing.assert_allclose(space.hessian(params, cube_hessian), expected, rtol=1e-4)

    def test_without_names(self):
        space = as_space([(-5, 10), (0, 1e-3)])
        H = np.array([[2.0, 1.0], [1.0, 3.0]])
        hessian = space.hessian(np.array([1.0, 5e-4]), H)
        np.testing.assert_allclose(hessian, [[2 / 15**2, 1 / (15 * 1e-3)], [1 / (15 * 1e-3), 3 / 1e-6]])

    def test_integers_steps_and_fixed_values(self):
        """One row for each parameter in the user's order; the Hessian of a quadratic is recovered from the cube."""
        space = Space(n=Int(0, 9), fixed=(2, 2), s=Float(0, 3, step=0.5), a=Choice([5, 6, 7], ordered=True))
        n, s = 1 / 10, 1 / (7 * 0.5)
        H = np.array([[4.0, 1.0, 0.5], [1.0, 2.0, 0.3], [0.5, 0.3, 3.0]])  # the cube has a, n, s
        hessian = space.hessian({"n": 3, "fixed": 2.0, "s": 1.5, "a": 6}, H)
        assert hessian.shape == (4, 4)
        nan = [1, 3]
        assert np.all(np.isnan(hessian[nan])) & np.all(np.isnan(hessian[:, nan]))
        np.testing.assert_allclose(hessian[np.ix_([0, 2], [0, 2])], [[2 * n**2, 0.3 * n * s], [0.3 * n * s, 3 * s**2]])
