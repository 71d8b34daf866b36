"""Runs: the evaluations at which each target was first reached. On disk, and from files of other solvers.

On disk, a run is a JSON line. Curves of other solvers come from an npz file: a key ``NAME__fF_iI_dD_NB`` is a run of
the method NAME on function F of `bbob`, instance I, in dimension D with B evaluations. Its array has the values minus
the minimum, in the order of the evaluations.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dale._arrays import Vector
from dale_bench import jsonl

TARGETS = np.logspace(2, -8, 51)  # of the best feasible value minus the minimum
RECOMMENDED_AFTER = (25, 50, 100, 200, 500, 1000)  # evaluations
NPZ_KEY = re.compile(r"(?P<method>.+)__f(?P<function>\d+)_i(?P<instance>\d+)_d(?P<dimension>\d+)_N(?P<budget>\d+)")


@dataclass(frozen=True)
class Job:
    """A run to make."""

    suite: str
    function: int
    instance: int
    dimension: int
    method: str
    seed: int
    budget: int

    @property
    def key(self) -> tuple[str, int, int, int, str, int, int]:
        """Identifies the run."""
        return self.suite, self.function, self.instance, self.dimension, self.method, self.seed, self.budget

    @property
    def problem(self) -> str:
        """The problem in the form of COCO, such as bbob_f001_i01_d02."""
        return f"{self.suite}_f{self.function:03d}_i{self.instance:02d}_d{self.dimension:02d}"

    def __str__(self) -> str:
        return f"{self.method} on {self.problem}, seed {self.seed}"


@dataclass(frozen=True)
class Run(Job):
    """A completed run.

    Attributes:
        suite: COCO's name of the suite.
        function: The number of the function.
        instance: The number of the instance.
        dimension: The number of variables.
        method: The name of the method.
        seed: The seed of the method.
        budget: The number of evaluations.
        hits: The evaluations, counted from 1, at which the targets were first reached, in the order of `TARGETS`;
            targets that were not reached are left out.
        seconds: Time outside the objective.
        versions: Versions of the packages.
        error: The exception of the method, if any.
        recommended: With noise, the regret of the recommended point after some numbers of evaluations, which are text.
    """

    hits: Sequence[int] = ()
    seconds: float = 0.0
    versions: dict[str, str] = field(default_factory=dict)
    error: str | None = None
    recommended: Mapping[str, float] = field(default_factory=dict)


def recommended_of(regrets: Sequence[float]) -> dict[str, float]:
    """The regret of the recommended point after `RECOMMENDED_AFTER` and after all evaluations."""
    n = len(regrets)
    return {str(k): float(f"{regrets[k - 1]:.4g}") for k in sorted({*RECOMMENDED_AFTER, n}) if 0 < k <= n}


def hits_of(curve: Sequence[float] | Vector) -> list[int]:
    """The evaluations at which a run reached each target, from its best regret so far after each evaluation."""
    best = np.asarray(curve, dtype=np.float64)
    first = np.searchsorted(-best, -TARGETS) + 1  # best does not increase
    return [int(n) for n in first if n <= len(best)]


def read(path: Path) -> list[Run]:
    """The runs of a file: JSON lines, or curves of other solvers (.npz)."""
    jsonl.check_exists(path, "dale bench coco run")
    return _read_npz(path) if path.suffix == ".npz" else jsonl.read(path, Run)


def _read_npz(path: Path) -> list[Run]:
    try:
        with zipfile.ZipFile(path) as archive:
            return [_npz_run(archive, name, path) for name in archive.namelist()]
    except zipfile.BadZipFile:
        raise ValueError(f"expected an npz file of numpy, got {path}, which is not one; export it again") from None


def _npz_run(archive: zipfile.ZipFile, name: str, path: Path) -> Run:
    key = NPZ_KEY.fullmatch(name.removesuffix(".npy"))
    if key is None:
        raise ValueError(
            f"{path}: expected keys such as NAME__f1_i1_d2_N200 (function, instance, dimension, budget), got "
            f"{name.removesuffix('.npy')!r}; rename or remove it"
        )
    with archive.open(name) as file:
        values: Any = np.lib.format.read_array(file, allow_pickle=False)
    if values.ndim != 1 or not len(values):
        raise ValueError(f"{path}, {name}: expected one value for each evaluation, got shape {values.shape}")
    f, i, d, budget = (int(key[part]) for part in ("function", "instance", "dimension", "budget"))
    return Run("bbob", f, i, d, key["method"], 0, budget, hits_of(np.fmin.accumulate(values)))
