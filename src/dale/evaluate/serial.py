"""One evaluation at a time, in the process and thread of the run."""

from __future__ import annotations

from dale.evaluate.outcome import Objective, Outcome, call, copied
from dale.history.trial import Trial


class SerialEvaluator:
    """Calls the objective in ``wait``, so that the run waits for it."""

    max_running = 1
    broken: str | None = None
    stalled: str | None = None

    def __init__(self, fun: Objective) -> None:
        self._fun = fun
        self._trial: Trial | None = None
        self._outcome: Outcome | None = None

    @property
    def n_running(self) -> int:
        """One or zero."""
        return int(self._trial is not None)

    def submit(self, trial: Trial) -> None:
        """Remember the trial, which ``wait`` evaluates."""
        self._trial = trial

    def wait(self, seconds: float) -> None:
        """Evaluate the trial, however long it takes: a call of the objective cannot be suspended."""
        if self._trial is not None:
            self._outcome = call(self._fun, self._trial.id, copied(self._trial.params))

    def completed(self) -> list[tuple[Trial, Outcome]]:
        """The trial that was evaluated."""
        if self._trial is None or self._outcome is None:
            return []
        completed = [(self._trial, self._outcome)]
        self._trial = self._outcome = None
        return completed

    def cancel(self) -> int:
        """Return 0: there is no queue."""
        return 0

    def __enter__(self) -> SerialEvaluator:
        return self

    def __exit__(self, *_: object) -> None:
        """Do nothing: there are no resources to release."""
