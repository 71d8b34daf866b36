"""The recommended observation of a noisy run: the one with the lowest posterior mean plus std.

A single noisy value may be low by luck, so models decide. The global one (``models/noisy_gp.py``) is smooth and has one
noise; it names one candidate. Around it, the lowest value and the regions of two local steps, a Taylor model with a
noise of its own (``models/noise_profile.py``) averages over all observations nearby; its shape, outliers and noise that
vanishes with the value are fitted too. From each candidate, the search moves to the observation within ``REACH`` radii
that has the lowest mean plus std, until it is the center. The std counts because the mean of a value that has little
weight may be anything. Of the ends, that with the lowest mean plus ``CAUTION`` stds is recommended: they belong to
different models, and the lowest of several means is low by chance.

Where noise is strong or points are few, a polynomial of many terms follows the noise. So the global model decides if it
predicts the observations around that end better: if the sum of log p(y_i | all other values) over those without
replicates is higher. Its candidate is recommended then.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.special import chdtri

from dale._arrays import Matrix, Vector
from dale.history.reason import TrustRegionStep
from dale.history.trial import Trial, TrialState
from dale.models.ellipsoid import Ellipsoid
from dale.models.monomials import n_terms
from dale.models.noise_profile import fit_with_noise
from dale.models.preprocessing import Neighbourhood
from dale.models.series import Noise, Refinement, Replicates, Series
from dale.models.taylor import TaylorModel

CAUTION = 3.0  # stds in the comparison of different models: the lowest of them may be low by chance
REACH = 2.0  # of a move from one center to the next, in radii
MAX_MOVES = 4
MAX_ERROR = 3.0  # of the value of a recommended observation, in units of the noise: more is not credible
MAX_DEGREE = 4  # of a Taylor model with noise
MIN_KNOWN = 1e-6  # known standard deviations count as at least this, in units of the largest
TINY = float(np.finfo(float).tiny)
SIGNIFICANCE = 0.025  # probability that replicates scatter so much with less noise than they prove
INITIAL_RADIUS = 0.12  # of a region around a point that no step has reached, in sides of the cube


class Center(NamedTuple):
    """An observation, and the model around it.

    Attributes:
        row: Its row among all observations.
        model: The model, in units of the values.
        near: Rows of the observations with a value that the model was fitted to, (m,) ...
        noise: ... and the noise in them.
        is_global: Whether the global model has chosen it, because it predicts the values better.
    """

    row: int
    model: TaylorModel
    near: np.ndarray
    noise: Noise
    is_global: bool = False


@dataclass(frozen=True, eq=False)
class NoisyData:
    """Observations with noise. Replicates have their mean as value, and only the first of them is used.

    Attributes:
        X: Points, (n, d).
        z: Their values, (n,).
        first: Row of the first replicate of each, (n,).
        replicates: How the replicates scatter.
        known: Standard deviations of the noise in z, (n,), in the same units; None if they are unknown.
        typical: Standard deviations of the noise in single values by the global model, (n,); None if there are none.
        is_discrete: Whether the noise is that of successes and failures. Equal values nearby would be exact to a local
            model, so its noise is the typical one.
    """

    X: Matrix
    z: Vector
    first: np.ndarray
    replicates: Replicates
    known: Vector | None = None
    typical: Vector | None = None
    is_discrete: bool = False

    @classmethod
    def of(
        cls,
        X: Matrix,
        z: Vector,
        known: Vector | None = None,
        feasible: np.ndarray | None = None,
        typical: Vector | None = None,
        *,
        is_discrete: bool = False,
    ) -> NoisyData:
        """From single values (n,), the standard deviations of their noise where known, and which are feasible."""
        group = np.unique(X, axis=0, return_inverse=True)[1].ravel()
        order = np.arange(len(z)) if feasible is None else np.argsort(~feasible, kind="stable")
        first = order[np.unique(group[order], return_index=True)[1]]  # the first feasible one, if there is any
        std = np.ones(len(z)) if known is None else np.maximum(known, MIN_KNOWN * max(float(np.max(known)), TINY))
        weight = np.bincount(group, std**-2.0)
        mean = np.bincount(group, z * std**-2.0) / weight
        squares: Vector = np.bincount(group, (z - mean[group]) ** 2).astype(float)
        replicates = Replicates(np.bincount(group)[group].astype(float), squares[group])
        error: Vector = 1 / np.sqrt(weight[group])
        return cls(X, mean[group], first[group], replicates, None if known is None else error, typical, is_discrete)

    @property
    def proven_noise(self) -> float:
        """The least std of the noise in single values with which the replicates agree; 0 where it is known."""
        if self.known is not None:
            return 0.0
        n, squares = self.replicates.rows(np.unique(self.first))
        freedoms = float(np.sum(n - 1))
        return math.sqrt(float(np.sum(squares)) / float(chdtri(freedoms, SIGNIFICANCE))) if freedoms > 0 else 0.0

    def nearest(self, frame: Ellipsoid) -> np.ndarray:
        """Rows of the observations nearest to a center, in the metric of a frame."""
        r = np.linalg.norm(frame.to_local(self.X), axis=1)
        order = np.argsort(r, kind="stable")
        order = order[self.first[order] == order]
        return order[: Neighbourhood().count(r, self.X.shape[1])]

    def fit(self, row: int, radius: float, shape: Matrix | None) -> Center:
        """The Taylor model with noise around an observation."""
        frame = Ellipsoid(self.X[row], radius, shape)
        near = self.nearest(frame)
        known = None if self.known is None else self.known[near]
        fit = partial(self._fit, frame, near, row)
        typical = math.inf if self.typical is None else float(np.median(self.typical[near]))
        if self.is_discrete and typical < math.inf:
            known = typical / np.sqrt(self.replicates.n[near])
        model, noise = fit_with_noise(fit, self.X[near], self.z[near], known, self.replicates.rows(near), typical)
        return Center(row, model, near, noise)

    def moved(self, center: Center, row: int) -> Center:
        """The model of the same observations, with the same noise, around another one of them."""
        frame = replace(center.model.frame, center=self.X[row])
        return center._replace(row=row, model=self._fit(frame, center.near, row, center.noise, center.model.starts))

    def _fit(self, frame: Ellipsoid, near: np.ndarray, row: int, noise: Noise, starts: Sequence[Series]) -> TaylorModel:
        return TaylorModel.fit(
            frame,
            self.X[near],
            self.z[near],
            float(self.z[row]),
            max_degree=MAX_DEGREE,
            starts=Refinement(starts) if starts else (),
            noise=noise,
        )


def recommend(
    data: NoisyData,
    lowest: int,
    log_density: Vector,
    feasible: np.ndarray,
    trials: Sequence[Trial],
    ids: np.ndarray,
) -> Center | None:
    """The feasible observation with the lowest mean plus std; None while there are too few points for a Taylor model.

    Args:
        data: The observations with a value.
        lowest: Row of ``data`` with the lowest mean of the global model.
        log_density: By the global model, log p of each value given all others, (n,); NaN where it is not used.
        feasible: Which of them are feasible, (n,).
        trials: All trials of the run.
        ids: Ids of the trials of ``data``, (n,).
    """
    d = data.X.shape[1]
    if len(np.unique(data.first)) < max(n_terms(d, 2), d + 3):  # the noise of a model with more terms is unknown
        return None
    starts: dict[int, Center] = {}
    ends: list[Center] = []
    for row in data.first[list(_candidates(data, lowest, feasible, trials, ids))].tolist():
        if feasible[row] and all(np.max(np.abs(end.model.frame.to_local(data.X[row]))) > REACH for end in ends):
            starts[row] = data.fit(row, *smallest_region(data.X[row], trials))
            ends.append(descend(data, starts[row], feasible))
    credible = [end for end in ends if _is_credible(data, end)]
    best = min(credible or ends[-1:], key=lambda end: _upper(data, end), default=None)
    if best is None or not _is_worse(data, best, log_density):
        return best
    row = int(data.first[lowest])
    return (starts.get(row) or data.fit(row, *smallest_region(data.X[row], trials)))._replace(is_global=True)


def _is_worse(data: NoisyData, center: Center, log_density: Vector) -> bool:
    """Whether a model predicts the values that have no replicates worse than another one with these densities (n,)."""
    near = center.near[center.model.frame.nearest_first(data.X[center.near])]
    compared = (data.replicates.n[near] == 1) & np.isfinite(log_density[near])
    return bool(np.sum((log_density[near] - center.model.leave_one_out_log_densities())[compared]) > 0)


def _is_credible(data: NoisyData, end: Center) -> bool:
    """Whether the value of a center is not far from its mean."""
    std = max(end.model.value_std, end.model.noise_at_center)
    return bool(abs(data.z[end.row] - end.model.value) <= MAX_ERROR * std)


def _upper(data: NoisyData, end: Center) -> float:
    """Mean plus stds of a center. A mean below all values nearby is not credible."""
    return max(end.model.value, float(np.min(data.z[end.near]))) + CAUTION * end.model.value_std


def _candidates(
    data: NoisyData, lowest: int, feasible: np.ndarray, trials: Sequence[Trial], ids: np.ndarray
) -> Iterator[int]:
    """Rows to start from: centers of local steps, the lowest mean of the global model, the lowest value.

    The last step may lead elsewhere, so that of the least std counts too: it had come closest to a minimum.
    """
    last = next(_steps(trials), None)
    if last is not None:
        surest = min(_steps(trials), key=_std)
        for trial in (last, surest):
            yield from np.flatnonzero(ids == _step(trial).center).tolist()
    yield lowest
    yield int(np.argmin(np.where(feasible, data.z, np.inf)))


def _steps(trials: Sequence[Trial]) -> Iterator[Trial]:
    """The trials of local steps that reduced the objective, the last one first."""
    for trial in reversed(trials):
        step = trial.reason.step
        if (
            step is None or trial.state is TrialState.PENDING
        ):  # of which a resumed run knows more than the first one did
            continue
        if not step.constraint_scales and trials[step.center].state is TrialState.COMPLETE:
            yield trial


def _step(trial: Trial) -> TrustRegionStep:
    """The step of one of them."""
    assert trial.reason.step is not None
    return trial.reason.step


def _std(trial: Trial) -> float:
    """The std of the value that a step under noise was expected to reach; infinite for other steps."""
    std = trial.reason.std
    return math.inf if std is None or _step(trial).noise is None else std


def smallest_region(x: Vector, trials: Sequence[Trial]) -> tuple[float, Matrix | None]:
    """Radius and shape of the smallest region that reached a point (d,); those of a new region if none did."""
    found: tuple[float, Matrix | None] = (INITIAL_RADIUS, None)
    for step in map(_step, _steps(trials)):
        if step.radius < found[0]:
            shape = None if step.shape is None else np.array(step.shape)
            if np.max(np.abs(Ellipsoid(trials[step.center].unit_x, step.radius, shape).to_local(x))) <= REACH:
                found = step.radius, shape
    return found


def descend(data: NoisyData, center: Center, feasible: np.ndarray) -> Center:
    """From an observation to the one with the lowest mean plus std, within reach at each move."""
    near = center.near
    for _ in range(MAX_MOVES):
        model = center.model
        Z = model.frame.to_local(data.X[near])
        means, std = model.predict_values(Z)
        errors = np.abs(data.z[near] - model.value - means)
        credible = errors <= MAX_ERROR * np.maximum(std, model.noise_at_center)
        within = (np.max(np.abs(Z), axis=1) <= REACH) & feasible[near] & credible
        floor = float(np.min(data.z[near][within], initial=np.inf)) - model.value
        upper = np.where(within, np.maximum(means, floor) + std, np.inf)
        best = int(near[np.argmin(upper)])
        if best == center.row or not np.min(upper) < np.inf:
            break
        center = data.moved(center, best)
    return center
