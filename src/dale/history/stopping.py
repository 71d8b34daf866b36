"""When a run ends, and how it ended.

A stopping rule is a small frozen value with ``check(snapshot, clock)``, which returns the status that the run ends
with, or None. ``minimize`` checks its own rules (budget, target, time limit, tolerance) and those it is handed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from dale.acquisition.expected_improvement import log_h_at
from dale.history.direction import Direction
from dale.history.evaluation import check_count, check_positive
from dale.history.history import History
from dale.history.reason import Reason, Source
from dale.history.snapshot import Snapshot
from dale.history.trial import TrialState

CALM_PROPOSALS = 3  # global proposals in a row, per coordinate, below the tolerance before a run has converged
NEGLIGIBLE_NOISE = 0.1  # of the tolerance: less noise counts as none


class Status(IntEnum):
    """How a run ended: the ``status`` of a result; ``message`` says it in words.

    Examples:
        >>> import dale
        >>> dale.Status(0)
        <Status.BUDGET_SPENT: 0>
        >>> dale.Status.TARGET_REACHED.message
        'The target is reached'
    """

    BUDGET_SPENT = 0
    TARGET_REACHED = 1
    STOPPED = 2
    NO_VALUE = 3
    SPACE_EXHAUSTED = 4
    TIME_LIMIT = 5
    CONVERGED = 6
    NO_FEASIBLE = 7
    EXECUTOR_BROKEN = 8
    IN_PROGRESS = 9
    TERMINATED = 10
    INTERRUPTED = 11

    @property
    def message(self) -> str:
        """The status in words."""
        return _MESSAGES[self]

    @property
    def planned(self) -> bool:
        """Whether a rule ended the run, and neither the user, a signal nor an error."""
        return self not in (Status.STOPPED, Status.EXECUTOR_BROKEN, Status.TERMINATED, Status.INTERRUPTED)


_MESSAGES = {
    Status.BUDGET_SPENT: "The budget is spent",
    Status.TARGET_REACHED: "The target is reached",
    Status.STOPPED: "Stopped by the callback or a stopping rule",
    Status.NO_VALUE: "No evaluation has returned a finite value",
    Status.SPACE_EXHAUSTED: "Every point of the space has been evaluated",
    Status.TIME_LIMIT: "The time limit is reached",
    Status.CONVERGED: "Converged: the expected improvement is below the tolerance",
    Status.NO_FEASIBLE: "No feasible point was found",
    Status.EXECUTOR_BROKEN: "No further evaluation was possible",
    Status.IN_PROGRESS: "Best so far",
    Status.TERMINATED: "Terminated",
    Status.INTERRUPTED: "Interrupted",
}


class Clock(NamedTuple):
    """What a rule may know beyond the history.

    Attributes:
        seconds: Since the run began.
        n_begun: Evaluations begun, running ones included.
    """

    seconds: float
    n_begun: int


class StoppingRule(Protocol):
    """Ends a run.

    A rule with ``immediate`` true is checked after every evaluation and ends the run at once; running evaluations are
    abandoned. Other rules are checked before each new evaluation; running ones are waited for.

    Examples:
        >>> import dale
        >>> class FirstFailure:
        ...     immediate = True
        ...     def check(self, snapshot, clock):
        ...         failed = any(trial.error is not None for trial in snapshot.history.trials)
        ...         return dale.Status.STOPPED if failed else None
        >>> dale.minimize(lambda x: 1 / 0, [(0, 1)], budget=30, seed=0, stopping=FirstFailure()).nfev
        1
    """

    @property
    def immediate(self) -> bool:
        """Whether the run ends at once."""
        ...

    def check(self, snapshot: Snapshot, clock: Clock) -> Status | None:
        """The status that the run ends with; None to continue."""
        ...


@dataclass(frozen=True)
class Budget:
    """A number of evaluations.

    Examples:
        >>> import dale
        >>> dale.minimize(lambda x: x[0] ** 2, [(-1, 2)], budget=9, seed=0, stopping=Budget(4)).nfev
        4
    """

    n: int
    immediate: ClassVar[bool] = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", check_budget(self.n))

    def check(self, snapshot: Snapshot, clock: Clock) -> Status | None:
        """Whether all evaluations have begun."""
        return Status.BUDGET_SPENT if clock.n_begun >= self.n else None


@dataclass(frozen=True)
class TimeLimit:
    """Seconds after which no evaluation is begun; None for no limit.

    Examples:
        >>> TimeLimit(60.0).check(snapshot=None, clock=Clock(seconds=61.0, n_begun=5)).message
        'The time limit is reached'
    """

    seconds: float | None
    immediate: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.seconds is not None:
            check_positive(self.seconds, "time_limit", "a number of seconds or None", "leave it out for no limit")

    @property
    def end(self) -> float:
        """The limit; infinite for none."""
        return math.inf if self.seconds is None else float(self.seconds)

    def check(self, snapshot: Snapshot, clock: Clock) -> Status | None:
        """Whether the time is up."""
        return Status.TIME_LIMIT if clock.seconds >= self.end else None


@dataclass(frozen=True)
class Target:
    """A value that is good enough; None for none.

    Examples:
        >>> import dale
        >>> dale.minimize(lambda x: x[0] ** 2, [(-1, 2)], budget=30, seed=0, stopping=Target(0.01)).message
        'The target is reached'
    """

    value: float | None
    immediate: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.value is None:
            return
        if isinstance(self.value, bool) or not isinstance(self.value, Real):
            raise TypeError(f"target must be a number or None, got {self.value!r}")
        if math.isnan(self.value):
            raise ValueError("target must be a number or None, got nan")

    def check(self, snapshot: Snapshot, clock: Clock) -> Status | None:
        """Whether the incumbent's value is as good; with noise, by one standard deviation of it."""
        if self.value is None:
            return None
        best = snapshot.incumbent
        if best.value is None:
            return None
        loss = snapshot.history.direction.loss
        return Status.TARGET_REACHED if loss(best.value) + best.std <= loss(float(self.value)) else None


