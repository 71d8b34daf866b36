"""Whether values are noisy, and what is believed of them if they are.

Noise that the user has told of is taken as told. Else it has to be proved, for what looks like noise may be a rugged
function: by two evaluations at one point, or so near to each other that no gradient seen elsewhere explains their
difference. Local models that fail again and again raise the suspicion, and then the best observation is evaluated once
more, a hair beside it: at most once in a run, and a function without noise loses no more than that.

With noise proved, values are modelled as a smooth function and errors (``gp/noise.py``). The incumbent is the
observation where the mean is least, not the luckiest. Noise too small for that model is left to the others, but nothing
is called converged.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree
from scipy.spatial.distance import pdist

from dale._arrays import Matrix, Vector
from dale.history.history import History
from dale.models.noisy_gp import NoisyModel
from dale.models.transforms import Standardize

NEAR = 1e-8  # observations no farther apart than this are at one point
FAR = 1e-2  # those that gradients are taken from are farther are_separated
STEEP = 100.0  # so many times the steepest gradient explain no difference
ROUNDING = 1e-9  # of the values' std: smaller differences prove nothing
MODELLED = 1e-4  # of the values' std: noise that the model is made for
MOST_SLOPES = 200  # observations that gradients are taken from


@dataclass(frozen=True, eq=False)
class NoiseEstimate:
    """The noise in a history's values.

    Attributes:
        level: Typical standard deviation of what has any, in units of the objective; 0 for none.
        known: Standard deviations of all told values, (n,), where the user gave them.
        modelled: Whether it is large enough to be modelled.
    """

    level: float = 0.0
    known: Vector | None = None
    modelled: bool = False

    @classmethod
    def of(cls, history: History) -> NoiseEstimate:
        """As told, or as proved."""
        told = history.told
        y, known = history.y[told], history.noise[told]
        given = np.isfinite(known)
        if given.any():
            level = float(np.median(known[known > 0])) if np.any(known > 0) else 0.0  # NaN is not greater
            known = np.where(given, known, level)
        else:
            level = _proved(history.X[told], y)
        if level == 0:
            return cls()
        return cls(level, known if given.any() else None, bool(level > MODELLED * _spread(y)))


def _spread(y: Vector) -> float:
    """Standard deviation of values, which may be of any size."""
    scale = Standardize.of(y)
    return scale.inverse_scale(1.0) if np.ptp(y) > 0 else 0.0


def _proved(X: Matrix, y: Vector) -> float:
    """Standard deviation of the noise that observations at one point prove; 0 if they prove none."""
    if len(X) < 2:
        return 0.0
    pairs = cKDTree(X).query_pairs(NEAR, p=math.inf, output_type="ndarray")
    if len(pairs) == 0:
        return 0.0
    i, j = pairs.T
    scale = Standardize.of(y)  # squares and gradients of values around 1e155 overflow
    z = scale(y)
    difference = np.abs(z[i] - z[j])
    explained = STEEP * _steepest(X, z) * np.max(np.abs(X[i] - X[j]), axis=1) + ROUNDING
    proved = np.any(difference > explained)
    return scale.inverse_scale(float(np.sqrt(np.mean(difference**2) / 2))) if proved else 0.0


def _steepest(X: Matrix, z: Vector) -> float:
    """The steepest gradient of values (n,) between observations that are no neighbours."""
    if len(X) > MOST_SLOPES:
        sample = np.linspace(0, len(X) - 1, MOST_SLOPES).astype(int)
        X, z = X[sample], z[sample]
    distance = pdist(X, "chebyshev")
    gradients = pdist(z[:, None])[distance > FAR] / distance[distance > FAR]
    return float(np.max(gradients, initial=0.0))


def noisy_model(history: History, noise: NoiseEstimate, scale: Standardize, most: int) -> NoisyModel:
    """Of the newest observations, ``most`` at most."""
    told = np.flatnonzero(history.told)[-most:]
    known = None if noise.known is None else noise.known[-most:]
    return NoisyModel.of(told, history.X[told], scale(history.y[told]), known, scale.inverse_scale(1.0))


def lowest_posterior_mean(history: History, noise: NoiseEstimate, most: int) -> tuple[int, float, float] | None:
    """The feasible trial with the least mean, that mean, and the noise; None if none is feasible."""
    scale = Standardize.of(history.y[history.told])
    model = noisy_model(history, noise, scale, most)
    row = model.least(history.feasible)
    if row is None:
        return None
    return int(history.ids[row]), scale.inverse(model.mean_of(row)), scale.inverse_scale(model.error)
