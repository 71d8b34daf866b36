"""Alg. 1 as one function: minimise an expensive function in as few evaluations as possible."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from time import monotonic
from typing import Any, Literal

import numpy as np

from dale._computing import computing
from dale._progress import Progress
from dale._views import Page, check_page, live_page
from dale.errors import SpaceExhausted, StoreError, TrialError
from dale.evaluate.command import Command
from dale.evaluate.evaluator import Evaluator, next_completed
from dale.evaluate.factory import make_evaluator, with_arguments
from dale.evaluate.failures import FailureMonitor, OnError, check_on_error, log
from dale.evaluate.outcome import Outcome
from dale.evaluate.signals import Signals
from dale.history.reason import Source
from dale.history.result import Result
from dale.history.seeding import check_seed
from dale.history.stopping import (
    Budget,
    Clock,
    Status,
    StoppingRule,
    Target,
    TimeLimit,
    Tolerance,
    check_budget,
    check_rules,
    check_status,
    check_tolerance,
)
from dale.history.trial import Trial, TrialState
from dale.methods.base import Method
from dale.optimizer import Optimizer
from dale.space.point import format_point, short_repr
from dale.space.space import as_space
from dale.space.table import is_table, points_of, rows_of
from dale.store.location import resolve_path


def minimize(
    fun: Callable[..., Any],
    space: Any,
    *,
    budget: float,
    args: Any = (),
    seed: int | np.random.Generator | np.random.RandomState | None = None,
    method: Method | None = None,
    x0: Any = None,
    y0: Any = None,
    callback: Callable[[Result], Any] | None = None,
    progress: bool | None = None,
    target: float | None = None,
    noise: float | Literal["auto"] = "auto",
    time_limit: float | None = None,
    tolerance: float | None = None,
    stopping: StoppingRule | Sequence[StoppingRule] | None = None,
    constraints: Any = None,
    fixed: Mapping[str, Any] | None = None,
    n_parallel: int | None = None,
    executor: Any = None,
    timeout: float | None = None,
    store: str | os.PathLike[str] | None = None,
    report: str | os.PathLike[str] | None = None,
    on_error: OnError = "record",
) -> Result:
    """Minimise ``fun`` over a space.

    Args:
        fun: The objective. It takes an array where the space has no names, a mapping of parameters where it has, and
            returns a number, or a ``dale.Evaluation`` with its noise, constraints or extra values. An evaluation that
            raises or is not finite counts as failed (``on_error``). After a transient failure, which says nothing about
            the point, let it raise ``dale.Retry``: the point is retried. Or a program: a ``dale.Command``.
        space: Pairs of bounds, ``scipy.optimize.Bounds``, a mapping or a ``dale.Space``; also a mapping of Optuna's
            distributions, or ConfigSpace's ``ConfigurationSpace``.
        budget: Number of evaluations, those of the initial design and of ``x0`` included; ``1e2`` is 100.
        args: Further arguments of ``fun``, a tuple: ``fun(x, *args)``.
        seed: Same seed, same run. None takes a fresh one, which the result holds; so does a generator of NumPy, from
            which it is drawn.
        method: One of ``dale.methods``; None for the default.
        x0: A point, or a list of points, to evaluate first; or a table of them: the path of a CSV file or a data frame.
        y0: Their values if known, as ``fun`` returns them, or the name of the table's column that has them: then they
            are not evaluated again, and replace the initial design (``Optimizer.add_all``).
        callback: Called with the result so far after each evaluation; True or ``StopIteration`` stops the run.
        progress: True shows a progress bar, False none, None one on a terminal and in a notebook.
        target: A value that is good enough: the run stops when it is reached.
        noise: Standard deviation of the noise in the values: 0 for none, ``"auto"`` to detect it.
        time_limit: Seconds for the run: after them no evaluation is begun. Running ones are waited for (``timeout``
            limits a single evaluation).
        tolerance: The run stops when the expected improvement of every proposal, in units of the objective, is below
            this, near the incumbent and elsewhere (``Optimizer.converged``). A few thousandths of the range of the
            values are sensible: no model rules out a lower value in unexplored parts of the space, so the global model
            hardly expects less. None never stops for this.
        stopping: Stopping rules of your own, one or a sequence (``dale.history.stopping.StoppingRule``).
        constraints: Input constraints, which no proposal violates: text such as ``"0 <= a + b <= 4"``, SciPy's
            ``LinearConstraint`` or ``NonlinearConstraint``, or callables that take what ``fun`` takes and return True
            where a point is allowed, or numbers that are at most 0 there; one of them or a sequence. Equalities must be
            linear: ``"a + b + c == 1"``, or a ``LinearConstraint`` with ``lb == ub``. Outcome constraints, known only
            after an evaluation, are returned by ``fun`` instead, in a ``dale.Evaluation``.
        fixed: Values of parameters that you cannot choose in this run, by name. The models use all trials of a store.
        n_parallel: Number of evaluations at once. As soon as one ends, the next is proposed, so a run depends on the
            order in which they end. More than 1 without an executor, or a ``timeout``, runs each evaluation in a new
            process: a crash there fails its trial only. None for 1, or for the workers of the executor. A program
            always has such a process.
        executor: Any ``concurrent.futures.Executor`` to evaluate in instead; it is not shut down.
        timeout: Seconds for each evaluation: its process is then terminated, and its trial fails. With an executor,
            whose workers cannot be stopped from here, only for a ``dale.Command``.
        store: Path of a file that keeps the run. Re-run the same command to resume: evaluations in the file count
            towards the budget, and ``x0`` and ``y0`` are in it already.
        report: Path of an HTML page of the run (``dale.report``), written again as evaluations end, about once a second
            at most; an open page reloads itself. A page that cannot be written is a ``dale.ReportWarning`` and does not
            end the run.
        on_error: ``"record"``: the first failure of each kind is shown as a ``dale.EvaluationWarning`` with its
            traceback, failures are counted in the result, and if the first 5 evaluations (or all of a smaller budget)
            raise the same type of exception at the same line, the run ends with that error. ``"raise"``: the first
            exception ends the run. Nothing that was recorded is lost: what a store keeps can be resumed, and the points
            that failed are then evaluated again.

    Returns:
        The best point and everything learnt. Ctrl-C and SIGTERM return it early; a second signal ends the run at once.

    Raises:
        dale.EvaluationError: An evaluation in another process ended the run (``on_error``). In this process, the
            exception of the objective is raised instead.

    Examples:
        >>> import dale
        >>> result = dale.minimize(lambda x: (x[0] - 1) ** 2 + x[1] ** 2, [(-2, 2), (-2, 2)], budget=15, seed=1)
        >>> bool(result.fun < 1e-12)
        True
    """
    if not callable(fun):
        raise TypeError(f"the objective must be callable, got {fun!r}")
    if callback is not None and not callable(callback):
        raise TypeError(f"callback must be callable or None, got {callback!r}")
    limit, n = TimeLimit(time_limit), check_budget(budget)
    rules: tuple[StoppingRule, ...] = (Budget(n), limit, Target(target), *check_rules(stopping))
    check_tolerance(tolerance)
    check_on_error(on_error)
    began = monotonic()
    space, seed = as_space(space), None if seed is None else check_seed(seed)
    fun = with_arguments(fun, args)
    workers = make_evaluator(fun, space, n_parallel, executor, timeout, store)
    problem = {"seed": seed, "method": method, "noise": noise, "constraints": constraints, "store": store}
    objective = fun.to_dict() if isinstance(fun, Command) else None
    is_begun = store is None or resolve_path(store).exists()
    check_page(report, store)
    if not is_begun and any(given is not None for given in (x0, y0, fixed)):  # if invalid, no empty store is left
        _begin(Optimizer(space, **{**problem, "store": None}).hold(fixed), x0, y0)
    with Signals() as signals, Optimizer(space, objective=objective, **problem).hold(fixed) as optimizer:
        with optimizer.transaction():
            first = [] if optimizer.history else _begin(optimizer, x0, y0)
        with Progress(n, progress, optimizer.n_evaluated) as bar, live_page(report, optimizer, n) as page, workers:
            loop = _Loop(
                optimizer=optimizer,
                first=first,
                rules=(*rules, Tolerance(tolerance, optimizer.next_reason)),
                began=began,
                end=began + limit.end,
                workers=workers,
                signals=signals,
                bar=bar,
                page=page,
                callback=callback,
                failures=FailureMonitor(on_error, n, has_value=_has_value(optimizer), store=optimizer.store),
            )
            log.info("%d evaluations, %d made so far, seed %d", n, optimizer.n_evaluated, optimizer.seed)
            status = loop.status()
            for trial, outcome in workers.completed():  # in the meantime; running ones stay pending
                _tell(optimizer, trial, outcome)
        result = optimizer.result()
    message = _message(status, optimizer, workers)
    if status is Status.EXECUTOR_BROKEN and not any(_is_evaluated(t) for t in result.history):
        page.end(result)
        raise RuntimeError(message)  # there is no result to lose
    if signals.seen is not None:
        status, message = signals.status, signals.status.message
    _conclude(result, status, message, workers.stalled)
    page.end(result)
    log.info("%s after %d evaluations, %d of them failed", result.message, result.nfev, result.n_failed)
    return result


@dataclass(eq=False)
class _Loop:
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
        told = [_tell(self.optimizer, *one, retry=self.failures.retries(one[1])) for one in completed]
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


def _message(status: Status, optimizer: Optimizer, workers: Evaluator) -> str:
    if status is Status.SPACE_EXHAUSTED and optimizer.constraints is not None:
        return "Every point that the constraints allow, as far as they could be found, has been evaluated"
    return status.message + (f": {workers.broken}" if status is Status.EXECUTOR_BROKEN else "")


def _conclude(result: Result, status: Status, message: str, stalled: str | None) -> None:
    """Note in the result how the run ended."""
    if result.x is not None or not status.planned:
        result.update(status=status, message=message, success=status.planned)
    if status is Status.TIME_LIMIT and stalled:
        result.update(message=f"{result.message}; {stalled}")


def _begin(optimizer: Optimizer, x0: Any, y0: Any) -> list[Trial]:
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


def _has_value(optimizer: Optimizer) -> bool:
    """Whether an evaluation has returned a value, added data aside."""
    return any(t.state is TrialState.COMPLETE and t.reason.source is not Source.ADDED for t in optimizer.history)


def _tell(optimizer: Optimizer, trial: Trial, outcome: Outcome, *, retry: bool = False) -> Trial:
    """Record the outcome of an evaluation. An outcome without a value fails the trial, which may be retried."""
    first = not _has_value(optimizer)
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


def _is_evaluated(trial: Trial) -> bool:
    """Whether the objective has run on it, and not before this run."""
    return trial.state is not TrialState.PENDING and not trial.retry and trial.reason.source is not Source.ADDED
