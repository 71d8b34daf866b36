"""Evaluations in any ``concurrent.futures.Executor``: threads, processes, loky, mpi4py, Dask's workers.

The executor is the user's: it is never shut down, and what runs in it cannot be stopped from here.
"""

from __future__ import annotations

import traceback
from abc import ABC, abstractmethod
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, ProcessPoolExecutor, wait
from functools import partial
from typing import Any

from dale.errors import Retry
from dale.evaluate.evaluator import POLL
from dale.evaluate.outcome import Objective, Outcome, call, copied
from dale.evaluate.process import why_it_cannot_be_sent
from dale.history.trial import Trial


class Cluster(Executor, ABC):
    """An executor that tells more than others: its workers come and go, and it knows what has begun.

    Its futures can be cancelled as long as they have not begun, and only then. Those that end with ``dale.Retry`` or
    ``BrokenExecutor`` say that the machine was to blame, for this one or for all.
    """

    @property
    @abstractmethod
    def n_workers(self) -> int:
        """How many evaluations it can run at once now; at least 1."""

    @abstractmethod
    def why_it_cannot_be_sent(self, thing: Any) -> str | None:
        """Why something cannot be sent to a worker; None if it can."""


class InExecutor:
    """Keeps ``n_parallel`` futures of the executor on their way; None for as many as it says it has workers."""

    def __init__(self, fun: Objective, executor: Any, n_parallel: int | None) -> None:
        if not isinstance(executor, Executor):
            raise TypeError(
                f"executor must be a concurrent.futures.Executor, got {executor!r}; of a Dask client it is "
                "dale.integrations.dask.executor(client)"
            )
        if type(executor).__module__.split(".")[0] == "distributed":
            raise TypeError(
                f"Dask's own {type(executor).__name__} may execute an evaluation several times; give "
                "dale.integrations.dask.executor(client)"
            )
        if why := _why_it_cannot_be_sent(fun, executor):
            raise TypeError(
                f"the objective {fun!r} cannot be sent to the processes of {type(executor).__name__}: {why}; define it "
                "at the top level of a module, or leave the executor out and give n_parallel alone"
            )
        if n_parallel is None:
            _workers(executor)  # or an error, before the run begins
        self._n_parallel = n_parallel
        self.broken: str | None = None
        self._call = partial(call, fun)  # one object for a run: an executor may send it but once
        self._executor = executor
        self._out: dict[Future[Outcome], Trial] = {}

    @property
    def n_parallel(self) -> int:
        """How many futures may be out now."""
        return _workers(self._executor) if self._n_parallel is None else self._n_parallel

    @property
    def n_out(self) -> int:
        """How many futures are not done, or not looked at."""
        return len(self._out)

    def submit(self, trial: Trial) -> None:
        """Hand the trial to the executor."""
        try:
            future = self._executor.submit(self._call, trial.id, copied(trial.params))
        except RuntimeError as error:  # it is broken or was shut down
            future = Future()
            future.set_exception(error if isinstance(error, BrokenExecutor) else BrokenExecutor(str(error)))
        self._out[future] = trial

    def wait(self, seconds: float) -> None:
        """Wait until a future is done, not longer than this."""
        wait(self._out, timeout=min(seconds, POLL), return_when=FIRST_COMPLETED)

    def ended(self) -> list[tuple[Trial, Outcome]]:
        """What the futures that are done have given."""
        done = [future for future in self._out if future.done()]
        return [(self._out.pop(future), self._outcome(future)) for future in done]

    def cancel(self) -> int:
        """Cancel the futures that have not begun, but for those that a worker is there for: they are about to.

        Some executors do not tell which have; then none is cancelled, for an evaluation might be lost.
        """
        if isinstance(self._executor, Cluster):
            return self._cancel(list(self._out))
        n = getattr(self._executor, "_max_workers", 0)
        return self._cancel(list(self._out)[n:]) if any(future.running() for future in self._out) else 0

    def __enter__(self) -> InExecutor:
        return self

    def __exit__(self, *_: object) -> None:
        """Cancel what can be cancelled, and do not wait for the rest: it runs on, and its values are not used."""
        self._cancel(list(self._out))

    def _cancel(self, futures: list[Future[Outcome]]) -> int:
        cancelled = [future for future in futures if future.cancel()]
        for future in cancelled:
            del self._out[future]
        return len(cancelled)

    def _outcome(self, future: Future[Outcome]) -> Outcome:
        if future.cancelled():
            return Outcome(error="the executor cancelled the evaluation", retry=True)
        error = future.exception()
        if error is None:
            return future.result()
        text = "".join(traceback.format_exception(error))
        if isinstance(error, BrokenExecutor):  # which of the trials broke it, if any did, it does not tell
            self.broken = f"{type(error).__name__}: {error}"
            return Outcome(error=f"the executor broke\n{text}", retry=True)
        retry = isinstance(error, Retry | KeyboardInterrupt)  # Ctrl-C reaches worker processes too
        return Outcome(error=text, retry=retry)


def _why_it_cannot_be_sent(fun: Objective, executor: Executor) -> str | None:
    if isinstance(executor, Cluster):
        return executor.why_it_cannot_be_sent(fun)
    return why_it_cannot_be_sent(fun) if isinstance(executor, ProcessPoolExecutor) else None


def _workers(executor: Executor) -> int:
    """How many workers an executor has now; those of the standard library and loky tell, and do not change."""
    n = executor.n_workers if isinstance(executor, Cluster) else getattr(executor, "_max_workers", None)
    if not isinstance(n, int) or n < 1:
        raise ValueError(
            f"{type(executor).__name__} does not tell how many workers it has; give n_parallel, the number of "
            "evaluations to keep on their way"
        )
    return n
