"""Evaluations in any ``concurrent.futures.Executor``: threads, processes, loky, mpi4py, Dask.

The executor is the user's: it is never shut down, and what runs in it cannot be stopped from here.
"""

from __future__ import annotations

import traceback
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, ProcessPoolExecutor, wait
from typing import Any

from dale.evaluate.evaluator import POLL
from dale.evaluate.outcome import Objective, Outcome, call, copied
from dale.evaluate.process import why_it_cannot_be_sent
from dale.trial import Trial


class InExecutor:
    """Keeps ``n_parallel`` futures of the executor on their way; None for as many as it says it has workers."""

    def __init__(self, fun: Objective, executor: Any, n_parallel: int | None) -> None:
        if not isinstance(executor, Executor):
            raise TypeError(
                f"executor must be a concurrent.futures.Executor, got {executor!r}; of a Dask client it is "
                "client.get_executor()"
            )
        if isinstance(executor, ProcessPoolExecutor) and (why := why_it_cannot_be_sent(fun)):
            raise TypeError(
                f"the objective {fun!r} cannot be sent to the processes of {type(executor).__name__}: {why}; define it "
                "at the top level of a module, or leave the executor out and give n_parallel alone"
            )
        self.n_parallel = _workers(executor) if n_parallel is None else n_parallel
        self.broken: str | None = None
        self._fun = fun
        self._executor = executor
        self._out: dict[Future[Outcome], Trial] = {}

    @property
    def n_out(self) -> int:
        """How many futures are not done, or not looked at."""
        return len(self._out)

    def submit(self, trial: Trial) -> None:
        """Hand the trial to the executor."""
        try:
            future = self._executor.submit(call, self._fun, trial.id, copied(trial.params))
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
        """Cancel the futures that have not begun.

        Some executors (Dask's) do not tell which have; then none is cancelled, for an evaluation might be lost.
        """
        return self._cancel_all() if any(future.running() for future in self._out) else 0

    def __enter__(self) -> InExecutor:
        return self

    def __exit__(self, *_: object) -> None:
        """Cancel what can be cancelled, and do not wait for the rest: it runs on, and its values are not used."""
        self._cancel_all()

    def _cancel_all(self) -> int:
        cancelled = [future for future in self._out if future.cancel()]
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
        return Outcome(error=text, retry=isinstance(error, KeyboardInterrupt))  # Ctrl-C reaches worker processes too


def _workers(executor: Executor) -> int:
    """How many workers an executor has; those of the standard library and loky tell."""
    n = getattr(executor, "_max_workers", None)
    if not isinstance(n, int) or n < 1:
        raise ValueError(
            f"{type(executor).__name__} does not tell how many workers it has; give n_parallel, the number of "
            "evaluations to keep on their way"
        )
    return n
