"""Online maximum likelihood: the length-scale of the largest evidence."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar

from dale.methods.length_scale.policy import LengthScaleChoice, LengthScaleContext
from dale.models.likelihood import GRID, best_of, log_marginal_likelihood


@dataclass(frozen=True)
class MaximumLikelihood:
    """The best of a grid, refined between its neighbours.

    Attributes:
        grid: Length-scales to choose from, in increasing order.

    Examples:
        >>> import dale
        >>> method = dale.methods.ei(MaximumLikelihood())
    """

    grid: tuple[float, ...] = GRID[::3]

    def choose(self, context: LengthScaleContext) -> LengthScaleChoice:
        """Maximise log p(y | l); mean and variance are closed forms."""

        def loss(log_l: float) -> float:
            return -log_marginal_likelihood(context.posterior(float(np.exp(log_l))))

        log_grid = np.log(self.grid)
        scores = -np.array([loss(log_l) for log_l in log_grid])
        i = best_of(scores)
        bounds = log_grid[max(i - 1, 0)], log_grid[min(i + 1, len(log_grid) - 1)]
        refined = minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": 1e-3})
        log_l = float(refined.x) if -refined.fun > scores[i] else float(log_grid[i])
        length_scale = float(np.exp(log_l))
        return LengthScaleChoice(length_scale, context.posterior(length_scale))
