"""Trust regions: how they are opened, moved, enlarged, shrunk and closed. A pure function of the trials.

A region has a center, which is the best observation nearby, a radius D, half the side of the box in which its model is
trusted, and a shape (``shape.py``). The ratio r = actual reduction / predicted reduction of a step updates it:

    r > 1/2 and the step reached the boundary of the box   D doubles, up to 1/2
    r < 1/10                                               a failure; D is halved after every few in a row
                                                           (``failure_tolerance``), and at once after a short step
    exactly the value of the center                        a failure, but D doubles: a plateau has no slope
    otherwise                                              D is halved after a very short step
    the step leads to an unexplored integer outside        unchanged: it says nothing about the box

Steps that were proposed while m others of the same region were pending used the same information, so each of them
counts as 1 / (m + 1) of a failure.

A failed evaluation says nothing about the model of the objective, and changes nothing, unless no
feasible point is known, where steps do not weigh the probability of failure. With outcome constraints, a step
from a feasible center to an infeasible point is a failure. While no observation is feasible, the reductions are those
of the violation.

The std of its models has a factor, the spread, that follows the errors of its predictions: with e the standardised
error of a step, (value - mean) / std, at most ``MAX_ERROR``, and s the spread that its std had,

    spread^2 <- 7/8 spread^2 + 1/8 (s e)^2, between 1 and ``MAX_SPREAD``^2.

Steps that were proposed while others of the same region were pending do not count: their predictions depend on
fantasies, whose errors the std does not contain. Beside pending points the spread is not used either: the fantasies
make the steps of a batch differ, and a larger std would spread them too far.

Everything uses the values as they are now. A correction of a trial in a closed ball opens the region again
(``history/closed_regions.py``).

A region moves with the best observation, by at most two radii in its own coordinates. When its model predicts no
further reduction, it is closed: no later proposal is in the closed ball around its center.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dale._arrays import Matrix, Vector
from dale.history.closed_regions import closed_by
from dale.history.correction import Correction
from dale.history.reason import TrustRegionStep
from dale.history.trial import Trial, TrialState, actual_reduction, is_evidence
from dale.methods.default.settings import TrustRegionSettings
from dale.models.ellipsoid import Ellipsoid
from dale.models.taylor import TaylorModel
from dale.space.domain import Domain

DEFAULT = TrustRegionSettings()
MAX_RADIUS = 0.5
MIN_RADIUS = 1e-8
CHECKPOINT_INTERVAL = 8  # trials between stored states of a replay
HIGH_RATIO, LOW_RATIO = 0.5, 0.1  # of actual to predicted reduction
BOUNDARY_STEP, SHORT_STEP, VERY_SHORT_STEP = 0.99, 0.5, 0.3  # norms of a step, in radii
MAX_MOVE = 2.0001  # maximum distance by which a region moves with the best observation, in radii
SPREAD_RATE = 1 / 8  # of the last squared error in the spread
MAX_ERROR = 8.0  # standardised error that counts at most: one surprise does not discard a model
MAX_SPREAD = 1e3  # above this, a model says nothing
NOISY_REDUCTION = 2.0  # predicted reductions below so many stds of the noise cannot be judged by one value ...
NOISY_ERROR = 3.0  # ... unless it is so many stds of the noise above its prediction
PLATEAU_RTOL = 1e-9  # of the center's value: a tie of a smaller predicted reduction is a rounding error
MAX_MISFIT = 0.2  # maximum error of the model inside a closed ball, relative to the rise from the center
MIN_CLOSED_RADIUS, MAX_CLOSED_RADIUS = 0.02, 0.2  # of closed balls


@dataclass(frozen=True, eq=False)
class TrustRegion:
    """An open region.

    Attributes:
        center: Center of its box, (d,).
        radius: D, half the side of the box.
        failures: Failures in a row; a failed step that was proposed beside m pending ones counts as 1 / (m + 1).
        n_failed: Failed steps in a row.
        confirmed: Whether a step of its model had a high ratio of actual to predicted reduction.
        shape: Shape of the last step (d, d); None for a ball.
        spread: Factor of the std of its models, from the errors of its steps.
    """

    center: Vector
    radius: float = TrustRegionSettings.initial_radius
    failures: float = 0.0
    n_failed: int = 0
    confirmed: bool = False
    shape: Matrix | None = None
    spread: float = 1.0

    @cached_property
    def ellipsoid(self) -> Ellipsoid:
        """The region as a set and as coordinates."""
        return Ellipsoid(self.center, self.radius, self.shape)

    def can_move_to(self, point: Vector) -> bool:
        """Whether the region can follow the best observation to this point (d,)."""
        return bool(np.max(np.abs(self.ellipsoid.to_local(point))) <= MAX_MOVE)

    def with_error_of(self, trial: Trial) -> TrustRegion:
        """The region after a step whose value may be farther from its prediction than the std."""
        step, mean, std = trial.reason.step, trial.reason.mean, trial.reason.std
        if step is None or trial.value is None or mean is None or not std or not math.isfinite(mean + std):
            return self
        if step.n_concurrent > 0:
            return self
        error = min(abs(trial.value - mean) / math.hypot(std, step.noise or 0.0), MAX_ERROR)
        square = (1 - SPREAD_RATE) * self.spread**2 + SPREAD_RATE * ((step.spread or 1.0) * error) ** 2
        return replace(self, spread=min(max(math.sqrt(square), 1.0), MAX_SPREAD))

    def update(
        self, step: TrustRegionStep, actual: float, s: TrustRegionSettings = DEFAULT, plateau: float = 0.0
    ) -> TrustRegion:
        """The region after a step with this actual reduction.

        An exact tie, where more than ``plateau`` was predicted, says nothing about the slope: the region grows.
        """
        predicted = step.predicted_reduction
        if step.is_neighbour:
            return replace(self, failures=0, n_failed=0) if actual > 0 else replace(self, n_failed=self.n_failed + 1)
        if actual == 0 and predicted > plateau:
            return self._failed(step, max(self.radius, min(2 * self.radius, MAX_RADIUS)))
        if step.noise is not None and _is_within_noise(predicted, actual, step.noise):
            return self
        r = actual / predicted if predicted > 0 else (1.0 if actual > 0 else -1.0)
        confirmed = self.confirmed or r > HIGH_RATIO
        if r > HIGH_RATIO and step.norm > BOUNDARY_STEP:
            radius = max(self.radius, min(2 * self.radius, MAX_RADIUS))
            return replace(self, radius=radius, failures=0, n_failed=0, confirmed=confirmed)
        if r < LOW_RATIO:
            failed, tolerance = self._failed(step, self.radius), s.failures_before_halving(len(self.center))
            shrink = step.norm < SHORT_STEP or failed.failures // tolerance > self.failures // tolerance
            return replace(failed, radius=self.radius / 2) if shrink else failed
        radius = self.radius / 2 if step.norm < VERY_SHORT_STEP else self.radius
        return replace(self, radius=radius, failures=0, n_failed=0, confirmed=confirmed)

    def _failed(self, step: TrustRegionStep, radius: float) -> TrustRegion:
        """The region with another radius after a step that has failed."""
        failures = self.failures + 1 / (1 + step.n_concurrent)
        return replace(self, radius=radius, failures=failures, n_failed=self.n_failed + 1)


@dataclass(frozen=True)
class TrustRegionSet:
    """All regions of a run.

    Attributes:
        open: Open regions, the most recently used one last.
        closed: Balls in which no further reduction is expected.
    """

    open: tuple[TrustRegion, ...] = ()
    closed: tuple[Ellipsoid, ...] = ()

    @classmethod
    def replay(cls, trials: Sequence[Trial], s: TrustRegionSettings = DEFAULT) -> TrustRegionSet:
        """The regions after the steps of all trials, in the order of their ids."""
        regions = cls()
        for trial in trials:
            regions = regions.after(trial, trials, s)
        return regions

    def after(self, trial: Trial, trials: Sequence[Trial], s: TrustRegionSettings = DEFAULT) -> TrustRegionSet:
        """The regions after one more of the trials."""
        regions = self
        for closing in closed_by(trial, trials):
            regions = regions.close(Ellipsoid(trials[closing.center].unit_x, closing.radius))
        if trial.reason.step is not None:
            regions = regions._stepped(trial, trials[trial.reason.step.center], trial.reason.step, s)
        return regions

    def at(self, center: Vector, initial_radius: float = TrustRegionSettings.initial_radius) -> TrustRegion:
        """The open region that can move to this center (d,), or a new one."""
        for region in reversed(self.open):
            if region.can_move_to(center):
                return replace(region, center=center)
        return TrustRegion(center, initial_radius)

    def close(self, ball: Ellipsoid) -> TrustRegionSet:
        """The regions with one more closed ball, which replaces the open regions at its center."""
        return TrustRegionSet(tuple(r for r in self.open if not r.can_move_to(ball.center)), (*self.closed, ball))

    def within(self, domain: Domain) -> TrustRegionSet:
        """The regions where some parameters are held: those closed at other values say nothing here."""
        if domain.held is None:
            return self
        return replace(self, closed=tuple(ball for ball in self.closed if domain.contains(ball.center[None, :])[0]))

    def covers(self, points: Matrix) -> np.ndarray:
        """Which of the points (m, d) are in a closed ball, (m,)."""
        covered = np.zeros(len(points), dtype=bool)
        for ball in self.closed:
            covered |= ball.contains(points)
        return covered

    def _stepped(self, trial: Trial, center: Trial, step: TrustRegionStep, s: TrustRegionSettings) -> TrustRegionSet:
        """The regions after the step of a trial.

        Those without a value do not count, except that failures shrink a region that seeks feasible points. Nor does a
        step whose center was discarded.
        """
        before = self.at(center.unit_x, s.initial_radius)
        shape = None if step.shape is None else np.array(step.shape)
        region = replace(before, radius=step.radius, shape=shape)
        counts = trial.state is TrialState.COMPLETE
        if step.constraint_scales:
            counts = is_evidence(trial)
        if counts and center.state is not TrialState.DISCARDED:
            plateau = PLATEAU_RTOL * abs(center.value or 0.0)
            actual = actual_reduction(step, center, trial)
            region = region.update(step, actual, s, plateau).with_error_of(trial)
        others = tuple(r for r in self.open if not r.can_move_to(center.unit_x))
        return TrustRegionSet((*others, region), self.closed)


class RegionReplay:
    """``TrustRegionSet.replay`` with stored intermediate states: it replays from the first trial that has changed."""

    def __init__(self) -> None:
        self._trials: Sequence[Trial] = ()
        self._settings = DEFAULT
        self._after = [TrustRegionSet()]  # after 0, ``CHECKPOINT_INTERVAL``, 2 ``CHECKPOINT_INTERVAL``, ... trials

    def now(self, trials: Sequence[Trial], s: TrustRegionSettings = DEFAULT) -> TrustRegionSet:
        """The regions after all trials."""
        same = 0
        if s == self._settings:
            changed = (i for i, (old, new) in enumerate(zip(self._trials, trials, strict=False)) if old is not new)
            same = next(changed, min(len(self._trials), len(trials)))
            if _corrections(trials) != _corrections(self._trials):  # which may open a region that was closed before
                same = 0
        self._trials, self._settings = trials, s
        del self._after[same // CHECKPOINT_INTERVAL + 1 :]
        regions, begin = self._after[-1], CHECKPOINT_INTERVAL * (len(self._after) - 1)
        for i in range(begin, len(trials)):
            regions = regions.after(trials[i], trials, s)
            if (i + 1) % CHECKPOINT_INTERVAL == 0:
                self._after.append(regions)
        return regions


def _corrections(trials: Sequence[Trial]) -> list[tuple[int, tuple[Correction, ...]]]:
    """The corrections of a run, by trial."""
    return [(trial.id, trial.corrections) for trial in trials if trial.corrections]


def _is_within_noise(predicted: float, actual: float, noise: float) -> bool:
    """Whether the value of a step says nothing: its predicted reduction is small beside the noise, its error too."""
    return predicted < NOISY_REDUCTION * noise and actual >= predicted - NOISY_ERROR * noise


def closing_radius(model: TaylorModel, region: TrustRegion, X: Matrix, y: Vector) -> float:
    """Radius of the ball to close: up to the observation before the first one, by distance, that the model gets wrong.

    It is at most half the radius of convergence rho of the model. While no step has confirmed the model, it is at most
    two radii of the region.

    Args:
        model: Model of the objective around the center.
        region: The region to close.
        X: Observed points, (n, d).
        y: Their values, (n,).
    """
    limit = min(max(model.rho / 2, MIN_CLOSED_RADIUS), MAX_CLOSED_RADIUS)
    if not region.confirmed:
        return min(2 * region.radius, limit)
    Z = model.frame.to_local(X)
    r = np.sqrt(np.sum(Z * Z, axis=1))
    nearest_first = np.argsort(r, kind="stable")
    rise = y[nearest_first] - model.value
    wrong = np.abs(model.predict(Z[nearest_first])[0] - rise) > MAX_MISFIT * np.abs(rise)
    n_right = int(np.argmax(wrong)) if wrong.any() else len(wrong)
    right_up_to = float(r[nearest_first[n_right - 1]]) * model.radius if n_right else 0.0
    return min(max(right_up_to, MIN_CLOSED_RADIUS, 2 * region.radius), limit)
