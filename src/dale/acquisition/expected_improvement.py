"""Acquisition functions: what an evaluation promises, from mean, std and the best value so far.

Free functions of arrays, larger is better (the paper minimises alpha = -EI), each with its partial derivatives:

    u    = (best - mean) / std
    EI   = std h(u),   h(u) = phi(u) + u Phi(u)                    (eq. 7)
    LCB  = -(mean - kappa std)
    PI   = Phi(u)

Where the std is 0 the outcome is certain: EI = max(best - mean, 0). (The paper prints min(best - mean, 0) for alpha,
which would reward a worse mean.)

log EI is what the search climbs: EI itself underflows to exactly 0 at u = -40, where its logarithm still points uphill.
With the scaled Mills ratio q(u) = Phi(u) / phi(u) = sqrt(pi/2) erfcx(-u / sqrt 2),

    log h(u) = log phi(u) + log(1 + u q(u)),

and where 1 + u q(u) cancels (u far below 0) its asymptotic series u^-2 - 3 u^-4 + 15 u^-6 - ... takes over. With
p = (log h)' = Phi / h its second derivative is (log h)'' = phi / h - p^2 = 1 / (1 + u q) - p^2, in the series'
realm -1 + 2 u^-2 - 18 u^-4, and log EI curves as

    by mean twice     (log h)'' / std^2
    by both           (p + u (log h)'') / std^2
    by std twice   (-1 + 2 u p + u^2 (log h)'') / std^2.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.special import erfcx, ndtr

from dale._arrays import Matrix, Vector
from dale.acquisition.base import FARTHEST, LOG_SQRT_2PI, TINY, Acquisition, Curvature, _standardized_gain, chain_rule
from dale.models.base import PredictionDerivatives
from dale.optim.projected_newton import FunctionValues, Tolerance, minimize_on_box

SQRT_HALF_PI = math.sqrt(math.pi / 2)
SQRT_2 = math.sqrt(2)
SERIES_BELOW = -50.0  # the series is exact to 1e-16 from here on, the closed form to 2e-13 up to here
SERIES = (-3.0, 15.0, -105.0, 945.0)  # (-1)^k (2k + 1)!!


def maximize_acquisition(
    believe: Callable[[Matrix], PredictionDerivatives],
    target: float,
    starts: Matrix,
    lower: Vector | Matrix,
    upper: Vector | Matrix,
    *,
    tolerance: Tolerance,
    steps: int = 30,
) -> tuple[Matrix, Vector]:
    """Go up from each of the starting points (m, d).

    Args:
        believe: The model.
        target: The value to improve on.
        starts: Starting points.
        lower: Of the box, (d,), or of a box for each, (m, d).
        upper: The same.
        tolerance: When to stop.
        steps: At most so many.

    Returns:
        Where each has arrived, (m, d), and log EI there, (m,); NaN where the model gave none.
    """

    def below(A: Matrix) -> FunctionValues:
        return negative_log_ei(believe(A), target)

    tops, losses = minimize_on_box(below, starts, lower, upper, tolerance=tolerance, steps=steps)
    return tops, -losses


def negative_log_ei(beliefs: PredictionDerivatives, target: float) -> FunctionValues:
    """-log EI with its derivatives."""
    with np.errstate(invalid="ignore", over="ignore"):
        promise, hessian = log_expected_improvement_to_second_order(beliefs.mean, beliefs.std, target)
    return chain_rule(beliefs, promise, hessian)


def log_h(u: Vector) -> tuple[Vector, Vector]:
    """log(phi(u) + u Phi(u)) and its derivative Phi(u) / h(u), accurate for any finite u."""
    u = np.asarray(u, dtype=float)
    with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
        # Right of -1: as it stands.
        Phi = ndtr(u)
        h = np.exp(-0.5 * u**2 - LOG_SQRT_2PI) + u * Phi
        # Left of it: relative to phi(u).
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
    """``log_h`` at one number: a climb takes it point by point, and arrays of one element cost ten times as much."""
    if u > -1:
        Phi = float(ndtr(u))
        h = math.exp(-0.5 * u * u - LOG_SQRT_2PI) + u * Phi
        return math.log(h), Phi / h
    mills = SQRT_HALF_PI * float(erfcx(-u / SQRT_2))
    tail = float(_series(u)) if u < SERIES_BELOW else 1 + u * mills
    return -0.5 * u * u - LOG_SQRT_2PI + math.log(tail), mills / tail


def log_expected_improvement(mean: Vector, std: Vector, best: float) -> Acquisition:
    """log EI; minus infinity where nothing can be gained for certain."""
    if np.ndim(mean) == 0:
        return Acquisition(*map(np.array, _to_second_order(best - float(mean), float(std))[:3]))
    mean, std = np.asarray(mean, dtype=float), np.asarray(std, dtype=float)
    gain = best - mean
    sure, safe, u = _standardized_gain(gain, std)
    with np.errstate(divide="ignore", over="ignore"):
        value, ratio = log_h(u)
        return Acquisition(
            np.where(sure, np.log(np.maximum(gain, 0.0)), np.log(safe) + value),
            np.where(sure, np.where(gain > 0, -1 / np.where(gain > 0, gain, 1.0), 0.0), -ratio / safe),
            np.where(sure, 0.0, (1 - u * ratio) / safe),
        )


def log_expected_improvement_to_second_order(mean: Vector, std: Vector, best: float) -> tuple[Acquisition, Curvature]:
    """Log EI and how it curves, at m points (m,): for climbs, so m is small and numbers are faster than arrays."""
    parts = np.array([_to_second_order(best - float(m), float(s)) for m, s in zip(mean, std, strict=True)])
    return Acquisition(*parts.T[:3]), Curvature(*parts.T[3:])


def _to_second_order(gain: float, std: float) -> tuple[float, float, float, float, float, float]:
    if math.isnan(gain) or math.isnan(std):
        return (math.nan,) * 6
    if std <= 0 or gain > FARTHEST * std:
        if gain <= 0:
            return -math.inf, 0.0, 0.0, 0.0, 0.0, 0.0
        return math.log(gain), -1 / gain, 0.0, -(1 / gain) * (1 / gain), 0.0, 0.0
    u = max(gain / std, -FARTHEST)
    level, p = log_h_at(u)
    if u < SERIES_BELOW:
        w = 1 / (u * u)
        bend = w * (2 - 18 * w) - 1
    else:
        bend = math.exp(-0.5 * u * u - LOG_SQRT_2PI - level) - p * p
    unit = max(std * std, TINY)
    return (
        math.log(std) + level,
        -p / std,
        (1 - u * p) / std,
        bend / unit,
        (p + u * bend) / unit,
        (2 * u * p + u * u * bend - 1) / unit,
    )


def expected_improvement(mean: Vector, std: Vector, best: float) -> Acquisition:
    """EI (eq. 7) as a positive number."""
    mean, std = np.asarray(mean, dtype=float), np.asarray(std, dtype=float)
    log_value = log_expected_improvement(mean, std, best).value
    gain = best - mean
    sure, _, u = _standardized_gain(gain, std)
    with np.errstate(under="ignore", over="ignore"):
        density = np.exp(-0.5 * u**2 - LOG_SQRT_2PI)
        return Acquisition(
            np.exp(log_value),
            np.where(sure, np.where(gain > 0, -1.0, 0.0), -ndtr(u)),
            np.where(sure, 0.0, density),
        )
