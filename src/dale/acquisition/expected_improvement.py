"""Expected improvement (eq. 7) and its logarithm.

Both are functions of mean, std and the best value so far; larger is better (the paper minimises alpha = -EI):

    u  = (best - mean) / std
    EI = std h(u),   h(u) = phi(u) + u Phi(u)

Where the std is 0 the outcome is certain: EI = max(best - mean, 0). (The paper prints min(best - mean, 0) for alpha,
which would reward a worse mean.)

Searches use log EI: EI itself underflows to exactly 0 at u = -40, where its logarithm still has a gradient. With the
scaled Mills ratio q(u) = Phi(u) / phi(u) = sqrt(pi/2) erfcx(-u / sqrt 2),

    log h(u) = log phi(u) + log(1 + u q(u)).

For u far below 0, where 1 + u q(u) cancels, its asymptotic series u^-2 - 3 u^-4 + 15 u^-6 - ... replaces it. With
p = (log h)' = Phi / h, the second derivative is (log h)'' = phi / h - p^2 = 1 / (1 + u q) - p^2, by the series
-1 + 2 u^-2 - 18 u^-4. The second derivatives of log EI are

    by mean and mean   (log h)'' / std^2
    by mean and std    (p + u (log h)'') / std^2
    by std and std     (-1 + 2 u p + u^2 (log h)'') / std^2.

Reference: Ament, Daulton, Eriksson, Balandat & Bakshy, "Unexpected Improvements to Expected Improvement for Bayesian
Optimization", NeurIPS 2023.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import erfcx, ndtr

from dale._arrays import Vector
from dale.acquisition.base import (
    LOG_SQRT_2PI,
    MAX_STANDARDIZED_GAIN,
    Partials,
    SecondPartials,
    standardized_gain,
)
from dale.models.base import Prediction

SQRT_HALF_PI = math.sqrt(math.pi / 2)
SQRT_2 = math.sqrt(2)
TINY = float(np.finfo(float).tiny)
SERIES_BELOW = -50.0  # the series is exact to 1e-16 from here on, the closed form to 2e-13 up to here
SERIES = (-3.0, 15.0, -105.0, 945.0)  # (-1)^k (2k + 1)!!


@dataclass(frozen=True)
class LogExpectedImprovement:
    """log EI: what all methods maximise unless they are given another function.

    Examples:
        >>> from dale.models import Prediction
        >>> LogExpectedImprovement()(Prediction([0.0, 40.0], [1.0, 1.0]), best=0.0).round(2)
        array([  -0.92, -808.3 ])
    """

    is_log: ClassVar[bool] = True

    def __call__(self, prediction: Prediction, best: float) -> Vector:
        """Values, (k,)."""
        return log_expected_improvement(*prediction, best).value

    def partials(self, prediction: Prediction, best: float) -> Partials:
        """Values and first derivatives."""
        return log_expected_improvement(*prediction, best)

    def to_second_order(self, prediction: Prediction, best: float) -> tuple[Partials, SecondPartials]:
        """Values with first and second derivatives, (k,)."""
        return log_expected_improvement_to_second_order(*prediction, best)


@dataclass(frozen=True)
class ExpectedImprovement:
    """EI (eq. 7), as a positive number.

    Examples:
        >>> from dale.models import Prediction
        >>> ExpectedImprovement()(Prediction([0.0, 1.0], [0.0, 0.0]), best=0.5)
        array([0.5, 0. ])
    """

    is_log: ClassVar[bool] = False

    def __call__(self, prediction: Prediction, best: float) -> Vector:
        """Values, (k,)."""
        return self.partials(prediction, best).value

    def partials(self, prediction: Prediction, best: float) -> Partials:
        """Values and first derivatives."""
        return expected_improvement(*prediction, best)


def log_h(u: Vector) -> tuple[Vector, Vector]:
    """log(phi(u) + u Phi(u)) and its derivative Phi(u) / h(u), accurate for any finite u."""
    u = np.asarray(u, dtype=float)
    with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
        # u > -1: directly.
        Phi = ndtr(u)
        h = np.exp(-0.5 * u**2 - LOG_SQRT_2PI) + u * Phi
        # u <= -1: relative to phi(u).
        mills = SQRT_HALF_PI * erfcx(-u / SQRT_2)
        tail = np.where(u < SERIES_BELOW, _series(u), 1 + u * mills)
        value = np.where(u > -1, np.log(h), -0.5 * u**2 - LOG_SQRT_2PI + np.log(tail))
        gradient = np.where(u > -1, Phi / h, mills / tail)
    return value, gradient


def _series(u: Vector | float) -> Vector:
    """1 + u q(u) for u far below 0."""
    w = np.square(1 / u)
    return w * (1 + w * (SERIES[0] + w * (SERIES[1] + w * (SERIES[2] + w * SERIES[3]))))


def log_h_at(u: float) -> tuple[float, float]:
    """``log_h`` of one number: searches call it point by point, and arrays of one element cost ten times as much."""
    if u > -1:
        Phi = float(ndtr(u))
        h = math.exp(-0.5 * u * u - LOG_SQRT_2PI) + u * Phi
        return math.log(h), Phi / h
    mills = SQRT_HALF_PI * float(erfcx(-u / SQRT_2))
    tail = float(_series(u)) if u < SERIES_BELOW else 1 + u * mills
    return -0.5 * u * u - LOG_SQRT_2PI + math.log(tail), mills / tail


def log_expected_improvement(mean: Vector, std: Vector, best: float) -> Partials:
    """log EI; minus infinity where the outcome is certain and no improvement."""
    if np.ndim(mean) == 0:
        return Partials(*map(np.array, _to_second_order(best - float(mean), float(std))[:3]))
    mean, std = np.asarray(mean, dtype=float), np.asarray(std, dtype=float)
    gain = best - mean
    certain, positive_std, u = standardized_gain(gain, std)
    with np.errstate(divide="ignore", over="ignore"):
        value, ratio = log_h(u)
        return Partials(
            np.where(certain, np.log(np.maximum(gain, 0.0)), np.log(positive_std) + value),
            np.where(certain, np.where(gain > 0, -1 / np.where(gain > 0, gain, 1.0), 0.0), -ratio / positive_std),
            np.where(certain, 0.0, (1 - u * ratio) / positive_std),
        )


def log_expected_improvement_to_second_order(mean: Vector, std: Vector, best: float) -> tuple[Partials, SecondPartials]:
    """Log EI with first and second derivatives at k points (k,).

    Searches call it with few points, for which a loop over numbers is faster than arrays.
    """
    parts = np.array([_to_second_order(best - float(m), float(s)) for m, s in zip(mean, std, strict=True)])
    return Partials(*parts.T[:3]), SecondPartials(*parts.T[3:])


def _to_second_order(gain: float, std: float) -> tuple[float, float, float, float, float, float]:
    """Value, derivatives by mean and std, second derivatives: mean-mean, mean-std, std-std."""
    if math.isnan(gain) or math.isnan(std):
        return (math.nan,) * 6
    if std <= 0 or gain > MAX_STANDARDIZED_GAIN * std:
        if gain <= 0:
            return -math.inf, 0.0, 0.0, 0.0, 0.0, 0.0
        return math.log(gain), -1 / gain, 0.0, -(1 / gain) * (1 / gain), 0.0, 0.0
    u = max(gain / std, -MAX_STANDARDIZED_GAIN)
    value, p = log_h_at(u)
    if u < SERIES_BELOW:
        w = 1 / (u * u)
        second = w * (2 - 18 * w) - 1
    else:
        second = math.exp(-0.5 * u * u - LOG_SQRT_2PI - value) - p * p
    variance = max(std * std, TINY)
    return (
        math.log(std) + value,
        -p / std,
        (1 - u * p) / std,
        second / variance,
        (p + u * second) / variance,
        (2 * u * p + u * u * second - 1) / variance,
    )


def expected_improvement(mean: Vector, std: Vector, best: float) -> Partials:
    """EI (eq. 7) as a positive number."""
    mean, std = np.asarray(mean, dtype=float), np.asarray(std, dtype=float)
    log_value = log_expected_improvement(mean, std, best).value
    gain = best - mean
    certain, _, u = standardized_gain(gain, std)
    with np.errstate(under="ignore", over="ignore"):
        density = np.exp(-0.5 * u**2 - LOG_SQRT_2PI)
        return Partials(
            np.exp(log_value),
            np.where(certain, np.where(gain > 0, -1.0, 0.0), -ndtr(u)),
            np.where(certain, 0.0, density),
        )
