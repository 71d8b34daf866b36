"""Snapshots of runs, and proposals from them, for tests of methods."""

from dale.history.history import History
from dale.history.seeding import RandomStreams
from dale.history.snapshot import Cache, Snapshot
from dale.space.domain import Domain


def snapshot_of(trials, dimension, cache=None):
    """The snapshot of trials in the unit cube."""
    return Snapshot(History.of(trials, dimension), Domain.unit(dimension), cache or Cache())


def proposal_after(method, trials, dimension, seed, cache=None):
    """What a method proposes after these trials, by default with an empty cache."""
    snapshot = snapshot_of(trials, dimension, cache)
    return method.propose(snapshot, RandomStreams(seed, snapshot.history.n_asked))
