"""Which measurements are made. What peers took is on disk and not measured again, and neither is what is told to be."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dale.progress import Progress
from dale_bench.alone import alone
from dale_bench.contenders import contender
from dale_bench.lines import append, read
from dale_bench.speed.asks import BOTORCH, DALE, GLOBAL, OPTUNA
from dale_bench.speed.measure import FLOOR, Timing, time_asks, time_floor

PEERS = (OPTUNA, BOTORCH)
OURS = (FLOOR, DALE, GLOBAL)

Run = Callable[..., Timing]  # run(function, *args): the function's result, wherever it is computed


def cells(
    sizes: Sequence[int], dimensions: Sequence[int], peers: Collection[str] = PEERS, peers_to: int = sys.maxsize
) -> list[tuple[str, int, int]]:
    """(contender, n, d) of what is to be measured, the contenders of a cell one after the other."""
    everyone = [*OURS, *(p for p in PEERS if p in peers)]
    return [(c, n, d) for d in dimensions for n in sizes for c in everyone if c in OURS or n <= peers_to]


def measure(
    wanted: Sequence[tuple[str, int, int]],
    path: Path,
    *,
    repeats: int,
    again: Collection[str] = OURS,
    run: Run = alone,
    progress: bool | None = None,
) -> list[Timing]:
    """Measure what is missing in the file, append each as it comes, and return all that was wanted and is there.

    Args:
        wanted: What to measure, as from `cells`.
        path: The file.
        repeats: How often each.
        again: Contenders that are measured anew though the file has them; their last measurement counts.
        run: How a measurement is made: in a process of its own.
        progress: Whether to show it; None for where there is a terminal.
    """
    known = {timing.key: timing for timing in read(path, Timing)}
    todo = [key for key in wanted if key[0] in again or key not in known]
    missing = {c: contender(c).missing for c in dict.fromkeys(key[0] for key in todo) if c in PEERS}
    for name, modules in missing.items():
        if modules:
            print(f"left out: {name} (not installed: {', '.join(modules)})", file=sys.stderr)
    todo = [key for key in todo if not missing.get(key[0])]
    with Progress(max(len(todo), 1), progress) as line:
        for done, key in enumerate(todo, 1):
            timing = _measured(key, repeats, run)
            if timing is not None:
                append(path, timing)
                known[key] = timing
            line.write(done, f"{key[0]}, n = {key[1]}, d = {key[2]}")
    return [known[key] for key in wanted if key in known]


def _measured(key: tuple[str, int, int], repeats: int, run: Run) -> Timing | None:
    """One measurement; None, and a line that says why, if it fails."""
    name, n, d = key
    work: tuple[Any, ...] = (time_floor, n, d, repeats) if name == FLOOR else (time_asks, name, n, d, repeats)
    try:
        timing = run(*work)
    except Exception as problem:  # whatever a peer's library may raise, the process that dies for cache included
        print(f"failed: {name}, n = {n}, d = {d}: {type(problem).__name__}: {problem}", file=sys.stderr)
        return None
    return replace(timing, versions=contender(name if name in PEERS else DALE).versions)
