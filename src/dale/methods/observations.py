"""What the global models of all methods have in common: how observations are prepared and points kept apart.

Values that a global model sees and points that it proposes are rounded. Its jitter makes it blind to finer digits; what
they hold is rounding error, which would grow from ask to ask until runs that should be equal are not.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.spatial.distance import cdist

from dale.arrays import Matrix, Vector
from dale.design import far_from, farthest, latin_hypercube
from dale.methods.history import History
from dale.methods.inputs import Inputs
from dale.methods.method import Proposal
from dale.seeding import generator
from dale.trial import Reason, Source

VALUE_GRAIN = 2.0**-23  # of standardised values
POINT_GRAIN = 2.0**-17  # of the cube's side
APART = 1e-9  # least distance to an observation; the tolerance of Alg. 3
APART_FAILED = 1e-2  # least distance of a local model's proposal to a failed evaluation
APART_PENDING = 1e-6  # least distance to a point that is being evaluated
CANDIDATES = 512  # allowed points, of which the farthest from all others is taken
CHUNK = 128  # observations thinned at once
THIN = 0.02  # observations nearer than this times sqrt(d) are one to a global model
ABSURD = 1e4  # values are absurd from so far above the best, in units of how far the typical one is


def merged(X: Matrix, z: Vector, told: np.ndarray) -> tuple[Matrix, Vector]:
    """Points (n, d) without repeats: of those told several times the mean, and no failure where there is a value.

    The model is without noise, so two values at one point would be a jump, and its variance would explode.
    """
    # One number for each point tells quickly that none is repeated; only then are whole points compared.
    cells = np.round(X / APART)
    if len(np.unique(np.sum(cells * np.sqrt(np.arange(2.0, X.shape[1] + 2)), axis=1))) == len(X):
        return X, z
    _, first, group = np.unique(cells, axis=0, return_index=True, return_inverse=True)
    group = group.ravel()
    counts = np.bincount(group, told)
    means = np.bincount(group, np.where(told, z, 0.0)) / np.maximum(counts, 1)
    values = np.where(counts > 0, means, z[first])
    order = np.argsort(first)  # as they came
    return X[first[order]], values[order]


def rounded(values: Vector | float | list[float], grain: float) -> Vector:
    """The nearest multiples of ``grain``."""
    return np.round(np.asarray(values) / grain) * grain


def explore(history: History, rng: np.random.Generator) -> Proposal:
    """A point far from all others, for want of a model."""
    points = np.vstack([history.X, history.pending])
    return Proposal(
        far_from_all(points, history.dimension, rng, history.inputs),
        Reason(Source.EXPLORE, length_scale=history.length_scale),
    )


def far_from_all(
    points: Matrix,
    dimension: int,
    rng: np.random.Generator,
    inputs: Inputs | None,
    snap: Callable[[Matrix], Matrix] | None = None,
) -> Vector:
    """An allowed point of the cube that is far from all given ones (n, d); with ``snap``, as the objective sees it."""
    if inputs is None:
        return far_from(points, dimension, rng, snap=snap)
    candidates = inputs.some(CANDIDATES, rng)
    return farthest(candidates if snap is None else snap(candidates), points)


def apart(A: Matrix, points: Matrix, distance: float) -> np.ndarray:
    """Which of A (m, d) are farther than ``distance`` from all points (n, d)."""
    if len(points) == 0:
        return np.ones(len(A), dtype=bool)
    return np.asarray(np.min(cdist(A, points), axis=1) > distance)


def thinned(X: Matrix, z: Vector, distance: float, most: int) -> np.ndarray:
    """Numbers of at most ``most`` observations (n, d), (n,), none of which is near to a better one.

    From the best to the worst each is kept that is farther than ``distance`` from all kept before. Where this gives too
    many, the better half stays, with an even sample of all that are worse, in the order of the trials, thinned as well.
    """
    order = np.argsort(z, kind="stable")
    kept: list[int] = []
    for begin in range(0, len(order), CHUNK):
        chunk = order[begin : begin + CHUNK]
        if kept:
            chunk = chunk[apart(X[chunk], X[kept], distance)]
        near = cdist(X[chunk], X[chunk]) <= distance
        left = np.ones(len(chunk), dtype=bool)
        for i in range(len(chunk)):
            if left[i]:
                left[i + 1 :] &= ~near[i, i + 1 :]
        kept.extend(chunk[left])
        if len(kept) > most:
            break
    if len(kept) > most:
        half = most // 2
        worse = np.sort(order[int(np.flatnonzero(order == kept[half])[0]) :])
        sample = worse[np.linspace(0, len(worse) - 1, most - half).astype(int)]
        chosen = np.array([*kept[:half], *sample], dtype=int)
        return np.sort(chosen[thinned(X[chosen], z[chosen], distance, most)])
    return np.sort(np.array(kept, dtype=int))


def believable(history: History, most: int) -> History:
    """The history without absurd values, as if they had not been told: one of them would be the unit of all others.

    Absurd is what lies ``ABSURD`` times as far above the best as the typical value does, the lower median of the
    thinned observations: of those around the best there are ever more, and beside them everything else is absurd.
    """
    told = history.told
    X, y = history.X[told], history.y[told]
    if not _are_absurd(y, y).any():
        return history
    sample = thinned(X, y, THIN * math.sqrt(history.dimension), most)
    absurd = _are_absurd(y, y[sample] if len(sample) > 2 else y)  # of one or two the lower median is the best
    values = history.y.copy()
    values[np.flatnonzero(told)[absurd]] = np.nan
    return replace(history, y=values)


def _are_absurd(y: Vector, sample: Vector) -> np.ndarray:
    """Which values (n,) are absurd beside a sample of them. Halves, for differences may overflow."""
    best = float(np.min(y)) / 2
    typical = float(np.quantile(sample, 0.5, method="lower")) / 2 - best
    return np.asarray((y / 2 - best) / ABSURD > typical) & (typical > 0)


def before_a_model(history: History, initial: int, seed: int) -> Proposal | None:
    """The next point of an initial design, or one far from all others while nothing is known; then None."""
    if history.n_asked + history.n_given < initial:
        point = latin_hypercube(initial, history.dimension, generator(seed, 0))[history.n_asked]
        if history.inputs is not None and not history.inputs.allowed(point[None, :])[0]:
            point = explore(history, generator(seed, history.n_asked)).point
        return Proposal(point, Reason(Source.DESIGN))
    if not np.any(history.told):
        return explore(history, generator(seed, history.n_asked))
    return None
