"""What runs say about methods: numbers only, no drawing.

A cell is one function at one checkpoint (25, 50, 75, 100 % of the budget). For each method: the median over runs of
the best regret so far as log10, its bootstrap error as in the paper's Sec. 4.3, and the worst run. Regrets below
``LEAST`` count as it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dale.arrays import Matrix, Vector
from dale.bench.rows import Curves

CHECKPOINTS = (0.25, 0.5, 0.75, 1.0)
LEAST = 1e-14
RESAMPLES = 1000
TARGETS = 10.0 ** -np.arange(0.25, 8.01, 0.25)  # of the first regrets: eight decades
SIGNIFICANT = 0.05


def log_regret(runs: Matrix) -> Matrix:
    """log10 of regrets, clipped from below."""
    return np.log10(np.maximum(runs, LEAST))


def bootstrap_error(runs: Vector, resamples: int = RESAMPLES) -> float:
    """Standard deviation of the median of runs (n,) under resampling."""
    rng = np.random.default_rng(0)
    draws = rng.integers(len(runs), size=(resamples, len(runs)))
    return float(np.std(np.median(runs[draws], axis=1)))


@dataclass(frozen=True)
class Cell:
    """One method on one function at one checkpoint; log10 regrets."""

    median: float
    error: float
    worst: float
    runs: int


@dataclass(frozen=True, eq=False)
class Comparison:
    """Curves of several methods on several functions, compared.

    Attributes:
        curves: function -> method -> best regret so far, (runs, budget).
        envelope_of: The methods whose best in each cell is the envelope: the peers.
        unfair: Pairs (function, method) that take no part in envelopes and ranks, such as a method that evaluates the
            box centre first on a function that has its minimum there.
    """

    curves: Curves
    envelope_of: tuple[str, ...] = ()
    unfair: frozenset[tuple[str, str]] = frozenset()

    @property
    def functions(self) -> tuple[str, ...]:
        """Functions, as given."""
        return tuple(self.curves)

    @cached_property
    def methods(self) -> tuple[str, ...]:
        """Methods that ran on any function, in the order in which they first appear."""
        return tuple(dict.fromkeys(m for by_method in self.curves.values() for m in by_method))

    def at(self, function: str, method: str, checkpoint: float) -> Vector:
        """Log10 regrets of all runs (n,) at a checkpoint."""
        runs = self.curves[function][method]
        return log_regret(runs[:, max(int(runs.shape[1] * checkpoint) - 1, 0)])

    def cell(self, function: str, method: str, checkpoint: float) -> Cell:
        """Median, error and worst."""
        runs = self.at(function, method, checkpoint)
        return Cell(float(np.median(runs)), bootstrap_error(runs), float(np.max(runs)), len(runs))

    def median(self, function: str, method: str, checkpoint: float) -> float:
        """Median log10 regret."""
        return float(np.median(self.at(function, method, checkpoint)))

    def takes_part(self, function: str, method: str) -> bool:
        """Whether a method has fair runs on a function."""
        return method in self.curves[function] and (function, method) not in self.unfair

    def envelope(self, function: str, checkpoint: float) -> tuple[float, str] | None:
        """The best of the peers and who it is; None if no peer ran."""
        peers = [m for m in self.envelope_of if self.takes_part(function, m)]
        return min(((self.median(function, m, checkpoint), m) for m in peers), default=None)

    def wins(self, method: str, tolerance: float = 1e-9) -> tuple[int, int]:
        """In how many cells a method is at or below the envelope of the (other) peers, and of how many."""
        won = total = 0
        for function in self.functions:
            if not self.takes_part(function, method):
                continue
            for checkpoint in CHECKPOINTS:
                others = [m for m in self.envelope_of if m != method and self.takes_part(function, m)]
                if others:
                    best = min(self.median(function, m, checkpoint) for m in others)
                    won += self.median(function, method, checkpoint) <= best + tolerance
                    total += 1
        return won, total

    def common(self, methods: Sequence[str]) -> tuple[str, ...]:
        """Functions on which all these methods have fair runs."""
        return tuple(f for f in self.functions if all(self.takes_part(f, m) for m in methods))

    def average_ranks(self, checkpoint: float, methods: Sequence[str] | None = None) -> dict[str, float]:
        """Mean over the common functions of the rank of the median; 1 is best, equals share."""
        from scipy.stats import rankdata

        methods = self.methods if methods is None else tuple(methods)
        functions = self.common(methods)
        if not functions:
            return {}
        table = np.array([[round(self.median(f, m, checkpoint), 6) for m in methods] for f in functions])
        return dict(zip(methods, np.mean(rankdata(table, axis=1), axis=0).tolist(), strict=True))

    def paired_test(self, method: str, other: str, checkpoint: float) -> tuple[float, float, int]:
        """Wilcoxon's signed-rank test on the medians: mean difference (below 0: better), p, functions."""
        from scipy.stats import wilcoxon

        functions = self.common([method, other])
        difference = np.array(
            [self.median(f, method, checkpoint) - self.median(f, other, checkpoint) for f in functions]
        )
        if not np.any(difference):
            return 0.0, 1.0, len(functions)
        return float(np.mean(difference)), float(wilcoxon(difference).pvalue), len(functions)

    def rank_test(self, function: str, method: str, other: str, checkpoint: float) -> float:
        """Mann and Whitney's test between the runs of two methods on one function: p.

        A method without randomness has made one run, however often it was repeated: against it, a sign test.
        """
        from scipy.stats import binomtest, mannwhitneyu

        mine, theirs = self.at(function, method, checkpoint), self.at(function, other, checkpoint)
        fixed = [self._is_one_run(function, m) for m in (method, other)]
        if all(fixed):
            return 1.0
        if any(fixed):
            difference = mine - theirs[0] if fixed[1] else theirs - mine[0]
            n = int(np.count_nonzero(difference))
            return float(binomtest(int(np.sum(difference < 0)), n).pvalue) if n else 1.0
        least = 2 / math.comb(len(mine) + len(theirs), len(mine))  # with many ties the approximation promises more
        return max(float(mannwhitneyu(mine, theirs).pvalue), least)

    def _is_one_run(self, function: str, method: str) -> bool:
        runs = self.curves[function][method]
        return len(runs) > 1 and not np.any(np.ptp(runs, axis=0))

    def targets_reached(self, method: str, functions: Sequence[str], fractions: Vector) -> Vector:
        """Fraction of (function, run, target) reached after each fraction (k,) of the budget.

        Targets of a function are ``TARGETS`` times the median regret of all first evaluations.
        """
        reached = []
        for function in functions:
            first = np.median(np.concatenate([runs[:, 0] for runs in self.curves[function].values()]))
            runs = self.curves[function][method]
            steps = np.clip((fractions * runs.shape[1]).astype(int) - 1, -1, None)
            hit = runs[:, None, :] <= (first * TARGETS)[None, :, None]  # (runs, targets, budget)
            reached.append(np.where(steps >= 0, hit[:, :, steps], False).mean(axis=(0, 1)))
        return np.mean(reached, axis=0)
