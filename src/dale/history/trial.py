"""A trial: one evaluation, from its proposal to its outcome."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from numbers import Integral
from typing import Any

import numpy as np

from dale._arrays import Vector
from dale.errors import TrialError
from dale.history.correction import Correction
from dale.history.direction import Direction
from dale.history.evaluation import Evaluation
from dale.history.extra import Extra
from dale.history.reason import Reason, TrustRegionStep
from dale.space.point import format_point

ERROR_HEAD, ERROR_TAIL = 8_000, 8_000  # characters of a long error that are kept
NO_OUTCOME = Evaluation(None, extra=Extra())  # of a trial that has failed or was discarded


class TrialState(StrEnum):
    """State of a trial.

    Examples:
        >>> import dale
        >>> optimizer = dale.Optimizer([(0, 1)], seed=0)
        >>> optimizer.tell(optimizer.ask(), 1.0).state
        <TrialState.COMPLETE: 'complete'>
    """

    PENDING = "pending"
    COMPLETE = "complete"
    FAILED = "failed"
    DISCARDED = "discarded"  # evaluated, but not used: the models do not see it


@dataclass(frozen=True, eq=False, repr=False)
class Trial:
    """One evaluation: proposed, then complete or failed; discarded if its outcome turned out to be wrong.

    Attributes:
        id: Number of the trial in its run, from 0.
        params: The point as the objective takes it: a mapping by name, or an array in a space without names.
        x: The point as an array in the user's units and order; of objects where a parameter is a choice.
        unit_x: The point in the unit cube, as the models see it.
        reason: Why it was chosen.
        state: Pending, complete, failed or discarded.
        value: Value of the objective, once complete, with its own sign, also if it is maximised.
        error: What went wrong, if it failed.
        noise: Standard deviation of the noise in the value, if it came with one.
        constraints: Values of the outcome constraints, once complete.
        retry: Whether the failure was transient: the models ignore the trial, and its point is retried.
        allowed: Whether the input constraints allow the point; only points that the user added may violate them.
        corrections: What was changed after the outcome was reported, in order.
        extra: Further results that came with the value, by name: a read-only mapping, empty if there are none.
        direction: Whether the objective is minimised or maximised.

    Examples:
        >>> import dale
        >>> trial = dale.Optimizer([(0, 1)], seed=0).ask()
        >>> trial.id, str(trial.state), trial.feasible
        (0, 'pending', False)
        >>> trial
        <dale.Trial 0: (0.105446), pending; initial design>
    """

    id: int
    params: Any  # ``Params``, as the user's program knows it: an array, or a mapping
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
    corrections: tuple[Correction, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=Extra)
    direction: Direction = Direction.MINIMIZE

    def __repr__(self) -> str:
        outcome = str(self.state) if self.value is None else f"{self.value:.6g}"
        if self.value is not None and not self.feasible:
            outcome += " (infeasible)"
        return f"<dale.Trial {self.id}: {format_point(self.params)}, {outcome}; {self.reason}>"

    @property
    def loss(self) -> float:
        """The value as the models see it: lower is better, infinite if the trial has none."""
        return math.inf if self.value is None else self.direction.loss(self.value)

    @property
    def feasible(self) -> bool:
        """Whether it has a value, satisfies all outcome constraints and is allowed by the input constraints."""
        return self.state is TrialState.COMPLETE and self.allowed and all(c <= 0 for c in self.constraints)


def is_evidence(trial: Trial) -> bool:
    """Whether a trial says something about the objective: complete or failed, and not by a transient failure."""
    return trial.state in (TrialState.COMPLETE, TrialState.FAILED) and not trial.retry


def is_void(trial: Trial) -> bool:
    """Whether a trial will never say anything: discarded, or retried after a transient failure."""
    return trial.retry or trial.state is TrialState.DISCARDED


def kept_error(text: str) -> str:
    """An error as a run keeps it: a very long one without its middle. The cause is at the end, the context before it.

    Examples:
        >>> kept_error("it broke"), len(kept_error("x" * 10**6)) < 17_000
        ('it broke', True)
    """
    left_out = len(text) - ERROR_HEAD - ERROR_TAIL
    if left_out <= 0:
        return text
    return f"{text[:ERROR_HEAD]}\n... {left_out} characters were left out ...\n{text[-ERROR_TAIL:]}"


def _violation(trial: Trial, scales: tuple[float, ...]) -> float:
    """Sum of the positive parts of a trial's constraints, each divided by its scale."""
    return sum(max(c, 0.0) / scale for c, scale in zip(trial.constraints, scales, strict=True))


def actual_reduction(step: TrustRegionStep, center: Trial, trial: Trial) -> float:
    """The reduction of the loss from the center of a step to its trial; minus infinity for a failure.

    From a feasible center, a point that is not feasible is a failure. From one that is not feasible, the violation
    counts.
    """
    if center.value is None or trial.value is None:
        return -math.inf
    if step.constraint_scales:
        return _violation(center, step.constraint_scales) - _violation(trial, step.constraint_scales)
    if not trial.feasible:
        return -math.inf
    if step.noise is not None and trial.reason.mean is not None:  # the center's value may be low by luck
        return trial.direction.loss(trial.reason.mean) + step.predicted_reduction - trial.loss
    return center.loss - trial.loss


def find_trial(trials: Sequence[Trial], trial: Trial | int) -> Trial:
    """The trial of a run that the user means, by itself or by its id."""
    if isinstance(trial, bool) or not isinstance(trial, Trial | Integral):
        raise TypeError(f"expected a Trial that ask returned, or its id, got {trial!r}")
    number = trial.id if isinstance(trial, Trial) else int(trial)
    if not 0 <= number < len(trials) or (
        isinstance(trial, Trial) and not np.array_equal(trial.unit_x, trials[number].unit_x)
    ):
        hint = "Pass a trial to the optimizer that proposed it, or use add(params, value)"
        raise TrialError(
            f"trial {number} is unknown here; number of trials in this run: {len(trials)}. "
            f"{hint if isinstance(trial, Trial) else 'Expected the id of one of them, from 0'}"
        )
    return trials[number]


def last_evaluation(trial: Trial) -> Evaluation | None:
    """The evaluation of a trial; of a discarded one that from before. None if it never had a value."""
    if trial.state is TrialState.COMPLETE:
        return Evaluation(trial.value, trial.noise, trial.constraints, trial.extra)
    return next((c.before for c in reversed(trial.corrections) if c.before is not None), None)


def check_number_of_constraints(constraints: Sequence[float], trials: Sequence[Trial]) -> None:
    """Whether an outcome has as many constraints as those of earlier trials."""
    known = ((t.id, e.constraints) for t in trials if (e := last_evaluation(t)) is not None)
    first, expected = next(known, (0, constraints))
    if len(expected) != len(constraints):
        raise TrialError(
            f"expected {len(expected)} constraints, as trial {first} has, got {list(constraints)!r}; "
            "give every trial the same number of them, added data included"
        )
