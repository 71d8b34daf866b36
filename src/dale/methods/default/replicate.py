"""The replicate that tests for noise: the incumbent is evaluated again, at a tiny offset.

Local models that keep failing suggest that values are noisy. The test is made at most once in a run, so a deterministic
function loses at most one evaluation. ``history/noise.py`` compares the two values.
"""

from __future__ import annotations

import numpy as np

from dale._arrays import Matrix, Vector
from dale.history.history import History, Observations
from dale.history.reason import Reason, Source
from dale.history.snapshot import Snapshot
from dale.history.trial import TrialState
from dale.methods.base import Proposal
from dale.space.domain import Domain

FAILURES_BEFORE_REPLICATE = 6  # in a row, of the region at the incumbent
REPLICATE_OFFSET = 2.0**-27  # in sides of the cube


def propose_replicate(snapshot: Snapshot, incumbent: Vector, failures: float) -> Proposal | None:
    """A point next to the incumbent (d,) if its region has failed often and noise is neither known nor tested."""
    history = snapshot.history
    if failures < FAILURES_BEFORE_REPLICATE or np.isfinite(history.observations.noise_std).any():
        return None
    if any(t.reason.source is Source.REPLICATE for t in history.trials):
        return None
    neighbours = _neighbours(snapshot.domain, incumbent)
    if len(neighbours) == 0:
        return None
    return Proposal(neighbours[0], Reason(Source.REPLICATE, length_scale=history.length_scale))


def _neighbours(domain: Domain, point: Vector) -> Matrix:
    """Allowed points (m, d) next to one (d,), along its continuous and active coordinates."""
    free = np.eye(len(point))[domain.free(point)]
    inwards = np.where(point < 0.5, REPLICATE_OFFSET, -REPLICATE_OFFSET) * free
    points = point + np.vstack([inwards, -inwards])
    points = points[np.all((points >= 0) & (points <= 1), axis=1)]
    return points[domain.allowed(points)]


def without_replicate(observations: Observations, history: History) -> Observations:
    """The observations without the replicate, unless it is the best: a difference quotient over it misleads the models.

    For a step function the quotient is 0; for other functions it consists of rounding errors.
    """
    replicates = [
        t.id for t in history.trials if t.reason.source is Source.REPLICATE and t.state is TrialState.COMPLETE
    ]
    best = np.min(observations.y[observations.has_value])
    drop = np.isin(observations.ids, replicates) & (observations.y > best)
    return observations.rows(~drop) if drop.any() else observations
