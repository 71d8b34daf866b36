"""The measurements. Those on disk are not repeated, except for the contenders to be measured again."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dale._progress import Progress
from dale_bench.contenders import contender
from dale_bench.fresh_process import in_fresh_process
from dale_bench.jsonl import append, read
from dale_bench.speed.asks import BOTORCH, DALE, GLOBAL, NOISY, OPTUNA
from dale_bench.speed.measure import FLOOR, Timing, time_asks, time_floor

PEERS = (OPTUNA, BOTORCH)
OURS = (FLOOR, DALE, GLOBAL, NOISY)

Run = Callable[..., Timing]  # run(function, *args) returns the result of the function


def cells(
    sizes: Sequence[int], dimensions: Sequence[int], peers: Collection[str] = PEERS, peers_to: int = sys.maxsize
) -> list[tuple[str, int, int]]:
    """The measurements as (contender, n, d), all contenders of a cell in sequence."""
    everyone = [*OURS, *(p for p in PEERS if p in peers)]
    return [(c, n, d) for d in dimensions for n in sizes for c in everyone if c in OURS or n <= peers_to]


def measure(
    requested: Sequence[tuple[str, int, int]],
    path: Path,
    *,
    repeats: int,
    rerun: Collection[str] = OURS,
    run: Run = in_fresh_process,
    progress: bool | None = None,
) -> list[Timing]:
    """Make the measurements that are missing in the file, append each, and return all that exist of the requested ones.

    Args:
        requested: The requested measurements, as from `cells`.
        path: The file.
        repeats: Number of repetitions of each.
        rerun: Contenders to be measured again; their last measurement counts.
        run: How a measurement is made: in a new process.
        progress: Whether to show a progress bar; None shows it if standard error is a terminal.
    """
    known = {timing.key: timing for timing in read(path, Timing)}
    todo = [key for key in requested if key[0] in rerun or key not in known]
    missing = {c: contender(c).missing for c in dict.fromkeys(key[0] for key in todo) if c in PEERS}
    for name, modules in missing.items():
        if modules:
            print(f"skipped: {name} (not installed: {', '.join(modules)})", file=sys.stderr)
    todo = [key for key in todo if not missing.get(key[0])]
    with Progress(max(len(todo), 1), progress) as line:
        for done, key in enumerate(todo, 1):
            timing = _measured(key, repeats, run)
            if timing is not None:
                append(path, timing)
                known[key] = timing
            line.write(done, f"{key[0]}, n = {key[1]}, d = {key[2]}")
    return [known[key] for key in requested if key in known]


def _measured(key: tuple[str, int, int], repeats: int, run: Run) -> Timing | None:
    """One measurement; None, with a message, if it fails."""
    name, n, d = key
    work: tuple[Any, ...] = (time_floor, n, d, repeats) if name == FLOOR else (time_asks, name, n, d, repeats)
    try:
        timing = run(*work)
    except Exception as problem:  # any error of a peer's library, including a process killed for its memory
        print(f"failed: {name}, n = {n}, d = {d}: {type(problem).__name__}: {problem}", file=sys.stderr)
        return None
    return replace(timing, versions=contender(name if name in PEERS else DALE).versions)
