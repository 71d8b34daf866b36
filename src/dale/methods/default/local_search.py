"""The local side of the default method at one proposal: which region steps, and when one is closed."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from dale._arrays import Matrix, Vector
from dale.acquisition.feasibility import violations
from dale.history.history import History
from dale.history.minima import NOTHING
from dale.history.reason import ClosedRegion, Reason, Source, TrustRegionStep
from dale.history.trial import TrialState
from dale.methods.base import Proposal
from dale.methods.default.constrained_step import step_within
from dale.methods.default.local_step import LocalModel, Step
from dale.methods.default.trust_region import LEAST_BALL, LEAST_RADIUS, TrustRegion, TrustRegionSet, closing_radius
from dale.methods.initial_design import MIN_DISTANCE_FAILED, MIN_DISTANCE_PENDING
from dale.models.constraint_gp import units_of
from dale.models.ellipsoid import Ball
from dale.models.preprocessing import are_separated
from dale.models.transforms import Standardize

if TYPE_CHECKING:
    from dale.methods.default.method import DefaultMethod

RIVALS = 3  # other settings of the options whose best observations may be stepped from
SAME_POINT = 1e-11


@dataclass(eq=False)
class LocalSearch:
    """The local side at one proposal."""

    method: DefaultMethod
    history: History
    regions: TrustRegionSet
    failed: Matrix  # where evaluations gave no value, (m, d)
    noisy: bool  # though too little for a model of the noise: nothing converges
    rng: np.random.Generator
    closed: list[ClosedRegion] = field(default_factory=list)  # by this proposal

    @cached_property
    def scale(self) -> Standardize:
        """Standardises the values."""
        return Standardize.of(self.history.y[self.history.told])

    @cached_property
    def X(self) -> Matrix:
        """Told points (n, d)."""
        return self.history.X[self.history.told]

    @cached_property
    def z(self) -> Vector:
        """Their standardised values (n,), less that of the best."""
        return self.scale.above_lowest(self.history.y[self.history.told])

    @cached_property
    def units(self) -> Vector:
        """Of the black-box constraints, (k,)."""
        return units_of(self.history.constraints[self.history.told])

    @cached_property
    def merit(self) -> Vector:
        """What is least at the best point, (n,): the values of feasible ones; where there are none, the violations."""
        if not self.history.constrained:
            return self.z
        told = self.history.told
        feasible = self.history.feasible[told]
        if feasible.any():
            return np.where(feasible, self.z, np.inf)
        if len(self.units) == 0:  # what is known lies outside of what is allowed
            return np.full(self.n, np.inf)
        allowed = [self.history.trials[i].allowed for i in self.history.ids[told]]
        return np.where(allowed, violations(self.history.constraints[told], self.units), np.inf)

    @property
    def n(self) -> int:
        """Told points."""
        return len(self.z)

    @property
    def best(self) -> int:
        """Number of the best one."""
        return int(np.argmin(self.merit))

    @property
    def incumbent(self) -> int | None:
        """Row of the best one in the history, if it is feasible."""
        row = int(np.flatnonzero(self.history.told)[self.best])
        return row if self.history.feasible[row] else None

    @property
    def best_is_closed(self) -> bool:
        """Whether it lies in a closed ball."""
        return bool(self.regions.inside(self.X[self.best][None, :])[0])

    def at_the_best(self) -> tuple[int, Step] | None:
        """The step from the best observation; if there is none, its region is closed."""
        if self.best_is_closed:
            return None
        return self._step_or_close(self.best, at_the_best=True)

    def elsewhere(self) -> tuple[int, Step] | None:
        """The step from the best observation outside all closed balls."""
        outside = np.flatnonzero(~self.regions.inside(self.X))
        if len(outside) == 0:
            return None
        return self._step_or_close(int(outside[np.argmin(self.merit[outside])]), at_the_best=False)

    def best_rival(self) -> tuple[int, Step] | None:
        """The most promising step from the best observations with other options than those of the best one."""
        rounding = self.history.rounding
        if rounding is None or rounding.ordered.all():
            return None
        options = self.X[:, ~rounding.ordered]
        seen = {options[self.best].tobytes()}
        steps = []
        for i in np.argsort(self.merit, kind="stable"):
            if len(seen) > RIVALS:
                break
            if options[i].tobytes() not in seen:
                seen.add(options[i].tobytes())
                steps.append(self._step_or_close(int(i), at_the_best=False))
        return max((step for step in steps if step is not None), key=lambda s: s[1].promise, default=None)

    def _step_or_close(self, i: int, *, at_the_best: bool) -> tuple[int, Step] | None:
        settings = self.method.local
        rounding = self.history.rounding
        if settings is None or self.n < self.X.shape[1] + 2 or (rounding is not None and not rounding.ordered.any()):
            return None
        if self.merit[i] == np.inf:
            return None
        region = self.regions.around(self.X[i], settings.first_radius)
        nothing = NOTHING * min(1.0, float(np.median(self.z)))
        nothing = max(nothing, 2 * self.scale.resolution_at_lowest, np.finfo(float).tiny)
        while True:
            step = self._step(settings, i, region, nothing)
            done = at_the_best and -step.lowest < nothing and step.promise < math.log(nothing)
            if done or region.radius < LEAST_RADIUS:
                converged = done and region.confirmed and not self.noisy and step.drop is None
                self._close(i, step, region, converged=converged)
                return None
            if np.min(np.max(np.abs(self.X - step.point), axis=1)) >= SAME_POINT:
                break
            if not at_the_best and self.regions.inside(step.point[None, :])[0]:
                return None  # it has led into a finished valley
            region = replace(region, radius=region.radius / 2)  # what is known there contradicts the model
        return (i, step) if self._may_be_asked(step.point, region.radius) else None

    def _step(self, settings: LocalModel, i: int, region: TrustRegion, nothing: float) -> Step:
        history = self.history
        if not history.constrained:
            return settings.step(self.X, self.z, i, region, history.pending, self.rng, history.rounding, nothing)
        return step_within(
            settings,
            self.X,
            self.z,
            history.constraints[history.told] / self.units,
            i,
            region,
            history.pending,
            self.rng,
            history.rounding,
            history.inputs,
            np.inf if self.incumbent is None else float(self.z[self.best]),
            nothing,
        )

    def _close(self, i: int, step: Step, region: TrustRegion, *, converged: bool) -> None:
        radius = closing_radius(step.model, region, self.X, self.z)
        if self.history.rounding is not None:  # the next whole number may be nearer than a ball is large
            radius = min(radius, LEAST_BALL if converged else 2 * region.radius)
        ball = Ball(self.X[i], radius)
        self.regions = self.regions.without(ball)
        self.closed.append(ClosedRegion(self._trial(i), ball.radius, converged))

    def _may_be_asked(self, point: Vector, radius: float) -> bool:
        """Whether a step is in no closed ball, and apart from failures and from what is being evaluated."""
        pending = self.history.pending
        return bool(
            are_separated(point[None, :], self.failed, min(MIN_DISTANCE_FAILED, radius / 8))[0]
            and are_separated(point[None, :], pending, MIN_DISTANCE_PENDING)[0]
            and not self.regions.inside(point[None, :])[0]
        )

    def _trial(self, i: int) -> int:
        return int(self.history.ids[self.history.told][i])

    def _others(self, i: int) -> int:
        """Steps of the region around observation i that are being evaluated."""
        region, trials = self.regions.around(self.X[i]), self.history.trials
        steps = (t.reason.step for t in trials if t.state is TrialState.PENDING)
        return sum(region.reaches(trials[step.center].unit_x) for step in steps if step is not None)

    def proposal(self, i: int, step: Step) -> Proposal:
        """The step, with its reason."""
        reason = Reason(
            Source.LOCAL,
            expected_improvement=self.scale.inverse_scale(math.exp(step.promise)) if step.drop is None else None,
            mean=self.scale.lowest + self.scale.inverse_scale(float(self.z[i]) + step.mean),
            std=self.scale.inverse_scale(step.std),
            step=TrustRegionStep(
                center=self._trial(i),
                radius=step.model.radius,
                norm=float(np.max(np.abs(step.z))),
                predicted_reduction=self.scale.inverse_scale(-step.mean) if step.drop is None else step.drop,
                n_concurrent=self._others(i),
                constraint_scales=() if step.drop is None else tuple(self.units.tolist()),
            ),
        )
        return Proposal(step.point, reason)
