"""Evaluation in any ``concurrent.futures.Executor``: threads, processes, loky, mpi4py, workers of Dask.

The user owns the executor: dale never shuts it down, and cannot stop what runs in it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, ProcessPoolExecutor, wait
from functools import partial
from typing import Any

from dale.errors import Retry
from dale.evaluate.evaluator import POLL_INTERVAL
from dale.evaluate.outcome import Objective, Outcome, call, copied, error_text
from dale.evaluate.process import pickling_error
from dale.history.trial import Trial


class Cluster(Executor, ABC):
    """An executor whose workers may join and leave, and which knows what has started.

    A future can be cancelled if and only if its call has not started. ``dale.Retry`` as its exception means a transient
    failure of this evaluation, ``BrokenExecutor`` a failure of the whole cluster.
    """

    @property
    @abstractmethod
    def n_workers(self) -> int:
        """How many evaluations it can currently run at once; at least 1."""

    @property
    @abstractmethod
    def has_workers(self) -> bool:
        """Whether it can currently run any evaluation."""

    @abstractmethod
    def pickling_error(self, value: Any) -> str | None:
        """Why a value cannot be sent to a worker; None if it can."""


class ExecutorEvaluator:
    """Evaluates trials as futures of an executor.

    Args:
        fun: The objective.
        executor: The executor.
        max_running: Number of futures at once; None for the number of workers that the executor reports.
    """

    def __init__(self, fun: Objective, executor: Any, max_running: int | None) -> None:
        if not isinstance(executor, Executor):
            raise TypeError(
                f"executor must be a concurrent.futures.Executor, got {executor!r}; for a Dask client use "
                "dale.integrations.dask.executor(client)"
            )
        if type(executor).__module__.split(".")[0] == "distributed":
            raise TypeError(
                f"Dask's own {type(executor).__name__} may execute an evaluation several times; use "
                "dale.integrations.dask.executor(client)"
            )
        if why := _pickling_error(fun, executor):
            raise TypeError(
                f"the objective {fun!r} cannot be sent to the processes of {type(executor).__name__}: {why}; define it "
                "at the top level of a module, or omit the executor and pass only n_parallel"
            )
        if max_running is None:
            _n_workers(executor)  # raises before the run starts if the number is unknown
        self._max_running = max_running
        self.broken: str | None = None
        self._call = partial(call, fun)  # one object per run, so that an executor can send it only once
        self._executor = executor
        self._running: dict[Future[Outcome], Trial] = {}

    @property
    def max_running(self) -> int:
        """How many futures may run or wait at once."""
        return _n_workers(self._executor) if self._max_running is None else self._max_running

    @property
    def stalled(self) -> str | None:
        """Only a cluster can be without workers, for a time."""
        empty = isinstance(self._executor, Cluster) and not self._executor.has_workers
        return "the executor has no workers" if empty else None

    @property
    def n_running(self) -> int:
        """Number of futures that were submitted and not yet returned or cancelled."""
        return len(self._running)

    def submit(self, trial: Trial) -> None:
        """Submit the trial to the executor."""
        try:
            future = self._executor.submit(self._call, trial.id, copied(trial.params))
        except RuntimeError as error:  # the executor is broken or was shut down
            future = Future()
            future.set_exception(error if isinstance(error, BrokenExecutor) else BrokenExecutor(str(error)))
        self._running[future] = trial

    def wait(self, seconds: float) -> None:
        """Wait until a future is done, at most this long."""
        wait(self._running, timeout=min(seconds, POLL_INTERVAL), return_when=FIRST_COMPLETED)

    def completed(self) -> list[tuple[Trial, Outcome]]:
        """Outcomes of the futures that are done."""
        done = [future for future in self._running if future.done()]
        return [(self._running.pop(future), self._outcome(future)) for future in done]

    def cancel(self) -> int:
        """Cancel the futures that have not started, except the first ones, one per worker, which are about to start.

        Some executors do not report which futures have started. Then none is cancelled, to lose no evaluation.
        """
        if isinstance(self._executor, Cluster):
            return self._cancel(list(self._running))
        n = getattr(self._executor, "_max_workers", 0)
        return self._cancel(list(self._running)[n:]) if any(future.running() for future in self._running) else 0

    def __enter__(self) -> ExecutorEvaluator:
        return self

    def __exit__(self, *_: object) -> None:
        """Cancel what can be cancelled. Running futures are not waited for, and their values are not used."""
        self._cancel(list(self._running))

    def _cancel(self, futures: list[Future[Outcome]]) -> int:
        cancelled = [future for future in futures if future.cancel()]
        for future in cancelled:
            del self._running[future]
        return len(cancelled)

    def _outcome(self, future: Future[Outcome]) -> Outcome:
        if future.cancelled():
            return Outcome(error="the executor cancelled the evaluation", retry=True)
        error = future.exception()
        if error is None:
            return future.result()
        text = error_text(error)
        if isinstance(error, BrokenExecutor):  # the executor does not report which trial, if any, is responsible
            self.broken = f"{type(error).__name__}: {error}"
            return Outcome(error=f"the executor broke\n{text}", retry=True)
        retry = isinstance(error, Retry | KeyboardInterrupt)  # Ctrl-C reaches worker processes too
        return Outcome(error=text, retry=retry)


def _pickling_error(fun: Objective, executor: Executor) -> str | None:
    if isinstance(executor, Cluster):
        return executor.pickling_error(fun)
    return pickling_error(fun) if isinstance(executor, ProcessPoolExecutor) else None


def _n_workers(executor: Executor) -> int:
    """Number of workers; executors of the standard library and loky report a constant number."""
    n = executor.n_workers if isinstance(executor, Cluster) else getattr(executor, "_max_workers", None)
    if not isinstance(n, int) or n < 1:
        raise ValueError(
            f"{type(executor).__name__} does not report its number of workers; pass n_parallel, the number of "
            "evaluations at once"
        )
    return n
