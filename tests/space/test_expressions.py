"""Constraints as text: the grammar, the values, which are linear, and the errors."""

import math
import pickle

import hypothesis.strategies as st
import pytest
from hypothesis import given

import dale
from dale.space.expressions import MAX_NESTING, parse_constraint

NAMES = ["a", "b", "lc", "learning rate", "log", "Größe"]
AT = {"a": 0.7, "b": -1.25, "lc": 3.0, "learning rate": 1e-3, "log": 2.0, "Größe": 5.0}

EXPRESSIONS = [
    "a + b - lc",
    "a - b - lc",
    "a / b / lc",
    "a - b * lc ** 2",
    "-a ** 2",
    "2 ** 3 ** 2 * a",
    "a ** -b",
    "2 ** -1 + a",
    "+a - -b",
    "(a + b) * (lc - 1.5e-1)",
    ".5 * a + 3. * b + 1E2",
    "sqrt(lc) + exp(b) + log(lc) + log10(lc) + abs(b) + sin(a) + cos(a) + tan(a)",
    "min(a, b, lc) + max(a, b)",
    "log + log(lc)",
    "Größe * a",
]


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_values_are_those_of_python(text):
    (comparison,) = parse_constraint(f"{text} <= 2", NAMES)
    functions = {name: getattr(math, name) for name in ("sqrt", "exp", "log10", "sin", "cos", "tan")}
    names = {**functions, "abs": abs, "min": min, "max": max, **AT}
    if "log(" in text:
        text = text.replace("log(lc)", "ln(lc)")
        names["ln"] = math.log
    assert comparison.value(AT) == eval(text, names) - 2  # an oracle for tests only
    assert pickle.loads(pickle.dumps(comparison)) == comparison


leaves = st.sampled_from(["a", "b", "lc"]) | st.integers(0, 9).map(str) | st.floats(0.1, 9).map(repr)
trees = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*"]), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        st.tuples(inner, st.sampled_from([" + ", "-", "*"]), inner).map("".join),
        inner.map(lambda t: f"-{t}"),
    ),
    max_leaves=12,
)


@given(trees)
def test_any_expression_is_that_of_python(text):
    (comparison,) = parse_constraint(f"{text} <= a", NAMES)
    expected = eval(text, dict(AT)) - AT["a"]  # an oracle for tests only
    assert comparison.value(AT) == expected
    linear = comparison.affine()
    if linear is not None:
        value = linear.constant + sum(c * AT[name] for name, c in linear.coefficients.items())
        assert value == pytest.approx(expected, rel=1e-9, abs=1e-6)


@pytest.mark.parametrize(
    ("text", "constant", "coefficients"),
    [
        ("a + b <= 4", -4, {"a": 1, "b": 1}),
        ("lc >= 2 * (a - 1) / 4", -0.5, {"lc": -1, "a": 0.5}),
        ("a + b + lc == 1", -1, {"a": 1, "b": 1, "lc": 1}),
        ("sqrt(4) * a <= b - -b", 0, {"a": 2, "b": -2}),
        ("'learning rate' + \"a\" <= 1", -1, {"learning rate": 1, "a": 1}),
        ("a + b - a <= 0", 0, {"b": 1}),
    ],
)
def test_linear_comparisons(text, constant, coefficients):
    (comparison,) = parse_constraint(text, NAMES)
    assert comparison.affine().constant == constant
    assert comparison.affine().coefficients == coefficients


@pytest.mark.parametrize("text", ["a * b <= 1", "1 / a <= 1", "a ** 2 <= 1", "abs(a) <= 1", "2 ** a <= 1"])
def test_other_comparisons(text):
    assert parse_constraint(text, NAMES)[0].affine() is None


def test_chains():
    found = parse_constraint("0 <= a + b <= 4 >= lc == b", NAMES)
    assert [c.is_equality for c in found] == [False, False, False, True]
    assert [c.value(AT) for c in found] == [0 - (0.7 - 1.25), 0.7 - 1.25 - 4, 3 - 4, 3 + 1.25]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a + q <= 4", r"position 5: expected the name of a parameter, got 'q'; the parameters are a, b, lc"),
        ("a + lcc <= 4", r"position 5: .*did you mean 'lc'\?"),
        ("a + b = 4", r"position 7: .*got '='; did you mean '=='\?"),
        ("a < 4", r"position 3: .*did you mean '<='\?"),
        ("a ^ 2 <= 4", r"did you mean '\*\*'\?"),
        ("a + b", r"position 6: expected '<=', '>=' or '==', or an operator, got the end"),
        ("2 a <= 4", r"position 3: expected '<=', '>=' or '==', or an operator, got 'a'"),
        ("a <= 4 b", r"position 8: expected an operator, got 'b'"),
        ("(a + b <= 4", r"position 8: expected '\)' or an operator, got '<='"),
        ("a + b) <= 4", r"position 6: .*got '\)'"),
        ("a + <= 4", r"position 5: expected a number, a parameter or '\(', got '<='"),
        ("", r"position 1: expected a number, a parameter or '\(', got the end"),
        ("a <= ", r"position 5: expected a number.*got the end"),
        ("exec(a) <= 4", r"position 1: expected one of the functions abs, sqrt, .*got 'exec'"),
        ("__import__('os') <= 4", r"expected one of the functions"),
        ("a.real <= 4", r"position 2: expected a number, a parameter or an operator, got '.'"),
        ("a[0] <= 4", r"position 2: .*got '\['"),
        ("sqrt(a, b) <= 4", r"sqrt takes one argument, got 2"),
        ("min(a) <= 4", r"min takes at least two arguments, got 1"),
        ("1 <= 2", r"expected a parameter in each comparison"),
        ("'a <= 1", r"position 1: .*got \"'\""),
        ("(" * 300 + "a" + ")" * 300 + " <= 1", "numbers, names and symbols; expected at most 400"),
        ("(" * 99 + "a" + ")" * 99 + " <= 1", f"nested too deeply; expected {MAX_NESTING} levels"),
        ("-" * 300 + "a <= 1", "nested too deeply"),
        ("2 ** " * 99 + "a <= 1", "nested too deeply"),
    ],
)
def test_errors_say_where_and_what(text, said):
    with pytest.raises(dale.SpaceError, match=said):
        parse_constraint(text, NAMES)


def test_long_sums():
    names = [f"x{i}" for i in range(99)]
    (comparison,) = parse_constraint(" + ".join(f"0.5 * {name}" for name in names) + " == 1", names)
    assert comparison.affine().coefficients == dict.fromkeys(names, 0.5)
    assert comparison.value(dict.fromkeys(names, 1.0)) == 48.5
