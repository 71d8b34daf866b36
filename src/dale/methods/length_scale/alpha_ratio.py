"""Alpha-ratio cool down (eq. 8, Alg. 2): reduce the length-scale if that raises the acquisition value substantially.

Halving the length-scale always raises the maximum of the acquisition function, because the model becomes less certain.
Only if it rises substantially, alpha*(l/2) / alpha*(l) > 1.5, is it worth the risk of overfitting.

Where the paper is silent: both sides are computed on the current data from the same starting points, and compared as
logarithms. Both use one c_mu and sigma_f^2, the maximum-likelihood ones at the old length-scale: estimated separately,
the variance at a length-scale that is too large explodes, its acquisition value with it, and the ratio never exceeds
the threshold. They are estimated anew after the choice. A floor above the old length-scale is no candidate: a cool down
never increases the length-scale.
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
        initial: l_1. The paper gives none; ours is the side of the cube.
        threshold: alpha-bar_r.
        min_correlation: c-bar of the floor.
        max_variance_ratio: If the maximum-likelihood variance exceeds the variance in use by more than this factor, the
            length-scale is too large for the data and is reduced without comparing acquisition values. None (the
            paper): never.

    Examples:
        >>> import dale
        >>> method = dale.methods.ei(AlphaRatio(threshold=2.0))
    """

    initial: float = 1.0
    threshold: float = 1.5  # Sec. 4
    min_correlation: float = MIN_CORRELATION
    max_variance_ratio: float | None = None

    def choose(self, context: LengthScaleContext) -> LengthScaleChoice:
        """Keep the length-scale or halve it, after reducing it to fit the data if ``max_variance_ratio`` is set."""
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
            context.max_log_acquisition(new.with_prior(old.prior)),  # line 4
            context.max_log_acquisition(old),
        )  # line 5
        if log_ratio is not None and log_ratio > math.log(self.threshold):  # line 6
            return LengthScaleChoice(l_new, new, log_ratio, cooled=True)  # line 7
        return LengthScaleChoice(l_old, old, log_ratio, cooled=mismatch)  # line 9

    def _variance_mismatch(self, posterior: GaussianProcess) -> bool:
        """Whether the length-scale is too large for the data."""
        if self.max_variance_ratio is None:
            return False
        likely = maximum_likelihood_prior(posterior.factor, posterior.values).variance
        return likely > self.max_variance_ratio * posterior.prior.variance


def log_alpha_ratio(log_new: float, log_old: float) -> float | None:
    """Logarithm of eq. 8; None if both acquisition values are zero, infinite if one is."""
    if log_new == log_old == -math.inf:
        return None
    return log_new - log_old
