"""The replicate that tests for noise: the incumbent is evaluated again, with the very same values.

Local models that keep failing suggest that values are noisy. ``history/noise.py`` compares the two values. If they are
equal, most values may still be exact and a few outliers among them, such as a new incumbent that is low by luck: each
further test is of another point, and needs twice as many failures in a row as the one before, so that a deterministic
function loses few evaluations. Where values have few levels, as an accuracy does, noisy ones may agree by chance: if
other points have the incumbent's value too, the first test is made twice. If, moreover, neighbours agree no more often
than other points, further tests may be of the same one. A point beside the incumbent would prove nothing, however close
it is: a tree, a table or a rounded parameter may jump between the two. In a batch, every failed step counts: the test
costs one evaluation of it, whatever its size.
"""

from __future__ import annotations

import numpy as np

from dale._arrays import Vector
from dale.history.reason import Reason, Source
from dale.history.snapshot import Snapshot
from dale.history.trial import is_void
from dale.methods.base import Proposal

FAILURES_BEFORE_REPLICATE = 6  # in a row, of the region at the incumbent, before the first test


def propose_replicate(snapshot: Snapshot, incumbent: Vector, n_failed: int) -> Proposal | None:
    """The incumbent (d,) again if many steps of its region in a row failed, and noise is not known or tested there."""
    history = snapshot.history
    if n_failed < FAILURES_BEFORE_REPLICATE or history.observations.is_noise_given(incumbent):
        return None
    earlier = [t for t in history.trials if t.reason.source is Source.REPLICATE and not is_void(t)]
    observations, n_tests = history.observations, history.observations.n_noise_tests
    n_further = len(earlier) - n_tests(earlier[0]) if earlier else -1  # after those of the first point
    if n_further >= 0:
        is_tested = any(np.array_equal(trial.unit_x, incumbent) for trial in earlier)
        by_chance = observations.is_incoherent and n_tests(earlier[0]) > 1
        n_before = n_further + 1 if by_chance else len(earlier)
        if (is_tested and not by_chance) or n_failed < FAILURES_BEFORE_REPLICATE * 2**n_before:
            return None
    domain, point = snapshot.domain, incumbent[None, :]
    if not (domain.allowed(point)[0] and domain.contains(point)[0]):  # the user has added it, or holds other values
        return None
    return Proposal(incumbent, Reason(Source.REPLICATE, length_scale=history.length_scale))
