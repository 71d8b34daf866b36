"""A new parameter type works everywhere without a change in any other module: here, fractions in equal steps."""

import re
import sys
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import dale
from dale.space.grid import cell_index
from dale.space.parameter import PARAMETER_TYPES, Parameter, register_parameter
from dale.view.data import slice_data

PROGRAM = "import sys; a, b = map(int, sys.argv[1].split('/')); print((a / b - 0.375) ** 2)"
JSON_PROGRAM = (
    "import json, sys; a, b = map(int, json.load(open(sys.argv[1]))['r'].split('/')); print((a / b - 0.375) ** 2)"
)


@dataclass(frozen=True)
class Ratio(Parameter):
    """The fractions low, low + 1/denominator, ..., high; the bounds are fractions or text such as "-3/8"."""

    low: Fraction
    high: Fraction
    denominator: int

    def __post_init__(self):
        object.__setattr__(self, "low", Fraction(self.low))
        object.__setattr__(self, "high", Fraction(self.high))
        if self.low >= self.high:
            raise dale.SpaceError(f"expected low < high, got [{self.low}, {self.high}]")

    @property
    def n_coordinates(self):
        return 1

    @property
    def cardinality(self):
        return int((self.high - self.low) * self.denominator) + 1

    @property
    def is_numeric(self):
        return True

    def check(self, value, name):
        fraction = Fraction(value).limit_denominator(self.denominator)
        if float(fraction) != float(Fraction(value)) or not self.low <= fraction <= self.high:
            raise dale.SpaceError(f"{name} must be a multiple of 1/{self.denominator}, got {value!r}")
        return fraction

    def encode(self, value):
        return self.encode_index(int((value - self.low) * self.denominator))

    def decode(self, coordinates):
        return self.low + Fraction(cell_index(coordinates[0], self.cardinality), self.denominator)

    def derivative(self, value):
        return np.array([self.denominator / self.cardinality])

    @property
    def settings(self):
        return {"low": str(self.low), "high": str(self.high), "denominator": self.denominator}

    def to_json(self, value):
        return str(self.check(value, "value"))  # in a space without names it is a float

    def from_json(self, data):
        return Fraction(data)

    def parse(self, cell):
        return Fraction(cell)

    def to_argument(self, value):
        fraction = self.check(value, "value")
        return f"{fraction.numerator}/{fraction.denominator}"


@pytest.fixture(autouse=True, scope="module")
def _registered():
    """What the decorator ``@register_parameter`` does, but not while tests of other modules run."""
    register_parameter(Ratio)
    yield
    del PARAMETER_TYPES["Ratio"]


SPACE = dale.Space(r=Ratio("-1/2", "2", 8), x=(0.0, 1.0), y=dale.Float(0, 1).when(r=[Fraction(3, 8), Fraction(-1, 8)]))


def bowl(params):
    assert type(params["r"]) is Fraction
    return float(params["r"] - Fraction(3, 8)) ** 2 + (params["x"] - 0.5) ** 2 + params.get("y", 0.5) ** 2


def same(history, other):
    assert [t.params for t in history] == [t.params for t in other]
    assert [t.unit_x.tolist() for t in history] == [t.unit_x.tolist() for t in other]


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """A run that was interrupted and resumed: its path and its result."""
    path = tmp_path_factory.mktemp("run") / "run.db"
    dale.minimize(bowl, SPACE, budget=9, seed=1, store=path)
    return path, dale.minimize(bowl, SPACE, budget=25, seed=1, store=path)


def test_minimize(stored):
    result = dale.minimize(bowl, SPACE, budget=25, seed=1)
    assert result.params["r"] == Fraction(3, 8)
    assert result.fun < 1e-3
    same(stored[1].history, result.history)


def test_without_names():
    """Numbers come as an array of floats, as everywhere; a Hessian is in the user's units."""
    result = dale.minimize(
        lambda x: (x[0] - 0.375) ** 2 + (x[1] - 0.5) ** 2, [Ratio("-1/2", 2, 8), (0, 1)], budget=25, seed=0
    )
    assert result.x[0] == 0.375
    assert result.x.dtype == float
    np.testing.assert_allclose(result.local_minima[0].hessian, 2 * np.eye(2), atol=0.1)


