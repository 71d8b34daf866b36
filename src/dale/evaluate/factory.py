"""The evaluator for the arguments of ``minimize``. A new kind of evaluator is a module of its own and a case here."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

from dale.evaluate.command import Command
from dale.evaluate.evaluator import Evaluator
from dale.evaluate.outcome import WithArguments
from dale.evaluate.serial import SerialEvaluator
from dale.history.evaluation import check_count, check_positive
from dale.space.space import Space


def with_arguments(fun: Callable[..., Any], args: Any) -> Callable[..., Any]:
    """The objective as a function of the point alone; ``args`` is a tuple, or a single argument, as in SciPy."""
    args = args if isinstance(args, tuple) else (args,)
    if args and isinstance(fun, Command):
        raise TypeError(f"a dale.Command has its arguments in its list, got args={args!r}")
    return WithArguments(fun, args) if args else fun


def make_evaluator(
    fun: Callable[[Any], Any], space: Space, n_parallel: Any, executor: Any, timeout: Any, store: Any
) -> Evaluator:
    """Check these arguments of ``minimize``, and choose the evaluator."""
    n, seconds = _check_n_parallel(n_parallel), _check_timeout(timeout)
    # Imported when needed: these modules import multiprocessing and concurrent.futures.
    if isinstance(fun, Command):
        return _command_evaluator(fun, space, n, executor, seconds, store)
    if executor is not None:
        from dale.evaluate.executor import ExecutorEvaluator

        if seconds is not None:
            raise ValueError(
                f"got timeout={timeout!r} and an executor, whose workers dale cannot stop; omit the executor to run "
                "each evaluation in its own process, or let the objective watch its time"
            )
        return ExecutorEvaluator(fun, executor, n)
    if n in (None, 1) and seconds is None:
        return SerialEvaluator(fun)
    from dale.evaluate.process import ProcessEvaluator

    return ProcessEvaluator(fun, n or 1, math.inf if seconds is None else seconds)


def _command_evaluator(
    command: Command, space: Space, n: int | None, executor: Any, seconds: float | None, store: Any
) -> Evaluator:
    """Run a program in processes that can be terminated; in an executor the program's own ``timeout`` applies."""
    from dale.evaluate.executor import ExecutorEvaluator
    from dale.evaluate.process import ProcessEvaluator

    if command.shares_result_file and n != 1 and not (n is None and executor is None):
        raise ValueError(
            "evaluations that run at once need different result files; expected {directory} or {trial} in result or "
            f"cwd, got result={command.result!r}"
        )
    program, limit = command.program(space, store, executor), math.inf if seconds is None else seconds
    if executor is None:
        return ProcessEvaluator(program, n or 1, limit)
    return ExecutorEvaluator(dataclasses.replace(program, timeout=limit), executor, n)


def _check_n_parallel(n: Any) -> int | None:
    if n is None:
        return None
    return check_count(n, "n_parallel", "a positive integer or None", "it is the number of evaluations at once")


def _check_timeout(seconds: Any) -> float | None:
    if seconds is None:
        return None
    why = "it is the limit in seconds for each evaluation"
    return check_positive(seconds, "timeout", "a number of seconds or None", why)
