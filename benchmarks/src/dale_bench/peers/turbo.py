"""The TuRBO-1 rule of Eriksson et al. (2019, "Scalable Global Optimization via Local Bayesian Optimization").

One trust region around the best point, its sides in proportion to the length-scales, its volume that of a cube of
side L. Thompson sampling inside; L doubles after three successes in a row, halves after d failures in a row (four at
least), and below its least value everything begins again with new points. Written from the article, on BoTorch's
Gaussian process.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dale._arrays import Vector
from dale.optim.sampling import latin_hypercube
from dale_bench.contender import Objective
from dale_bench.peers.botorch_ import dimension, fit
from dale_bench.peers.surroundings import quiet, seeded_torch

FIRST_SIDE, LEAST_SIDE, LARGEST_SIDE = 0.8, 2.0**-7, 1.6  # Sec. 2, "trust regions"
SUCCESSES = 3
LEAST_FAILURES = 4  # where d is smaller, as in BoTorch's tutorial; the article's d was worse on Branin (four seeds)
INITIAL_POINTS = 2  # for each dimension
CANDIDATES = 100, 5000  # for each dimension, at most
MOVED = 20  # coordinates of a candidate that leave the center, on average, at most


@dataclass(frozen=True)
class TrustRegion:
    """The side L of the region, and the run of successes or failures it is in."""

    side: float = FIRST_SIDE
    successes: int = 0
    failures: int = 0

    def after(self, success: bool, patience: int) -> "TrustRegion":
        """The region after an evaluation that did or did not improve on the best; patience is the failures it takes."""
        successes, failures = (self.successes + 1, 0) if success else (0, self.failures + 1)
        if successes == SUCCESSES:
            return TrustRegion(min(2 * self.side, LARGEST_SIDE))
        if failures == patience:
            return TrustRegion(self.side / 2)
        return replace(self, successes=successes, failures=failures)


@quiet()
def turbo(objective: Objective, seed: int) -> None:
    """TuRBO with one region, one evaluation at a time."""
    rng = np.random.default_rng(seed)
    with seeded_torch(seed):
        while True:
            _until_it_collapses(objective, rng)


def _until_it_collapses(objective: Objective, rng: np.random.Generator) -> None:
    d = objective.dimension
    X = list(latin_hypercube(INITIAL_POINTS * d, d, rng))
    y = [objective(u) for u in X]
    region = TrustRegion()
    while region.side >= LEAST_SIDE:
        u = _thompson(fit(X, y), X[int(np.argmin(y))], region.side)
        value = objective(u)
        region = region.after(success=value < min(y), patience=max(d, LEAST_FAILURES))
        X.append(u)
        y.append(value)


def _thompson(model: Any, center: Vector, side: float) -> Vector:
    """The best candidate of one draw from the posterior in the region."""
    import torch

    candidates = _candidates(model, torch.tensor(center), side)
    with torch.no_grad():
        draw = model.posterior(candidates).rsample().flatten()
    return np.asarray(candidates[draw.argmax()].numpy())


def _candidates(model: Any, center: Any, side: float) -> Any:
    """Quasi-random points of the region that share some of their coordinates with the center where d is large."""
    import torch

    d = dimension(model)
    n = min(CANDIDATES[0] * d, CANDIDATES[1])
    kernel = getattr(model.covar_module, "base_kernel", model.covar_module)
    length_scales = kernel.lengthscale.detach().flatten()
    half = 0.5 * side * length_scales / length_scales.log().mean().exp()
    lower, upper = (center - half).clamp(0, 1), (center + half).clamp(0, 1)
    sobol = torch.quasirandom.SobolEngine(d, scramble=True, seed=int(torch.randint(2**31, (1,))))
    moved = torch.rand(n, d) < min(1.0, MOVED / d)
    moved[torch.arange(n), torch.randint(d, (n,))] = True  # one at least
    return torch.where(moved, lower + (upper - lower) * sobol.draw(n, dtype=torch.double), center)
