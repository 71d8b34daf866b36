"""Alpha-ratio cool down (eq. 8, Alg. 2): a smaller length-scale must promise more for the next evaluation.

Halving the length-scale always promises something more, for the model is less sure of itself. Only if it promises
substantially more, alpha*(l/2) / alpha*(l) > 1.5, is it worth the risk of overfitting.

What the paper leaves open is settled so: both sides are computed on the present data from the same starting points and
compared in logs; both share one c_mu and sigma_f^2, the maximum-likelihood ones at the old length-scale (apart from
each other, the variance at a length-scale that is too large explodes, its promise with it, and the ratio never
passes); they are estimated anew after the decision. A floor above the old length-scale is no candidate: a cool down
never heats.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from dale.methods.length_scale.floor import MIN_CORRELATION, length_scale_floor
from dale.methods.length_scale.policy import LengthScaleChoice, LengthScaleContext
from dale.models.gaussian_process import GaussianProcess, maximum_likelihood_prior


@dataclass(frozen=True)
class AlphaRatio:
    """Settings of Alg. 2.

    Attributes:
        initial: l_1; the paper does not say, the cube's side is ours.
        threshold: alpha-bar_r.
        min_correlation: c-bar of the floor.
        max_variance_ratio: How many times the variance in use the maximum-likelihood variance may be before the length-scale
            is too large for the data, whatever it promises, and is cooled down at once; None (the paper): any number.
    """

    initial: float = 1.0
    threshold: float = 1.5  # Sec. 4
    min_correlation: float = MIN_CORRELATION
    max_variance_ratio: float | None = None

    def choose(self, context: LengthScaleContext) -> LengthScaleChoice:
        """Keep the length-scale or halve it; first make it fit the data, if surprise matters."""
        l_old = context.previous or self.initial
        l_floor = length_scale_floor(context.n, context.dimension, self.min_correlation)  # line 2
        old = context.posterior(l_old)
        mismatch = False
        while self._variance_mismatch(old) and l_old / math.sqrt(2) > l_floor:
            l_old, mismatch = l_old / math.sqrt(2), True
            old = context.posterior(l_old)
        l_new = max(l_old / 2, l_floor)  # line 3
        if not l_new < l_old:
            return LengthScaleChoice(l_old, old, cooled=mismatch)
        new = context.posterior(l_new)
        log_ratio = log_alpha_ratio(
            context.promise(new.with_prior(old.prior)),  # line 4
            context.promise(old),
        )  # line 5
        if log_ratio is not None and log_ratio > math.log(self.threshold):  # line 6
            return LengthScaleChoice(l_new, new, log_ratio, cooled=True)  # line 7
        return LengthScaleChoice(l_old, old, log_ratio, cooled=mismatch)  # line 9

    def _variance_mismatch(self, posterior: GaussianProcess) -> bool:
        if self.max_variance_ratio is None:
            return False
        likely = maximum_likelihood_prior(posterior.factor, posterior.values).variance
        return likely > self.max_variance_ratio * posterior.prior.variance


def log_alpha_ratio(log_new: float, log_old: float) -> float | None:
    """Logarithm of eq. 8; None where neither side promises anything, infinite where only one does."""
    if log_new == log_old == -math.inf:
        return None
    return log_new - log_old
