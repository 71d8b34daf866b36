"""Earlier evaluations as tables: a CSV file, a data frame, a mapping of columns, or a list of rows.

No data frame library is imported: an object with ``columns`` that can be indexed by their names is a data frame.
"""

import csv
import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from numbers import Real
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from dale._arrays import Vector
from dale.errors import SpaceError, unreadable
from dale.space.parameter import Parameter, parse_number
from dale.space.point import Params
from dale.space.space import Space

Row = Mapping[str, Any]
FORMULA = re.compile(r"'*[=+\-@\t\r]")  # start of a cell that a spreadsheet evaluates, or that has been escaped
SQLITE_HEADER = b"SQLite format 3\0"
_MISSING = object()
_limit = Lock()


def is_table(data: Any) -> bool:
    """Whether an object can only be a table: the path of a CSV file, or a data frame."""
    return isinstance(data, str | os.PathLike) or (hasattr(data, "columns") and hasattr(data, "__getitem__"))


def is_database(path: Path) -> bool:
    """Whether a file is an SQLite database, such as the store of a run."""
    try:
        with path.open("rb") as file:
            return file.read(len(SQLITE_HEADER)) == SQLITE_HEADER
    except OSError:
        return False


def rows_of(table: Any) -> list[Row]:
    """The rows of a table, as mappings of column names to cells."""
    if isinstance(table, str | os.PathLike):
        return _rows_of_file(Path(table))
    if isinstance(table, Mapping):
        return _rows_of_columns(list(table), list(table.values()))
    if is_table(table):
        return _rows_of_columns(list(table.columns), [table[name] for name in table.columns])
    if not isinstance(table, Sequence) or not all(isinstance(row, Mapping) for row in table):
        raise TypeError(
            "expected a table: the path of a CSV file, a data frame, a mapping of columns or a list of mappings, "
            f"got {table!r}"
        )
    return list(table)


def safe_cell(value: Any) -> str:
    """A value as a cell of a CSV file that no spreadsheet evaluates as a formula; ``points_of`` reads it back.

    Numbers remain numbers, with all digits. Text that starts like a formula is escaped by an apostrophe, as in
    spreadsheets, and so is text that would otherwise be unescaped when it is read.
    """
    if value is None:
        return "None"
    text = str(value)
    return f"'{text}" if FORMULA.match(text) and isinstance(parse_number(text), str) else text


def _unescape(cell: str) -> str:
    """The text that ``safe_cell`` escaped."""
    return cell[1:] if cell[:1] == "'" and FORMULA.match(cell[1:]) else cell


def points_of(rows: Sequence[Row], space: Space, numbers: Iterable[int] | None = None) -> list[tuple[Params, Vector]]:
    """The points of rows, checked: as the objective receives them, and in the unit cube.

    Columns that are not parameters are ignored. A misspelt name is noticed, because a parameter then has no column.
    Errors have the numbers of the rows; None for 1, 2, ...
    """
    points = []
    for number, row in zip(count(1) if numbers is None else numbers, rows, strict=False):
        try:
            cells = {name: _value(row[name], space.parameters[name]) for name in space.names if name in row}
            values = {name: value for name, value in cells.items() if value is not _MISSING}
            points.append(space.read(values if space.named else _in_order(values, space)))
        except (SpaceError, TypeError) as error:
            raise type(error)(f"row {number} of the table: {error}. Nothing was recorded") from None
    return points


def values_of(rows: Sequence[Row], column: str, numbers: Iterable[int] | None = None) -> list[float | None]:
    """The numbers in a column; None for a failed evaluation: an empty cell, NaN or an infinite number."""
    values: list[float | None] = []
    for number, row in zip(count(1) if numbers is None else numbers, rows, strict=False):
        if column not in row:
            raise SpaceError(
                f"expected a column {column!r} in row {number} of the table, got {list(row)!r}; "
                "specify the name of the column. Nothing was recorded"
            )
        cell = parse_number(row[column])
        if not _is_empty(cell) and (isinstance(cell, bool | np.bool_) or not isinstance(cell, Real)):
            raise SpaceError(
                f"row {number} of the table: expected a number in column {column!r}, got {row[column]!r}; leave the "
                "cell empty if the evaluation failed. Nothing was recorded"
            )
        values.append(None if _is_empty(cell) or not math.isfinite(cell) else float(cell))
    return values


def _rows_of_file(path: Path) -> list[Row]:
    try:
        file = path.open(newline="", encoding="utf-8-sig")
    except OSError as error:
        raise unreadable(path, error, "the path of a CSV file with a column for each parameter") from None
    with file, _cells_of_any_length():
        reader = csv.reader(file)
        names = [_unescape(name.strip()) for name in next(reader, [])]
        _check_names(names, str(path))
        rows = [row for row in reader if any(cell.strip() for cell in row)]
    for number, row in enumerate(rows, 1):
        if len(row) != len(names):
            raise SpaceError(
                f"expected {len(names)} cells in row {number} of {path}, one for each column of {names!r}, got "
                f"{len(row)}. Nothing was recorded"
            )
    return [dict(zip(names, map(str.strip, row), strict=True)) for row in rows]


@contextmanager
def _cells_of_any_length() -> Iterator[None]:
    """Lift the limit of Python's csv module, 131,072 characters; it belongs to the whole process."""
    with _limit:
        before = csv.field_size_limit(2**31 - 1)  # the largest number that fits on every platform
        try:
            yield
        finally:
            csv.field_size_limit(before)


def _rows_of_columns(names: list[Any], columns: list[Any]) -> list[Row]:
    _check_names(names, "the table")
    cells = [list(column) for column in columns]
    if len({len(column) for column in cells}) > 1:
        lengths = {name: len(column) for name, column in zip(names, cells, strict=True)}
        raise SpaceError(f"expected columns of equal length, got {lengths!r}")
    return [dict(zip(names, row, strict=True)) for row in zip(*cells, strict=True)]


def _check_names(names: list[Any], where: str) -> None:
    duplicates = sorted({str(name) for name in names if names.count(name) > 1})
    if duplicates:
        raise SpaceError(f"{where} has several columns {', '.join(map(repr, duplicates))}; remove all but one")


def _in_order(values: Mapping[str, Any], space: Space) -> list[Any]:
    missing = [name for name in space.names if name not in values]
    if missing:
        raise SpaceError(f"no value for {', '.join(map(repr, missing))}; expected the columns {', '.join(space.names)}")
    return [values[name] for name in space.names]


def _value(cell: Any, parameter: Parameter) -> Any:
    """The value of a parameter in a cell, unchecked; ``_MISSING`` if the cell is empty and this is not a value."""
    if _is_empty(cell):
        candidates = [value for value in (cell, None) if _accepts(parameter, value)]
        return candidates[0] if candidates else _MISSING
    value = parameter.parse(_unescape(cell) if isinstance(cell, str) else cell)
    return value if _accepts(parameter, value) else parameter.parse(cell)


def _accepts(parameter: Parameter, value: Any) -> bool:
    try:
        parameter.check(value, "")
    except (SpaceError, TypeError):
        return False
    return True


def _is_empty(cell: Any) -> bool:
    """Whether a cell is blank text, None, or not equal to itself, like NaN."""
    if cell is None or (isinstance(cell, str) and not cell.strip()):
        return True
    try:
        return bool(cell != cell)
    except TypeError:  # pandas.NA has no truth value
        return True
    except ValueError:  # an array
        return False
