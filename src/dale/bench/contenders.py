"""All contenders by name: dale's methods and its peers."""

from __future__ import annotations

from difflib import get_close_matches

from dale.bench.contender import Contender
from dale.bench.ours import OURS
from dale.bench.peers import PEERS

CONTENDERS: dict[str, Contender] = {c.name: c for c in (*OURS, *PEERS.values())}


def contender(name: str) -> Contender:
    """The contender of this name."""
    try:
        return CONTENDERS[name]
    except KeyError:
        close = get_close_matches(name, CONTENDERS, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else "."
        known = ", ".join(CONTENDERS)
        raise ValueError(f"unknown method or peer {name!r}{hint} Known ones: {known}") from None


def label(name: str) -> str:
    """How tables and figures call it; a method that only ready curves know keeps its name."""
    known = CONTENDERS.get(name)
    return known.label or name if known else name


def is_ours(name: str) -> bool:
    """Whether it is one of dale's methods."""
    return name in CONTENDERS and not CONTENDERS[name].peer
