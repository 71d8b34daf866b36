"""Spaces from TOML files, and errors that name the file, the parameter and the key."""

import re

import pytest

import dale
from dale import Choice, Float, Int, Space


@pytest.fixture
def read(tmp_path):
    def read(text):
        path = tmp_path / "space.toml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return Space.from_toml(path)

    return read


def test_all_keys(read):
    space = read("""
        x = [0, 1]
        "a name" = {low = 0.5, high = 2}
        [rate]
        type = "float"
        low = 1e-5
        high = 1e-1
        log = true
        [width]
        low = 0
        high = 1
        step = 0.25
        [layers]
        type = "int"
        low = 1
        high = 12
        log = true
        [batch]
        type = "int"
        low = 16
        high = 64
        step = 16
        [kernel]
        options = ["linear", "rbf", "poly", true, 1, 1.0]
        [size]
        type = "choice"
        options = ["s", "m", "l"]
        ordered = true
        [degree]
        type = "int"
        low = 2
        high = 6
        when = {kernel = ["poly", true], size = "s"}
        [fixed]
        type = "float"
        low = 3
        high = 3
    """)
    assert space == Space(
        {"a name": Float(0.5, 2)},
        x=(0, 1),
        rate=Float(1e-5, 1e-1, log=True),
        width=Float(0, 1, step=0.25),
        layers=Int(1, 12, log=True),
        batch=Int(16, 64, step=16),
        kernel=Choice(["linear", "rbf", "poly", True, 1, 1.0]),
        size=Choice(["s", "m", "l"], ordered=True),
        degree=Int(2, 6).when(kernel=["poly", True], size="s"),
        fixed=Float(3, 3),
    )
    order = ("x", "a name", "rate", "width", "layers", "batch", "kernel", "size", "degree", "fixed")
    assert space.names == order


def test_the_earlier_name_of_options_is_still_read(read):
    assert read("x = {choices = ['a', 'b'], ordered = true}") == Space(x=Choice(["a", "b"], ordered=True))


def test_byte_order_mark(read):
    assert read(b"\xef\xbb\xbfx = [0.0, 1.0]\n") == Space(x=(0, 1))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 3", "parameter 'x': expected a pair of bounds, [0.0, 1.0], or a table"),
        ("x = [1.0]", "and high = 1, got [1.0]"),
        ("x = ['a', 'b']", "and high = 1, got ['a', 'b']"),
        ("x = [true, false]", "for a list of options, use options = [...]"),
        ("x = [2, 1]", "parameter 'x': expected low <= high, got [2.0, 1.0]; did you mean [1.0, 2.0]?"),
        ("x = [0, inf]", "parameter 'x': high must be finite"),
        ("x = {low = 0.0, hihg = 1}", "parameter 'x': unknown key 'hihg' (did you mean 'high'?)"),
        ("x = {low = 0.0, upper = 1}", "parameter 'x': unknown key 'upper' (did you mean 'high'?)"),
        ("x = {low = 0.0, max = 1}", "(did you mean 'high'?)"),
        ("x = {low = 0.0, q = 1}", "parameter 'x': unknown key 'q'; the keys are type, "),
        ("x = {low = 1}", "parameter 'x': missing key 'high', which type = \"float\" requires"),
        ("x = {log = true}", "parameter 'x': the type is missing; add the key 'type'"),
        ("x = {}", "add the key 'type'"),
        (
            "x = {type = 'real', low = 1, high = 2}",
            "parameter 'x', key 'type': expected one of 'choice', 'float', 'int'",
        ),
        ("x = {type = ['int'], low = 1, high = 2}", "parameter 'x', key 'type': expected one of"),
        ("x = {type = 'float', low = 1}", "parameter 'x': missing key 'high', which type = \"float\" requires"),
        ("x = {type = 'choice'}", "parameter 'x': missing key 'options'"),
        ("x = {options = ['a'], low = 1}", "unexpected key 'low'; type = \"choice\" has the keys options, ordered"),
        ("x = {options = 'ab'}", "parameter 'x', key 'options': expected a list, such as [\"a\", \"b\"], got 'ab'"),
        ("x = {options = ['a'], choices = ['a']}", "parameter 'x': expected the key 'options' only, got 'choices' too"),
        ("x = {options = ['a', 'a']}", "parameter 'x': expected different options, got 'a'"),
        ("x = {options = []}", "parameter 'x': expected at least one option"),
        ("x = {type = 'float', low = '0', high = 1}", "parameter 'x': low must be a number, got '0'"),
        ("x = {type = 'float', low = true, high = 1}", "parameter 'x': low must be a number, got True"),
        ("x = {type = 'float', low = 0, high = 1, log = 1}", "parameter 'x', key 'log': expected true or false, got 1"),
        (
            "x = {type = 'float', low = 0, high = 1, log = true}",
            "parameter 'x': a logarithmic parameter requires low > 0",
        ),
        ("x = {type = 'int', low = 0.5, high = 1}", "parameter 'x': low must be an integer"),
        ("x = {low = 0.0, high = 1, when = 'y'}", "parameter 'x', key 'when': expected a table"),
        ("x = {low = 0.0, high = 1, when = {}}", "parameter 'x', key 'when': when() expects at least one condition"),
        (
            "x = {low = 0.0, high = 1, when = {y = 1}}",
            "parameter 'x' is active when y=1, but there is no parameter 'y'",
        ),
        ("x = [0, 1]\nx = [0, 1]", "is not a valid TOML file: Cannot overwrite a value (at"),
        ("x = [0, 1", "is not a valid TOML file"),
        (b"\xff", "is not a valid TOML file"),
        ("", "expected at least one parameter"),
    ],
)
def test_errors(text, message, read, tmp_path):
    with pytest.raises(dale.SpaceError, match=re.escape(message)) as error:
        read(text)
    assert str(error.value).startswith(str(tmp_path / "space.toml"))


