"""Conditional parameters: which are active, inactive ones have no effect, and errors for invalid conditions."""

import copy
import itertools
import pickle

import numpy as np
import pytest

from dale import Choice, Float, Int, Space, SpaceError
from dale.space.conditions import INACTIVE
from dale.space.parameter import Conditional

SVM = Space(
    kernel=Choice(["linear", "rbf", "poly"]),
    C=Float(1e-3, 1e3, log=True),
    gamma=Float(1e-4, 10.0, log=True).when(kernel=["rbf", "poly"]),
    degree=Int(2, 6).when(kernel="poly"),
    even=Choice([False, True]).when(degree=[2, 4, 6]),
    shift=Float(0, 1).when(degree=[4, 5], even=True),
)
ACTIVE = [
    ({"kernel": "linear", "C": 1.0}, ()),
    ({"kernel": "rbf", "C": 1.0, "gamma": 0.1}, ("gamma",)),
    ({"kernel": "poly", "C": 1.0, "gamma": 0.1, "degree": 3}, ("gamma", "degree")),
    ({"kernel": "poly", "C": 1.0, "gamma": 0.1, "degree": 2, "even": True}, ("gamma", "degree", "even")),
    (
        {"kernel": "poly", "C": 1.0, "gamma": 0.1, "degree": 4, "even": True, "shift": 0.2},
        ("gamma", "degree", "even", "shift"),
    ),
]
FINITE = Space(
    a=Choice(["x", "y", "z"]),
    b=Int(1, 4).when(a=["x", "y"]),
    c=Float(0, 1, step=0.25).when(a="y", b=[2, 3]),
    d=Choice([True, False]),
    e=Int(0, 2).when(d=True),
    f=Choice(["p", "q", None]).when(c=[0.5, 0.75]),
)


def brute_force(space):
    """All different points of a finite space: every combination of values, without the inactive ones."""
    values = {n: [p.decode(p.encode_index(k)) for k in range(p.cardinality)] for n, p in space.parameters.items()}
    points = set()
    for combination in itertools.product(*values.values()):
        params = dict(zip(values, combination, strict=True))
        for name, required in space.conditions.items():  # parents first
            if any(params.get(parent, KeyError) not in permitted.options for parent, permitted in required.items()):
                params.pop(name)
        points.add(tuple(sorted((k, repr(v)) for k, v in params.items())))
    return points


def random_points(space, n, seed=0):
    return np.random.default_rng(seed).random((n, space.dimension))


class TestPoints:
    @pytest.mark.parametrize(("params", "active"), ACTIVE)
    def test_which_are_active(self, params, active):
        assert dict(SVM.check(params)) == params
        point = SVM.encode(params)
        assert dict(SVM.decode(point)) == pytest.approx(params)
        assert list(SVM.decode(point)) == [n for n in SVM.names if n in params]
        names = np.repeat(list(SVM._columns), [SVM.parameters[n].n_coordinates for n in SVM._columns])
        on = SVM.active(point[None, :])[0]
        assert set(names[on]) == {"kernel", "C", *active}
        assert np.all(point[~on] == INACTIVE)

    @pytest.mark.parametrize("space", [SVM, FINITE])
    def test_inactive_coordinates_have_no_effect(self, space):
        """Points that differ in inactive coordinates decode to the same values, and snap to the same point."""
        U = random_points(space, 400)
        on = space.active(space.snap_all(U))
        assert not on.all()
        moved = np.where(on, U, random_points(space, 400, seed=1))
        assert space.snap_all(moved).tolist() == space.snap_all(U).tolist()
        assert [dict(space.decode(u)) for u in moved] == [dict(space.decode(u)) for u in U]

    @pytest.mark.parametrize("space", [SVM, FINITE])
    def test_snap_all_is_snap_and_idempotent(self, space):
        U = random_points(space, 400)
        S = space.snap_all(U)
        assert S.tolist() == [space.snap(u).tolist() for u in U]
        assert space.snap_all(S).tolist() == S.tolist() == [space.snap(s).tolist() for s in S]
        assert np.array_equal(space.active(S), space.active(space.snap_all(S)))

    def test_as_array(self):
        """Inactive parameters are None, or NaN in a numeric space."""
        assert SVM.as_array(SVM.check(ACTIVE[1][0])).tolist() == ["rbf", 1.0, 0.1, None, None, None]
        numbers = Space(layers=Int(1, 3), wide=(0, 1), deep=Float(0, 1).when(layers=[2, 3]))
        np.testing.assert_array_equal(numbers.as_array({"layers": 1, "wide": 0.5}), [1.0, 0.5, np.nan])

    def test_parents_are_not_ordered(self):
        """A local step along a parent could change which parameters are active."""
        space = Space(layers=Int(1, 3), size=Int(1, 9), more=Int(1, 9).when(layers=[2, 3]))
        assert dict(zip(space._columns, space.ordered, strict=True)) == {"layers": False, "more": True, "size": True}

    def test_a_fixed_parent(self):
        space = Space(kernel=Choice(["rbf"]), gamma=Float(0, 1).when(kernel="rbf"))
        assert space.active(np.array([[0.3]])).tolist() == [[True]]
        assert dict(space.decode(np.array([0.25]))) == {"kernel": "rbf", "gamma": 0.25}


