"""Runs: the evaluations that improved the best feasible value. On disk, a run is a JSON line."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dale_bench import jsonl
from dale_bench.runner import ProblemJob

History = Sequence[tuple[int, float]]  # (evaluation, value): evaluations count from 1, values decrease


@dataclass(frozen=True)
class Job(ProblemJob):
    """A run to make."""

    kind: str
    dimension: int

    def __str__(self) -> str:
        return f"{self.method} on {self.problem} (d = {self.dimension}), seed {self.seed}"


@dataclass(frozen=True)
class Run(Job):
    """A completed run.

    Attributes:
        problem: The name of the problem.
        method: The name of the method.
        seed: The seed of the method.
        budget: The number of evaluations.
        kind: The kind of the problem.
        dimension: The number of variables.
        history: The evaluations that improved the best feasible value, with their values.
        reference: The value f_0 of the convergence test; None with constraints.
        seconds: Time outside the objective.
        versions: Versions of the packages.
        error: The exception of the method, if any.
    """

    history: Sequence[tuple[int, float]] = ()
    reference: float | None = None
    seconds: float = 0.0
    versions: dict[str, str] = field(default_factory=dict)
    error: str | None = None


def improvements(curve: Sequence[float]) -> list[tuple[int, float]]:
    """The evaluations that improved the best value so far, from its curve, which is infinite until one is feasible."""
    found: list[tuple[int, float]] = []
    best = math.inf
    for n, value in enumerate(curve, 1):
        if value < best:
            best = value
            found.append((n, best))
    return found


def read(paths: Sequence[Path]) -> list[Run]:
    """The runs of all files."""
    for path in paths:
        jsonl.check_exists(path, "dale bench cutest run")
    return [run for path in paths for run in jsonl.read(path, Run)]