@dataclass(frozen=True)
class Tolerance:
    """An expected improvement, in units of the objective, that is not worth another evaluation; None for none.

    The rule holds when the next proposal would be a global one with an expected improvement below the tolerance, which
    means that no local model expects as much either; when the last 3 d completed global proposals, d being the number
    of coordinates, and all proposals since the first of them expected no more; and when they gained no more. It holds
    as well when every point of a finite space has been evaluated.

    With noise above a tenth of the tolerance, the std of the best value has to be below the tolerance, gains are those
    of posterior means, and proposals count with the improvement of the value without noise too.

    Attributes:
        value: The tolerance.
        next_reason: Why the next point would be chosen if no trial were pending.
    """

    value: float | None
    next_reason: Callable[[Snapshot], Reason]
    immediate: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_tolerance(self.value)

    def check(self, snapshot: Snapshot, clock: Clock) -> Status | None:
        """Whether the run has converged."""
        return Status.CONVERGED if self.value is not None and self._holds(snapshot, float(self.value)) else None

    def _holds(self, snapshot: Snapshot, tolerance: float) -> bool:
        if snapshot.history.retries:
            return False
        if snapshot.incumbent.noise >= NEGLIGIBLE_NOISE * tolerance:
            return self._holds_with_noise(snapshot, tolerance)
        if snapshot.is_exhausted and not snapshot.is_noisy:
            return len(snapshot.history.pending) == 0 and snapshot.last_replicate is None
        return self._is_calm(snapshot, tolerance, lambda reason: _expects_less(reason, tolerance), _gain)

    def _holds_with_noise(self, snapshot: Snapshot, tolerance: float) -> bool:
        incumbent = snapshot.incumbent
        if incumbent.value is None or not incumbent.std < tolerance:
            return False
        direction = snapshot.history.direction
        best = direction.loss(incumbent.value)

        def expects_less(reason: Reason) -> bool:
            return _expects_less(reason, tolerance) and _could_gain(reason, best, direction) < tolerance

        return self._is_calm(snapshot, tolerance, expects_less, _gain_of_means)

    def _is_calm(
        self,
        snapshot: Snapshot,
        tolerance: float,
        expects_less: Callable[[Reason], bool],
        gain: Callable[[History, int], float],
    ) -> bool:
        """Whether the last proposals expected and gained less than the tolerance, and the next one expects less."""
        calm_since = _calm_since(snapshot.history, expects_less)
        if calm_since is None or not gain(snapshot.history, calm_since) < tolerance:
            return False
        reason = self.next_reason(snapshot)
        return reason.source is Source.GLOBAL and expects_less(reason)


