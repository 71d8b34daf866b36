"""Runs on disk, one JSON line each, and imported curves of other benchmarks.

A row: ``{"function", "method", "seed", "budget", "dimension", "regret": [...], "seconds", "versions", "error",
"notes"}``. ``regret`` is the best value so far minus the minimum, after each evaluation; ``seconds`` is the time
outside the objective. Rows of `dale_bench.problems` may also have ``observed`` and ``times``, and null as a regret
while no feasible point is known.

Imported curves, one file for each function: ``{"function", "dimension", "budget", "minimum", "peers": {name:
{"version", "regret": [[...], ...]}}}``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from dale._arrays import Matrix
from dale_bench import jsonl

Curves = dict[str, dict[str, Matrix]]  # function -> method -> best regret so far (runs, budget)


@dataclass(frozen=True)
class Row:
    """One run.

    Attributes:
        function: The name of the function.
        method: The name of the contender.
        seed: The seed of both the function and the method.
        budget: The number of evaluations.
        dimension: The number of parameters.
        regret: The regret of the best point so far after each evaluation; None as long as no point is feasible.
        seconds: Time outside the objective.
        versions: Versions of the packages.
        error: The exception of the method, if any.
        notes: Counts that the method reports.
        observed: With noise, the regret of the point with the lowest observed value; `regret` is then that of the
            recommended point.
        times: The ends of the evaluations on a simulated clock, if there is one.
    """

    function: str
    method: str
    seed: int
    budget: int
    dimension: int
    regret: Sequence[float | None]
    seconds: float
    versions: dict[str, str] = field(default_factory=dict)
    error: str | None = None
    notes: dict[str, int] = field(default_factory=dict)
    observed: Sequence[float | None] = field(default_factory=list)
    times: Sequence[float] = field(default_factory=list)

    @property
    def key(self) -> tuple[str, str, int, int]:
        """Identifies a run."""
        return self.function, self.method, self.seed, self.budget

    def __str__(self) -> str:
        return f"{self.method} on {self.function}, seed {self.seed}"


def append(path: Path, row: Row) -> None:
    """Append a row. It is on disk when this returns."""
    jsonl.append(path, row)


def read(path: Path) -> list[Row]:
    """All complete rows of a file; none if the file does not exist."""
    return jsonl.read(path, Row)


def curves_of(rows: Iterable[Row]) -> Curves:
    """The curves of all rows without an error, in the order of their seeds."""
    grouped: dict[str, dict[str, dict[int, Sequence[float | None]]]] = {}
    for row in rows:
        if row.error is None:
            grouped.setdefault(row.function, {}).setdefault(row.method, {})[row.seed] = row.regret
    return {
        function: {method: _matrix([runs[s] for s in sorted(runs)]) for method, runs in by_method.items()}
        for function, by_method in grouped.items()
    }


def imported_curves(directory: Path) -> Curves:
    """Imported curves, from a directory with one JSON file for each function."""
    files = sorted(directory.glob("*.json"))
    if not files:
        raise ValueError(f"expected a directory with .json files of curves, got {directory}, which has none")
    curves: Curves = {}
    for file in files:
        content = json.loads(file.read_text())
        try:
            curves[content["function"]] = {
                peer: np.array(entry["regret"], dtype=float) for peer, entry in content["peers"].items()
            }
        except (KeyError, TypeError) as error:
            raise ValueError(f"expected a file of curves, got {file}, where {error!r} is wrong or missing") from None
    return curves


def merged(*several: Curves) -> Curves:
    """All curves together. Of several for the same method and function, the first is used."""
    out: Curves = {}
    for curves in several:
        for function, by_method in curves.items():
            for method, runs in by_method.items():
                out.setdefault(function, {}).setdefault(method, runs)
    return out


def _matrix(runs: list[Sequence[float | None]]) -> Matrix:
    """Runs as rows of a matrix. A run that ended early keeps its last value, and None becomes infinity."""
    budget = max(len(r) for r in runs)
    return np.array(
        [[np.inf if v is None else v for v in (*r, *[r[-1]] * (budget - len(r)))] for r in runs], dtype=float
    )
