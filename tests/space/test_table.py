"""Tables of earlier evaluations: values with the right types, or an error that names the row."""

import math

import numpy as np
import pytest

import dale
from dale.space.table import is_table, points_of, rows_of, safe_cell, values_of

SPACE = dale.Space(
    rate=dale.Float(1e-5, 1.0, log=True),
    depth=dale.Int(1, 12),
    act=dale.Choice(["relu", "gelu", None]),
    big=dale.Choice([True, False]),
    size=dale.Choice([32, 64, 128], ordered=True),
)
CSV = """\
id,rate, depth,act,big,size,loss
a,0.001,3,relu,True,32,0.5
b,1e-4,12.0,,False,64.0,
c,1,1,gelu,True,128,nan

d,0.5,2,None,False,32,inf
"""
PARAMS = [
    {"rate": 0.001, "depth": 3, "act": "relu", "big": True, "size": 32},
    {"rate": 1e-4, "depth": 12, "act": None, "big": False, "size": 64},
    {"rate": 1.0, "depth": 1, "act": "gelu", "big": True, "size": 128},
    {"rate": 0.5, "depth": 2, "act": None, "big": False, "size": 32},
]


class Frame:
    """The part of a data frame that pandas and polars have in common."""

    def __init__(self, **columns):
        self._columns = {name: np.array(column, dtype=object) for name, column in columns.items()}
        self.columns = list(columns)

    def __getitem__(self, name):
        return self._columns[name]


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "earlier.csv"
    path.write_text(CSV, encoding="utf-8-sig")  # as spreadsheets write it
    return path


def same(points, params):
    assert [dict(p) for p, _ in points] == params
    assert [[type(v) for v in p.values()] for p, _ in points] == [[type(v) for v in p.values()] for p in params]
    for (p, point), q in zip(points, params, strict=True):
        assert point.tolist() == SPACE.encode(q).tolist()
        assert p is not q


def test_a_csv_file(path):
    rows = rows_of(path)
    assert rows == rows_of(str(path))
    same(points_of(rows, SPACE), PARAMS)
    assert values_of(rows, "loss") == [0.5, None, None, None]


def test_a_data_frame():
    columns = {name: [p[name] for p in PARAMS] for name in SPACE.names}
    columns["size"] = np.array([32.0, 64.0, 128.0, 32.0])  # integers in a column with a gap
    rows = rows_of(Frame(**columns, loss=[1, math.nan, None, np.float32(2)]))
    same(points_of(rows, SPACE), PARAMS)
    assert values_of(rows, "loss") == [1.0, None, None, 2.0]


def test_columns_and_rows():
    columns = {name: [p[name] for p in PARAMS] for name in SPACE.names}
    same(points_of(rows_of(columns), SPACE), PARAMS)
    same(points_of(rows_of(PARAMS), SPACE), PARAMS)
    assert rows_of([]) == rows_of({}) == []


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_real_data_frames(library):
    frames = pytest.importorskip(library)
    columns = {"a": [1, 2, None], "b": ["x", None, "y"], "value": [0.5, None, 2.0]}
    frame = frames.DataFrame(columns)
    assert is_table(frame)
    space = dale.Space(a=dale.Choice([1, 2, None]), b=dale.Choice(["x", "y", None]))
    rows = rows_of(frame)
    found = [(p["a"], p["b"]) for p, _ in points_of(rows, space)]
    assert found == [(1, "x"), (2, None), (None, "y")]
    assert values_of(rows, "value") == [0.5, None, 2.0]


def test_without_names():
    space = dale.Space.from_pairs([(0, 1), dale.Int(0, 5)])
    [(x, _)] = points_of([{"x1": "3", "x0": "0.25", "note": "first"}], space)
    assert x.tolist() == [0.25, 3.0]
    with pytest.raises(ValueError, match=r"row 1 .*no value for 'x1'; expected the columns x0, x1"):
        points_of([{"x0": 0.25, "x2": 3}], space)


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"rate": 2.0}, ValueError, "row 2 of the table: parameter 'rate' must be in .*, got 2.0"),
        ({"rate": "fast"}, TypeError, "row 2 of the table: parameter 'rate' must be a number, got 'fast'"),
        ({"rate": ""}, ValueError, "row 2 of the table: missing parameter 'rate'"),
        ({"rate": math.nan}, ValueError, "row 2 of the table: missing parameter 'rate'"),
        ({"depth": 2.5}, ValueError, "row 2 of the table: parameter 'depth' must be an integer, got 2.5"),
        ({"act": "tanh"}, ValueError, "row 2 of the table: parameter 'act' must be one of .*, got 'tanh'"),
        ({"big": ""}, ValueError, "row 2 of the table: missing parameter 'big'"),
    ],
)
def test_errors_name_the_row(change, error, words):
    with pytest.raises(error, match=words):
        points_of([PARAMS[0], PARAMS[1] | change], SPACE)


def test_a_misspelt_column_is_a_missing_parameter():
    with pytest.raises(ValueError, match=r"row 1 .*missing parameter 'depth'"):
        points_of([{("dept" if k == "depth" else k): v for k, v in PARAMS[0].items()}], SPACE)


def test_ambiguous_text_is_refused():
    space = dale.Space(a=dale.Choice([1, 1.0, "b"]))
    with pytest.raises(ValueError, match=r"'1.00' matches several options, \[1, 1.0\]"):
        points_of([{"a": "1.00"}], space)
    assert points_of([{"a": "1.0"}], space)[0][0] == {"a": 1.0}


def test_escaped_cells():
    """Escaped options are restored. An unescaped option that starts with an apostrophe is read too."""
    options = ["=x", "'=x", "''=x", "-", "'plain'", "-1", "+1/2"]
    space = dale.Space(a=dale.Choice(options))
    assert [p["a"] for p, _ in points_of([{"a": safe_cell(option)} for option in options], space)] == options
    assert points_of([{"a": "'=x"}], dale.Space(a=dale.Choice(["'=x", "y"])))[0][0] == {"a": "'=x"}


@pytest.mark.parametrize("value", ["diverged", True, [1.0], 1j])
def test_values_must_be_numbers(value):
    with pytest.raises(ValueError, match=r"row 1 .*: expected a number in column 'y', got .*; leave the cell empty"):
        values_of([{"y": value}], "y")


def test_a_missing_column_is_refused():
    with pytest.raises(ValueError, match=r"expected a column 'y' in row 1 .*got \['loss'\]"):
        values_of([{"loss": 1.0}], "y")


def test_broken_files(tmp_path):
    path = tmp_path / "broken.csv"
    path.write_text("a,b\n1,2\n3\n")
    with pytest.raises(ValueError, match=r"expected 2 cells in row 2 of .*broken.csv, .* got 1"):
        rows_of(path)
    path.write_text("a,b,a\n1,2,3\n")
    with pytest.raises(ValueError, match=r"broken.csv has several columns 'a'"):
        rows_of(path)
    path.write_text("")
    assert rows_of(path) == []
    with pytest.raises(FileNotFoundError, match=r"nowhere.csv cannot be read: .*; expected the path of a CSV file"):
        rows_of(tmp_path / "nowhere.csv")


def test_columns_of_different_lengths():
    with pytest.raises(ValueError, match=r"columns of equal length, got {'a': 2, 'b': 1}"):
        rows_of({"a": [1, 2], "b": [1]})


@pytest.mark.parametrize("table", [3, None, [[1, 2]], np.zeros((2, 2))])
def test_other_types_are_refused(table):
    with pytest.raises(TypeError, match="expected a table: the path of a CSV file, a data frame"):
        rows_of(table)
