"""The noise in the values of a Taylor model: constant, growing with the level of the values, and with outliers.

The std of the noise in the i-th value is proportional to

    level_i factor_i

where the level is 1, or that of the value: the predicted or the observed one, whichever is higher, less the lowest
predicted one or the minimum of the model, as that of a relative error, by evidence. A level is at least the std of the
lowest prediction, of which the next fit knows more, so this is repeated while the evidence rises. The factor is that of
an outlier (``models/outlier_weights.py``). Levels and outliers need more observations than a quadratic has terms.
Known standard deviations are used as they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from dale._arrays import Matrix, Vector
from dale.models.monomials import n_terms
from dale.models.outlier_weights import MAX_FACTOR, outlier_factors, price
from dale.models.series import Noise, Replicates, Series
from dale.models.taylor import TaylorModel

MIN_POINTS_PER_TERM = 1.5  # observations for each term of a quadratic: fewer say nothing about levels and outliers
MAX_LEVEL_ROUNDS = 3
MIN_CURVATURE = 1e-6  # in units of the largest: flatter Hessians have no minimum
MAX_MOVE = 2.0  # radii from the center up to which a minimum counts
TINY = float(np.finfo(float).tiny)
MIN_GAIN = 6.0  # log evidence that noise in proportion to the level has to gain, and each further round of it

Fit = Callable[[Noise, Sequence[Series]], TaylorModel]


def fit_with_noise(
    fit: Fit,
    X: Matrix,
    y: Vector,
    known: Vector | None = None,
    replicates: Replicates | None = None,
    typical: float = math.inf,
) -> tuple[TaylorModel, Noise]:
    """The model with the most probable noise, and the noise in the order of the observations.

    Args:
        fit: The model of fixed observations with a noise; its second argument is where the search for it starts.
        X: Their points, (n, d).
        y: Their values, (n,).
        known: Standard deviations of the noise in units of the values, (n,); None if they are unknown.
        replicates: The replicates whose means the values are; None if there are none.
        typical: Std of the noise by a model of more values; see `Noise`.
    """
    if known is not None:
        noise = Noise(known, known=True, replicates=replicates)
        return fit(noise, ()), noise
    count = np.ones(len(X)) if replicates is None else replicates.n
    noise = Noise(1 / np.sqrt(count), replicates=replicates, typical=typical)
    if len(X) < MIN_POINTS_PER_TERM * n_terms(X.shape[1], 2):
        return fit(noise, ()), noise
    model, noise = _robust(fit, X, fit(noise, ()), noise)
    for _ in range(MAX_LEVEL_ROUNDS):
        profile = replace(noise, std=_level(model, X, y) / np.sqrt(count))
        new, profile = _robust(fit, X, fit(profile, model.starts), profile)
        if not new.loss < model.loss - MIN_GAIN:
            break
        model, noise = new, profile
    return model, noise


def _level(model: TaylorModel, X: Matrix, y: Vector) -> Vector:
    """The level of the values, the higher one of the predicted and the observed; its median is 1, (n,)."""
    means, std = model.predict_values(model.frame.to_local(X))
    at = int(np.argmin(means + std))
    lowest = min(float(means[at]), _minimum(model))
    level = np.maximum(np.maximum(means, y - model.value) - lowest, std[at])
    level = np.maximum(level, np.max(level) / MAX_FACTOR)
    return level / max(float(np.median(level)), TINY)


def _minimum(model: TaylorModel) -> float:
    """Minimum of the mean less the value at the center, by its quadratic part; 0 unless that has one nearby."""
    eigenvalues, axes = np.linalg.eigh(model.hessian)
    if not eigenvalues[0] > MIN_CURVATURE * max(eigenvalues[-1], TINY):
        return 0.0
    slope = model.gradient @ axes
    near = float(np.max(np.abs(axes @ (slope / eigenvalues)))) <= MAX_MOVE
    return -0.5 * float(slope @ (slope / eigenvalues)) if near else 0.0


def _robust(fit: Fit, X: Matrix, model: TaylorModel, noise: Noise) -> tuple[TaylorModel, Noise]:
    """The model with less weight of outliers, where that is more probable; its loss includes the price of them."""
    nearest_first = model.frame.nearest_first(X)

    def errors(found: TaylorModel) -> Vector:
        in_order = np.empty(len(X))
        in_order[nearest_first] = found.leave_one_out_errors()
        return in_order

    def refit(found: TaylorModel, factors: Vector) -> TaylorModel:
        return fit(replace(noise, std=noise.std * factors), found.starts)

    _, factors = outlier_factors(model, errors, refit, len(X))
    if not (factors > 1).any():
        return model, noise
    outlying = replace(noise, std=noise.std * factors)
    found = fit(outlying, ())  # without outliers, quite another series may be the most probable
    loss = found.loss + price(factors)
    return (replace(found, loss=loss), outlying) if loss < model.loss else (model, noise)
