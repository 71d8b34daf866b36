"""TODO docstring."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dale._arrays import Matrix, Vector
from dale.history.history import History
from dale.history.reason import Reason, Source
from dale.history.trial import TrialState
from dale.methods.base import Proposal

FAILURES_BEFORE_REPLICATE = 6  # failures of a region in a row
HAIR = 2.0**-27  # how far beside a point it is evaluated again, in the cube


def propose_replicate(history: History, best: int, failures: float) -> Proposal | None:
    """A point a hair beside observation number ``best`` of those told, if there is a suspicion to be cleared up."""
    if failures < FAILURES_BEFORE_REPLICATE or np.isfinite(history.noise).any():
        return None
    if any(t.reason.source is Source.REPLICATE for t in history.trials):
        return None
    beside = _beside(history, history.X[history.told][best])
    if len(beside) == 0:
        return None
    return Proposal(beside[0], Reason(Source.REPLICATE, length_scale=history.length_scale))


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


def without_replicate(history: History) -> History:
    """The history without the second look at a point, unless that is the best: a difference over a hair says too much.

    In a function of steps it would say that there is no gradient, and in any other one it says more of rounding than of
    the function.
    """
    probes = [t.id for t in history.trials if t.reason.source is Source.REPLICATE and t.state is TrialState.COMPLETE]
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
