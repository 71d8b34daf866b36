"""The value that a program computed: the last number on standard output, or the content of a JSON file."""

from __future__ import annotations

import json
import os
import re
from numbers import Real
from pathlib import Path
from typing import Any, BinaryIO

from dale.history.evaluation import Evaluation, as_float

TAIL = 65536  # bytes at the end of the output that are searched for the last number
MAX_FILE_SIZE = 2**26  # bytes of a JSON file
MAX_KEYS, MAX_TEXT = 20, 100  # keys and characters in an error message

MINUS = "\N{MINUS SIGN}"  # the typographic minus sign
ESCAPE = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")  # terminal escape sequences, such as colours
SEPARATOR = re.compile(r"[\s=,;()\[\]{}<>|\"'`]+|(?<!\d):|:(?!\d)")  # ends a word; 12:30 is one word
NUMBER = re.compile(r"([-+]?(?:\d+(?:\.\d*)?|\.\d+))(?:[edq]([-+]?\d+))?", re.IGNORECASE)  # Fortran writes 1.0D-03
LONG_EXPONENT = re.compile(r"([-+]?\d*\.\d+)([-+]\d{3})")  # and 0.25-103: no letter before a three-digit exponent
NOT_FINITE = re.compile(r"([-+]?)(?:(inf|infinity)|nan|\d\.#\w+)", re.IGNORECASE)  # old Windows writes 1.#IND

FileStamp = tuple[int, int, int, int]  # device, inode, size, time of modification


def last_number(text: str) -> float | None:
    """The last word of a text that is a number; None if there is none."""
    for word in reversed(SEPARATOR.split(ESCAPE.sub(" ", text).replace(MINUS, "-"))):
        number = _number(word if _number(word) is not None else word.rstrip(".!"))
        if number is not None:
            return number
    return None


def tail(file: BinaryIO, n: int = TAIL) -> str:
    """The last ``n`` bytes of a file as text, without an incomplete first word."""
    length = file.seek(0, os.SEEK_END)
    file.seek(max(length - n - 1, 0))
    end = file.read(n + 1)
    if length > n:  # the first word may be incomplete
        end = re.sub(rb"^\S*", b"", end)
    return end.decode("utf-8", errors="replace")


def file_stamp(path: Path) -> FileStamp | None:
    """Metadata that change when a file is written; None if there is no file."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def value_from_json(path: Path, key: str | None, before: FileStamp | None) -> Any:
    """A number or an ``Evaluation`` from a JSON file.

    Args:
        path: The file.
        key: Place of the value in the file, with dots between the levels.
        before: Stamp of the file before the program started; the file must have changed since.
    """
    now = file_stamp(path)
    if now is None or not path.is_file():
        raise ValueError(f"the program did not write {path}")
    if now == before:
        raise ValueError(f"the program did not write {path}; the existing file was not read")
    if now[2] > MAX_FILE_SIZE:
        raise ValueError(f"expected at most {MAX_FILE_SIZE} bytes in {path}, got {now[2]}")
    try:
        data = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not valid JSON: {error}") from None
    where = str(path)
    for part in key.split(".") if key is not None else ():
        data = _item(data, part, where)
        where = f"{where}: {part}"
    if isinstance(data, dict):
        value = _as_float(_item(data, "value", where), f"{where}: value")
        noise, constraints = data.get("noise"), data.get("constraints")
        limits = constraints if isinstance(constraints, list) else [] if constraints is None else [constraints]
        return Evaluation(
            value,
            None if noise is None else _as_float(noise, f"{where}: noise"),
            [_as_float(c, f"{where}: constraints") for c in limits],
            data.get("extra"),
        )
    return _as_float(data, where)


def _item(data: Any, key: str, where: str) -> Any:
    if isinstance(data, dict) and key in data:
        return data[key]
    if isinstance(data, list) and key.isdecimal() and int(key) < len(data):
        return data[int(key)]
    got = f"the keys {list(data)[:MAX_KEYS]!r}" if isinstance(data, dict) else repr(str(data)[:MAX_TEXT])
    raise ValueError(f"{where}: expected an entry {key!r}, got {got}")


def _as_float(data: Any, where: str) -> float:
    if isinstance(data, bool) or not isinstance(data, Real):
        raise ValueError(f"{where}: expected a number, got {str(data)[:MAX_TEXT]!r}")
    return as_float(data)


def _number(word: str) -> float | None:
    found = NUMBER.fullmatch(word) or LONG_EXPONENT.fullmatch(word)
    if found is not None:
        return float(f"{found[1]}e{found[2] or 0}")
    found = NOT_FINITE.fullmatch(word)
    if found is None:
        return None
    return float(f"{found[1]}inf" if found[2] else "nan")
