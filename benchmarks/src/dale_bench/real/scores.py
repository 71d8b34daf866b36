"""Values of runs at checkpoints, and ranks.

Ranks: in each cell (problem, seed), the methods are ranked by their values, 1 is best and ties share a rank; a run
without a feasible point is last. Only methods that have runs on all problems are ranked, on the seeds that all of them
have, so that every cell has the same methods.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dale._arrays import Matrix, Vector
from dale_bench.comparison import RESAMPLES
from dale_bench.real.runs import Run

DIGITS = 8  # values that agree to so many digits are tied


@dataclass(frozen=True)
class Ranks:
    """Mean ranks of methods.

    Attributes:
        methods: The methods.
        seeds: The seeds.
        mean: Mean rank of each method over problems and seeds, (checkpoints, methods).
        error: Bootstrap error of it over seeds, for these problems, (checkpoints, methods); NaN with one seed.
        of_medians: Mean over the problems of the rank of the median, (checkpoints, methods).
    """

    methods: tuple[str, ...]
    seeds: tuple[int, ...]
    mean: Matrix
    error: Matrix
    of_medians: Matrix


@dataclass(frozen=True, eq=False)
class Scores:
    """Runs of one kind by problem, method and seed. Runs with an error are left out."""

    runs: dict[str, dict[str, dict[int, Run]]]

    @classmethod
    def of(cls, runs: Sequence[Run]) -> Scores:
        """Group runs. Raises ``ValueError`` if a problem has runs with several budgets."""
        found: dict[str, dict[str, dict[int, Run]]] = {}
        budgets: dict[str, int] = {}
        for run in runs:
            if run.error is not None:
                continue
            if budgets.setdefault(run.problem, run.budget) != run.budget:
                raise ValueError(
                    f"expected runs on {run.problem} with one budget, got {budgets[run.problem]} and {run.budget}; "
                    "use a file for each budget"
                )
            found.setdefault(run.problem, {}).setdefault(run.method, {})[run.seed] = run
        return cls(found)

    @property
    def problems(self) -> tuple[str, ...]:
        """The problems with runs."""
        return tuple(self.runs)

    @cached_property
    def methods(self) -> tuple[str, ...]:
        """The methods with runs on any problem."""
        return tuple(dict.fromkeys(m for by in self.runs.values() for m in by))

    def values(self, problem: str, method: str, checkpoint: int, seeds: Sequence[int] | None = None) -> Vector:
        """Values of the runs (n,) in the order of their seeds; infinite without a feasible point."""
        by = self.runs[problem][method]
        chosen = sorted(by) if seeds is None else seeds
        return np.array([np.inf if (v := by[s].values[checkpoint]) is None else v for s in chosen])

    def reference(self, problem: str) -> float:
        """The lowest value of all runs at any checkpoint."""
        every = [self.values(problem, m, c) for m in self.runs[problem] for c in (0, 1)]
        return float(np.min(np.concatenate(every)))

    def complete_methods(self) -> tuple[str, ...]:
        """The methods that have runs on all problems."""
        return tuple(m for m in self.methods if all(m in by for by in self.runs.values()))

    def seeds(self, methods: Sequence[str]) -> tuple[int, ...]:
        """The seeds that all these methods have on all problems."""
        sets = [set(by[m]) for by in self.runs.values() for m in methods]
        return tuple(sorted(set.intersection(*sets))) if sets else ()

    def ranks_on(self, problem: str) -> dict[str, float]:
        """Mean rank of each method with runs on a problem at the end, over the seeds that all of them have."""
        one = Scores({problem: self.runs[problem]})
        ranks = one.ranks(one.methods)
        return {} if ranks is None else dict(zip(ranks.methods, ranks.mean[1].tolist(), strict=True))

    def ranks(self, methods: Sequence[str]) -> Ranks | None:
        """The ranks of methods that have runs on all problems; None without common seeds."""
        from scipy.stats import rankdata

        seeds = self.seeds(methods)
        if not seeds:
            return None
        table = np.array(
            [[[self.values(p, m, c, seeds) for m in methods] for p in self.problems] for c in (0, 1)]
        )  # (checkpoints, problems, methods, seeds)
        ranks = rankdata(rounded(table), axis=2)
        rng = np.random.default_rng(0)
        draws = rng.integers(len(seeds), size=(RESAMPLES, len(self.problems), len(seeds)))
        rows = np.arange(len(self.problems))[:, None]
        by_seed = np.moveaxis(ranks, 2, -1)  # (checkpoints, problems, seeds, methods)
        resampled = [by_seed[:, rows, draw].mean(axis=(1, 2)) for draw in draws]
        medians = rankdata(rounded(np.median(table, axis=3)), axis=2).mean(axis=1)
        n = len(seeds)  # the bootstrap of n runs understates the variance of their mean by (n - 1) / n
        error = np.std(resampled, axis=0) * np.sqrt(n / (n - 1)) if n > 1 else np.full((2, len(methods)), np.nan)
        return Ranks(tuple(methods), seeds, ranks.mean(axis=(1, 3)), error, medians)


def rounded(values: Matrix) -> Matrix:
    """Values with `DIGITS` digits; infinite ones stay."""
    finite = np.isfinite(values) & (values != 0)
    magnitude = np.floor(np.log10(np.abs(np.where(finite, values, 1.0))))
    scale = 10.0 ** (DIGITS - 1 - magnitude)
    return np.where(finite, np.round(np.where(finite, values, 0.0) * scale) / scale, values)
