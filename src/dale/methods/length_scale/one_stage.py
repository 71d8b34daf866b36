"""The length-scale chosen together with the point: one stage instead of two (Jones; Forrester & Jones).

Usually a model is fitted first and searched afterwards. With few observations the fit may be badly wrong, and the
search trusts it. In one stage, one supposes that the objective reaches a target T at a point x, and asks how likely the
observations are under this hypothesis. With k = k(x, X) the vector of correlations,

    y | f(x) = T  ~  N(c 1 + (T - c) k,  s2 (K - k k')),

whose mean c and variance s2 have maximum-likelihood estimates in closed form (``conditional_log_likelihood``). So every
point has a length-scale of its own, at which its hypothesis is most credible:

    l(x) = argmax_l log p(y | f(x) = T, l).

The hypothesis is rejected where a likelihood-ratio test rejects it: where log p(y | f(x) = T, l(x)) is more than a
limit below the largest log likelihood of the observations alone. Of the other points, one of two criteria chooses:

* ``likelihood`` (Jones): the x at which reaching the target is most credible.
* ``expected_improvement`` (after Forrester & Jones, the goal-seeking EI): the x of the largest expected improvement,
  each under the model with its own length-scale l(x).

Targets are T = best - a (worst - best). An ambitious one searches globally, a modest one locally; Jones therefore uses
many. Proposals take them in turn. If the target is rejected everywhere, the most credible point is proposed.

Departures from the sources: the factors a and the level of the test are ours. The test has one degree of freedom, as
the hypothesis fixes one number; the code of the book has one for each parameter. There c is that of the observations
alone; ours is the most likely one under the hypothesis.

References: Jones, "A Taxonomy of Global Optimization Methods Based on Response Surfaces", J. Global Optimization 2001;
Forrester & Jones, "Global Optimization of Deceptive Functions with Sparse Sampling", AIAA 2008-5996; Forrester,
Sobester & Keane, "Engineering Design via Surrogate Modelling", Wiley 2008 (the book).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property

import numpy as np

from dale._arrays import Matrix, Vector
from dale.methods.length_scale.policy import (
    LengthScaleChoice,
    LengthScaleContext,
    SearchContext,
    checked_grid,
    search_context,
)
from dale.models.gaussian_process import GaussianProcess
from dale.models.likelihood import GRID, conditional_log_likelihood, log_marginal_likelihood

N_CLIMBS = 3  # starting points that are improved by a local search
FIRST_STEP, LAST_STEP = 0.05, 1e-3  # of the search for the largest likelihood, in sides of the cube


class Criterion(StrEnum):
    """What a point is chosen by."""

    EXPECTED_IMPROVEMENT = "expected_improvement"  # goal-seeking EI: the acquisition function at l(x)
    LIKELIHOOD = "likelihood"  # the conditional likelihood itself


@dataclass(frozen=True)
class OneStage:
    """Point and length-scale from the hypothesis that a target is reached.

    Attributes:
        criterion: What a point is chosen by.
        improvements: a of the targets, relative to the range of the values; taken in turn.
        max_log_ratio: Limit of the likelihood-ratio test: half the 97.5 % quantile of chi^2 with one degree of freedom.
        grid: Length-scales to choose from, in increasing order.

    Examples:
        >>> import dale
        >>> method = dale.methods.ei(OneStage("expected_improvement"))
    """

    criterion: Criterion = Criterion.LIKELIHOOD
    improvements: tuple[float, ...] = (1e-4, 1e-2, 0.1)  # ours
    max_log_ratio: float = 2.51  # the test is that of Forrester & Jones, its level and degree of freedom are ours
    grid: tuple[float, ...] = GRID[::5]

    def __post_init__(self) -> None:
        if self.criterion not in tuple(Criterion):
            raise ValueError(f"criterion: expected one of {', '.join(Criterion)}, got {self.criterion!r}")
        object.__setattr__(self, "criterion", Criterion(self.criterion))
        object.__setattr__(self, "grid", checked_grid(self.grid))
        improvements = tuple(self.improvements) if isinstance(self.improvements, Iterable) else ()
        if not improvements or not all(0 < a < math.inf for a in improvements):
            raise ValueError(f"improvements: expected a tuple of positive finite numbers, got {self.improvements!r}")
        object.__setattr__(self, "improvements", improvements)
        if not self.max_log_ratio >= 0:
            raise ValueError(f"max_log_ratio: expected a number of at least 0, got {self.max_log_ratio!r}")

    def choose(self, context: LengthScaleContext) -> LengthScaleChoice:
        """The best point of the criterion, with its length-scale."""
        search = search_context(context, self)
        candidates = Candidates(self, search, tuple(context.posterior(l) for l in self.grid))
        starts = search.starts[search.allowed(search.starts)]
        if len(starts) == 0:
            return LengthScaleChoice(self.grid[-1], candidates.models[-1])
        values, which = candidates(starts)
        found = [(values[i], which[i], starts[i]) for i in np.argsort(-values, kind="stable")[:N_CLIMBS]]
        if found[0][0] == -np.inf:  # rejected everywhere
            candidates = replace(candidates, policy=replace(self, criterion=Criterion.LIKELIHOOD))
            values, which = candidates(starts)
            first = int(np.argmax(values))
            found = [(values[first], which[first], starts[first])]
        for _, i, start in tuple(found[: 1 if candidates.policy.criterion is Criterion.LIKELIHOOD else None]):
            end = candidates.climb(start, i)
            if end is not None:
                (value,), (model,) = candidates(end[None, :])
                found.append((value, model, end))
        _, i, point = max(found, key=lambda entry: entry[0])
        return LengthScaleChoice(self.grid[i], candidates.models[i], point=point)

    def target(self, context: SearchContext) -> float:
        """T of this proposal."""
        return context.best - self.improvements[context.n % len(self.improvements)] * (
            context.worst - context.best or 1.0
        )


@dataclass(frozen=True, eq=False)
class Candidates:
    """The criterion as a function of points, with one model for each length-scale of the grid."""

    policy: OneStage
    context: SearchContext
    models: tuple[GaussianProcess, ...]

    @cached_property
    def log_likelihood(self) -> float:
        """Of the observations alone, at the most likely length-scale."""
        return max(map(log_marginal_likelihood, self.models))

    def __call__(self, A: Matrix) -> tuple[Vector, np.ndarray]:
        """Criterion at points A (m, d), and the number of the model with the length-scale l(x), (m,).

        Minus infinity where the hypothesis is rejected, if the criterion is the expected improvement.
        """
        target = self.policy.target(self.context)
        likelihood = np.array([conditional_log_likelihood(model, A, target) for model in self.models])
        which = len(self.models) - 1 - np.argmax(likelihood[::-1], axis=0)  # of equal ones the largest length-scale
        if self.policy.criterion is Criterion.LIKELIHOOD:
            return np.max(likelihood, axis=0), which
        credible = np.max(likelihood, axis=0) >= self.log_likelihood - self.policy.max_log_ratio
        values = np.full(len(A), -np.inf)
        for i in np.unique(which[credible]).tolist():
            chosen = credible & (which == i)
            values[chosen] = self.context.acquisition_values(self.models[i], A[chosen])
        return values, which

    def climb(self, start: Vector, i: int) -> Vector | None:
        """A better point than the start by a local search, without changing the length-scale; None if it found none."""
        if self.policy.criterion is Criterion.EXPECTED_IMPROVEMENT:
            found = self.context.climb(self.models[i], start[None, :])
            return None if found is None else found.x
        return self._pattern_search(start)

    def _pattern_search(self, x: Vector) -> Vector | None:
        """Along the axes, with halved steps where that gives nothing: all neighbours are evaluated at once."""
        step, here = FIRST_STEP, float(self(x[None, :])[0][0])
        axes = np.vstack([np.eye(len(x)), -np.eye(len(x))])
        while step > LAST_STEP:
            around = np.clip(x + step * axes, 0.0, 1.0)
            around = around[self.context.allowed(around)]
            values = self(around)[0] if len(around) else np.empty(0)
            if len(values) and np.max(values) > here:
                here, x = float(np.max(values)), around[np.argmax(values)]
            else:
                step /= 2
        return x
