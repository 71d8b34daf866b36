"""Runs on disk: one JSON line each, appended and never rewritten; and ready curves of others.

A row: ``{"function", "method", "seed", "budget", "dimension", "regret": [...], "seconds", "versions", "error",
"notes"}``. ``regret`` is the best value so far minus the minimum, after each evaluation; ``seconds`` is the time
outside the objective. Those of `dale_bench.problems` may have more: ``observed`` and ``times``, and null for a regret
where nothing feasible is known yet.

Ready curves, one file for each function: ``{"function", "dimension", "budget", "minimum", "peers": {name: {"version",
"regret": [[...], ...]}}}``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from dale._arrays import Matrix
from dale_bench import lines

Curves = dict[str, dict[str, Matrix]]  # function -> method -> best regret so far (runs, budget)


@dataclass(frozen=True)
class Row:
    """One run.

    Attributes:
        function: What was minimised.
        method: By whom.
        seed: The seed of both.
        budget: Evaluations.
        dimension: Number of parameters.
        regret: Of the best point so far, after each evaluation; None where none is feasible yet.
        seconds: Outside the objective.
        versions: Of the software.
        error: What the method raised.
        notes: What it wanted counted.
        observed: Where there is noise: regret of the point with the lowest value told; `regret` is then that of the
            point recommended.
        times: When the evaluations ended, where that is simulated.
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
        """What makes two rows the same run."""
        return self.function, self.method, self.seed, self.budget


def append(path: Path, row: Row) -> None:
    """Add a row; it is on disk when this returns."""
    lines.append(path, row)


def read(path: Path) -> list[Row]:
    """All whole rows of a file; none if it does not exist."""
    return lines.read(path, Row)


def curves_of(rows: Iterable[Row]) -> Curves:
    """Curves of rows that did not fail, runs in the order of their seeds."""
    grouped: dict[str, dict[str, dict[int, Sequence[float | None]]]] = {}
    for row in rows:
        if row.error is None:
            grouped.setdefault(row.function, {}).setdefault(row.method, {})[row.seed] = row.regret
    return {
        function: {method: _stacked([runs[s] for s in sorted(runs)]) for method, runs in by_method.items()}
        for function, by_method in grouped.items()
    }


def ready_curves(folder: Path) -> Curves:
    """Curves of others, from a folder with one JSON file for each function."""
    files = sorted(folder.glob("*.json"))
    if not files:
        raise ValueError(f"no ready curves: {folder} holds no .json file")
    curves: Curves = {}
    for file in files:
        content = json.loads(file.read_text())
        try:
            curves[content["function"]] = {
                peer: np.array(entry["regret"], dtype=float) for peer, entry in content["peers"].items()
            }
        except (KeyError, TypeError) as error:
            raise ValueError(f"{file} is no file of ready curves: {error!r} is wrong or missing") from None
    return curves


def merged(*several: Curves) -> Curves:
    """All curves together; of the same method on the same function the first given."""
    out: Curves = {}
    for curves in several:
        for function, by_method in curves.items():
            for method, runs in by_method.items():
                out.setdefault(function, {}).setdefault(method, runs)
    return out


def _stacked(runs: list[Sequence[float | None]]) -> Matrix:
    """Runs as rows; one that ended early keeps its last value, and nothing feasible is infinitely bad."""
    budget = max(len(r) for r in runs)
    return np.array(
        [[np.inf if v is None else v for v in (*r, *[r[-1]] * (budget - len(r)))] for r in runs], dtype=float
    )
