"""A region stays closed until a trial inside is corrected."""

import numpy as np

import dale
from dale.history.closed_regions import closed_regions
from dale.history.reason import ClosedRegion, Reason, Source
from dale.history.transitions import discarded
from dale.history.trial import Trial, TrialState
from dale.methods.default.trust_region import RegionReplay, TrustRegionSet

REGION = ClosedRegion(1, 0.1, converged=True)


def run_of(n):
    """Trials on a line; the region around trial 1 was closed before trial 4."""
    trials = []
    for i in range(n):
        reason = Reason(Source.GLOBAL, closed_regions=(REGION,) if i == 4 else ())
        x = np.array([0.05 * i, 0.5])
        trials.append(Trial(i, x, x, x, reason, TrialState.COMPLETE, value=float(i)))
    return trials


def corrected(trials, number):
    return [discarded(trials, t, "ada", "") if t.id == number else t for t in trials]


def test_it_stays_closed():
    assert list(closed_regions(run_of(9))) == [REGION]


def test_a_correction_inside_opens_it():
    for inside in (0, 1, 3):
        assert list(closed_regions(corrected(run_of(9), inside))) == []


def test_a_correction_outside_does_not():
    assert list(closed_regions(corrected(run_of(9), 8))) == [REGION]


def test_nor_does_one_from_before_it_was_closed():
    early = corrected(run_of(4), 1)
    assert list(closed_regions([*early, *run_of(9)[4:]])) == [REGION]


def test_a_replay_with_a_cache_sees_it_too():
    cache, trials = RegionReplay(), run_of(30)
    assert len(cache.now(trials).closed) == 1
    trials = corrected(trials, 3)  # closed before trial 4, in the first checkpoint
    assert cache.now(trials).closed == TrustRegionSet.replay(trials).closed == ()


def test_a_wrong_value_that_attracted_the_search():
    """After the correction, the default method returns to the true minimum inside the ball that it had closed."""
    optimizer = dale.Optimizer([(0, 1)], seed=0)
    for i in range(20):
        trial = optimizer.ask()
        value = (trial.x[0] - 0.6) ** 2
        optimizer.tell(trial, value if i != 4 else value - 1.0)
    optimizer.discard(4, "wrong sample")
    for _ in range(6):
        trial = optimizer.ask()
        optimizer.tell(trial, (trial.x[0] - 0.6) ** 2)
    assert optimizer.best_value < 1e-8, optimizer.best
