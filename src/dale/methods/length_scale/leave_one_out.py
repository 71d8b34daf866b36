"""Online leave-one-out cross-validation (Sec. 4.1): exhaustive over a grid."""

from dataclasses import dataclass

import numpy as np

from dale.methods.length_scale.policy import LengthScaleChoice, LengthScaleContext
from dale.models.likelihood import GRID, best_of, log_leave_one_out_density


@dataclass(frozen=True)
class LeaveOneOut:
    """The length-scale at which the observations are predicted best from the others.

    Attributes:
        grid: Length-scales to choose from, in increasing order.

    Examples:
        >>> import dale
        >>> method = dale.methods.ei(LeaveOneOut())
    """

    grid: tuple[float, ...] = GRID

    def choose(self, context: LengthScaleContext) -> LengthScaleChoice:
        """Maximise the log leave-one-out density over the grid."""
        posteriors = [context.posterior(l) for l in self.grid]
        i = best_of(np.array([log_leave_one_out_density(p) for p in posteriors]))
        return LengthScaleChoice(self.grid[i], posteriors[i])
