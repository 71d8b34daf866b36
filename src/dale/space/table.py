"""Evaluations that were made earlier, as people keep them: a CSV file, a data frame, columns or rows.

No library of data frames is imported: what has ``columns`` and gives one by its name is a data frame.
"""

import csv
import math
import os
import re
from collections.abc import Mapping, Sequence
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from dale._arrays import Vector
from dale.errors import SpaceError
from dale.space.choice import Choice
from dale.space.parameter import Parameter
from dale.space.point import Params
from dale.space.space import Space

Row = Mapping[str, Any]
FORMULA = re.compile(r"'*[=+\-@\t\r]")  # how a cell begins that a spreadsheet computes, or that has been made safe


def is_table(data: Any) -> bool:
    """Whether something can be nothing but a table: the path of a CSV file, or a data frame."""
    return isinstance(data, str | os.PathLike) or (hasattr(data, "columns") and hasattr(data, "__getitem__"))


def rows_of(table: Any) -> list[Row]:
    """The rows of a table, by the names of their columns."""
    if isinstance(table, str | os.PathLike):
        return _rows_of_file(Path(table))
    if isinstance(table, Mapping):
        return _rows_of_columns(list(table), list(table.values()))
    if is_table(table):
        return _rows_of_columns(list(table.columns), [table[name] for name in table.columns])
    if not isinstance(table, Sequence) or not all(isinstance(row, Mapping) for row in table):
        raise TypeError(
            "earlier data are the path of a CSV file, a data frame, a mapping of columns or a list of mappings, "
            f"got {table!r}"
        )
    return list(table)


def safe_cell(value: Any) -> str:
    """A value as a cell of a CSV file that no program takes for a formula; ``rows_of`` and the rest read it back.

    Numbers stay numbers, to the last bit. Text that begins like a formula gets an apostrophe, as spreadsheets have it,
    and so does text that would be mistaken for it.
    """
    if value is None:
        return "None"
    text = str(value)
    return f"'{text}" if FORMULA.match(text) and isinstance(_number(text), str) else text


def _without_apostrophe(cell: str) -> str:
    """The text that was made safe."""
    return cell[1:] if cell[:1] == "'" and FORMULA.match(cell[1:]) else cell


def points_of(rows: Sequence[Row], space: Space) -> list[tuple[Params, Vector]]:
    """The points of rows, checked: as the objective takes them, and in the unit cube.

    Columns that are no parameter are passed over. What is misspelt shows all the same: then a parameter has no column.
    """
    points = []
    for number, row in enumerate(rows, 1):
        try:
            cells = {name: _value(row[name], space.parameters[name]) for name in space.names if name in row}
            given = {name: value for name, value in cells.items() if value is not _MISSING}
            params = given if space.named else _without_names(given, space)
            points.append(space.read(params))
        except (SpaceError, TypeError) as error:
            raise type(error)(f"row {number} of the earlier data: {error}. Nothing was recorded") from None
    return points


def values_of(rows: Sequence[Row], column: str) -> list[float | None]:
    """The values of rows; None where an evaluation failed: an empty cell, NaN or an infinite number."""
    values: list[float | None] = []
    for number, row in enumerate(rows, 1):
        if column not in row:
            raise SpaceError(
                f"row {number} of the earlier data has no column {column!r} for the objective's value, got "
                f"{list(row)!r}; say which one it is. Nothing was recorded"
            )
        cell = _number(row[column])
        if not _is_empty(cell) and (isinstance(cell, bool | np.bool_) or not isinstance(cell, Real)):
            raise SpaceError(
                f"row {number} of the earlier data: {column} = {row[column]!r} is no number; leave the cell empty "
                "where an evaluation failed. Nothing was recorded"
            )
        values.append(None if _is_empty(cell) or not math.isfinite(cell) else float(cell))
    return values


_MISSING = object()


def _rows_of_file(path: Path) -> list[Row]:
    with path.open(newline="", encoding="utf-8-sig") as file:
        reader = csv.reader(file)
        names = [_without_apostrophe(name.strip()) for name in next(reader, [])]
        _check_names(names, str(path))
        rows = [row for row in reader if any(cell.strip() for cell in row)]
    for number, row in enumerate(rows, 1):
        if len(row) != len(names):
            raise SpaceError(
                f"row {number} of {path} has {len(row)} cells, wanted {len(names)}, one for each column of "
                f"{names!r}. Nothing was recorded"
            )
    return [dict(zip(names, map(str.strip, row), strict=True)) for row in rows]


def _rows_of_columns(names: list[Any], columns: list[Any]) -> list[Row]:
    _check_names(names, "the table")
    cells = [list(column) for column in columns]
    if len({len(column) for column in cells}) > 1:
        lengths = {name: len(column) for name, column in zip(names, cells, strict=True)}
        raise SpaceError(f"the columns of a table must be equally long, got {lengths!r}")
    return [dict(zip(names, row, strict=True)) for row in zip(*cells, strict=True)]


def _check_names(names: list[Any], where: str) -> None:
    twice = sorted({str(name) for name in names if names.count(name) > 1})
    if twice:
        raise SpaceError(f"{where} has more than one column {', '.join(map(repr, twice))}; leave one of them out")


def _without_names(given: Mapping[str, Any], space: Space) -> list[Any]:
    missing = [name for name in space.names if name not in given]
    if missing:
        raise SpaceError(f"no value for {', '.join(map(repr, missing))}; the columns are {', '.join(space.names)}")
    return [given[name] for name in space.names]


def _value(cell: Any, parameter: Parameter) -> Any:
    """What a cell says about a parameter; text is read as the parameter needs it."""
    if isinstance(parameter, Choice):
        return _option(cell, parameter)
    return _MISSING if _is_empty(cell) else _number(cell)


def _option(cell: Any, choice: Choice) -> Any:
    """The option that a cell is; else the one that is written like it, or a number that equals it; empty is None."""
    if choice.has(cell):
        return cell
    if _is_empty(cell):
        return None if choice.has(None) else _MISSING
    texts = {str(cell), _without_apostrophe(str(cell))}
    written = [option for option in choice.options if str(option) in texts]
    written = written or [option for option in choice.options if str(option).strip() in texts]
    written = written or [option for option in choice.options if _is_number(option) and option == _number(cell)]
    if len(written) > 1:
        raise SpaceError(f"{cell!r} may be any of {written!r}; give a data frame or mappings with the right types")
    return written[0] if written else cell  # which the space refuses


def _number(cell: Any) -> Any:
    """The number that a text is; anything else as it is."""
    if not isinstance(cell, str):
        return cell
    for read in (int, float):
        try:
            return read(cell)
        except ValueError:
            pass
    return cell


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)


def _is_empty(cell: Any) -> bool:
    """Whether a cell holds nothing: no text, None, or what does not equal itself, as NaN and its kin."""
    if cell is None or (isinstance(cell, str) and not cell.strip()):
        return True
    try:
        return bool(cell != cell)
    except TypeError:  # pandas has a nothing that does not even tell
        return True
    except ValueError:  # an array
        return False
