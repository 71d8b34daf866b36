"""Who runs the objective: this process, a fresh one for each evaluation, or any executor."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from numbers import Integral
from time import monotonic
from typing import Any

from dale.evaluate.command import Command
from dale.evaluate.evaluator import Evaluator
from dale.evaluate.outcome import Outcome
from dale.evaluate.serial import Here
from dale.evaluate.signals import Signals
from dale.history.evaluation import check_positive
from dale.history.trial import Trial
from dale.space.space import Space

__all__ = ["Command", "Evaluator", "Outcome", "Signals", "evaluator", "next_ended"]


def evaluator(
    fun: Callable[[Any], Any], space: Space, n_parallel: Any, executor: Any, timeout: Any, store: Any
) -> Evaluator:
    """Who evaluates, for these arguments of ``minimize``."""
    n, seconds = _check_n_parallel(n_parallel), _check_timeout(timeout)
    # Not every run needs the modules of the standard library that these import.
    if isinstance(fun, Command):
        return _of_command(fun, space, n, executor, seconds, store)
    if executor is not None:
        from dale.evaluate.executor import InExecutor

        if seconds is not None:
            raise ValueError(
                f"got timeout={timeout!r} and an executor, whose workers cannot be stopped from here; leave the "
                "executor out, so that each evaluation has a process of its own, or let the objective watch its time"
            )
        return InExecutor(fun, executor, n)
    if n in (None, 1) and seconds is None:
        return Here(fun)
    from dale.evaluate.process import InProcesses

    return InProcesses(fun, n or 1, math.inf if seconds is None else seconds)


def _of_command(
    command: Command, space: Space, n: int | None, executor: Any, seconds: float | None, store: Any
) -> Evaluator:
    """Who runs a program: always a process that can be ended, or the executor; there the program watches its time."""
    from dale.evaluate.executor import InExecutor
    from dale.evaluate.process import InProcesses

    if command.shares_its_result and n != 1 and not (n is None and executor is None):
        raise ValueError(
            f"evaluations at once would write to one file, got result={command.result!r}; put {{folder}} or {{trial}} "
            "into it, or into cwd"
        )
    program, limit = command.program(space, store, executor), math.inf if seconds is None else seconds
    if executor is None:
        return InProcesses(program, n or 1, limit)
    return InExecutor(dataclasses.replace(program, timeout=limit), executor, n)


def next_ended(workers: Evaluator, signals: Signals, until: float) -> list[tuple[Trial, Outcome]]:
    """What has ended, as soon as something has, more trials may be out, or the time has come."""
    n = workers.n_parallel
    while True:
        with signals.let_in():
            workers.wait(max(until - monotonic(), 0.0))
        ended = workers.ended()
        reasons = [outcome.error.splitlines()[-1] for _, outcome in ended if outcome.broken and outcome.error]
        workers.broken = reasons[0] if reasons else workers.broken
        if ended or monotonic() >= until or workers.n_parallel > n:
            return ended


def _check_n_parallel(n: Any) -> int | None:
    if n is None:
        return None
    if isinstance(n, bool) or not isinstance(n, Integral):
        raise TypeError(f"n_parallel must be a positive integer or None, got {n!r}")
    if n < 1:
        raise ValueError(f"n_parallel must be at least 1, got {n!r}; it is the number of evaluations at once")
    return int(n)


def _check_timeout(seconds: Any) -> float | None:
    if seconds is None:
        return None
    why = "it is the limit in seconds for each evaluation"
    return check_positive(seconds, "timeout", "a number of seconds or None", why)
