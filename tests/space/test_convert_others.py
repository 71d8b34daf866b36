"""Dimensions of scikit-optimize and Ax's parameters."""

import pytest
from skopt.space import Categorical, Integer, Real

import dale
from dale import Choice, Float, Int, Space, SpaceError
from dale.space.space import as_space


class TestScikitOptimize:
    def test_dimensions_are_parameters(self):
        dimensions = [
            Real(-1.0, 1.0),
            Real(1e-5, 1e-1, prior="log-uniform"),
            Integer(1, 12),
            Integer(16, 1024, prior="log-uniform"),
            Categorical(["relu", "gelu", "tanh"]),
            (0.0, 2.0),
        ]
        assert as_space(dimensions) == Space.from_pairs(
            [
                Float(-1, 1),
                Float(1e-5, 1e-1, log=True),
                Int(1, 12),
                Int(16, 1024, log=True),
                Choice(["relu", "gelu", "tanh"]),
                (0, 2),
            ]
        )

    def test_by_name(self):
        assert as_space({"lr": Real(1e-5, 1e-1, prior="log-uniform")}) == Space(lr=Float(1e-5, 1e-1, log=True))

    def test_a_run(self):
        result = dale.minimize(lambda x: (x[0] - 1) ** 2, [Real(-2, 2), Categorical(["a", "b"])], budget=6, seed=0)
        assert result.nfev == 6


AX = [
    {"name": "lr", "type": "range", "bounds": [1e-5, 1e-1], "log_scale": True},
    {"name": "depth", "type": "range", "bounds": [1, 12]},
    {"name": "width", "type": "range", "bounds": [1, 12], "value_type": "float"},
    {"name": "size", "type": "choice", "values": ["s", "m", "l"], "is_ordered": True, "value_type": "str"},
    {"name": "kernel", "type": "choice", "values": ["rbf", "poly"], "dependents": {"poly": ["degree"], "rbf": []}},
    {"name": "degree", "type": "range", "bounds": [2, 5], "value_type": "int"},
    {"name": "fixed", "type": "fixed", "value": 3.5},
]


class TestAx:
    def test_a_list_of_mappings_is_a_space(self):
        assert as_space(AX) == Space(
            lr=Float(1e-5, 1e-1, log=True),
            depth=Int(1, 12),
            width=Float(1, 12),
            size=Choice(["s", "m", "l"], ordered=True),
            kernel=Choice(["rbf", "poly"]),
            degree=Int(2, 5).when(kernel="poly"),
            fixed=Choice([3.5]),
        )

    @pytest.mark.parametrize(
        ("entry", "message"),
        [
            ({"name": "x", "type": "derived"}, "parameter 'x': expected one of Ax's types 'range', 'choice', 'fixed'"),
            ({"name": "x", "type": "range", "bounds": [0, 1], "digits": 2}, r"got type 'range' and \['digits'\]"),
            (
                {"name": "x", "type": "choice", "values": [1, 2], "dependents": {1: ["y"]}},
                "parameter 'x' has the dependent 'y', which is not in the list",
            ),
        ],
    )
    def test_what_dale_does_not_know(self, entry, message):
        with pytest.raises(SpaceError, match=message):
            as_space([entry])
