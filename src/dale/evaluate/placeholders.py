"""The words of a command with placeholders: ``--a={a}``, and what stands in their place.

Python's own replacement fields reach into objects (``{a.real}``, ``{a!r}``, ``{a[0]}``). Here a placeholder is a name
and, for numbers, a format such as ``{a:.3f}``; a name is looked up as a whole, and nothing is done with it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from numbers import Real
from string import Formatter
from typing import Any, NamedTuple

import numpy as np


class Piece(NamedTuple):
    """Some text, and the placeholder after it, if there is one: its name, and how a number is to be written."""

    text: str
    name: str | None
    form: str


def pieces(word: str) -> list[Piece]:
    """A word in pieces; an error where its braces make no sense."""
    try:
        parsed = list(Formatter().parse(word))
    except ValueError as error:
        raise ValueError(
            f"the word {word!r} has braces that do not match ({error}); write {{{{ and }}}} for braces"
        ) from None
    found = []
    for text, name, form, conversion in parsed:
        if name == "" or conversion is not None or "{" in (form or "") or "{" in (name or ""):
            raise ValueError(
                f"the word {word!r} has a placeholder that is not plain; wanted the name of a parameter in braces, "
                "such as {a}, or {a:.3f} for a number with three decimals; write {{ and }} for braces"
            )
        found.append(Piece(text, name, form or ""))
    return found


def placeholders(words: Sequence[str]) -> Iterator[Piece]:
    """The pieces of words that have one."""
    return (piece for word in words for piece in pieces(word) if piece.name is not None)


def filled(word: str, values: Mapping[str, Any]) -> str:
    """A word with values in place of its placeholders."""
    return "".join(
        piece.text + ("" if piece.name is None else written(values[piece.name], piece.form)) for piece in pieces(word)
    )


def written(value: Any, form: str = "") -> str:
    """A value as text: a float with all of its digits, unless a format says otherwise; True, False and None by name.

    Lists and other objects have many texts, or one that no program can read, and are refused.
    """
    value = value.item() if isinstance(value, np.generic) else value
    if form:
        if isinstance(value, bool) or not isinstance(value, Real):
            raise ValueError(f"the format {form!r} is for numbers, got {value!r}")
        return format(value, form)
    if value is not None and not isinstance(value, bool | int | float | str):
        raise ValueError(f"{value!r} is neither text nor a number, so it is not clear how to write it as an argument")
    text = repr(value) if isinstance(value, float) else str(value)
    if "\0" in text:
        raise ValueError(f"{value!r} has a null character, which no argument can have")
    os.fsencode(text)  # which raises a ValueError where the system has no bytes for it
    return text
