"""The value that a program computed: the last number that it wrote, or what it left in a JSON file."""

from __future__ import annotations

import json
import math
import os
import re
from numbers import Real
from pathlib import Path
from typing import Any

from dale.history.evaluation import Evaluation

TAIL = 65536  # bytes at the end of a program's output in which its last number is looked for
LARGEST = 2**26  # bytes of a JSON file that are read
LISTED, SHOWN = 20, 100  # keys and characters that an error shows

MINUS = "\N{MINUS SIGN}"  # as typeset
ESCAPE = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")  # colours and the like of a terminal
BETWEEN = re.compile(r"[\s=,;()\[\]{}<>|\"'`]+|(?<!\d):|:(?!\d)")  # what ends a word; 12:30 is one
NUMBER = re.compile(r"([-+]?(?:\d+(?:\.\d*)?|\.\d+))(?:[edq]([-+]?\d+))?", re.IGNORECASE)  # Fortran has 1.0D-03
LONG = re.compile(r"([-+]?\d*\.\d+)([-+]\d{3})")  # and leaves the letter out where an exponent has three digits
NOT_FINITE = re.compile(r"([-+]?)(?:(inf|infinity)|nan|\d\.#\w+)", re.IGNORECASE)  # Windows had 1.#IND

Stamp = tuple[int, int, int, int]  # which file it is, how long, and when it was written


def last_number(text: str) -> float | None:
    """The last word of a text that is a number; None if none is."""
    for word in reversed(BETWEEN.split(ESCAPE.sub(" ", text).replace(MINUS, "-"))):
        number = _number(word if _number(word) is not None else word.rstrip(".!"))
        if number is not None:
            return number
    return None


def tail(path: Path, n: int = TAIL) -> str:
    """The end of a file, from a word on, however long it is."""
    with path.open("rb") as file:
        length = file.seek(0, os.SEEK_END)
        file.seek(max(length - n - 1, 0))
        end = file.read(n + 1)
    if length > n:  # the first word may be a part of one
        end = re.sub(rb"^\S*", b"", end)
    return end.decode("utf-8", errors="replace")


def stamp(path: Path) -> Stamp | None:
    """What changes when a file is written; None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def from_json(path: Path, key: str | None, before: Stamp | None) -> Any:
    """A number or an ``Evaluation`` from a file that was written since it had this stamp."""
    now = stamp(path)
    if now is None or not path.is_file():
        raise ValueError(f"the program has not written {path}")
    if now == before:
        raise ValueError(f"{path} was there before and the program has not written it; it was not read")
    if now[2] > LARGEST:
        raise ValueError(f"{path} has {now[2]} bytes, which is too much for a value")
    try:
        data = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not JSON: {error}") from None
    where = str(path)
    for part in key.split(".") if key is not None else ():
        data = _inside(data, part, where)
        where = f"{where}: {part}"
    if isinstance(data, dict):
        value = _checked(_inside(data, "value", where), f"{where}: value")
        noise, constraints = data.get("noise"), data.get("constraints")
        limits = constraints if isinstance(constraints, list) else [] if constraints is None else [constraints]
        return Evaluation(
            value,
            None if noise is None else _checked(noise, f"{where}: noise"),
            [_checked(c, f"{where}: constraints") for c in limits],
        )
    return _checked(data, where)


def _inside(data: Any, key: str, where: str) -> Any:
    if isinstance(data, dict) and key in data:
        return data[key]
    if isinstance(data, list) and key.isdecimal() and int(key) < len(data):
        return data[int(key)]
    what = f"it has {list(data)[:LISTED]!r}" if isinstance(data, dict) else f"it is {str(data)[:SHOWN]!r}"
    raise ValueError(f"{where} has no {key!r}; {what}")


def _checked(data: Any, where: str) -> float:
    if isinstance(data, bool) or not isinstance(data, Real):
        raise ValueError(f"{where} is {str(data)[:SHOWN]!r}; wanted a number")
    try:
        return float(data)
    except OverflowError:
        return math.inf


def _number(word: str) -> float | None:
    found = NUMBER.fullmatch(word) or LONG.fullmatch(word)
    if found is not None:
        return float(f"{found[1]}e{found[2] or 0}")
    found = NOT_FINITE.fullmatch(word)
    if found is None:
        return None
    return float(f"{found[1]}inf" if found[2] else "nan")
