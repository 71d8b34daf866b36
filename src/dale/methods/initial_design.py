"""Proposals without a model: the initial design (Alg. 1, lines 2-3), and space-filling points as a fallback."""

from __future__ import annotations

import numpy as np

from dale.history.reason import Reason, Source
from dale.history.seeding import RandomStreams
from dale.history.snapshot import Snapshot
from dale.methods.base import Proposal
from dale.optim.sampling import latin_hypercube

MIN_DISTANCE_FAILED = 1e-2  # of a local model's proposal to a failed evaluation
MIN_DISTANCE_PENDING = 1e-6  # to a pending point


def initial_proposal(snapshot: Snapshot, n_initial: int, rng: RandomStreams) -> Proposal | None:
    """The next point of the initial design, or a space-filling one while there is no value; then None."""
    history, domain = snapshot.history, snapshot.domain
    if history.n_asked + history.n_user < n_initial:
        point = latin_hypercube(n_initial, history.dimension, rng.design())[history.n_asked]
        if not domain.allowed(point[None, :])[0]:
            point = domain.far_from(history.seen, rng("global"))
        return Proposal(point, Reason(Source.INITIAL_DESIGN))
    if not history.observations.has_value.any():
        return space_filling_proposal(snapshot, rng("global"))
    return None


def space_filling_proposal(snapshot: Snapshot, rng: np.random.Generator) -> Proposal:
    """A point far from all others."""
    point = snapshot.domain.far_from(snapshot.history.seen, rng)
    return Proposal(point, Reason(Source.SPACE_FILLING, length_scale=snapshot.history.length_scale))
