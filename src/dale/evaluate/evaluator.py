"""The protocol of evaluators: the interface between the loop of ``minimize`` and the execution of the objective."""

from __future__ import annotations

from time import monotonic
from types import TracebackType
from typing import Protocol

from dale.evaluate.outcome import Outcome
from dale.evaluate.signals import Signals
from dale.history.trial import Trial

POLL_INTERVAL = 1.0  # longest uninterrupted wait in seconds, after which signals and dead processes are noticed


class Evaluator(Protocol):
    """Evaluates several trials at once. It is a context manager, and cleans up at its end.

    Attributes:
        broken: Why no more trials can be evaluated; None if they can.
    """

    broken: str | None

    @property
    def max_running(self) -> int:
        """How many trials can run at once. It may change during the run."""
        ...

    @property
    def stalled(self) -> str | None:
        """Why no trial can be evaluated at present; None if they can."""
        ...

    @property
    def n_running(self) -> int:
        """Number of trials that were submitted and neither returned by ``completed`` nor cancelled."""
        ...

    def submit(self, trial: Trial) -> None:
        """Start the evaluation of a trial."""
        ...

    def wait(self, seconds: float) -> None:
        """Wait until an evaluation may have completed, at most this long. A signal may interrupt it without loss."""
        ...

    def completed(self) -> list[tuple[Trial, Outcome]]:
        """Evaluations that have completed since the last call. Does not wait."""
        ...

    def cancel(self) -> int:
        """Cancel the evaluations that have not started, and return how many; their trials stay pending."""
        ...

    def __enter__(self) -> Evaluator: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Cancel all evaluations, and terminate the running ones if possible."""
        ...


def next_completed(evaluator: Evaluator, signals: Signals, until: float) -> list[tuple[Trial, Outcome]]:
    """Wait until an evaluation completes, ``max_running`` grows, or the time ``until`` (of ``monotonic``) is reached.

    Returns:
        The evaluations that have completed. An outcome that is ``broken`` marks the evaluator as broken.
    """
    max_running = evaluator.max_running
    while True:
        with signals.interruptible():
            evaluator.wait(max(until - monotonic(), 0.0))
        completed = evaluator.completed()
        errors = [outcome.error for _, outcome in completed if outcome.broken and outcome.error]
        if errors:
            evaluator.broken = errors[0].splitlines()[-1]
        if completed or monotonic() >= until or evaluator.max_running > max_running:
            return completed
