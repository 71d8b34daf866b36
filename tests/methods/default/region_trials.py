"""Trials with steps of trust regions, for the tests of their updates and of their replay."""

import numpy as np

from dale.history.reason import Reason, Source, TrustRegionStep
from dale.history.trial import Trial, TrialState
from dale.methods.default.settings import TrustRegionSettings
from dale.methods.default.trust_region import (
    BOUNDARY_STEP,
    HIGH_RATIO,
    LOW_RATIO,
    SHORT_STEP,
    VERY_SHORT_STEP,
    TrustRegionSet,
)

FAILURE_TOLERANCE = TrustRegionSettings().failures_before_halving(2)
INITIAL_RADIUS = TrustRegionSettings().initial_radius
MIDDLE = np.array([0.5, 0.5])
FULL, HALF_WAY, TINY = (
    (1 + BOUNDARY_STEP) / 2,
    (SHORT_STEP + BOUNDARY_STEP) / 2,
    VERY_SHORT_STEP / 2,
)  # norms of steps
HIGH, MEDIUM, LOW = (
    HIGH_RATIO + 0.1,
    (HIGH_RATIO + LOW_RATIO) / 2,
    LOW_RATIO - 0.2,
)  # ratios of actual to predicted reduction
NARROW = ((2.0, 1.0), (1.0, 1.0))  # a shape


def step(norm, center=0, radius=0.1, predicted=2.0, shape=None):
    return TrustRegionStep(center, radius, norm, predicted, shape=shape)


def state(region):
    shape = None if region.shape is None else region.shape.tolist()
    return region.center.tolist(), region.radius, region.failures, region.confirmed, shape


def trial(number, point, value=None, *, local=None, closed=(), failed=False):
    what = TrialState.FAILED if failed else TrialState.PENDING if value is None else TrialState.COMPLETE
    point = np.array(point, dtype=float)
    return Trial(number, point, point, point, Reason(Source.LOCAL, step=local, closed_regions=closed), what, value)


def trials_with(*outcomes, length=HALF_WAY):
    """Trial 0 in the middle, then steps from it with these ratios of actual to predicted reduction; None fails."""
    trials = [trial(0, MIDDLE, 10.0)]
    radius = 0.1
    for k, r in enumerate(outcomes, 1):
        value = None if r is None else 10.0 - 2.0 * r
        trials.append(trial(k, [0.5, 0.5 + 0.01 * k], value, local=step(length, radius=radius), failed=r is None))
        radius = TrustRegionSet.replay(trials).open[-1].radius
    return trials
