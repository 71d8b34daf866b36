"""Arguments of a command with placeholders, such as ``--a={a}``, and their replacement by values.

Python's own replacement fields access attributes and items of objects (``{a.real}``, ``{a!r}``, ``{a[0]}``). Here a
placeholder is a plain name, optionally with a number format such as ``{a:.3f}``. Names are only looked up.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from numbers import Real
from string import Formatter
from typing import Any, NamedTuple

import numpy as np

TRIAL, DIRECTORY, PARAMS = "trial", "directory", "params"  # placeholders other than the parameters


class Piece(NamedTuple):
    """Literal text and the placeholder that follows it: its name, None if there is none, and its number format."""

    text: str
    name: str | None
    form: str


def pieces(arg: str) -> list[Piece]:
    """Split an argument into pieces.

    Raises:
        ValueError: The braces do not match, or something other than a plain name is in them.
    """
    try:
        parsed = list(Formatter().parse(arg))
    except ValueError as error:
        raise ValueError(
            f"the argument {arg!r} has unbalanced braces ({error}); write {{{{ and }}}} for literal braces"
        ) from None
    found = []
    for text, name, form, conversion in parsed:
        if name == "" or conversion is not None or "{" in (form or "") or "{" in (name or ""):
            raise ValueError(
                f"the argument {arg!r} has an invalid placeholder; expected the name of a parameter in braces, "
                "such as {a}, or {a:.3f} for a number with three decimals; write {{ and }} for literal braces"
            )
        found.append(Piece(text, name, form or ""))
    return found


def placeholders(args: Sequence[str]) -> Iterator[Piece]:
    """The pieces of the arguments that have a placeholder."""
    return (piece for arg in args for piece in pieces(arg) if piece.name is not None)


def fill(arg: str, values: Mapping[str, Any]) -> str:
    """An argument with its placeholders replaced by values."""
    return "".join(
        piece.text + ("" if piece.name is None else as_text(values[piece.name], piece.form)) for piece in pieces(arg)
    )


def as_text(value: Any, form: str = "") -> str:
    """A value as text: floats with all their digits unless there is a format; True, False and None by name.

    Raises:
        ValueError: The value has no unambiguous text, such as a list, or the format does not suit it.
    """
    value = value.item() if isinstance(value, np.generic) else value
    if form:
        if isinstance(value, bool) or not isinstance(value, Real):
            raise ValueError(f"the format {form!r} expects a number, got {value!r}")
        return format(value, form)
    if value is not None and not isinstance(value, bool | int | float | str):
        raise ValueError(f"expected text or a number, got {value!r}, which cannot be written as an argument")
    text = repr(value) if isinstance(value, float) else str(value)
    if "\0" in text:
        raise ValueError(f"{value!r} contains a null character, which no argument can contain")
    os.fsencode(text)  # raises a ValueError if the file system encoding cannot represent it
    return text
