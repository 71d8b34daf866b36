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

from dale._arrays import Matrix, Vector
from dale_bench.rows import Curves

CHECKPOINTS = (0.25, 0.5, 0.75, 1.0)
LEAST = 1e-14
RESAMPLES = 1000
TARGETS = 10.0 ** -np.arange(0.25, 8.01, 0.25)  # of the first regrets: eight decades
SIGNIFICANT = 0.05
TOLERANCE = 1e-9  # decades: less is no difference
FAR = 0.5  # decades


def log_regret(runs: Matrix) -> Matrix:
    """log10 of regrets, clipped from below."""
    return np.log10(np.maximum(runs, LEAST))


def bootstrap_error(runs: Vector, resamples: int = RESAMPLES) -> float:
    """Standard deviation of the median of runs (n,) under resampling; infinite where some medians are."""
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
    """Curves of several methods on several functions, compared.

    Attributes:
        curves: function -> method -> best regret so far, (runs, budget).
        envelope_of: The methods whose best in each cell is the envelope: the peers.
        unfair: Pairs (function, method) that take no part in envelopes and ranks, such as a method that evaluates the
            box center first on a function that has its minimum there.
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
        """What a method is held against: the best of the (other) peers and who it is; None if no peer ran.

        Of several with the same median it is the one with the best worst run.
        """
        peers = [m for m in self.envelope_of if m != method and self.takes_part(function, m)]
        if not peers:
            return None
        best = min(peers, key=lambda m: (self.median(function, m, checkpoint), self.worst(function, m, checkpoint)))
        return self.median(function, best, checkpoint), best

    def gaps(self, method: str) -> dict[tuple[str, float], float]:
        """How far a method is above the envelope (below: negative), in decades, for each (function, checkpoint)."""
        cells = [(f, c, self.envelope(f, c, method)) for f in self.common([method]) for c in CHECKPOINTS]
        return {(f, c): self.median(f, method, c) - best[0] for f, c, best in cells if best}

    def wins(self, method: str) -> tuple[int, int]:
        """In how many cells a method is at or below the envelope, and of how many."""
        gaps = self.gaps(method).values()
        return sum(gap <= TOLERANCE for gap in gaps), len(gaps)

    def far_behind(self, method: str) -> list[tuple[str, float]]:
        """Cells (function, checkpoint) in which a method is more than ``FAR`` decades above the envelope."""
        return [cell for cell, gap in self.gaps(method).items() if gap > FAR]

    def worst_runs_held(self, method: str) -> tuple[int, int]:
        """On how many functions a method's worst run ends no worse than the worst of the best peer, and of how many.

        The best peer is the one whose median is the envelope at the end of the budget.
        """
        best = {f: self.envelope(f, 1.0, method) for f in self.common([method])}
        peers = {f: who[1] for f, who in best.items() if who}
        held = [self.worst(f, method, 1.0) <= self.worst(f, peer, 1.0) + TOLERANCE for f, peer in peers.items()]
        return sum(held), len(held)

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
        unequal = difference[difference != 0]  # equals are left out here: with them SciPy approximates
        if not len(unequal):
            return 0.0, 1.0, len(functions)
        return float(np.mean(difference)), float(wilcoxon(unequal).pvalue), len(functions)

    def paired_error(self, method: str, other: str, checkpoint: float) -> float:
        """Bootstrap error of the mean difference of `paired_test`, over functions and seeds.

        On each function the seeds are drawn again, the same for both methods, whose runs must be of the same seeds;
        then the functions. The spread between functions has that of the seeds in it: the error is rather too large.
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
        """On how many functions a method has the lower and the higher median, with a p of `rank_test` below level."""
        gaps = [
            self.median(f, method, checkpoint) - self.median(f, other, checkpoint)
            for f in self.common([method, other])
            if self.rank_test(f, method, other, checkpoint) < level
        ]
        return sum(gap < -TOLERANCE for gap in gaps), sum(gap > TOLERANCE for gap in gaps)

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
        return len(runs) > 1 and bool(np.all(runs == runs[0]))

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
