"""Local candidates at one proposal: which centers take a step, and which regions are closed.

Queries have no side effects: each returns its candidate together with the updated regions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import takewhile

import numpy as np

from dale._arrays import Matrix, Vector
from dale.acquisition.feasibility import violations
from dale.history.minima import MIN_RELATIVE_REDUCTION
from dale.history.observations import Observations
from dale.history.reason import ClosedRegion, Reason, Source, TrustRegionStep
from dale.history.recommendation import Center
from dale.history.snapshot import Snapshot
from dale.history.trial import TrialState
from dale.methods.base import Proposal
from dale.methods.default.candidates import LocalCandidate, LocalCandidates, LocalResult
from dale.methods.default.constrained_step import constrained_step
from dale.methods.default.local_model import LocalProblem
from dale.methods.default.local_step import Step, best_step
from dale.methods.default.mixed_step import is_explored
from dale.methods.default.settings import TaylorSettings, TrustRegionSettings
from dale.methods.default.trust_region import (
    MAX_RADIUS,
    MIN_CLOSED_RADIUS,
    MIN_RADIUS,
    TrustRegion,
    TrustRegionSet,
    closing_radius,
)
from dale.methods.initial_design import MIN_DISTANCE_PENDING
from dale.models.constraint_gp import constraint_scales
from dale.models.ellipsoid import Ellipsoid
from dale.models.preprocessing import are_separated
from dale.models.transforms import Standardize

MAX_OTHER_OPTIONS = 3  # number of other combinations of options from whose best observations a step is computed
RTOL = 1e-9  # of the distance to the next value of a discrete parameter
LONG_STEP = 1 + 1e-9  # norm of a step, in radii, above which it has left its box
CRAWLING = 100.0  # factor of the minimum reduction after a failure: what is left is not worth further failures
BISECTING = 1e9  # the same factor for a step that bisects the boundary of a failing set, by half at each evaluation
SURE = 3.0  # stds of the global model
SAME_POINT = 1e-11  # maximum distance of coordinates at which two points count as one
STEEP_RESOLUTION = float(np.finfo(float).eps), 1e-14  # the same distance, and the minimum radius, at steep minima


@dataclass(frozen=True, eq=False)
class LocalSearch:
    """The local side at one proposal.

    Attributes:
        snapshot: State of the run.
        observations: What the models see.
        trust_region: Settings of the regions; None for no local side.
        taylor: Settings of their models.
        rng: Draws the points that a search starts from.
    """

    snapshot: Snapshot
    observations: Observations
    trust_region: TrustRegionSettings | None
    taylor: TaylorSettings
    rng: np.random.Generator

    @property
    def scale(self) -> Standardize:
        """Standardises the values."""
        return self.observations.standardize

    @cached_property
    def X(self) -> Matrix:
        """Points with a value, (n, d)."""
        return self.observations.X[self.observations.has_value]

    @cached_property
    def z(self) -> Vector:
        """Their standardised values less the lowest one, (n,)."""
        return self.scale.above_lowest(self.observations.y[self.observations.has_value])

    @cached_property
    def failed(self) -> Matrix:
        """Points whose evaluation failed, (m, d)."""
        observations = self.snapshot.history.observations
        return observations.X[observations.failed]

    @cached_property
    def constraint_scales(self) -> Vector:
        """Units of the outcome constraints, (k,)."""
        return constraint_scales(self.observations.mean_constraints[self.observations.has_value])

    @cached_property
    def merit(self) -> Vector:
        """The best point has the lowest merit, (n,): values of feasible points; if none is feasible, violations."""
        if not self.snapshot.is_restricted:
            return self.z
        has_value = self.observations.has_value
        feasible = self.observations.feasible[has_value]
        if feasible.any():
            return np.where(feasible, self.z, np.inf)
        if len(self.constraint_scales) == 0:  # all observations violate the input constraints, or lie elsewhere
            return np.full(self.n, np.inf)
        violation = violations(self.observations.mean_constraints[has_value], self.constraint_scales)
        return np.where(self.observations.allowed[has_value], violation, np.inf)

    @property
    def n(self) -> int:
        """Number of points with a value."""
        return len(self.z)

    @cached_property
    def best(self) -> int:
        """Row of the best point; with noise, that of the lowest posterior mean."""
        center = self.center
        if center is None:
            return int(np.argmin(self.merit))
        return int(np.sum(self.observations.has_value[: center.row]))

    @cached_property
    def center(self) -> Center | None:
        """With noise, the recommended observation; None otherwise."""
        return self.observations.recommended if self._is_noisy else None

    @property
    def _is_noisy(self) -> bool:
        """Whether the models take the values as noisy."""
        return self.observations.noise.modelled

    @property
    def incumbent(self) -> int | None:
        """Row of the best point among the observations; None if it is not feasible."""
        row = self.best_row
        return row if self.observations.feasible[row] else None

    @property
    def best_row(self) -> int:
        """Row of the best point among the observations."""
        return int(np.flatnonzero(self.observations.has_value)[self.best])

    def is_best_closed(self, regions: TrustRegionSet) -> bool:
        """Whether a closed region covers the best point."""
        return bool(regions.covers(self.X[self.best][None, :])[0])

    def region_of(self, row: int, regions: TrustRegionSet) -> TrustRegion:
        """The open region at an observation, or a new one; beside pending points, without the spread of its errors."""
        region = regions.at(self.X[row], (self.trust_region or TrustRegionSettings()).initial_radius)
        return replace(region, spread=1.0) if len(self.snapshot.history.pending) else region

    def candidates(self, regions: TrustRegionSet, *, early: bool) -> LocalCandidates:
        """The steps that compete; with ``early``, only the step from the best observation."""
        incumbent, regions, closed = self.from_incumbent(regions)
        other = uncovered = None
        if not early:
            other, regions, more = self.from_other_options(regions)
            closed += more
        if not early and incumbent is None and self.is_best_closed(regions):
            uncovered, regions, more = self.from_best_uncovered(regions)
            closed += more
        return LocalCandidates(incumbent, other, uncovered, regions, closed)

    def from_incumbent(self, regions: TrustRegionSet) -> LocalResult:
        """The step from the best observation; closes its region if the step brings no reduction."""
        if self.is_best_closed(regions):
            return LocalResult(None, regions)
        return self._step_or_close(self.best, regions, may_finish=True)

    def from_best_uncovered(self, regions: TrustRegionSet) -> LocalResult:
        """The step from the best observation that no closed region covers."""
        uncovered = np.flatnonzero(~regions.covers(self.X))
        if len(uncovered) == 0:
            return LocalResult(None, regions)
        row = int(uncovered[np.argmin(self.merit[uncovered])])
        return self._step_or_close(row, regions, may_finish=False)

    def from_other_options(self, regions: TrustRegionSet) -> LocalResult:
        """The step with the highest log EI from the best observations with other options than the incumbent's."""
        domain = self.snapshot.domain
        if domain.is_continuous or domain.ordered.all():
            return LocalResult(None, regions)
        options = self.X[:, ~domain.ordered]
        seen = {options[self.best].tobytes()}
        best: LocalCandidate | None = None
        closed: tuple[ClosedRegion, ...] = ()
        for i in np.argsort(self.merit, kind="stable"):
            if len(seen) > MAX_OTHER_OPTIONS:
                break
            if options[i].tobytes() not in seen:
                seen.add(options[i].tobytes())
                candidate, regions, more = self._step_or_close(int(i), regions, may_finish=False)
                closed += more
                if candidate is not None and (best is None or candidate.step.log_ei > best.step.log_ei):
                    best = candidate
        return LocalResult(best, regions, closed)

    def _step_or_close(self, row: int, regions: TrustRegionSet, *, may_finish: bool) -> LocalResult:
        """The step from an observation; if it brings no reduction, the regions with its own closed."""
        if self.trust_region is None or self.n < self.X.shape[1] + 2 or not self.snapshot.domain.ordered.any():
            return LocalResult(None, regions)
        if self.merit[row] == np.inf or (self._is_noisy and self.center is None) or self._is_hopeless(row):
            return LocalResult(None, regions)
        region, min_reduction = self._widened(self.region_of(row, regions)), self._min_reduction
        taylor, (min_distance, min_radius) = self.taylor, self._resolution
        # Under constraints, a failure may be an infeasible step, which says nothing about what is left to gain.
        crawls = region.failures > 0 and not self.snapshot.is_constrained
        negligible = min_reduction * (CRAWLING if crawls else 1.0)
        while True:
            step = self._step(row, region, min_reduction, taylor)
            least = BISECTING * min_reduction if step.may_fail else negligible
            finished = may_finish and -step.lowest < least and step.log_ei < math.log(least)
            if finished or region.radius < min_radius:
                has_noise = self.observations.noise.level > 0
                is_proved = finished and region.confirmed and not step.may_fail
                converged = is_proved and not has_noise and step.violation_reduction is None
                return self._close(row, step, region, regions, converged=converged)
            if self._is_new(step.point, min_distance):
                break
            if not may_finish and regions.covers(step.point[None, :])[0]:
                return LocalResult(None, regions)  # the step leads into a closed region
            # The step is an observed point, where the model is wrong.
            if taylor.allow_long_steps and np.max(np.abs(step.z)) > LONG_STEP:  # it does not depend on the radius
                taylor = replace(taylor, allow_long_steps=False)
            else:
                region = replace(region, radius=region.radius / 2)
        separated = self._is_separated(step.point, regions)
        return LocalResult(LocalCandidate(row, step) if separated else None, regions)

    def _is_new(self, point: Vector, min_distance: float) -> bool:
        """Whether the outcome at a point (d,) may be a surprise: with noise, also that of an observed point."""
        has_failed = not are_separated(point[None, :], self.failed, SAME_POINT)[0]
        if has_failed or (self.center is not None and self._is_excluded(point)):
            return False
        is_random = self.snapshot.history.observations.noise.modelled
        return is_random or bool(np.min(np.max(np.abs(self.X - point), axis=1)) >= min_distance)

    def _is_hopeless(self, row: int) -> bool:
        """With noise: whether the global model excludes an observation, and so all steps from there."""
        return self.center is not None and row != self.best and self._is_excluded(self.X[row])

    def _is_excluded(self, point: Vector) -> bool:
        """With noise: whether the global model is sure that a point (d,) is worse than the center.

        A Taylor model may give high values so little weight, because their noise is high, that it does not know it.
        """
        mean, std = self.observations.noisy_gp.posterior.predict(np.vstack([point, self.X[self.best]]))
        return bool(mean[0] - SURE * std[0] > mean[1] + SURE * std[1])

    def _widened(self, region: TrustRegion) -> TrustRegion:
        """With noise, the region with the radius at which the error of its model is half of the noise, or larger."""
        if self.center is None or not np.array_equal(region.center, self.center.model.center):
            return region
        model = self.center.model
        radius = min(model.radius * model.radius_of_remainder(model.noise_at_center / 2), 2 * region.radius, MAX_RADIUS)
        return replace(region, radius=max(region.radius, radius))

    @property
    def _resolution(self) -> tuple[float, float]:
        """Distance of coordinates below which two points count as one, and radius below which a region is closed.

        Close to a smooth minimum, points this close have the same value. A minimum on the boundary of an outcome
        constraint may be steep: there values differ up to the resolution of the coordinates.
        """
        is_steep = len(self.constraint_scales) > 0 and self.snapshot.domain.is_continuous
        return STEEP_RESOLUTION if is_steep else (SAME_POINT, MIN_RADIUS)

    @property
    def _min_reduction(self) -> float:
        """Reductions below this count as none: rounding errors of the values, or a tiny fraction of their range."""
        relative = MIN_RELATIVE_REDUCTION * min(1.0, float(np.median(self.z)))
        return max(relative, 2 * self.scale.resolution_at_lowest, float(np.finfo(float).tiny))

    def _step(self, row: int, region: TrustRegion, min_reduction: float, taylor: TaylorSettings) -> Step:
        """The best step from an observation within its region."""
        has_value = self.observations.has_value
        problem = LocalProblem(
            X=self.X,
            y=self.z if self.center is None else self.observations.noisy_data.z,
            constraints=self.observations.mean_constraints[has_value] / self.constraint_scales,
            center=row,
            region=region,
            pending=self.snapshot.history.pending,
            domain=self.snapshot.domain,
            target=self._target,
            min_reduction=min_reduction,
            settings=taylor,
            failures=self.snapshot.failures,
            failed=self.failed,
            noisy=None if self.center is None else self._noisy,
            is_exact=not self.snapshot.history.observations.noise.modelled,
        )
        if self.snapshot.is_constrained:
            return constrained_step(problem, self.rng, self._n_infeasible)
        return best_step(problem, self.rng)

    def _noisy(self, row: int, region: TrustRegion) -> Center:
        """With noise: the model around an observation; that of the recommended one is known."""
        if self.center is not None and row == self.best:
            return self.center
        data = self.observations.noisy_data
        return data.fit(int(data.first[row]), region.radius, region.shape)

    @property
    def _target(self) -> float:
        """The value to improve on, standardised, above the lowest; infinite where none is feasible."""
        if self.center is not None:
            return self.center.model.value
        return np.inf if self.incumbent is None else float(self.z[self.best])

    @property
    def _n_infeasible(self) -> int:
        """Number of local steps in a row, up to the last one, that have ended at infeasible points."""
        steps = (t for t in reversed(self.snapshot.history.trials) if t.reason.step is not None and t.value is not None)
        return sum(1 for _ in takewhile(lambda t: not t.feasible, steps))

    def _close(
        self, row: int, step: Step, region: TrustRegion, regions: TrustRegionSet, *, converged: bool
    ) -> LocalResult:
        """The regions with one of them closed."""
        radius = closing_radius(step.model, region, self.X, self.z)
        if not self.snapshot.domain.is_continuous:  # a large ball would cover neighbouring integers
            radius = min(radius, MIN_CLOSED_RADIUS if converged else 2 * region.radius)
        ball = Ellipsoid(self.X[row], radius)
        return LocalResult(None, regions.close(ball), (ClosedRegion(self._trial(row), radius, converged),))

    def _std(self, step: Step) -> float:
        """Standard deviation of the predicted value; with noise, that of the center counts too."""
        return step.std if self.center is None else float(step.model.predict_values(step.z[None, :]).std[0])

    def _is_separated(self, point: Vector, regions: TrustRegionSet) -> bool:
        """Whether a step keeps its distance from closed regions and pending points."""
        pending = self.snapshot.history.pending
        return bool(
            are_separated(point[None, :], pending, MIN_DISTANCE_PENDING)[0] and not regions.covers(point[None, :])[0]
        )

    def _is_neighbour(self, row: int, step: Step) -> bool:
        """Whether a step leads out of its box to the next value of a discrete parameter, where nothing is known."""
        domain, distances = self.snapshot.domain, np.abs(step.point - self.X[row])
        moved = (distances > 0) & ~domain.continuous
        is_next = np.sum(moved) == 1 and np.all(distances[moved] <= (1 + RTOL) * domain.spacing[moved])
        if not is_next or np.max(np.abs(step.z)) <= LONG_STEP:
            return False
        return not is_explored(step.point, step.model.frame, domain, self.X)

    def _trial(self, row: int) -> int:
        """Id of the trial of an observation."""
        return int(self.observations.ids[self.observations.has_value][row])

    def _n_concurrent(self, row: int, regions: TrustRegionSet) -> int:
        """Number of pending steps of the region at an observation."""
        region, trials = self.region_of(row, regions), self.snapshot.history.trials
        steps = (t.reason.step for t in trials if t.state is TrialState.PENDING)
        return sum(region.can_move_to(trials[step.center].unit_x) for step in steps if step is not None)

    def proposal(self, candidate: LocalCandidate, regions: TrustRegionSet) -> Proposal:
        """The step of a candidate as a proposal, with its reason."""
        row, step = candidate
        reduction, shape = step.violation_reduction, step.model.frame.shape
        spread = self.region_of(row, regions).spread
        reason = Reason(
            Source.LOCAL,
            expected_improvement=self.scale.inverse_scale(math.exp(step.log_ei)) if reduction is None else None,
            mean=self.scale.lowest + self.scale.inverse_scale(step.model.value + step.mean),
            std=self.scale.inverse_scale(self._std(step)),
            step=TrustRegionStep(
                center=self._trial(row),
                radius=step.model.radius,
                norm=float(np.max(np.abs(step.z))),
                predicted_reduction=self.scale.inverse_scale(-step.mean) if reduction is None else reduction,
                n_concurrent=self._n_concurrent(row, regions),
                is_neighbour=self._is_neighbour(row, step) or None,
                constraint_scales=() if reduction is None else tuple(self.constraint_scales.tolist()),
                shape=None if shape is None else tuple(map(tuple, shape.tolist())),
                spread=spread if self.taylor.calibrated and spread != 1 and self.center is None else None,
                noise=None if self.center is None else self.scale.inverse_scale(step.model.noise_at_center),
            ),
        )
        return Proposal(step.point, reason)
