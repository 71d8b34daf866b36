"""Cache: one object of each class, and one cache for each run."""

import numpy as np

import dale
from dale.history.reason import Reason, Source
from dale.history.snapshot import Cache
from dale.methods.base import Proposal
from dale.methods.default.trust_region import RegionReplay
from user_method import UserMethod


class Notes:
    def __init__(self):
        self.lines = []


class OtherNotes(Notes):
    """A subclass has an object of its own."""


def test_one_object_of_each_class():
    cache = Cache()
    notes = cache.of(Notes)
    notes.lines.append("first")
    assert type(notes) is Notes
    assert cache.of(Notes) is notes
    assert cache.of(OtherNotes) is not notes
    assert type(cache.of(OtherNotes)) is OtherNotes
    assert cache.of(OtherNotes).lines == []
    assert isinstance(cache.of(RegionReplay), RegionReplay)


def test_caches_are_independent():
    assert Cache().of(Notes) is not Cache().of(Notes)


class RecordingMethod(UserMethod):
    """A method that records the number of trials of each snapshot in the cache."""

    name, revision = "recording", 1

    def changed_settings(self):
        return {}

    def __init__(self):
        self.notes = []

    def propose(self, snapshot, rng):
        n = len(snapshot.history.trials)
        self.notes.append(snapshot.cache.of(Notes))
        snapshot.cache.of(Notes).lines.append(n)
        return Proposal(np.full(2, 0.1 * n), Reason(Source.GLOBAL))


def test_each_run_has_a_cache_of_its_own():
    """Even if two runs share a method, which holds only settings."""
    method = RecordingMethod()
    one, two = (dale.Optimizer([(0, 1)] * 2, seed=0, method=method) for _ in range(2))
    for optimizer in (one, two, one):
        optimizer.ask()
    first, second, third = method.notes
    assert first is third
    assert first is not second
    assert (first.lines, second.lines) == ([0, 1], [0])
