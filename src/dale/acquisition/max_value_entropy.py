"""Max-value entropy search: how much an evaluation tells about the value of the minimum.

The information that the value at x has about the minimum y* is the expected reduction of the entropy of f(x) when y* is
known. Given y*, f(x) is a normal distribution cut off below y*, so for samples y*_1 .. y*_K

    a(x)  = 1/K sum_k h(g_k),   g_k = (mean - y*_k) / std
    h(g)  = g r(g) / 2 - log Phi(g),   r = phi / Phi
    h'(g) = -r (1 + g^2 + g r) / 2.

*The samples.* If the values at m points that cover the cube were independent, P(y* > y) would be the product of
Phi((mean_i - y) / std_i). A Gumbel distribution for minima, P(y* > y) = exp(-exp((y - a) / b)), is fitted to its
quartiles. In place of random samples we use the quantiles (k - 1/2) / K, so that the function has no noise. No sample
may exceed the best value so far.

*Numbers.* a(x) underflows where the mean is 40 stds above y*, so we compute its logarithm, from

    log h = log phi + log(g / (2 Phi) - log Phi / phi),

where -log Phi / phi is Mills' ratio for large g, and from a series for g far below 0.

Reference: Wang & Jegelka, "Max-value Entropy Search for Efficient Bayesian Optimization", ICML 2017.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from scipy.special import erfcx, log_ndtr, ndtr

from dale._arrays import Vector
from dale.acquisition.base import LOG_SQRT_2PI, AcquisitionState, Partials, Quantity
from dale.models.base import Prediction

N_SAMPLES = 8
QUARTILES = (0.25, 0.5, 0.75)  # of y*, to which the Gumbel distribution is fitted
BISECTIONS = 60
MILLS_ABOVE = 8.0  # -log Phi = Phi(-g) to 1e-16
SERIES_BELOW = -50.0  # series and closed form, whose terms cancel, are accurate to 1e-7 here
MAX_G = 1e150  # a larger one overflows when it is squared
MIN_GAIN = 1e-6  # of a sample below the best value, in units of the largest std


@dataclass(frozen=True)
class LogMaxValueEntropy:
    """Logarithm of the information about the minimum, in nats.

    Attributes:
        n_samples: K.
        minima: The samples y*; methods set them for each model. Without them, the best value so far is the only one.

    Examples:
        >>> import dale
        >>> method = dale.methods.ei(acquisition=LogMaxValueEntropy())
    """

    n_samples: int = N_SAMPLES
    minima: tuple[float, ...] = ()
    is_log: ClassVar[bool] = True
    quantity: ClassVar[Quantity] = Quantity.INFORMATION

    def __post_init__(self) -> None:
        if self.n_samples < 1 or self.n_samples != int(self.n_samples):
            raise ValueError(f"n_samples: expected an integer of at least 1, got {self.n_samples!r}")

    def adapted(self, state: AcquisitionState) -> LogMaxValueEntropy:
        """With samples of the minimum from the model."""
        minima = sample_minima(state.predict(), state.best, self.n_samples)
        return replace(self, minima=tuple(minima.tolist()))

    def __call__(self, prediction: Prediction, best: float) -> Vector:
        """Values, (k,)."""
        return self.partials(prediction, best).value

    def partials(self, prediction: Prediction, best: float) -> Partials:
        """Values and first derivatives."""
        return log_max_value_entropy(*prediction, self.minima or (best,))


def log_max_value_entropy(mean: Vector, std: Vector, minima: Vector | tuple[float, ...]) -> Partials:
    """log a(x) for samples of the minimum (K,); minus infinity where the outcome is certain."""
    mean, std = np.asarray(mean, dtype=float), np.asarray(std, dtype=float)
    uncertain = std > 0
    positive = np.where(uncertain, std, 1.0)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        g = np.clip((mean[..., None] - np.asarray(minima)) / positive[..., None], -MAX_G, MAX_G)  # (..., K)
        log_value, slope = log_entropy_reduction(g)
        largest = np.max(log_value, axis=-1, keepdims=True)
        relative = np.exp(log_value - largest)
        total = np.sum(relative, axis=-1)
        value = largest[..., 0] + np.log(total / g.shape[-1])
        by_g = relative / total[..., None] * slope
        return Partials(
            np.where(uncertain, value, -np.inf),
            np.where(uncertain, np.sum(by_g, axis=-1) / positive, 0.0),
            np.where(uncertain, -np.sum(by_g * g, axis=-1) / positive, 0.0),
        )


def log_entropy_reduction(g: Vector) -> tuple[Vector, Vector]:
    """log h(g) and its derivative, accurate for any finite g."""
    g = np.asarray(g, dtype=float)
    with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
        # g >= -1: relative to phi(g).
        Phi = np.maximum(ndtr(g), 0.1)
        phi = np.exp(-0.5 * g**2 - LOG_SQRT_2PI)
        mills = math.sqrt(math.pi / 2) * erfcx(np.maximum(g, 0.0) / math.sqrt(2))
        relative = g / (2 * Phi) + np.where(g > MILLS_ABOVE, mills, -np.log1p(-ndtr(-np.maximum(g, -1.0))) / phi)
        value = -0.5 * g**2 - LOG_SQRT_2PI + np.log(relative)
        slope = -(1 + g**2 + g * phi / Phi) / (2 * Phi * relative)
        if np.min(g, initial=0.0) >= -1:  # nearly always
            return value, slope
        # g < -1: directly.
        low = np.minimum(g, -1.0)
        log_Phi = log_ndtr(low)
        r = np.exp(-0.5 * low**2 - LOG_SQRT_2PI - log_Phi)
        series, series_slope = _far_below(low)
        h = np.where(low < SERIES_BELOW, series, low * r / 2 - log_Phi)
        h_slope = np.where(low < SERIES_BELOW, series_slope, -r * (1 + low**2 + low * r) / 2)
    return np.where(g >= -1, value, np.log(h)), np.where(g >= -1, slope, h_slope / h)


def _far_below(g: Vector) -> tuple[Vector, Vector]:
    """h(g) and h'(g) for g far below 0, where the terms of the closed forms cancel.

    With t = g^-2 and Mills' ratio Phi / phi = S / -g, S = 1 - t + 3 t^2 - 15 t^3 + 105 t^4, the leading terms cancel in
    g r / 2 - log Phi = (S - 1) / (2 t S) - log S + log(-g sqrt(2 pi)) and in 1 + g^2 + g r = (2 t - 12 t^2 + ...) / S.
    """
    t = np.square(1 / g)
    excess = -1 + t * (3 + t * (-15 + t * 105))  # (S - 1) / t
    S = 1 + t * excess
    h = 0.5 * excess / S - np.log(S) + np.log(-g) + LOG_SQRT_2PI
    return h, 0.5 * g * t * (2 + t * (-12 + t * 90)) / S**2


def sample_minima(prediction: Prediction, best: float, n_samples: int) -> Vector:
    """Quantiles (k - 1/2) / K of a Gumbel distribution of the minimum, (K,), all below the best value so far."""
    mean, std = prediction
    largest = float(np.max(std, initial=0.0))
    ceiling = best - MIN_GAIN * (largest or 1.0)
    if largest == 0:
        return np.full(n_samples, ceiling)
    low, middle, high = _quartiles(mean, np.maximum(std, 1e-9 * largest))
    # P(y* > y) = exp(-exp((y - a) / b)), so the quantile of probability p is a + b log(-log(1 - p)).
    v = np.log(-np.log1p(-np.array(QUARTILES)))
    b = max((high - low) / (v[2] - v[0]), 0.0)
    a = middle - b * v[1]
    p = (np.arange(n_samples) + 0.5) / n_samples
    return np.minimum(a + b * np.log(-np.log1p(-p)), ceiling)


def _quartiles(mean: Vector, std: Vector) -> tuple[float, float, float]:
    """Quartiles of the smallest of independent normal values, by bisection."""
    low = np.full(3, np.min(mean - 8 * std))
    high = np.full(3, np.min(mean + 8 * std))
    log_survival = np.log1p(-np.array(QUARTILES))
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        above = np.sum(log_ndtr((mean - middle[:, None]) / std), axis=1) > log_survival  # the quantile is larger
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    a, b, c = (0.5 * (low + high)).tolist()
    return a, b, c
