"""Two length-scales, a global one and a shorter one around the best region (``models/kernels/spartan.py``).

The parameters are those of the largest evidence on a grid: the global length-scale and the ratio of the local one to
it. The window is centered at the best observation, or, if that explains the data better, at the mean of the best tenth
of them. A ratio of 1 is an ordinary kernel, which the evidence prefers for a stationary function.

Departure from the source: it samples the position of the window and both length-scales by Markov chain Monte Carlo, and
averages the acquisition function over the samples. The grid, the ratios and the two candidates for the center are ours.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace

import numpy as np

from dale.methods.length_scale.policy import (
    LengthScaleChoice,
    LengthScaleContext,
    SearchContext,
    checked_grid,
    search_context,
)
from dale.models.gaussian_process import GaussianProcess
from dale.models.kernels.spartan import GLOBAL_STD, LOCAL_STD, Spartan, check_widths
from dale.models.likelihood import GRID, best_of, log_marginal_likelihood


@dataclass(frozen=True)
class SpartanLengthScales:
    """A global and a local length-scale by maximum likelihood.

    Attributes:
        grid: Global length-scales, in increasing order.
        ratios: Local over global length-scale, in increasing order up to 1.
        local_std: Width of the window, in sides of the cube.
        global_std: Width of the weight of the global kernel.

    Examples:
        >>> import dale
        >>> method = dale.methods.ei(SpartanLengthScales(ratios=(0.1, 1.0)))
    """

    grid: tuple[float, ...] = GRID[10:51:5]  # 0.03 to 3
    ratios: tuple[float, ...] = (0.125, 0.35, 1.0)
    local_std: float = LOCAL_STD
    global_std: float = GLOBAL_STD

    def __post_init__(self) -> None:
        object.__setattr__(self, "grid", checked_grid(self.grid))
        check_widths(self.local_std, self.global_std)
        if not self.ratios or not all(0 < ratio <= 1 for ratio in self.ratios):
            raise ValueError(f"ratios: expected at least one number in (0, 1], got {self.ratios!r}")

    def choose(self, context: LengthScaleContext) -> LengthScaleChoice:
        """The kernel of the largest evidence; first the ratio at the best observation, then the center."""
        search = search_context(context, self)
        center, *others = self.centers(search)
        pairs = list(itertools.product(self.ratios, self.grid))
        best = _most_likely([search.fit(self.kernel(search, l, ratio, center)) for ratio, l in pairs])
        chosen = best.kernel
        if isinstance(chosen, Spartan) and chosen.local != chosen.broad:
            best = _most_likely([*(search.fit(replace(chosen, center=c)) for c in others), best])
        return LengthScaleChoice(float(np.max(best.kernel.length_scale)), best)

    def kernel(self, context: SearchContext, length_scale: float, ratio: float, center: tuple[float, ...]) -> Spartan:
        """The kernel with these parameters."""
        return Spartan(
            context.kernel(length_scale), context.kernel(ratio * length_scale), center, self.local_std, self.global_std
        )

    def centers(self, context: SearchContext) -> list[tuple[float, ...]]:
        """Where the window may be: at the best observation, and in the middle of the best tenth."""
        X, z = context.outside
        best = X[np.argsort(z, kind="stable")[: math.ceil(len(z) / 10)]]
        return [tuple(context.incumbent.tolist()), tuple(np.mean(best, axis=0).tolist())]


def _most_likely(models: list[GaussianProcess]) -> GaussianProcess:
    """The model of the largest evidence; of equal ones the last."""
    return models[best_of(np.array([log_marginal_likelihood(model) for model in models]))]
