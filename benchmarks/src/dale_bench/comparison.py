"""Statistics of runs of several methods on several functions.

A cell is one function at one checkpoint (25, 50, 75, 100 % of the budget). It holds for each method the median over
runs of the log10 of the best regret so far, the bootstrap error of that median (Sec. 4.3 of the paper), and the worst
run. Regrets below ``MIN_REGRET`` count as ``MIN_REGRET``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dale._arrays import Matrix, Vector
from dale_bench.rows import Curves

CHECKPOINTS = (0.25, 0.5, 0.75, 1.0)
MIN_REGRET = 1e-14
RESAMPLES = 1000
TARGETS = 10.0 ** -np.arange(0.25, 8.01, 0.25)  # relative to the initial regret: eight decades
SIGNIFICANT = 0.05
TOLERANCE = 1e-9  # decades; smaller differences count as equal
FAR_BEHIND = 0.5  # decades


def log_regret(runs: Matrix) -> Matrix:
    """log10 of regrets, clipped from below."""
    return np.log10(np.maximum(runs, MIN_REGRET))


def bootstrap_error(runs: Vector, resamples: int = RESAMPLES) -> float:
    """Standard deviation of the median of runs (n,) under resampling; infinite if some medians are."""
    rng = np.random.default_rng(0)
    draws = rng.integers(len(runs), size=(resamples, len(runs)))
    medians = np.median(runs[draws], axis=1)
    return float(np.std(medians)) if np.all(np.isfinite(medians)) else math.inf


@dataclass(frozen=True)
class Cell:
    """One method on one function at one checkpoint; log10 regrets."""

    median: float
    error: float
    worst: float
    runs: int


@dataclass(frozen=True, eq=False)
class Comparison:
    """A comparison of several methods on several functions.

    Attributes:
        curves: function -> method -> best regret so far, (runs, budget).
        envelope_of: The peers. The best median of theirs in a cell is the envelope.
        unfair: Pairs (function, method) that are excluded from envelopes and ranks, such as a method that evaluates
            the center of the box first, on a function that has its minimum there.
    """

    curves: Curves
    envelope_of: tuple[str, ...] = ()
    unfair: frozenset[tuple[str, str]] = frozenset()

    @property
    def functions(self) -> tuple[str, ...]:
        """The functions, in the given order."""
        return tuple(self.curves)

    @cached_property
    def methods(self) -> tuple[str, ...]:
        """Methods with runs on any function, in the order of first appearance."""
        return tuple(dict.fromkeys(m for by_method in self.curves.values() for m in by_method))

    def at(self, function: str, method: str, checkpoint: float) -> Vector:
        """Log10 regrets of all runs (n,) at a checkpoint."""
        runs = self.curves[function][method]
        return log_regret(runs[:, max(int(runs.shape[1] * checkpoint) - 1, 0)])

    def cell(self, function: str, method: str, checkpoint: float) -> Cell:
        """The cell of a method: median, error and worst run."""
        runs = self.at(function, method, checkpoint)
        median, worst = self.median(function, method, checkpoint), self.worst(function, method, checkpoint)
        return Cell(median, bootstrap_error(runs), worst, len(runs))

    def median(self, function: str, method: str, checkpoint: float) -> float:
        """Median log10 regret."""
        return float(np.median(self.at(function, method, checkpoint)))

    def worst(self, function: str, method: str, checkpoint: float) -> float:
        """Log10 regret of the worst run."""
        return float(np.max(self.at(function, method, checkpoint)))

    def takes_part(self, function: str, method: str) -> bool:
        """Whether a method has fair runs on a function."""
        return method in self.curves[function] and (function, method) not in self.unfair

    def envelope(self, function: str, checkpoint: float, method: str) -> tuple[float, str] | None:
        """The best median of the peers (other than the method) and the name of that peer; None if no peer ran.

        Of several peers with the same median, the one with the best worst run.
        """
        peers = [m for m in self.envelope_of if m != method and self.takes_part(function, m)]
        if not peers:
            return None
        best = min(peers, key=lambda m: (self.median(function, m, checkpoint), self.worst(function, m, checkpoint)))
        return self.median(function, best, checkpoint), best

    def gaps(self, method: str) -> dict[tuple[str, float], float]:
        """Difference of a method to the envelope in decades, for each (function, checkpoint); negative is better."""
        cells = [(f, c, self.envelope(f, c, method)) for f in self.common([method]) for c in CHECKPOINTS]
        return {(f, c): self.median(f, method, c) - best[0] for f, c, best in cells if best}

    def wins(self, method: str) -> tuple[int, int]:
        """The number of cells in which a method is at or below the envelope, and the number of all cells."""
        gaps = self.gaps(method).values()
        return sum(gap <= TOLERANCE for gap in gaps), len(gaps)

    def far_behind(self, method: str) -> list[tuple[str, float]]:
        """Cells (function, checkpoint) in which a method is more than ``FAR_BEHIND`` decades above the envelope."""
        return [cell for cell, gap in self.gaps(method).items() if gap > FAR_BEHIND]

    def worst_runs_held(self, method: str) -> tuple[int, int]:
        """The number of functions on which a method's worst run is no worse than the best peer's, and of all functions.

        The best peer of a function is the one on the envelope at the end of the budget.
        """
        best = {f: self.envelope(f, 1.0, method) for f in self.common([method])}
        peers = {f: who[1] for f, who in best.items() if who}
        held = [self.worst(f, method, 1.0) <= self.worst(f, peer, 1.0) + TOLERANCE for f, peer in peers.items()]
        return sum(held), len(held)

    def common(self, methods: Sequence[str]) -> tuple[str, ...]:
        """Functions on which all these methods have fair runs."""
        return tuple(f for f in self.functions if all(self.takes_part(f, m) for m in methods))

    def average_ranks(self, checkpoint: float, methods: Sequence[str] | None = None) -> dict[str, float]:
        """Mean rank of the median over the common functions; 1 is best, and ties share a rank."""
        from scipy.stats import rankdata

        methods = self.methods if methods is None else tuple(methods)
        functions = self.common(methods)
        if not functions:
            return {}
        table = np.array([[round(self.median(f, m, checkpoint), 6) for m in methods] for f in functions])
        return dict(zip(methods, np.mean(rankdata(table, axis=1), axis=0).tolist(), strict=True))

    def paired_test(self, method: str, other: str, checkpoint: float) -> tuple[float, float, int]:
        """Wilcoxon signed-rank test on the medians: mean difference (negative: better), p, number of functions."""
        from scipy.stats import wilcoxon

        functions = self.common([method, other])
        difference = np.array(
            [self.median(f, method, checkpoint) - self.median(f, other, checkpoint) for f in functions]
        )
        unequal = difference[difference != 0]  # without ties, SciPy computes the exact p
        if not len(unequal):
            return 0.0, 1.0, len(functions)
        return float(np.mean(difference)), float(wilcoxon(unequal).pvalue), len(functions)

    def paired_error(self, method: str, other: str, checkpoint: float) -> float:
        """Bootstrap error of the mean difference of `paired_test`, over functions and seeds.

        Seeds are resampled on each function, the same ones for both methods, which must have the same seeds; then the
        functions are resampled. The variance between functions includes that between seeds, so that the error is
        slightly too large.
        """
        rng = np.random.default_rng(0)
        differences = []
        for function in self.common([method, other]):
            runs = np.stack([self.at(function, m, checkpoint) for m in (method, other)])  # (2, seeds)
            draws = rng.integers(runs.shape[1], size=(RESAMPLES, runs.shape[1]))
            differences.append(np.subtract(*np.median(runs[:, draws], axis=-1)))
        table = np.array(differences)  # (functions, resamples)
        draws = rng.integers(len(table), size=table.shape)
        return float(np.std(np.mean(np.take_along_axis(table, draws, axis=0), axis=0)))

    def better_and_worse(self, method: str, other: str, checkpoint: float, level: float = math.inf) -> tuple[int, int]:
        """Numbers of functions on which a method has the lower and the higher median, with `rank_test` below level."""
        gaps = [
            self.median(f, method, checkpoint) - self.median(f, other, checkpoint)
            for f in self.common([method, other])
            if self.rank_test(f, method, other, checkpoint) < level
        ]
        return sum(gap < -TOLERANCE for gap in gaps), sum(gap > TOLERANCE for gap in gaps)

    def rank_test(self, function: str, method: str, other: str, checkpoint: float) -> float:
        """The p value of the Mann-Whitney test between the runs of two methods on one function.

        All runs of a deterministic method are the same run. Against such a method this is a sign test.
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
        least = 2 / math.comb(len(mine) + len(theirs), len(mine))  # SciPy's approximation is too small with many ties
        return max(float(mannwhitneyu(mine, theirs).pvalue), least)

    def _is_one_run(self, function: str, method: str) -> bool:
        runs = self.curves[function][method]
        return len(runs) > 1 and bool(np.all(runs == runs[0]))

    def targets_reached(self, method: str, functions: Sequence[str], fractions: Vector) -> Vector:
        """Fraction of (function, run, target) reached after each fraction (k,) of the budget.

        The targets of a function are ``TARGETS`` times the median regret of all first evaluations.
        """
        reached = []
        for function in functions:
            first = np.median(np.concatenate([runs[:, 0] for runs in self.curves[function].values()]))
            runs = self.curves[function][method]
            steps = np.clip((fractions * runs.shape[1]).astype(int) - 1, -1, None)
            hit = runs[:, None, :] <= (first * TARGETS)[None, :, None]  # (runs, targets, budget)
            reached.append(np.where(steps >= 0, hit[:, :, steps], False).mean(axis=(0, 1)))
        return np.mean(reached, axis=0)