def test_missing_file(tmp_path):
    message = r"space\.toml cannot be read: No such file or directory; expected the path of a TOML file .*rate = \["
    with pytest.raises(FileNotFoundError, match=message):
        Space.from_toml(tmp_path / "space.toml")


DEEP = 50_000
NESTED = {
    "arrays": "x = " + "[" * DEEP + "]" * DEEP,
    "tables in a line": "x = " + "{x = " * DEEP + "1" + "}" * DEEP,
    "a dotted key": ".".join(["x"] * DEEP) + " = 1",
    "a dotted key with quotes and spaces": " . ".join(['"x"'] * DEEP) + " = 1",
    "a table": f"[{'.'.join(['x'] * DEEP)}]\nlow = 1",
    "a dotted key in a line": "x = {" + ".".join(["x"] * DEEP) + " = 1}",
}


@pytest.mark.parametrize("kind", NESTED)
def test_deep_nesting_is_an_error(tmp_path, kind):
    """At once: tomllib itself takes minutes for such a dotted key."""
    (tmp_path / "space.toml").write_text(NESTED[kind])
    with pytest.raises(dale.SpaceError, match=r"space\.toml is nested too deeply"):
        dale.Space.from_toml(tmp_path / "space.toml")


def test_text_with_many_dots_is_no_nesting(tmp_path):
    dots = "a." * 40
    lines = [f'kind = {{options = ["{dots}", \'{dots}b\', """{dots}\n{dots}"""]}}', f"# {dots}", "x = [0.25, 1.5]"]
    (tmp_path / "space.toml").write_text("\n".join(lines))
    assert dale.Space.from_toml(tmp_path / "space.toml").names == ("kind", "x")


class TestConstraints:
    PARAMETERS = "a = [0, 1]\nb = [0, 1]\n"

    def test_text_or_a_list_of_text(self, read):
        assert read('constraints = ["a + b <= 1", "a >= 0.2"]\n' + self.PARAMETERS).constraints == (
            "a + b <= 1",
            "a >= 0.2",
        )
        assert read('constraints = "a + b <= 1"\n' + self.PARAMETERS).constraints == ("a + b <= 1",)
        assert read("constraints = []\n" + self.PARAMETERS).constraints == ()
        assert read(self.PARAMETERS).constraints == ()

    def test_they_are_a_part_of_the_space(self, read):
        space = read('constraints = ["a + b <= 1"]\n' + self.PARAMETERS)
        assert space.names == ("a", "b")
        assert space != read(self.PARAMETERS)
        optimizer = dale.Optimizer(space, seed=0, constraints="a >= 0.2")
        for trial in optimizer.ask(6):
            assert trial.params["a"] + trial.params["b"] <= 1
            assert trial.params["a"] >= 0.2

    def test_a_parameter_of_this_name(self, read):
        assert read("constraints = [0, 1]\n").names == ("constraints",)
        assert read("[constraints]\nlow = 0\nhigh = 1\n").names == ("constraints",)

    def test_errors(self, read):
        with pytest.raises(dale.SpaceError, match=r"constraints: expected text, such as 'a \+ b <= 4', got 3"):
            read('constraints = ["a <= 1", 3]\n' + self.PARAMETERS)
        with pytest.raises(dale.SpaceError, match=r"\.toml: constraint 'a <= d', position 6: .*got 'd'"):
            read('constraints = ["a <= d"]\n' + self.PARAMETERS)
