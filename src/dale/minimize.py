"""Alg. 1 as one function: minimise or maximise an expensive function in as few evaluations as possible."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from inspect import signature
from time import monotonic
from typing import Any, Concatenate, Literal, ParamSpec

import numpy as np

from dale._loop import Loop, begin, has_value, tell
from dale._progress import Progress
from dale._views import check_page, live_page
from dale.evaluate.command import Command
from dale.evaluate.evaluator import Evaluator
from dale.evaluate.factory import make_evaluator, with_arguments
from dale.evaluate.failures import FailureMonitor, OnError, check_on_error, log
from dale.evaluate.signals import Signals
from dale.history.direction import Direction
from dale.history.reason import Source
from dale.history.result import Result
from dale.history.seeding import check_seed
from dale.history.stopping import (
    Budget,
    Status,
    StoppingRule,
    Target,
    TimeLimit,
    Tolerance,
    check_budget,
    check_rules,
    check_tolerance,
)
from dale.history.trial import Trial, TrialState
from dale.methods.base import Method
from dale.optimizer import Optimizer
from dale.space.space import as_space
from dale.store.location import resolve_path


def _optimize(
    direction: Direction,
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
    """``minimize`` or ``maximize``, by the direction."""
    _check_callables(fun, callback)
    limit, n = TimeLimit(time_limit), check_budget(budget)
    rules: tuple[StoppingRule, ...] = (Budget(n), limit, Target(target), *check_rules(stopping))
    check_tolerance(tolerance)
    check_on_error(on_error)
    began = monotonic()
    space, seed = as_space(space), None if seed is None else check_seed(seed)
    fun = with_arguments(fun, args)
    workers = make_evaluator(fun, space, n_parallel, executor, timeout, store)
    problem: dict[str, Any] = {"seed": seed, "method": method, "noise": noise, "constraints": constraints}
    problem |= {"store": store, "direction": direction}
    objective = fun.to_dict() if isinstance(fun, Command) else None
    is_begun = store is None or resolve_path(store).exists()
    check_page(report, store)
    if not is_begun and any(given is not None for given in (x0, y0, fixed)):  # if invalid, no empty store is left
        begin(Optimizer(space, **{**problem, "store": None}).hold(fixed), x0, y0)
    with Signals() as signals, Optimizer(space, objective=objective, **problem).hold(fixed) as optimizer:
        with optimizer.transaction():
            first = [] if optimizer.history else begin(optimizer, x0, y0)
        with Progress(n, progress, optimizer.n_evaluated) as bar, live_page(report, optimizer, n) as page, workers:
            loop = Loop(
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
                failures=FailureMonitor(on_error, n, has_value=has_value(optimizer), store=optimizer.store),
            )
            log.info("%d evaluations, %d made so far, seed %d", n, optimizer.n_evaluated, optimizer.seed)
            status = loop.status()
            for trial, outcome in workers.completed():  # in the meantime; running ones stay pending
                tell(optimizer, trial, outcome)
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


def _check_callables(fun: Any, callback: Any) -> None:
    if not callable(fun):
        raise TypeError(f"the objective must be callable, got {fun!r}")
    if callback is not None and not callable(callback):
        raise TypeError(f"callback must be callable or None, got {callback!r}")


def _message(status: Status, optimizer: Optimizer, workers: Evaluator) -> str:
    if status is Status.SPACE_EXHAUSTED and optimizer.constraints is not None:
        return "Every point that the constraints allow, as far as they could be found, has been evaluated"
    held = optimizer.snapshot.domain.held
    if status is Status.SPACE_EXHAUSTED and held is not None:
        return f"Every point of the space with the held values {held} has been evaluated"
    return status.message + (f": {workers.broken}" if status is Status.EXECUTOR_BROKEN else "")


def _conclude(result: Result, status: Status, message: str, stalled: str | None) -> None:
    """Note in the result how the run ended."""
    if result.x is not None or not status.planned:
        result.update(status=status, message=message, success=status.planned)
    elif status is Status.BUDGET_SPENT and result.get("fixed"):
        result.update(message=f"{result.message}. {status.message}: all evaluations in the store count towards it")
    if status is Status.TIME_LIMIT and stalled:
        result.update(message=f"{result.message}; {stalled}")


def _is_evaluated(trial: Trial) -> bool:
    """Whether the objective has run on it, and not before this run."""
    return trial.state is not TrialState.PENDING and not trial.retry and trial.reason.source is not Source.ADDED


P = ParamSpec("P")


def _with_options_of(run: Callable[Concatenate[Direction, P], Result]) -> Callable[[Any], Callable[P, Result]]:
    """Give a function the signature of another one, without its direction."""
    _, *parameters = signature(run).parameters.values()
    own = signature(run).replace(parameters=parameters)

    def decorate(public: Any) -> Callable[P, Result]:
        @wraps(public)
        def checked(*args: P.args, **options: P.kwargs) -> Result:
            try:
                own.bind(*args, **options)
            except TypeError as error:
                raise TypeError(f"{public.__name__}: {error}") from None
            result: Result = public(*args, **options)
            return result

        checked.__signature__ = own  # type: ignore[attr-defined]
        checked.__annotations__ = {key: kind for key, kind in run.__annotations__.items() if key != "direction"}
        return checked

    return decorate


@_with_options_of(_optimize)
def minimize(*args: Any, **options: Any) -> Result:  # noqa: D417 (the options are those of _optimize)
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
            hardly expects less. With noise, the standard deviation of the best value has to be below it too. None never
            stops for this.
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
    return _optimize(Direction.MINIMIZE, *args, **options)


@_with_options_of(_optimize)
def maximize(*args: Any, **options: Any) -> Result:
    """Maximise ``fun`` over a space: ``minimize`` where higher values are better, with the same arguments.

    Everything has the sign of ``fun``: ``fun`` of the result, the values of its trials, predictions, plots and what a
    store keeps. ``target`` is reached from below, and ``local_minima`` of the result are the local maxima. The run is
    that of ``minimize`` with ``-fun``, bit for bit. A store that was begun by the one cannot be resumed by the other.

    Args:
        args: ``fun`` and ``space``, as in ``minimize``.
        options: The options of ``minimize``.

    Examples:
        >>> import dale
        >>> result = dale.maximize(lambda x: 3 - (x[0] - 1) ** 2, [(-2, 2)], budget=12, seed=0)
        >>> bool(abs(result.fun - 3) < 1e-9), result.local_minima[0].hessian.round(3)
        (True, array([[-2.]]))
    """
    return _optimize(Direction.MAXIMIZE, *args, **options)