def _calm_since(history: History, expects_less: Callable[[Reason], bool]) -> int | None:
    """Id of the first of the last 3 d completed global proposals, if they and all others since expected little."""
    left = CALM_PROPOSALS * history.dimension
    for trial in reversed(history.trials):
        if trial.retry or trial.reason.source in (Source.ADDED, Source.USER):
            continue
        if not expects_less(trial.reason):
            return None
        left -= trial.reason.source is Source.GLOBAL and trial.state is TrialState.COMPLETE
        if left == 0:
            return trial.id
    return None


def _gain(history: History, first: int) -> float:
    """By how much the trials from an id on have lowered the best value."""
    feasible = [(t.id, t.loss) for t in history.complete if t.feasible]
    before = min((loss for number, loss in feasible if number < first), default=math.inf)
    return before - min((loss for _, loss in feasible), default=-math.inf)


def _gain_of_means(history: History, first: int) -> float:
    """The same for the lowest posterior mean, of all values: a single value may be low by luck."""
    observations = history.observations.inliers
    model, scale = observations.noisy_gp, observations.standardize
    before = model.lowest(observations.feasible & (observations.ids < first))
    lowest = model.lowest(observations.feasible)
    if before is None or lowest is None:
        return math.inf
    return scale.inverse(model.at(before)[0]) - scale.inverse(model.at(lowest)[0])


def _expects_less(reason: Reason, tolerance: float) -> bool:
    """Whether a proposal's expected improvement is known to be below the tolerance."""
    return reason.expected_improvement is not None and reason.expected_improvement < tolerance


def _could_gain(reason: Reason, best: float, direction: Direction) -> float:
    """The expected improvement on the best loss by the value without noise, once it is known; infinite if unknown.

    That of a single noisy value is small where noise is strong, however much there is to gain.
    """
    if reason.mean is None or reason.std is None:
        return math.inf
    std = max(reason.std, float(np.finfo(float).tiny))
    return std * math.exp(float(log_h_at((best - direction.loss(reason.mean)) / std)[0]))


def check_rules(rules: Any) -> tuple[StoppingRule, ...]:
    """Stopping rules as the user gives them: one, a sequence, or None."""
    several = () if rules is None else tuple(rules) if isinstance(rules, list | tuple) else (rules,)
    for rule in several:
        if not callable(getattr(rule, "check", None)) or not isinstance(getattr(rule, "immediate", None), bool):
            raise TypeError(f"stopping: expected rules with check(snapshot, clock) and immediate, got {rule!r}")
    return several


def check_status(status: Any, rule: StoppingRule) -> Status | None:
    """What a rule has returned, if it is a status or None."""
    if status is not None and not isinstance(status, Status):
        raise TypeError(f"stopping: expected a dale.Status or None from {rule!r}, got {status!r}")
    return status


def check_budget(budget: Any) -> int:
    """A number of evaluations as an int; also a float that is an integer, such as ``1e2``."""
    is_whole = isinstance(budget, Real) and not isinstance(budget, Integral) and float(budget).is_integer()
    meaning = "the number of evaluations"
    n = int(budget) if is_whole else budget
    return check_count(n, "budget", f"a positive integer, {meaning}", f"it is {meaning}")


def check_tolerance(tolerance: Any) -> None:
    """Whether a tolerance is a positive number or None."""
    if tolerance is not None:
        why = "it is the expected improvement that is not worth another evaluation, in units of the objective"
        check_positive(tolerance, "tolerance", "a number", why)
