"""Names that a user types."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def unknown(what: str, name: str, known: Iterable[str]) -> ValueError:
    """The error of an unknown name, with the nearest known one; ``what`` describes it, such as "peer 'x'"."""
    known = list(known)
    close = get_close_matches(name, known, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else "."
    return ValueError(f"unknown {what}{hint} Expected one of: {', '.join(known)}")
