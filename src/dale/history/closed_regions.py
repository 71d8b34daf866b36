"""Which closed regions are still closed: a correction inside one opens it again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from dale.history.reason import ClosedRegion
from dale.history.trial import Trial
from dale.models.ellipsoid import Ellipsoid


def closed_regions(trials: Sequence[Trial]) -> Iterator[ClosedRegion]:
    """The regions that the reasons of the trials have closed, in order, and that are still closed."""
    for trial in trials:
        yield from closed_by(trial, trials)


def closed_by(trial: Trial, trials: Sequence[Trial]) -> Iterator[ClosedRegion]:
    """The regions that were closed before a trial was proposed, and that are still closed.

    A region was closed because its model predicted no further reduction. If a trial inside was corrected since, that
    model was fitted to another value.
    """
    if not trial.reason.closed_regions:
        return
    since = [t.unit_x for t in trials if any(c.n_trials > trial.id and not c.only_extra for c in t.corrections)]
    for region in trial.reason.closed_regions:
        ball = Ellipsoid(trials[region.center].unit_x, region.radius)
        if not since or not ball.contains(np.array(since)).any():
            yield region
