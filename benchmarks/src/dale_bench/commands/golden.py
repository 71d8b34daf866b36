"""``dale bench golden``: hashes of proposals, to compare two versions of dale bit for bit on one machine."""

from __future__ import annotations

import argparse
from typing import Any

from dale_bench.golden import KINDS, golden


def add_parser(kinds: Any) -> None:
    """Describe the command's arguments."""
    kind = kinds.add_parser(
        "golden",
        help="hashes of proposals, to compare before and after a change",
        description="Print hashes of proposals, to compare two versions of dale bit for bit on one machine.",
    )
    kind.add_argument("kinds", nargs="*", metavar="KIND", help=f"kinds of runs: {', '.join(KINDS)} (default: all)")
    kind.set_defaults(run=show_hashes)


def show_hashes(args: argparse.Namespace) -> int:
    """Print a line for each kind: its name, the hash, the number of trials."""
    unknown = [kind for kind in args.kinds if kind not in KINDS]
    if unknown:
        raise ValueError(f"expected kinds of runs ({', '.join(KINDS)}), got {', '.join(unknown)}")
    for kind in args.kinds or KINDS:
        found = golden(kind)
        print(f"{found.kind:12s} {found.digest} {found.n_trials} trials", flush=True)
    return 0
