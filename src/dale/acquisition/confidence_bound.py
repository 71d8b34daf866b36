"""The lower confidence bound of the objective, mean - beta std, negated so that larger is better.

``beta`` is a number or grows with the number of evaluations t. In the schedule of Srinivas et al. for d continuous
parameters (their Theorem 2, without the constants of the domain; Brochu et al., Sec. 2.3.3),

    beta_t^2 = 2 v log(pi^2 t^(d/2 + 2) / (3 delta)),

the bound holds everywhere and at all times with probability 1 - delta for v = 1, and the regret grows slower than t.
They divide beta^2 by 5 in their experiments, so v = 0.2.

A cool down and regions compare logarithms, for which the bound has no zero. ``LogLowerConfidenceBound`` is the
logarithm of the improvement at the bound, max(best - (mean - beta std), 0): the same order of all points that may
improve.

References: Srinivas, Krause, Kakade & Seeger, "Gaussian Process Optimization in the Bandit Setting", ICML 2010; Brochu,
Cora & de Freitas, "A Tutorial on Bayesian Optimization of Expensive Cost Functions", arXiv:1012.2599, 2010.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from numbers import Real
from typing import ClassVar, Self

import numpy as np

from dale._arrays import Vector
from dale.acquisition.base import AcquisitionState, Partials, Quantity
from dale.models.base import Prediction

BETA = 2.0  # two standard deviations


@dataclass(frozen=True)
class ConfidenceSchedule:
    """beta as a function of the number of evaluations.

    Attributes:
        delta: Probability that the bound fails, between 0 and 1.
        scale: v, the factor of beta^2.

    Examples:
        >>> schedule = ConfidenceSchedule()
        >>> [round(schedule(n, dimension=2), 2) for n in (1, 10, 100)]
        [1.18, 2.04, 2.63]
    """

    delta: float = 0.1  # Srinivas et al., Sec. 6
    scale: float = 0.2  # the same

    def __post_init__(self) -> None:
        if not 0 < self.delta < 1:
            raise ValueError(f"delta: expected a probability between 0 and 1, got {self.delta!r}")
        if not 0 < self.scale < math.inf:
            raise ValueError(f"scale: expected a positive finite number, got {self.scale!r}")

    def __call__(self, n: int, dimension: int) -> float:
        """Beta after n evaluations."""
        log_term = (dimension / 2 + 2) * math.log(max(n, 1)) + math.log(math.pi**2 / (3 * self.delta))
        return math.sqrt(2 * self.scale * log_term)


def lower_confidence_bound(mean: Vector, std: Vector, beta: float = BETA) -> Partials:
    """-(mean - beta std)."""
    mean, std = np.asarray(mean, dtype=float), np.asarray(std, dtype=float)
    return Partials(beta * std - mean, np.full_like(mean, -1.0), np.full_like(mean, beta))


def log_lower_confidence_bound(mean: Vector, std: Vector, best: float, beta: float = BETA) -> Partials:
    """log max(best - mean + beta std, 0); minus infinity, without a gradient, where the bound is no improvement."""
    mean, std = np.asarray(mean, dtype=float), np.asarray(std, dtype=float)
    gain = best - mean + beta * std
    improves = gain > 0
    positive = np.where(improves, gain, 1.0)
    return Partials(
        np.where(improves, np.log(positive), -np.inf),
        np.where(improves, -1 / positive, 0.0),
        np.where(improves, beta / positive, 0.0),
    )


@dataclass(frozen=True)
class _ConfidenceBound:
    """What both forms of the bound share.

    Attributes:
        beta: Number of standard deviations, at least 0; or a schedule, for methods that adapt to the number of
            evaluations (``ei()``, ``lcb()``, ``paper()``).
    """

    beta: float | ConfidenceSchedule = BETA
    quantity: ClassVar[Quantity] = Quantity.OPTIMISTIC_IMPROVEMENT

    def __post_init__(self) -> None:
        if isinstance(self.beta, ConfidenceSchedule):
            return
        if not isinstance(self.beta, Real):
            raise TypeError(f"beta: expected a number or a ConfidenceSchedule(), got {self.beta!r}")
        if not 0 <= self.beta < math.inf:
            raise ValueError(f"beta: expected a finite number of at least 0, got {self.beta!r}")

    def adapted(self, state: AcquisitionState) -> Self:
        """The bound with a number as beta."""
        if not isinstance(self.beta, ConfidenceSchedule):
            return self
        return replace(self, beta=self.beta(state.n, state.dimension))

    @property
    def _number(self) -> float:
        if isinstance(self.beta, ConfidenceSchedule):
            raise TypeError(f"beta: expected a number; call adapted(state) first, got {self.beta!r}")
        return self.beta


@dataclass(frozen=True)
class LowerConfidenceBound(_ConfidenceBound):
    """-(mean - beta std); the best value so far plays no part.

    Attributes:
        beta: Number of standard deviations, at least 0; or a ``ConfidenceSchedule``.

    Examples:
        >>> from dale.models import Prediction
        >>> LowerConfidenceBound(beta=2.0)(Prediction([0.0, 1.0], [1.0, 1.0]), best=0.0)
        array([2., 1.])
    """

    is_log: ClassVar[bool] = False

    def __call__(self, prediction: Prediction, best: float) -> Vector:
        """Values, (k,)."""
        return self.partials(prediction, best).value

    def partials(self, prediction: Prediction, best: float) -> Partials:
        """Values and first derivatives."""
        return lower_confidence_bound(*prediction, self._number)


@dataclass(frozen=True)
class LogLowerConfidenceBound(_ConfidenceBound):
    """log max(best - (mean - beta std), 0): the confidence bound for a cool down and for regions.

    Attributes:
        beta: Number of standard deviations, at least 0; or a ``ConfidenceSchedule``.

    Examples:
        >>> import dale
        >>> method = dale.methods.paper(acquisition=LogLowerConfidenceBound(ConfidenceSchedule()))
    """

    is_log: ClassVar[bool] = True

    def __call__(self, prediction: Prediction, best: float) -> Vector:
        """Values, (k,)."""
        return self.partials(prediction, best).value

    def partials(self, prediction: Prediction, best: float) -> Partials:
        """Values and first derivatives."""
        return log_lower_confidence_bound(*prediction, best, self._number)
