"""All contenders by name: dale's methods and its peers."""

from __future__ import annotations

from dale_bench import ablation, readings
from dale_bench.contender import Contender
from dale_bench.names import unknown
from dale_bench.ours import OURS
from dale_bench.peers import PEERS

CONTENDERS: dict[str, Contender] = {c.name: c for c in (*OURS, *PEERS.values())}
SPACE_LABELS = {"cma_margin": "CMA-ES with margin", "smac": "SMAC"}  # of those that need a space, in ``problems``


def contender(name: str) -> Contender:
    """The contender with this name; variants of the ablation and readings of the paper are included."""
    found = _find(name)
    if found is None:
        raise unknown(f"method or peer {name!r}", name, CONTENDERS)
    return found


def label(name: str) -> str:
    """The name in tables and figures; a method that is known only from imported curves keeps its name."""
    found = _find(name)
    return found.label or name if found else SPACE_LABELS.get(name, name)


def is_ours(name: str) -> bool:
    """Whether it is one of dale's methods."""
    found = _find(name)
    return ablation.is_variant(name) or readings.is_reading(name) or (found is not None and not found.peer)


def _find(name: str) -> Contender | None:
    return CONTENDERS.get(name) or ablation.contender_named(name) or readings.contender_named(name)
