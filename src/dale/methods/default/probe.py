"""The probes that test for roughness: two points beside the incumbent, on opposite sides.

Local steps that keep failing, although a replicate has shown that values are exact, suggest that values are rough
(``history/roughness.py``). If a model with noise explains the values around the incumbent much better than one that
interpolates them, a point very close to it is evaluated, and then, unless that has almost the same value, its mirror
image. Each further test is of another incumbent, and needs twice as many failures in a row as the one before.

Probes move continuous parameters only, and not those that lie on a face of the cube.
"""

from __future__ import annotations

import numpy as np

from dale._arrays import Vector
from dale.history.observations import Observations
from dale.history.reason import Reason, Source
from dale.history.roughness import refutes_roughness
from dale.history.snapshot import Snapshot
from dale.history.trial import Trial, TrialState, is_void
from dale.methods.base import Proposal
from dale.methods.default.replicate import FAILURES_BEFORE_REPLICATE
from dale.methods.default.trust_region import TrustRegion

PROBE_DISTANCE = 1e-3  # from the incumbent, in radii of its region
MIN_DISTANCE = 1e-9  # in the cube; where regions are smaller than this allows, rounding errors would be tested


def propose_probe(
    snapshot: Snapshot, observations: Observations, row: int, region: TrustRegion, rng: np.random.Generator
) -> Proposal | None:
    """The next point beside an incumbent whose region keeps failing; None if no test is due.

    Args:
        snapshot: State of the run.
        observations: What the models see of it.
        row: Row of the incumbent among them.
        region: Its region.
        rng: Draws the direction.
    """
    trials = snapshot.history.trials
    if observations.noise.level > 0 or snapshot.is_constrained or not _has_replicate(trials):
        return None
    tested = {t.reason.probe_of: t for t in trials if t.reason.probe_of is not None and not is_void(t)}
    second = _second(snapshot, *next(reversed(tested.items()))) if tested else None
    if second is not None:
        return second
    center = int(observations.ids[row])
    if center in tested or region.n_failed < FAILURES_BEFORE_REPLICATE * 2 ** len(tested):
        return None
    scatter = observations.scatter()
    if scatter == 0:
        return None
    return _beside(snapshot, region.center + _short_step(snapshot, region, rng), trials[center], scatter)


def _has_replicate(trials: tuple[Trial, ...]) -> bool:
    """Whether the value of a replicate is known."""
    return any(t.reason.source is Source.REPLICATE and t.state is TrialState.COMPLETE for t in trials)


def _second(snapshot: Snapshot, center_id: int, last: Trial) -> Proposal | None:
    """The mirror image of the last probe, if that has no counterpart yet and does not prove that values are smooth."""
    trials = snapshot.history.trials
    center = trials[center_id]
    is_pair = any(t.reason.probe_of == center_id and t.id < last.id and not is_void(t) for t in trials)
    if is_pair or last.state is not TrialState.COMPLETE or refutes_roughness(center, last):
        return None
    return _beside(snapshot, 2 * center.unit_x - last.unit_x, center, last.reason.scatter)


def _beside(snapshot: Snapshot, point: Vector, center: Trial, scatter: float | None) -> Proposal | None:
    """A probe at a point (d,) that tests for a scatter; None if it may not be evaluated, or is the center."""
    domain = snapshot.domain
    if np.max(np.abs(point - center.unit_x)) < MIN_DISTANCE or not domain.contains(point[None, :])[0]:
        return None
    reason = Reason(Source.PROBE, snapshot.history.length_scale, probe_of=center.id, scatter=scatter)
    return Proposal(point, reason)


def _short_step(snapshot: Snapshot, region: TrustRegion, rng: np.random.Generator) -> Vector:
    """A random step from the center of a region, (d,), which stays in the cube in both directions."""
    domain, center = snapshot.domain, region.center
    direction = rng.standard_normal(len(center))
    step = PROBE_DISTANCE * region.radius * direction / np.linalg.norm(direction)
    if region.shape is not None:
        step = region.shape @ step
    moves = domain.continuous & domain.active(center[None, :])[0]
    moves &= (center - np.abs(step) >= 0) & (center + np.abs(step) <= 1)
    return np.where(moves, step, 0.0)
