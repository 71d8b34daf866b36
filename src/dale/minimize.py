"""Alg. 1 as one function: minimise an expensive function in as few evaluations as possible."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from numbers import Integral, Real
from time import monotonic
from typing import Any, Literal, NamedTuple

import numpy as np

from dale.errors import SpaceExhausted, StoreError, TrialError
from dale.evaluate.command import Command
from dale.evaluate.evaluator import Evaluator, next_completed
from dale.evaluate.factory import make_evaluator
from dale.evaluate.outcome import Outcome
from dale.evaluate.signals import Signals
from dale.history.evaluation import Evaluation, are_several, check_positive, check_tolerance
from dale.history.reason import Source
from dale.history.result import Result
from dale.history.trial import Trial, TrialState
from dale.methods.base import Method
from dale.optimizer import Optimizer
from dale.progress import Progress
from dale.space.point import format_point, short_repr
from dale.space.space import as_space
from dale.space.table import is_table, points_of, rows_of

BUDGET_SPENT, TARGET_REACHED, STOPPED = 0, 1, 2  # 3 is the optimizer's NOTHING_TOLD
EXHAUSTED, OUT_OF_TIME, CONVERGED, BROKEN = 4, 5, 6, 8  # 7 is its NOT_FEASIBLE
MESSAGES = {
    BUDGET_SPENT: "The budget is spent",
    TARGET_REACHED: "The target is reached",
    STOPPED: "Stopped by the callback",
    EXHAUSTED: "Every point of the space has been evaluated",
    OUT_OF_TIME: "The time limit is reached",
    CONVERGED: "Converged: nothing left promises more than the tolerance",
    BROKEN: "No more could be evaluated",
}
UNPLANNED = (STOPPED, BROKEN)


def minimize(
    fun: Callable[[Any], Any],
    space: Any,
    *,
    budget: int,
    seed: int | None = None,
    method: Method | None = None,
    x0: Any = None,
    y0: Any = None,
    callback: Callable[[Result], Any] | None = None,
    progress: bool | None = None,
    target: float | None = None,
    noise: float | Literal["auto"] = "auto",
    time_limit: float | None = None,
    tolerance: float | None = None,
    constraints: Any = None,
    n_parallel: int | None = None,
    executor: Any = None,
    timeout: float | None = None,
    store: str | os.PathLike[str] | None = None,
) -> Result:
    """Minimise ``fun`` over a space.

    Args:
        fun: The objective: takes an array where the space has no names, a mapping of parameters where it has, and
            returns a number, or a ``dale.Evaluation`` with its noise or constraints. An evaluation that raises or is
            not finite counts as failed, and the run goes on. Where the machine is to blame and not the point, let it
            raise ``dale.Retry``: the point is evaluated again. Or a program: a ``dale.Command``.
        space: Pairs of bounds, ``scipy.optimize.Bounds``, a mapping or a ``dale.Space``; also a mapping of Optuna's
            distributions, or ConfigSpace's ``ConfigurationSpace``.
        budget: Number of evaluations, those of the initial design and of ``x0`` included.
        seed: Same seed, same run. None takes a fresh one, which the result tells.
        method: One of ``dale.methods``; None for the default.
        x0: A point, or a list of points, to begin with; or a table of them: the path of a CSV file or a data frame.
        y0: Their values if known, as ``fun`` returns them, or the name of the table's column that has them: then they
            are not evaluated again, and stand in for the initial design (``Optimizer.add_all``).
        callback: Called with the result so far after each evaluation; ``StopIteration`` stops the run.
        progress: True shows a progress bar, False shows none, None shows one on a terminal and in a notebook.
        target: A value that is good enough: the run stops when it is reached.
        noise: Standard deviation of the errors in the values: 0 for none, ``"auto"`` to find out.
        time_limit: Seconds for the run: after them no point is asked for. An evaluation that has begun is not cut short
            (``timeout`` is the limit for each evaluation).
        tolerance: The run stops when nothing left promises more than this, in units of the objective, neither near the
            best nor elsewhere (``Optimizer.converged``). A few thousandths of the range of the values are sensible:
            there may always be a hole where nobody has looked, so the global model hardly promises less. None never
            stops for this.
        constraints: On the inputs, never violated by a proposal: SciPy's ``LinearConstraint`` or
            ``NonlinearConstraint``, or callables that take what ``fun`` takes and return True where a point is allowed,
            or numbers that are at most 0 there; one of them or a sequence. What is known only after an evaluation is
            returned by ``fun`` instead, as the constraints of a ``dale.Evaluation``.
        n_parallel: Number of evaluations at once; as soon as one ends, the next is proposed, so a run depends on the
            order in which they end. More than 1 without an executor, or a ``timeout``, gives each evaluation a fresh
            process: what crashes there fails its trial and no more. None for 1, or for the workers of the executor. A
            program always has such a process.
        executor: Any ``concurrent.futures.Executor`` to evaluate in instead; it is not shut down.
        timeout: Seconds for each evaluation: its process is then ended, and its trial fails. With an executor, whose
            workers cannot be stopped from here, only for a ``dale.Command``.
        store: Path of a file that keeps the run, whatever happens. The same line run again goes on where it ended: what
            is in the file counts towards the budget, and ``x0`` and ``y0`` are in it already.

    Returns:
        The best point and all that was learnt; Ctrl-C and SIGTERM return it early, a second one ends at once.

    Examples:
        >>> import dale
        >>> result = dale.minimize(lambda x: (x[0] - 1) ** 2 + x[1] ** 2, [(-2, 2), (-2, 2)], budget=15, seed=1)
        >>> bool(result.fun < 1e-12)
        True
    """
    rules = _Rules(
        budget=_check_budget(budget),
        target=_check_target(target),
        tolerance=None if tolerance is None else check_tolerance(tolerance),
        deadline=monotonic() + _check_time_limit(time_limit),
    )
    if not callable(fun):
        raise TypeError(f"the objective must be callable, got {fun!r}")
    if callback is not None and not callable(callback):
        raise TypeError(f"callback must be callable or None, got {callback!r}")
    space = as_space(space)
    workers = make_evaluator(fun, space, n_parallel, executor, timeout, store)
    problem = {"seed": seed, "method": method, "noise": noise, "constraints": constraints, "store": store}
    objective = fun.to_dict() if isinstance(fun, Command) else None
    with Signals() as signals, Optimizer(space, objective=objective, **problem) as optimizer:
        with optimizer.transaction():
            given = [] if optimizer.history else _begin(optimizer, x0, y0)
        with Progress(rules.budget, progress, optimizer.n_evaluated) as line, workers:
            try:
                status = _run(optimizer, given, rules, workers, signals, line, callback)
                message = _message(status, optimizer, workers)
            except StopIteration:
                status, message = STOPPED, MESSAGES[STOPPED]
            except KeyboardInterrupt:
                if signals.forced:
                    raise
                status, message = STOPPED, signals.message
            for trial, outcome in workers.completed():  # by the way; the others are taken back
                _tell(optimizer, trial, outcome)
        result = optimizer.result()
    if status == BROKEN and not any(_is_evaluated(t) for t in result.history):
        raise RuntimeError(message)  # nothing is lost by saying so
    if signals.seen is not None:
        status, message = STOPPED, signals.message
    if result.x is not None or status in UNPLANNED:
        result.update(status=status, message=message, success=status not in UNPLANNED)
    return result


class _Rules(NamedTuple):
    """When to stop."""

    budget: int
    target: float | None
    tolerance: float | None
    deadline: float  # on the clock of ``monotonic``

    def reached(self, optimizer: Optimizer) -> bool:
        """Whether a value is good enough."""
        if self.target is None:
            return False
        value = optimizer.best_value
        return value is not None and value <= self.target


def _run(
    optimizer: Optimizer,
    given: list[Trial],
    rules: _Rules,
    workers: Evaluator,
    signals: Signals,
    line: Progress,
    callback: Callable[[Result], Any] | None,
) -> int:
    """Ask, evaluate, tell (Alg. 1) until a rule says stop, and return which: the status of the result.

    As many trials are out as the workers take; in a serial run that is one. A run that has reached its target ends at
    once; else all that has begun is waited for, and then the rules are asked again.
    """
    signals.check()  # it may have come while the store was opened
    begun = done = optimizer.n_evaluated  # by an earlier run on the same store
    while not rules.reached(optimizer):
        late = monotonic() >= rules.deadline
        if late:
            begun -= workers.cancel()
        until = math.inf if late else rules.deadline
        if workers.n_running < workers.max_running:
            begun = max(begun, optimizer.n_evaluated + workers.n_running)  # others may work on the store too
            asked = BROKEN if workers.broken else _ask(optimizer, given, rules, begun)
            if isinstance(asked, Trial):
                signals.check()
                workers.submit(asked)
                begun += 1
                if workers.n_running < workers.max_running:
                    until = -math.inf  # others are idle: only see what has ended meanwhile
            elif workers.n_running == 0:
                return asked
        ended = [_tell(optimizer, trial, outcome) for trial, outcome in next_completed(workers, signals, until)]
        for _ in ended:
            done += 1
            if line.show:  # else nobody waits for the best to be found among all
                line.write(done, _standing(optimizer))
            if callback is not None:
                with signals.interruptible():
                    callback(optimizer.result())
    return TARGET_REACHED


def _standing(optimizer: Optimizer) -> str:
    """The best value and the number of failures, for the progress bar."""
    best = optimizer.best_value
    n_failed = sum(trial.error is not None for trial in optimizer.history)
    text = "no value yet" if best is None else f"best {best:.6g}"
    return f"{text}, {n_failed} failed" if n_failed else text


def _message(status: int, optimizer: Optimizer, workers: Evaluator) -> str:
    if status == EXHAUSTED and optimizer.constraints is not None:
        return "Every point that the constraints allow, as far as they could be found, has been evaluated"
    return MESSAGES[status] + (f": {workers.broken}" if status == BROKEN else "")


def _ask(optimizer: Optimizer, given: list[Trial], rules: _Rules, begun: int) -> Trial | int:
    """The next trial, or why there is none."""
    if begun >= rules.budget:
        return BUDGET_SPENT
    if monotonic() >= rules.deadline:
        return OUT_OF_TIME
    if rules.tolerance is not None and optimizer.converged(rules.tolerance):
        return CONVERGED
    try:
        return given.pop(0) if given else optimizer.ask()
    except SpaceExhausted:
        return EXHAUSTED


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
            f"x0 has {len(points)} points and y0 has {len(values)} values; wanted one value for each point"
        )
    for point, value in zip(points, values, strict=True):
        optimizer.add(point, value)
    return []


def _is_list_of_points(x0: Any) -> bool:
    if isinstance(x0, np.ndarray):
        return x0.ndim == 2
    return isinstance(x0, list | tuple) and len(x0) > 0 and isinstance(x0[0], Mapping | list | tuple | np.ndarray)


def _tell(optimizer: Optimizer, trial: Trial, outcome: Outcome) -> Trial:
    """Tell what came of an evaluation. What is no value fails the trial and not the run."""
    if outcome.error is not None:
        return optimizer.fail(trial, outcome.error, retry=outcome.retry)
    value = outcome.value
    told = value if isinstance(value, Evaluation) else Evaluation(value)
    try:
        return optimizer.tell(trial, told)
    except StoreError as error:
        error.add_note(f"Trial {trial.id} at {format_point(trial.params)} gave {short_repr(value)}, which was not kept")
        raise
    except (TypeError, ValueError) as error:
        first = not any(
            t.state is TrialState.COMPLETE and t.reason.source is not Source.ADDED for t in optimizer.history
        )
        if first and (are_several(told.value) or isinstance(error, TrialError)):
            raise  # several objectives, or constraints that earlier data lack, seen at once: nothing is lost
        if np.size(told.constraints) and not getattr(optimizer.method, "takes_constraints", False):
            raise  # so would every other evaluation
        why = f": {error}" if isinstance(error, TrialError) else ""
        return optimizer.fail(trial, f"the objective returned {short_repr(value)}{why}")


def _is_evaluated(trial: Trial) -> bool:
    """Whether the objective has run on it, and not before this run."""
    return trial.state is not TrialState.PENDING and not trial.retry and trial.reason.source is not Source.ADDED


def _check_budget(budget: Any) -> int:
    if isinstance(budget, bool) or not isinstance(budget, Integral):
        raise TypeError(f"budget must be a positive integer, the number of evaluations, got {budget!r}")
    if budget < 1:
        raise ValueError(f"budget must be at least 1, got {budget!r}; it is the number of evaluations")
    return int(budget)


def _check_time_limit(seconds: Any) -> float:
    if seconds is None:
        return math.inf
    return check_positive(seconds, "time_limit", "a number of seconds or None", "leave it out for no limit")


def _check_target(target: Any) -> float | None:
    if target is None:
        return None
    if isinstance(target, bool) or not isinstance(target, Real):
        raise TypeError(f"target must be a number or None, got {target!r}")
    if math.isnan(target):
        raise ValueError("target must be a number or None, got nan")
    return float(target)
