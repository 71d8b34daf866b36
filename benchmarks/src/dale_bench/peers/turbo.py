"""The TuRBO-1 rule of Eriksson et al. (2019, "Scalable Global Optimization via Local Bayesian Optimization").

One trust region around the best point. Its sides are proportional to the length-scales, and its volume is that of a
cube of side L. Points are selected by Thompson sampling. L doubles after three consecutive successes and halves after
max(d, 4) consecutive failures. Below the minimum of L the method restarts with new points. Written from the article, on
BoTorch's Gaussian process.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dale._arrays import Vector
from dale.optim.sampling import latin_hypercube
from dale_bench.contender import Objective
from dale_bench.peers.botorch_ import dimension, fit
from dale_bench.peers.environment import quiet, seeded_torch

INITIAL_SIDE, MIN_SIDE, MAX_SIDE = 0.8, 2.0**-7, 1.6  # Sec. 2, "trust regions"
SUCCESSES = 3
MIN_FAILURE_TOLERANCE = 4  # as in BoTorch's tutorial; the article's d was worse on Branin (four seeds)
INITIAL_POINTS = 2  # per dimension
CANDIDATES = 100, 5000  # per dimension; maximum
MOVED = 20  # maximum of the mean number of coordinates in which a candidate differs from the center


@dataclass(frozen=True)
class TrustRegion:
    """The side L of the region, and the numbers of consecutive successes or failures."""

    side: float = INITIAL_SIDE
    successes: int = 0
    failures: int = 0

    def after(self, success: bool, failure_tolerance: int) -> "TrustRegion":
        """The region after a success (an improvement) or a failure."""
        successes, failures = (self.successes + 1, 0) if success else (0, self.failures + 1)
        if successes == SUCCESSES:
            return TrustRegion(min(2 * self.side, MAX_SIDE))
        if failures == failure_tolerance:
            return TrustRegion(self.side / 2)
        return replace(self, successes=successes, failures=failures)


@quiet()
def turbo(objective: Objective, seed: int) -> None:
    """TuRBO with one region and one evaluation at a time."""
    rng = np.random.default_rng(seed)
    with seeded_torch(seed):
        while True:
            _run_until_collapse(objective, rng)


def _run_until_collapse(objective: Objective, rng: np.random.Generator) -> None:
    d = objective.dimension
    X = list(latin_hypercube(INITIAL_POINTS * d, d, rng))
    y = [objective(u) for u in X]
    region = TrustRegion()
    while region.side >= MIN_SIDE:
        u = _thompson(fit(X, y), X[int(np.argmin(y))], region.side)
        value = objective(u)
        region = region.after(success=value < min(y), failure_tolerance=max(d, MIN_FAILURE_TOLERANCE))
        X.append(u)
        y.append(value)


def _thompson(model: Any, center: Vector, side: float) -> Vector:
    """The best candidate of one posterior sample in the region."""
    import torch

    candidates = _candidates(model, torch.tensor(center), side)
    with torch.no_grad():
        draw = model.posterior(candidates).rsample().flatten()
    return np.asarray(candidates[draw.argmax()].numpy())


def _candidates(model: Any, center: Any, side: float) -> Any:
    """Sobol points of the region. If d is large, some of their coordinates are those of the center."""
    import torch

    d = dimension(model)
    n = min(CANDIDATES[0] * d, CANDIDATES[1])
    kernel = getattr(model.covar_module, "base_kernel", model.covar_module)
    length_scales = kernel.lengthscale.detach().flatten()
    half = 0.5 * side * length_scales / length_scales.log().mean().exp()
    low, high = (center - half).clamp(0, 1), (center + half).clamp(0, 1)
    sobol = torch.quasirandom.SobolEngine(d, scramble=True, seed=int(torch.randint(2**31, (1,))))
    moved = torch.rand(n, d) < min(1.0, MOVED / d)
    moved[torch.arange(n), torch.randint(d, (n,))] = True  # at least one
    return torch.where(moved, low + (high - low) * sobol.draw(n, dtype=torch.double), center)
