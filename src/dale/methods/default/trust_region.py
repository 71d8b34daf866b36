"""The life of the Taylor regions: opened, moved, grown, shrunk, closed. A pure function of the trials.

A region is a center (the best observation around) and a radius D, half the side of the box in which its model is
believed. Each step of the model is judged by what came of it, r = actual / predicted decrease:

    r > 1/2 and the step went to the face of the box   D doubles, up to a half
    r < 1/10                                           a failure; D is halved after every third in a row,
                                                       or at once if the step was a short one
    else                                               D is halved if the step was very short

Steps that were asked while others of the same region were being evaluated are no better informed than those: m of them
together fail as one does.

Where there are black-box constraints, a step from a feasible center to a point that is not feasible is a failure. While
nothing is feasible, the decrease is that of the violation.

It moves with the best observation as long as that is within two radii. When its model promises nothing more it is
closed: a ball around its center, which neither side enters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dale._arrays import Matrix, Vector
from dale.history.reason import TrustRegionStep
from dale.history.trial import Trial, TrialState, actual_reduction
from dale.methods.default.settings import TrustRegionSettings
from dale.models.ellipsoid import Ellipsoid
from dale.models.taylor import TaylorModel

DEFAULT = TrustRegionSettings()
MAX_RADIUS = 0.5
MIN_RADIUS = 1e-8
CHECKPOINT_INTERVAL = 8  # trials between remembered states
HIGH_RATIO, LOW_RATIO = 0.5, 0.1  # r
BOUNDARY_STEP, SHORT_STEP, VERY_SHORT_STEP = 0.99, 0.5, 0.3  # lengths of a step, in radii
MAX_MOVE = 2.0001  # how far a region moves with the best observation, in radii
MAX_MISFIT = 0.2  # a closed ball can_move_to as far as the model is right to this part of the rise
MIN_CLOSED_RADIUS, MAX_CLOSED_RADIUS = 0.02, 0.2


@dataclass(frozen=True, eq=False)
class TrustRegion:
    """An open region.

    Attributes:
        center: Its middle, (d,).
        radius: D.
        failures: In a row; a step beside m others of the region is one part in m + 1 of a failure.
        confirmed: Whether a step of its model has come out as predicted.
    """

    center: Vector
    radius: float = TrustRegionSettings.initial_radius
    failures: float = 0.0
    confirmed: bool = False

    def can_move_to(self, point: Vector) -> bool:
        """Whether it moves with the best observation to this point."""
        return bool(np.max(np.abs(point - self.center)) <= MAX_MOVE * self.radius)

    def update(self, step: TrustRegionStep, actual: float, s: TrustRegionSettings = DEFAULT) -> TrustRegion:
        """The region once a step has been evaluated, with the actual reduction."""
        predicted = step.predicted_reduction
        r = actual / predicted if predicted > 0 else (1.0 if actual > 0 else -1.0)
        confirmed = self.confirmed or r > HIGH_RATIO
        if r > HIGH_RATIO and step.norm > BOUNDARY_STEP:
            radius = max(self.radius, min(2 * self.radius, MAX_RADIUS))
            return replace(self, radius=radius, failures=0, confirmed=confirmed)
        if r < LOW_RATIO:
            failures = self.failures + 1 / (1 + step.n_concurrent)
            shrink = step.norm < SHORT_STEP or failures // s.failure_tolerance > self.failures // s.failure_tolerance
            return replace(self, radius=self.radius / 2 if shrink else self.radius, failures=failures)
        radius = self.radius / 2 if step.norm < VERY_SHORT_STEP else self.radius
        return replace(self, radius=radius, failures=0, confirmed=confirmed)


@dataclass(frozen=True)
class TrustRegionSet:
    """All regions of a run.

    Attributes:
        open: Open ones, the last used last.
        closed: Balls where nothing is left to gain.
    """

    open: tuple[TrustRegion, ...] = ()
    closed: tuple[Ellipsoid, ...] = ()

    @classmethod
    def replay(cls, trials: Sequence[Trial], s: TrustRegionSettings = DEFAULT) -> TrustRegionSet:
        """What the steps of all trials, in the order of their ids, have made of the regions."""
        regions = cls()
        for trial in trials:
            regions = regions.after(trial, trials, s)
        return regions

    def after(self, trial: Trial, trials: Sequence[Trial], s: TrustRegionSettings = DEFAULT) -> TrustRegionSet:
        """What one more of the trials makes of them."""
        regions = self
        for closing in trial.reason.closed_regions:
            regions = regions.without(Ellipsoid(trials[closing.center].unit_x, closing.radius))
        if trial.reason.step is not None:
            regions = regions._stepped(trial, trials[trial.reason.step.center], trial.reason.step, s)
        return regions

    def around(self, center: Vector, initial_radius: float = TrustRegionSettings.initial_radius) -> TrustRegion:
        """The region that has come to this center, or a new one."""
        for region in reversed(self.open):
            if region.can_move_to(center):
                return replace(region, center=center)
        return TrustRegion(center, initial_radius)

    def without(self, ball: Ellipsoid) -> TrustRegionSet:
        """With one more closed ball, in place of the region around its center."""
        return TrustRegionSet(tuple(r for r in self.open if not r.can_move_to(ball.center)), (*self.closed, ball))

    def inside(self, points: Matrix) -> np.ndarray:
        """Which of the points (m, d) are in a closed ball."""
        inside = np.zeros(len(points), dtype=bool)
        for ball in self.closed:
            inside |= ball.contains(points)
        return inside

    def _stepped(self, trial: Trial, center: Trial, step: TrustRegionStep, s: TrustRegionSettings) -> TrustRegionSet:
        before = self.around(center.unit_x, s.initial_radius)
        region = replace(before, radius=step.radius)
        if trial.state is not TrialState.PENDING and not trial.retry:  # what the machine failed tells nothing
            region = region.update(step, actual_reduction(step, center, trial), s)
        others = tuple(r for r in self.open if not r.can_move_to(center.unit_x))
        return TrustRegionSet((*others, region), self.closed)


class RegionReplay:
    """``TrustRegionSet.replay``, remembering what came of the trials that have not changed since."""

    def __init__(self) -> None:
        self._trials: Sequence[Trial] = ()
        self._settings = DEFAULT
        self._after = [TrustRegionSet()]  # after none, ``CHECKPOINT_INTERVAL``, twice as many trials, ...

    def now(self, trials: Sequence[Trial], s: TrustRegionSettings = DEFAULT) -> TrustRegionSet:
        """The regions after all trials."""
        same = 0
        if s == self._settings:
            changed = (i for i, (old, new) in enumerate(zip(self._trials, trials, strict=False)) if old is not new)
            same = next(changed, min(len(self._trials), len(trials)))
        self._trials, self._settings = trials, s
        del self._after[same // CHECKPOINT_INTERVAL + 1 :]
        regions, begin = self._after[-1], CHECKPOINT_INTERVAL * (len(self._after) - 1)
        for i in range(begin, len(trials)):
            regions = regions.after(trials[i], trials, s)
            if (i + 1) % CHECKPOINT_INTERVAL == 0:
                self._after.append(regions)
        return regions


def closing_radius(model: TaylorModel, region: TrustRegion, X: Matrix, y: Vector) -> float:
    """How large a ball to close: as far as the observations (n, d), (n,) show the valley that the model describes.

    No further than half the radius of convergence; and where no step has confirmed the model, hardly at all.
    """
    most = min(max(model.rho / 2, MIN_CLOSED_RADIUS), MAX_CLOSED_RADIUS)
    if not region.confirmed:
        return min(2 * region.radius, most)
    Z = (X - model.center) / model.radius
    r = np.sqrt(np.sum(Z * Z, axis=1))
    nearest_first = np.argsort(r, kind="stable")
    rise = y[nearest_first] - model.value
    wrong = np.abs(model.predict(Z[nearest_first])[0] - rise) > MAX_MISFIT * np.abs(rise)
    right_up_to = int(np.argmax(wrong)) if wrong.any() else len(wrong)
    shown = float(r[nearest_first[right_up_to - 1]]) * model.radius if right_up_to else 0.0
    return min(max(shown, MIN_CLOSED_RADIUS, 2 * region.radius), most)