def test_a_finite_space_is_enumerated():
    result = dale.minimize(lambda p: float(p["r"]), {"r": Ratio(0, 1, 4)}, budget=9, seed=0)
    *points, replicate = (t.params["r"] for t in result.history)
    assert sorted(points) == [Fraction(k, 4) for k in range(5)]
    assert replicate == 0  # the best one again, to test for noise


def test_a_stored_run_is_opened_without_its_space(stored):
    path, result = stored
    run = dale.open(path)
    assert run.space == SPACE
    same(run.history, result.history)
    assert {type(t.params["r"]) for t in run.history} == {Fraction}


def test_another_space_is_refused(stored):
    with pytest.raises(dale.StoreError, match=r"space\.parameters\.r\.denominator is 8 in the store and 16 here"):
        dale.Optimizer(dale.Space(r=Ratio("-1/2", "2", 16), x=(0.0, 1.0)), seed=1, store=stored[0])


def test_a_store_of_an_unknown_type_asks_for_its_space(stored, monkeypatch):
    monkeypatch.delitem(PARAMETER_TYPES, "Ratio")
    with pytest.raises(dale.StoreError, match="parameter 'r' has a type that is not registered, 'Ratio'"):
        dale.open(stored[0])


def test_from_toml(tmp_path):
    path = tmp_path / "space.toml"
    path.write_text(
        'x = [0.0, 1.0]\nr = {type = "ratio", low = "-1/2", high = "2", denominator = 8}\n'
        'y = {type = "float", low = 0, high = 1, when = {r = ["3/8", -0.125]}}\n'
    )
    assert dale.Space.from_toml(path) == SPACE
    path.write_text('r = {type = "ratio", low = "1/2", high = "0", denominator = 8}\n')
    with pytest.raises(dale.SpaceError, match=r"parameter 'r': expected low < high, got \[1/2, 0\]"):
        dale.Space.from_toml(path)
    path.write_text('r = {type = "ratio", low = "1/2", high = "0", step = 8}\n')
    with pytest.raises(dale.SpaceError, match=r"unexpected key 'step'; type = \"ratio\" has the keys low, high, denom"):
        dale.Space.from_toml(path)


def test_a_table_is_read_back(stored, tmp_path):
    path, result = stored
    dale.open(path).to_csv(tmp_path / "run.csv")
    assert "'-1/" in (tmp_path / "run.csv").read_text()  # escaped, because a spreadsheet would evaluate it
    optimizer = dale.Optimizer(SPACE, seed=0)
    optimizer.add_all(tmp_path / "run.csv")
    same(optimizer.history, result.history)


@pytest.mark.parametrize(
    "command", [[sys.executable, "-c", PROGRAM, "{r}"], [sys.executable, "-c", JSON_PROGRAM, "{params}"]]
)
def test_command(command):
    result = dale.minimize(dale.Command(command), {"r": Ratio(0, 1, 8)}, budget=6, seed=0)
    assert [t.value for t in result.history] == [float(t.params["r"] - Fraction(3, 8)) ** 2 for t in result.history]


def test_plots():
    space = dale.Space(r=Ratio("-1/2", "2", 8), x=(0.0, 1.0))
    result = dale.minimize(bowl, space, budget=12, seed=0)
    assert len(dale.plot.convergence(result).axes) > 0
    cut = slice_data(result, space)[0]
    np.testing.assert_array_equal(cut.axis.values, np.arange(-4, 17) / 8)
    assert not cut.axis.log


def test_no_other_module_depends_on_a_concrete_type():
    """Pairs of bounds are Floats, and the values of a condition are a Choice; nothing else knows a concrete type.

    Integrations do, which translate the spaces of other libraries.
    """
    source = Path(dale.__file__).parent
    dependent = {
        str(path.relative_to(source))
        for path in source.rglob("*.py")
        if re.search(r"space\.(choice|float|int) import", path.read_text())
        and not {"demo", "integrations"} & set(path.parts)
    }
    assert dependent == {"__init__.py", "space/__init__.py", "space/convert.py", "space/conditions.py"}


def test_names_are_unique():
    with pytest.raises(ValueError, match=r"there is already a parameter type 'Float', in dale\.space\.float"):
        register_parameter(type("Float", (dale.Float,), {}))
    with pytest.raises(ValueError, match="cannot have the setting 'when'"):
        register_parameter(type("Later", (dale.Float,), {"__init__": lambda self, when: None}))
