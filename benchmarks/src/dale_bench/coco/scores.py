"""Scores: fractions of the targets reached, as means over problems, and paired differences with their errors.

A problem is (function, instance) in one suite and dimension. Its score is the mean over runs (seeds).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from dale._arrays import Matrix, Vector
from dale_bench.coco.runs import TARGETS, Run
from dale_bench.contenders import CONTENDERS

ProblemKey = tuple[int, int]  # function, instance


@dataclass(frozen=True, eq=False)
class Runs:
    """The runs of a method in one suite and dimension.

    Attributes:
        hits: For each problem, the evaluation at which each run reached each target, (runs, targets); infinite if it
            did not.
        budget: The smallest number of evaluations of the runs; fractions beyond it are not known.
    """

    hits: Mapping[ProblemKey, Matrix]
    budget: float

    @property
    def n_runs(self) -> int:
        """The number of runs."""
        return sum(len(hits) for hits in self.hits.values())

    def restricted(self, problems: Collection[ProblemKey]) -> Runs:
        """The runs on some problems."""
        return Runs({problem: hits for problem, hits in self.hits.items() if problem in problems}, self.budget)

    def problems(self, functions: Collection[int]) -> list[ProblemKey]:
        """The problems with these functions."""
        return [problem for problem in self.hits if problem[0] in functions]

    def fraction(self, problem: ProblemKey, evaluations: float) -> float:
        """Fraction of the targets of a problem that are reached, a mean over runs."""
        return float(np.mean(self.hits[problem] <= evaluations)) if evaluations <= self.budget else math.nan

    def mean_fraction(self, problems: Iterable[ProblemKey], evaluations: float) -> float:
        """Mean of the fractions over problems; NaN if there are none."""
        fractions = [self.fraction(problem, evaluations) for problem in problems]
        return float(np.mean(fractions)) if fractions else math.nan

    def profile(self, problems: Collection[ProblemKey], evaluations: int) -> Vector:
        """`mean_fraction` after 1, 2, ..., evaluations, (evaluations,)."""
        reached = np.zeros(evaluations + 1)  # at each evaluation
        for problem in problems:
            hits = self.hits[problem]
            reached += np.bincount(hits[hits <= evaluations].astype(int), minlength=evaluations + 1) / hits.size
        return np.cumsum(reached)[1:] / len(problems)


@dataclass(frozen=True, eq=False)
class Recommendations(Runs):
    """The recommended points of a method's runs in one suite and dimension; their regret may rise.

    Attributes:
        regrets: For each problem, the regret of each run's recommended point after some numbers of evaluations.
    """

    regrets: Mapping[ProblemKey, Sequence[Mapping[str, float]]]

    def restricted(self, problems: Collection[ProblemKey]) -> Recommendations:
        """The runs on some problems."""
        kept = {problem: regrets for problem, regrets in self.regrets.items() if problem in problems}
        return replace(self, hits={problem: self.hits[problem] for problem in kept}, regrets=kept)

    def fraction(self, problem: ProblemKey, evaluations: float) -> float:
        """Fraction of the targets of a problem that the recommended point reaches, a mean over runs."""
        found = [run.get(f"{evaluations:g}", math.nan) for run in self.regrets[problem]]
        return float(np.mean([np.mean(regret <= TARGETS) if regret >= 0 else math.nan for regret in found]))


Results = dict[tuple[str, int], dict[str, Runs]]  # (suite, dimension) -> method -> runs


def results_of(runs: Iterable[Run], *, recommended: bool = False) -> Results:
    """All runs without an error. Of several runs with the same seed, the one with the largest budget counts.

    Args:
        runs: The runs.
        recommended: Whether the recommended points count, instead of the best points evaluated.
    """
    longest: dict[tuple[str, int, str], dict[ProblemKey, dict[int, Run]]] = {}
    for run in runs:
        if run.error is None:
            of_method = longest.setdefault((run.suite, run.dimension, run.method), {})
            of_problem = of_method.setdefault((run.function, run.instance), {})
            of_problem[run.seed] = max(run, of_problem.get(run.seed, run), key=lambda r: r.budget)
    results: Results = {}
    order = {name: i for i, name in enumerate(CONTENDERS)}  # as in all tables; then the others
    for suite, dimension, method in sorted(longest, key=lambda key: (*key[:2], order.get(key[2], len(order)))):
        by_problem = longest[suite, dimension, method]
        hits = {problem: np.array([_row(run) for run in by_seed.values()]) for problem, by_seed in by_problem.items()}
        budget = min(run.budget for by_seed in by_problem.values() for run in by_seed.values())
        results.setdefault((suite, dimension), {})[method] = Runs(hits, budget)
        if recommended:
            regrets = {key: [run.recommended for run in by_seed.values()] for key, by_seed in by_problem.items()}
            results[suite, dimension][method] = Recommendations(hits, budget, regrets)
    return results


def _row(run: Run) -> Vector:
    return np.array([*run.hits, *[math.inf] * (len(TARGETS) - len(run.hits))], dtype=np.float64)


class Difference(NamedTuple):
    """A mean over problems of paired differences, and its standard error over the problems."""

    mean: float
    error: float


def paired_difference(first: Runs, second: Runs, problems: Collection[ProblemKey], evaluations: float) -> Difference:
    """The fraction of `second` minus that of `first` on problems that both have; positive if `second` is better."""
    differences = np.array([second.fraction(p, evaluations) - first.fraction(p, evaluations) for p in problems])
    if not len(differences):
        return Difference(math.nan, math.nan)
    error = float(np.std(differences, ddof=1) / np.sqrt(len(differences))) if len(differences) > 1 else math.nan
    return Difference(float(np.mean(differences)), error)
