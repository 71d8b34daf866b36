"""TODO docstring."""

from __future__ import annotations

import numpy as np

from dale.history.history import History
from dale.history.reason import Reason, Source
from dale.history.seeding import generator
from dale.methods.base import Proposal
from dale.optim.sampling import latin_hypercube
from dale.space.domain import far_from_all

MIN_DISTANCE_FAILED = 1e-2  # least distance of a local model's proposal to a failed evaluation
MIN_DISTANCE_PENDING = 1e-6  # least distance to a point that is being evaluated


def space_filling_proposal(history: History, rng: np.random.Generator) -> Proposal:
    """A point far from all others, for want of a model."""
    points = np.vstack([history.X, history.pending])
    return Proposal(
        far_from_all(points, history.dimension, rng, history.inputs),
        Reason(Source.SPACE_FILLING, length_scale=history.length_scale),
    )


def initial_proposal(history: History, initial: int, seed: int) -> Proposal | None:
    """The next point of an initial design, or one far from all others while nothing is known; then None."""
    if history.n_asked + history.n_given < initial:
        point = latin_hypercube(initial, history.dimension, generator(seed, 0))[history.n_asked]
        if history.inputs is not None and not history.inputs.allowed(point[None, :])[0]:
            point = space_filling_proposal(history, generator(seed, history.n_asked)).point
        return Proposal(point, Reason(Source.INITIAL_DESIGN))
    if not np.any(history.told):
        return space_filling_proposal(history, generator(seed, history.n_asked))
    return None
