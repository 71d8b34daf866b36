"""Alg. 1 as a loop: ask, evaluate, tell."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from time import monotonic
from typing import Any

import numpy as np

from dale._computing import computing
from dale._progress import Progress
from dale._views import Page
from dale.errors import SpaceExhausted, StoreError, TrialError
from dale.evaluate.evaluator import Evaluator, next_completed
from dale.evaluate.failures import FailureMonitor
from dale.evaluate.outcome import Outcome
from dale.evaluate.signals import Signals
from dale.history.reason import Source
from dale.history.result import Result
from dale.history.stopping import Clock, Status, StoppingRule, check_status
from dale.history.trial import Trial, TrialState
from dale.optimizer import Optimizer
from dale.space.point import format_point, short_repr
from dale.space.table import is_table, points_of, rows_of


@dataclass(eq=False)
class Loop:
    """Ask, evaluate, tell (Alg. 1) until a rule says stop.

    Attributes:
        optimizer: Proposes and records.
        first: Trials at the user's own points, evaluated first.
        rules: Stopping rules.
        began: Time of the start, and
        end: of the time limit, on the clock of ``monotonic``.
        workers: Evaluate.
        signals: Ctrl-C and SIGTERM.
        bar: Shows the progress.
        page: The page of the run.
        callback: The user's.
        failures: Shows failed evaluations, and decides whether they end the run.
        n_begun: Evaluations begun, running ones and those of an earlier run on the same store included.
        n_done: Evaluations made, those of an earlier run included.
    """

    optimizer: Optimizer
    first: list[Trial]
    rules: tuple[StoppingRule, ...]
    began: float
    end: float
    workers: Evaluator
    signals: Signals
    bar: Progress
    page: Page
    callback: Callable[[Result], Any] | None
    failures: FailureMonitor
    n_begun: int = 0
    n_done: int = 0

    def status(self) -> Status:
        """Run, and say how it ended."""
        try:
            return self._run()
        except StopIteration:
            return Status.STOPPED
        except KeyboardInterrupt:
            if self.signals.forced:
                raise
            return self.signals.status

    def _run(self) -> Status:
        """As many trials are running as the workers take; in a serial run that is one.

        A rule that is immediate ends the run at once. Otherwise everything that has begun is waited for, and then the
        rules are checked again.
        """
        self.signals.check()  # a signal may have come while the store was opened
        self.n_begun = self.n_done = self.optimizer.n_evaluated
        while True:
            status = self._check(immediate=True)
            if status is not None:
                return status
            late = monotonic() >= self.end
            if late:
                self.n_begun -= self.workers.cancel()
            until = math.inf if late else self.end
            if self.workers.n_running < self.workers.max_running:
                asked = self._ask()
                if isinstance(asked, Trial):
                    self.signals.check()
                    self.workers.submit(asked)
                    self.n_begun += 1
                    if self.workers.n_running < self.workers.max_running:
                        until = -math.inf  # others are idle: only collect what is complete
                elif self.workers.n_running == 0:
                    return asked
            self._record(next_completed(self.workers, self.signals, min(until, self.page.due)))

    def _check(self, *, immediate: bool) -> Status | None:
        """The status of the first rule that ends the run."""
        rules = [rule for rule in self.rules if rule.immediate is immediate]
        clock = Clock(monotonic() - self.began, self.n_begun)
        statuses = (check_status(rule.check(self.optimizer.snapshot, clock), rule) for rule in rules)
        with computing():
            return next((status for status in statuses if status is not None), None)

    def _ask(self) -> Trial | Status:
        """The next trial, or why there is none."""
        if self.workers.broken:
            return Status.EXECUTOR_BROKEN
        # Other processes may work on the store too.
        self.n_begun = max(self.n_begun, self.optimizer.n_evaluated + self.workers.n_running)
        status = self._check(immediate=False)
        if status is not None:
            return status
        try:
            return self.first.pop(0) if self.first else self.optimizer.ask()
        except SpaceExhausted:
            return Status.SPACE_EXHAUSTED

    def _record(self, completed: list[tuple[Trial, Outcome]]) -> None:
        """Record all outcomes; then report them, and show failures."""
        told = [tell(self.optimizer, *one, retry=self.failures.retries(one[1])) for one in completed]
        for _ in told:
            self._report()
        for trial, (_, outcome) in zip(told, completed, strict=True):
            with self.bar.paused() if trial.error is not None else nullcontext():
                ends = self.failures.ends_run(trial, outcome)
            if ends:
                with self.optimizer.transaction():  # the points are not to blame: a resumed run tries them again
                    for failed in self.failures.first:
                        self.optimizer.fail(failed, failed.error or "", retry=True)
                raise self.failures.error(trial, outcome)
        self.page.update(changed=bool(completed))

    def _report(self) -> None:
        """Show the progress and call the callback."""
        self.n_done += 1
        if self.bar.show:  # otherwise the incumbent need not be found
            self.bar.write(self.n_done, _standing(self.optimizer))
        if self.callback is not None:
            with self.signals.interruptible():
                stops = self.callback(self.optimizer.result())
            if isinstance(stops, bool | np.bool_) and stops:
                raise StopIteration


def _standing(optimizer: Optimizer) -> str:
    """The best value and the number of failures, for the progress bar."""
    best = optimizer.best_value
    n_failed = sum(trial.error is not None for trial in optimizer.history)
    text = "no value yet" if best is None else f"best {best:.6g}"
    return f"{text}, {n_failed} failed" if n_failed else text


def begin(optimizer: Optimizer, x0: Any, y0: Any) -> list[Trial]:
    """Record what is known; return trials at the points that the user wants evaluated first."""
    if x0 is None:
        if y0 is not None:
            raise ValueError(f"y0 = {y0!r} needs the points it belongs to: give x0 too")
        return []
    if isinstance(y0, str):
        optimizer.add_all(x0, value=y0)
        return []
    if is_table(x0):
        x0 = [params for params, _ in points_of(rows_of(x0), optimizer.space)]
        if not x0:
            return []
    several = _is_list_of_points(x0)
    points = list(x0) if several else [x0]
    if y0 is None:
        return [optimizer.ask(at=point) for point in points]
    values = list(y0) if several and np.ndim(y0) == 1 else [y0]
    if len(values) != len(points):
        raise ValueError(
            f"expected one value for each point, got x0 with {len(points)} points and y0 with {len(values)} values"
        )
    for point, value in zip(points, values, strict=True):
        optimizer.add(point, value)
    return []


def _is_list_of_points(x0: Any) -> bool:
    if isinstance(x0, np.ndarray):
        return x0.ndim == 2
    return isinstance(x0, list | tuple) and len(x0) > 0 and isinstance(x0[0], Mapping | list | tuple | np.ndarray)


def has_value(optimizer: Optimizer) -> bool:
    """Whether an evaluation has returned a value, added data aside."""
    return any(t.state is TrialState.COMPLETE and t.reason.source is not Source.ADDED for t in optimizer.history)


def tell(optimizer: Optimizer, trial: Trial, outcome: Outcome, *, retry: bool = False) -> Trial:
    """Record the outcome of an evaluation. An outcome without a value fails the trial, which may be retried."""
    first = not has_value(optimizer)
    if outcome.error is not None:
        if outcome.misuse is not None and first:
            raise TypeError(outcome.misuse)  # several objectives: seen at once, so nothing is lost
        return optimizer.fail(trial, outcome.error, retry=outcome.retry or retry)
    value = outcome.value
    try:
        return optimizer.tell(trial, value)
    except StoreError as error:
        error.add_note(f"Trial {trial.id} at {format_point(trial.params)} gave {short_repr(value)}, which was not kept")
        raise
    except TrialError as error:  # another number of constraints
        if first:
            raise  # than added data have: seen at once, so nothing is lost
        return optimizer.fail(trial, f"the objective returned {short_repr(value)}: {error}")
