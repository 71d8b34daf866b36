"""Alpha-ratio cool down (eq. 8, Alg. 2): reduce the length-scale if that raises the acquisition value substantially.

Halving the length-scale always raises the maximum of the acquisition function, because the model becomes less certain.
Only if it rises substantially, alpha*(l/2) / alpha*(l) > 1.5, is it worth the risk of overfitting.

The denominator can be read in two ways (``Denominator``). By eq. 8 it is computed at the old length-scale, on the
current data and from the same starting points as the numerator. By Alg. 2 it is alpha*_{n-1}, an argument: the best
acquisition value of the previous proposal, with the data, length-scale, mean and variance of that time. It is part of
the reason of a proposal, so a run remains a function of its history.

Where the paper is silent: the two are compared as logarithms. The numerator uses the maximum-likelihood c_mu and
sigma_f^2 at the old length-scale, and so does a denominator that is computed: estimated separately, the variance at a
length-scale that is too large explodes, its acquisition value with it, and the ratio never exceeds the threshold. They
are estimated anew after the choice. A floor above the old length-scale is no candidate: a cool down never increases the
length-scale.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import StrEnum

from dale.methods.length_scale.floor import MIN_CORRELATION, length_scale_floor
from dale.methods.length_scale.policy import LengthScaleChoice, LengthScaleContext, StoredAlphaContext
from dale.models.gaussian_process import GaussianProcess, maximum_likelihood_prior


class Denominator(StrEnum):
    """The acquisition value at the old length-scale."""

    COMPUTED = "computed"  # eq. 8: on the current data
    STORED = "stored"  # Alg. 2, line 5: that of the previous proposal; computed for the first one


@dataclass(frozen=True)
class AlphaRatio:
    """Settings of Alg. 2.

    Attributes:
        initial: l_1. The paper gives none; ours is the side of the cube.
        threshold: alpha-bar_r.
        min_correlation: c-bar of the floor.
        max_variance_ratio: If the maximum-likelihood variance exceeds the variance in use by more than this factor, the
            length-scale is too large for the data and is reduced without comparing acquisition values, down to the
            floor of the coordinates that are not those of options. None (the paper): never.
        denominator: What the acquisition value at the smaller length-scale is divided by.

    Examples:
        >>> import dale
        >>> method = dale.methods.ei(AlphaRatio(threshold=2.0))
    """

    initial: float = 1.0
    threshold: float = 1.5  # Sec. 4
    min_correlation: float = MIN_CORRELATION
    max_variance_ratio: float | None = None
    denominator: Denominator = Denominator.COMPUTED

    def __post_init__(self) -> None:
        object.__setattr__(self, "denominator", Denominator(self.denominator))

    def choose(self, context: LengthScaleContext) -> LengthScaleChoice:
        """Keep the length-scale or halve it, after reducing it to fit the data if ``max_variance_ratio`` is set."""
        if self.denominator is Denominator.COMPUTED:
            return self._choose(context, None)
        if not isinstance(context, StoredAlphaContext):
            raise TypeError(
                "AlphaRatio(denominator='stored') needs a method that stores the acquisition value of each proposal: "
                "dale.methods.BayesianOptimization"
            )
        choice = self._choose(context, context.previous_log_acquisition)
        return replace(choice, log_acquisition=context.max_log_acquisition(choice.posterior))

    def _choose(self, context: LengthScaleContext, log_previous: float | None) -> LengthScaleChoice:
        """The choice, given the denominator; None to compute it."""
        l_old = context.previous or self.initial
        l_floor = length_scale_floor(context.n, context.dimension, self.min_correlation)  # line 2
        old = context.posterior(l_old)
        mismatch = False
        # the coordinates of options have few values each: no range that points must cover
        l_least = length_scale_floor(context.n, context.n_ordered, self.min_correlation)
        while self._variance_mismatch(old) and l_old / math.sqrt(2) > l_least:
            l_old, mismatch = l_old / math.sqrt(2), True
            old = context.posterior(l_old)
        l_new = max(l_old / 2, l_floor)  # line 3
        if not l_new < l_old:
            return LengthScaleChoice(l_old, old, cooled=mismatch)
        new = context.posterior(l_new)
        log_ratio = log_alpha_ratio(
            context.max_log_acquisition(new.with_prior(old.prior)),  # line 4
            context.max_log_acquisition(old) if log_previous is None else log_previous,
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
