"""A small ensemble of models with different length-scales; the most promising one proposes (Mohammadi et al.).

Which length-scale explains the data best is not the question of an optimizer; the one whose model leads to the best
points is. So several models are kept at once, each with its own mean, variance and expected improvement:

1. a coarse grid of length-scales;
2. denser around the length-scale w whose proposal has had the lowest value so far: w / sqrt(2), w and sqrt(2) w.

The next point is the maximum of the largest of their expected improvements. The variance of a model that contradicts
the data explodes, and its expected improvement with it; so only models whose likelihood is at least a given fraction of
the largest one take part.

Departure from the source: it evaluates one point of each model at every iteration, in parallel, and then selects. Here
a proposal is one point; ``ask(n)`` gives several, each with fantasy values at the others. The grid, the factor sqrt(2)
and the test of the likelihood are ours.

Reference: Mohammadi, Le Riche & Touboul, "Small Ensembles of Kriging Models for Optimization", arXiv:1603.02638, 2016.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dale.methods.length_scale.policy import (
    LengthScaleChoice,
    LengthScaleContext,
    PastProposal,
    checked_grid,
    search_context,
)
from dale.models.likelihood import log_marginal_likelihood


@dataclass(frozen=True)
class Ensemble:
    """Several length-scales at once.

    Attributes:
        grid: The coarse length-scales, in increasing order.
        max_log_ratio: A model takes part if its log likelihood is at most this far below the largest one.

    Examples:
        >>> import dale
        >>> method = dale.methods.ei(Ensemble())
    """

    grid: tuple[float, ...] = (0.05, 0.15, 0.45, 1.35)
    max_log_ratio: float = 3.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "grid", checked_grid(self.grid))
        if not self.max_log_ratio >= 0:
            raise ValueError(f"max_log_ratio: expected a number of at least 0, got {self.max_log_ratio!r}")

    def choose(self, context: LengthScaleContext) -> LengthScaleChoice:
        """The model with the largest acquisition value; of equal ones that with the largest length-scale."""
        candidates = self.length_scales(search_context(context, self).proposals)
        posteriors = [context.posterior(l) for l in candidates]
        likelihood = np.array([log_marginal_likelihood(p) for p in posteriors])
        plausible = np.flatnonzero(likelihood >= np.max(likelihood) - self.max_log_ratio)
        values = {i: context.max_log_acquisition(posteriors[i]) for i in plausible[::-1].tolist()}
        i = max(values, key=lambda j: values[j])
        return LengthScaleChoice(candidates[i], posteriors[i])

    def length_scales(self, proposals: Sequence[PastProposal]) -> tuple[float, ...]:
        """The coarse ones and those around the most successful one, in increasing order."""
        best = min(proposals, key=lambda p: p.value, default=None)
        if best is None or not math.isfinite(best.value):
            return self.grid
        low, high = self.grid[0], self.grid[-1]
        around = (min(max(best.length_scale * factor, low), high) for factor in (math.sqrt(0.5), 1.0, math.sqrt(2)))
        return tuple(sorted({*self.grid, *around}))
