"""Online maximum likelihood: the length-scale that explains the observations best."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar

from dale.methods.length_scale.policy import LengthScaleChoice, LengthScaleContext
from dale.models.likelihood import GRID, best_of, log_marginal_likelihood


@dataclass(frozen=True)
class MaximumLikelihood:
    """The best of a grid, polished between its neighbours."""

    grid: tuple[float, ...] = GRID[::3]

    def choose(self, context: LengthScaleContext) -> LengthScaleChoice:
        """Maximise log p(y | l), mean and variance being closed forms."""

        def misfit(log_l: float) -> float:
            return -log_marginal_likelihood(context.posterior(float(np.exp(log_l))))

        log_grid = np.log(self.grid)
        scores = -np.array([misfit(log_l) for log_l in log_grid])
        i = best_of(scores)
        bounds = log_grid[max(i - 1, 0)], log_grid[min(i + 1, len(log_grid) - 1)]
        polished = minimize_scalar(misfit, bounds=bounds, method="bounded", options={"xatol": 1e-3})
        log_l = float(polished.x) if -polished.fun > scores[i] else float(log_grid[i])
        length_scale = float(np.exp(log_l))
        return LengthScaleChoice(length_scale, context.posterior(length_scale))
