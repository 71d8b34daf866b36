"""Performance and data profiles (Dolan & Moré 2002; Moré & Wild 2009), and paired differences.

t(p, s) is the number of evaluations after which the method s passes the convergence test on the problem p,

    f(x) <= f_L + tau (f_0 - f_L),                                                       (Moré & Wild 2009, (2.2))

infinite if it does not. f_L is the least feasible value that any run on p found. f_0 is the reference value of the
problem; with constraints, it is the median over all runs of the first feasible value. A problem with several seeds
counts as several, each with the weight of one divided by their number; methods are compared with the same seed.

    data profile         d_s(k) = fraction of problems with t(p, s) <= k (d_p + 1)
    performance profile  rho_s(a) = fraction of problems with t(p, s) <= a min_s' t(p, s')
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dale._arrays import Matrix, Vector
from dale_bench.contenders import CONTENDERS
from dale_bench.cutest.runs import History, Run


@dataclass(frozen=True, eq=False)
class ProblemRuns:
    """All runs on a problem.

    Attributes:
        dimension: The number of variables d.
        budget: The number of evaluations of each run.
        least: f_L.
        reference: f_0.
        histories: For each method, the histories of its runs by seed.
    """

    dimension: int
    budget: int
    least: float
    reference: float
    histories: Mapping[str, Mapping[int, History]]

    def evaluations(self, method: str, seeds: Sequence[int], tau: float) -> Vector:
        """t for each seed, (seeds,)."""
        target = threshold(self.least, self.reference, tau)
        return np.array([evaluations_to(self.histories[method][seed], target) for seed in seeds])


def threshold(least: float, reference: float, tau: float) -> float:
    """The value that passes the convergence test; never below f_L, which one run has reached."""
    return max(least + tau * (reference - least), least)


def evaluations_to(history: History, target: float) -> float:
    """The first evaluation with a value of at most the target; infinite if there is none."""
    return next((float(n) for n, value in history if value <= target), math.inf)


def problems_of(runs: Iterable[Run]) -> dict[str, ProblemRuns]:
    """The runs without an error, by problem. Problems without any feasible value are left out.

    Raises:
        ValueError: The runs on a problem have different budgets.
    """
    grouped: dict[str, list[Run]] = {}
    for run in runs:
        if run.error is None:
            grouped.setdefault(run.problem, []).append(run)
    return {name: _problem_runs(group) for name, group in grouped.items() if any(run.history for run in group)}


def _problem_runs(runs: Sequence[Run]) -> ProblemRuns:
    budgets = sorted({run.budget for run in runs})
    if len(budgets) > 1:
        raise ValueError(
            f"{runs[0].problem}: expected runs with one budget, got {', '.join(map(str, budgets))} evaluations; keep "
            "runs with different budgets in different files"
        )
    references = [run.reference for run in runs if run.reference is not None]
    first = [run.history[0][1] for run in runs if run.history]
    histories: dict[str, dict[int, History]] = {}
    for run in runs:
        histories.setdefault(run.method, {})[run.seed] = run.history
    return ProblemRuns(
        runs[0].dimension,
        budgets[0],
        least=min(run.history[-1][1] for run in runs if run.history),
        reference=references[0] if references else float(np.median(first)),
        histories=histories,
    )


@dataclass(frozen=True, eq=False)
class Study:
    """The problems and seeds that all compared methods have.

    Attributes:
        methods: The methods, in the order of the tables.
        problems: The problems.
        seeds: The seeds of each problem.
        left_out: The number of problems that some methods have no runs of.
    """

    methods: Sequence[str]
    problems: Mapping[str, ProblemRuns]
    seeds: Mapping[str, Sequence[int]]
    left_out: int

    @property
    def factor(self) -> float:
        """The smallest budget, in multiples of d + 1; the profiles are known up to it."""
        return min(p.budget / (p.dimension + 1) for p in self.problems.values())

    @property
    def n_runs(self) -> int:
        """The number of runs of each method."""
        return sum(len(seeds) for seeds in self.seeds.values())

    def fractions(self, method: str, tau: float, k: float) -> Vector:
        """For each problem, the fraction of the seeds with t <= k (d + 1), (problems,)."""
        return np.array(
            [
                np.mean(p.evaluations(method, self.seeds[name], tau) <= k * (p.dimension + 1))
                for name, p in self.problems.items()
            ]
        )

    def data_profile(self, method: str, tau: float, k: Vector) -> Vector:
        """d_s at each k, (len(k),)."""
        return np.array([np.mean(self.fractions(method, tau, at)) for at in k])

    def performance_profiles(self, tau: float, ratios: Vector) -> dict[str, Vector]:
        """rho_s of each method at each ratio, (len(ratios),)."""
        profiles = {method: np.zeros(len(ratios)) for method in self.methods}
        for name, p in self.problems.items():
            t: Matrix = np.array([p.evaluations(method, self.seeds[name], tau) for method in self.methods])
            least = np.min(t, axis=0)  # of all methods, for each seed
            for method, own in zip(self.methods, t, strict=True):
                solved = np.isfinite(own)[:, None] & (own[:, None] <= ratios * least[:, None])  # (seeds, ratios)
                profiles[method] += np.mean(solved, axis=0) / len(self.problems)
        return profiles


def study_of(problems: Mapping[str, ProblemRuns], methods: Sequence[str] = ()) -> Study:
    """The methods on the problems and seeds that all of them have; without names, all methods.

    Raises:
        ValueError: There are none.
    """
    order = {name: i for i, name in enumerate(CONTENDERS)}
    available = {method for p in problems.values() for method in p.histories}
    unknown = [method for method in methods if method not in available]
    if unknown:
        raise ValueError(f"--methods: expected some of {', '.join(sorted(available))}, got {', '.join(unknown)}")
    names = sorted(methods or available, key=lambda name: (order.get(name, len(order)), name))
    seeds = {
        name: sorted(set.intersection(*(set(p.histories.get(method, ())) for method in names)))
        for name, p in problems.items()
        if names
    }
    common = {name: problems[name] for name, found in seeds.items() if found}
    if not common:
        raise ValueError(
            f"expected problems of which {', '.join(names) or 'any method'} have runs with the same seeds, got none"
        )
    return Study(names, common, {name: seeds[name] for name in common}, len(problems) - len(common))


class Difference(NamedTuple):
    """A mean over problems of paired differences, and its standard error over the problems."""

    mean: float
    error: float


def paired_difference(first: Vector, second: Vector) -> Difference:
    """Second minus first, both by problem; positive if the second solves more."""
    differences = second - first
    n = len(differences)
    return Difference(
        float(np.mean(differences)), float(np.std(differences, ddof=1) / np.sqrt(n)) if n > 1 else math.nan
    )
