"""Whether values are noisy, and what is believed of them if they are.

Noise that the user has told of is taken as told. Else it has to be proved, for what looks like noise may be a rugged
function: by two evaluations at one point, or so near to each other that no slope seen elsewhere explains their
difference. Local models that fail again and again raise the suspicion, and then the best observation is evaluated once
more, a hair beside it: at most once in a run, and a function without noise loses no more than that.

With noise proved, values are modelled as a smooth function and errors (``gp/noise.py``). The incumbent is the
observation where the mean is least, not the luckiest. Noise too small for that model is left to the others, but nothing
is called converged.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.spatial import cKDTree
from scipy.spatial.distance import pdist

from dale.arrays import Matrix, Vector
from dale.beliefs import Beliefs
from dale.gp import NoisyFit, Posterior, fit_noise
from dale.kernels import SquaredExponential
from dale.methods.history import History
from dale.methods.method import Proposal
from dale.methods.standardise import Scale
from dale.trial import Reason, Source, State

SUSPICIOUS = 6  # failures of a region in a row
HAIR = 2.0**-27  # how far beside a point it is evaluated again, in the cube
NEAR = 1e-8  # observations no farther apart than this are at one point
FAR = 1e-2  # those that slopes are taken from are farther apart
STEEP = 100.0  # so many times the steepest slope explain no difference
ROUNDING = 1e-9  # of the values' spread: smaller differences prove nothing
MODELLED = 1e-4  # of the values' spread: noise that the model is made for
MOST_NOISE = 1e6  # in units of the values' spread: more is as good as no observation
MOST_FITTED = 160  # observations that length-scale and noise are fitted to
MOST_SLOPES = 200  # observations that slopes are taken from


@dataclass(frozen=True, eq=False)
class Noise:
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
    def of(cls, history: History) -> Noise:
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
    scale = Scale.of(y)
    return scale.back_length(1.0) if np.ptp(y) > 0 else 0.0


def _proved(X: Matrix, y: Vector) -> float:
    """Standard deviation of the noise that observations at one point prove; 0 if they prove none."""
    if len(X) < 2:
        return 0.0
    pairs = cKDTree(X).query_pairs(NEAR, p=math.inf, output_type="ndarray")
    if len(pairs) == 0:
        return 0.0
    i, j = pairs.T
    scale = Scale.of(y)  # squares and slopes of values around 1e155 overflow
    z = scale(y)
    difference = np.abs(z[i] - z[j])
    explained = STEEP * _steepest(X, z) * np.max(np.abs(X[i] - X[j]), axis=1) + ROUNDING
    proved = np.any(difference > explained)
    return scale.back_length(float(np.sqrt(np.mean(difference**2) / 2))) if proved else 0.0


def _steepest(X: Matrix, z: Vector) -> float:
    """The steepest slope of values (n,) between observations that are no neighbours."""
    if len(X) > MOST_SLOPES:
        sample = np.linspace(0, len(X) - 1, MOST_SLOPES).astype(int)
        X, z = X[sample], z[sample]
    distance = pdist(X, "chebyshev")
    slopes = pdist(z[:, None])[distance > FAR] / distance[distance > FAR]
    return float(np.max(slopes, initial=0.0))


def probe(history: History, best: int, failures: float) -> Proposal | None:
    """A point a hair beside observation number ``best`` of those told, if there is a suspicion to be cleared up."""
    if failures < SUSPICIOUS or np.isfinite(history.noise).any():
        return None
    if any(t.reason.source is Source.REPEAT for t in history.trials):
        return None
    beside = _beside(history, history.X[history.told][best])
    if len(beside) == 0:
        return None
    return Proposal(beside[0], Reason(Source.REPEAT, length_scale=history.length_scale))


def _beside(history: History, point: Vector) -> Matrix:
    """Points (m, d) a hair beside one (d,), along what the objective sees move freely there, and allowed."""
    rounding = history.rounding
    free = (
        np.eye(len(point)) if rounding is None else np.eye(len(point))[rounding.free & rounding.active(point[None])[0]]
    )
    inwards = np.where(point < 0.5, HAIR, -HAIR) * free
    points = point + np.vstack([inwards, -inwards])
    points = points[np.all((points >= 0) & (points <= 1), axis=1)]
    return points if history.inputs is None else points[history.inputs.allowed(points)]


def without_probe(history: History) -> History:
    """The history without the second look at a point, unless that is the best: a difference over a hair says too much.

    In a function of steps it would say that there is no slope, and in any other one it says more of rounding than of
    the function.
    """
    probes = [t.id for t in history.trials if t.reason.source is Source.REPEAT and t.state is State.TOLD]
    drop = np.isin(history.ids, probes) & (history.y > np.min(history.y[history.told]))
    if not drop.any():
        return history
    keep = ~drop
    return replace(
        history,
        X=history.X[keep],
        y=history.y[keep],
        noise=history.noise[keep],
        constraints=history.constraints[keep],
        ids=history.ids[keep],
    )


@dataclass(frozen=True, eq=False)
class NoisyModel:
    """A smooth function and errors, given all observations.

    Attributes:
        rows: Of the history that it was made of, (n,).
        X: Their points, (n, d).
        v: Their standardised values, (n,).
        fitted: What explains them.
    """

    rows: np.ndarray
    X: Matrix
    v: Vector
    fitted: NoisyFit

    @classmethod
    def of(cls, rows: np.ndarray, X: Matrix, v: Vector, noise: Noise, unit: float) -> NoisyModel:
        """Fit to values (n,), one of which is ``unit`` of the objective."""
        unit = max(unit, float(np.finfo(float).tiny))
        variances = None if noise.known is None else (np.minimum(noise.known, MOST_NOISE * unit) / unit) ** 2
        n = len(v)
        sample = np.linspace(0, n - 1, min(n, MOST_FITTED)).astype(int)
        fitted = fit_noise(X[sample], v[sample], None if variances is None else variances[sample])
        all_noise = np.full(n, fitted.noise[0]) if variances is None else variances / fitted.prior.variance
        return cls(rows, X, v, fitted._replace(noise=all_noise))

    @cached_property
    def posterior(self) -> Posterior:
        """Of the smooth function."""
        kernel = SquaredExponential(self.fitted.length_scale)
        return Posterior.fit(kernel, self.X, self.v, self.fitted.prior, self.fitted.noise)

    @cached_property
    def means(self) -> Vector:
        """What is believed of the smooth function at the observations, (n,)."""
        return self.posterior.predict(self.X).mean

    def mean_of(self, row: int) -> float:
        """What is believed of the smooth function at a row of the history."""
        return float(self.means[np.flatnonzero(self.rows == row)[0]])

    def least(self, among: np.ndarray) -> int | None:
        """The row of the history with the least mean, among those for which this is True; None if there is none."""
        means = np.where(among[self.rows], self.means, np.inf)
        i = int(np.argmin(means))
        return int(self.rows[i]) if means[i] < np.inf else None

    @property
    def error(self) -> float:
        """Standard deviation of the noise in one more evaluation."""
        return math.sqrt(float(np.median(self.fitted.noise)) * self.fitted.prior.variance)


def noisy_model(history: History, noise: Noise, scale: Scale, most: int) -> NoisyModel:
    """Of the newest observations, ``most`` at most."""
    told = np.flatnonzero(history.told)[-most:]
    if noise.known is not None:
        noise = replace(noise, known=noise.known[-most:])
    return NoisyModel.of(told, history.X[told], scale(history.y[told]), noise, scale.back_length(1.0))


def least_mean(history: History, noise: Noise, most: int) -> tuple[int, float, float] | None:
    """The feasible trial with the least mean, that mean, and the noise; None if none is feasible."""
    scale = Scale.of(history.y[history.told])
    model = noisy_model(history, noise, scale, most)
    row = model.least(history.feasible)
    if row is None:
        return None
    return int(history.ids[row]), scale.back(model.mean_of(row)), scale.back_length(model.error)


def learnt(spread: Vector, error: float) -> Vector:
    """How much one more evaluation, with this standard deviation, may change a mean with this spread."""
    return spread**2 / np.sqrt(np.maximum(spread**2 + error**2, np.finfo(float).tiny))


def as_learnt(beliefs: Beliefs, error: float) -> Beliefs:
    """What one more noisy evaluation may make of the mean: the same with the spread t = s^2 / sqrt(s^2 + error^2).

    Where much is known already an evaluation teaches little, whatever its value. With w = s^2 + error^2,

        t' = s (s^2 + 2 error^2) / w^(3/2),   t'' = error^2 (2 error^2 - s^2) / w^(5/2).
    """
    s, e2 = beliefs.spread, error**2
    w = np.maximum(s * s + e2, np.finfo(float).tiny)
    first = s * (s * s + 2 * e2) / w**1.5
    second = e2 * (2 * e2 - s * s) / w**2.5
    outer = beliefs.spread_slope[:, :, None] * beliefs.spread_slope[:, None, :]
    return beliefs._replace(
        spread=learnt(s, error),
        spread_slope=first[:, None] * beliefs.spread_slope,
        spread_curvature=first[:, None, None] * beliefs.spread_curvature + second[:, None, None] * outer,
    )