class TestFinite:
    def test_different_points_are_counted(self):
        points = [FINITE.encode_index(k) for k in range(FINITE.cardinality)]
        described = [tuple(sorted((k, repr(v)) for k, v in FINITE.decode(p).items())) for p in points]
        assert len(set(described)) == FINITE.cardinality
        assert set(described) == brute_force(FINITE)
        assert [p.tolist() for p in points] == FINITE.snap_all(np.array(points)).tolist()

    def test_many_independent_conditions_are_counted_at_once(self):
        parts = {f"on{i}": Choice([False, True]) for i in range(40)}
        parts |= {f"level{i}": Int(1, 5).when({f"on{i}": True}) for i in range(40)}
        assert Space(parts).cardinality == 6**40

    def test_a_parent_of_very_many_values(self):
        """Values that no condition names form one branch; they are not listed."""
        space = Space(n=Int(1, 10**12), log=Int(1, 10**9, log=True), extra=Int(0, 1).when(n=[5, 10**11], log=3))
        assert space.cardinality == 10**21 + 2
        for k in (0, 10**20, 10**21 + 1):
            point = space.encode_index(k)
            assert space.encode(space.decode(point)).tolist() == point.tolist()

    def test_one_continuous_parameter_makes_it_infinite(self):
        assert SVM.cardinality is None


class TestDeclarations:
    def test_repr_can_be_evaluated(self):
        assert eval(repr(SVM)) == SVM
        assert eval(repr(SVM), {"Space": Space, "Float": Float, "Int": Int, "Choice": Choice}).conditions.keys() == (
            SVM.conditions.keys()
        )

    def test_conditions_can_be_chained(self):
        assert Int(1, 3).when(a=1).when(b=[2, 3]) == Int(1, 3).when(b=[2, 3], a=1)
        assert isinstance(Float(0, 1).when({"my kernel": "rbf"}), Conditional)

    def test_spaces_are_compared_with_their_conditions(self):
        plain = Space(a=Choice([1, 2]), b=(0, 1))
        one, other = (Space(a=Choice([1, 2]), b=Float(0, 1).when(a=k)) for k in (1, 2))
        assert len({plain, one, other, Space(a=Choice([1, 2]), b=Float(0, 1).when(a=[1]))}) == 3

    def test_copies(self):
        assert pickle.loads(pickle.dumps(SVM)) == copy.deepcopy(SVM) == SVM

    def test_another_order_is_the_same_cube(self):
        written = {n: SVM.declared(n) for n in reversed(SVM.names)}
        for params, _ in ACTIVE:
            assert Space(written).encode(params).tolist() == SVM.encode(params).tolist()

    def test_a_tuple_is_one_value(self):
        space = Space(layers=Choice([(64,), (64, 32)]), rate=Float(0, 1).when(layers=(64, 32)))
        assert space.conditions["rate"]["layers"].options == ((64, 32),)

    def test_values_are_converted_to_the_type_of_the_parent(self):
        space = Space(n=Float(0, 2, step=1), rate=Float(0, 1).when(n=1))
        assert dict(space.check({"n": 1, "rate": 0.5})) == {"n": 1.0, "rate": 0.5}


class TestErrors:
    @pytest.mark.parametrize(
        ("params", "words"),
        [
            (
                {"kernel": "rbf", "C": 1.0, "gamma": 0.1, "degree": 3},
                "parameter 'degree' is inactive at this point, got 3; it is active only when kernel='poly': omit it",
            ),
            (
                {"kernel": "linear", "C": 1.0, "gamma": 0.1},
                r"parameter 'gamma' is inactive at this point, got 0.1; .* when kernel=\['rbf', 'poly'\]: omit it",
            ),
            ({"kernel": "rbf", "C": 1.0}, "missing parameter 'gamma'"),
            ({"C": 1.0, "gamma": 0.1}, "missing parameter 'kernel'"),
            ({"kernel": "tree", "C": 1.0}, "parameter 'kernel' must be one of .*, got 'tree'"),
            ({"kernel": "rbf", "C": 1.0, "gamma": 0.1, "depth": 3}, "unknown parameter 'depth'"),
        ],
    )
    def test_points(self, params, words):
        for read in (SVM.check, SVM.encode):
            with pytest.raises(SpaceError, match=words):
                read(params)

    @pytest.mark.parametrize(
        ("parameters", "words"),
        [
            ({"a": Float(0, 1).when(b=1)}, "'a' is active when b=1, but there is no parameter 'b'"),
            ({"a": Float(0, 1).when(b=3), "b": Int(1, 2)}, r"'a' is active when b=3: 'b' must be in \[1, 2\], got 3"),
            ({"a": Float(0, 1).when(b="y"), "b": Choice(["x"])}, r"'b' must be one of \['x'\], got 'y'"),
            (
                {"a": Float(0, 1).when(b=0.5), "b": (0, 1)},
                "'a' cannot depend on 'b', which is continuous; expected a Choice",
            ),
            ({"a": Int(0, 1).when(a=1), "b": (0, 1)}, "form a cycle, a -> a; remove one of them"),
            (
                {"a": Int(0, 1).when(b=1), "b": Int(0, 1).when(c=1), "c": Int(0, 1).when(a=1)},
                "form a cycle, a -> b -> c -> a",
            ),
        ],
    )
    def test_spaces(self, parameters, words):
        with pytest.raises(SpaceError, match=words):
            Space(parameters)

    def test_conditions(self):
        with pytest.raises(TypeError, match="at least one condition"):
            Float(0, 1).when()
        with pytest.raises(SpaceError, match=r"expected at least one value in when\(a=\.\.\.\), got \[\]"):
            Float(0, 1).when(a=[])
        with pytest.raises(SpaceError, match="already a condition on 'a'"):
            Float(0, 1).when(a=1).when(a=2)

    def test_without_names(self):
        with pytest.raises(SpaceError, match="bounds 0: a conditional parameter requires a space with names"):
            Space.from_pairs([Float(0, 1).when(x1=1), Int(0, 1)])
