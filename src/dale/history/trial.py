"""What a run is made of: trials, the reasons they were chosen for, and the result. All of it frozen."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

from dale._arrays import Vector
from dale.history.reason import Reason, TrustRegionStep
from dale.space.point import Params


class TrialState(StrEnum):
    """What has become of a trial."""

    PENDING = "pending"
    COMPLETE = "complete"
    FAILED = "failed"


@dataclass(frozen=True, eq=False)
class Trial:
    """One evaluation: asked for, then told or failed.

    Attributes:
        id: Number of the trial in its run, from 0.
        params: The point as the objective takes it: a mapping by name, or an array in a space without names.
        x: The point as an array in the user's units and order; of objects where a parameter is a choice.
        unit_x: The point in the unit cube, as the model sees it.
        reason: Why it was chosen.
        state: Pending, told or failed.
        value: The objective there, once told.
        error: What went wrong, if it failed.
        noise: Standard deviation of the error in the value, if it was told with one.
        constraints: The constraints there, once told.
        retry: Whether the machine is to blame for it: no model sees the trial, and its point is asked again.
        allowed: Whether the constraints on the inputs allow the point; of known points alone they may not.
    """

    id: int
    params: Params
    x: Vector
    unit_x: Vector
    reason: Reason
    state: TrialState = TrialState.PENDING
    value: float | None = None
    error: str | None = None
    noise: float | None = None
    constraints: tuple[float, ...] = ()
    retry: bool = False
    allowed: bool = True

    @property
    def feasible(self) -> bool:
        """Whether it has a value, all of its constraints are at most 0, and those on the inputs allow it."""
        return self.state is TrialState.COMPLETE and self.allowed and all(c <= 0 for c in self.constraints)


def _violation(trial: Trial, units: tuple[float, ...]) -> float:
    """Sum of the positive parts of a trial's constraints, in units."""
    return sum(max(c, 0.0) / unit for c, unit in zip(trial.constraints, units, strict=True))


def actual_reduction(step: TrustRegionStep, center: Trial, trial: Trial) -> float:
    """What came of a step: the decrease from the center to the trial; minus infinity for a failure.

    A feasible center is not left for what is not feasible; one that is not feasible, for less violation.
    """
    if center.value is None or trial.value is None:
        return -math.inf
    if step.constraint_scales:
        return _violation(center, step.constraint_scales) - _violation(trial, step.constraint_scales)
    return center.value - trial.value if trial.feasible else -math.inf
