"""What the loop of ``minimize`` wants from whoever runs the objective."""

from __future__ import annotations

from types import TracebackType
from typing import Protocol

from dale.evaluate.outcome import Outcome
from dale.history.trial import Trial

POLL = 1.0  # seconds that are waited at a stretch; then signals are seen, and whether a process is still alive


class Evaluator(Protocol):
    """Runs the objective on some trials at once; as a context manager, nothing of it is left after the end.

    Attributes:
        broken: Why no more can be evaluated; None while all is well.
    """

    broken: str | None

    @property
    def n_parallel(self) -> int:
        """How many trials may be out; it may change."""
        ...

    @property
    def n_out(self) -> int:
        """How many trials are out."""
        ...

    def submit(self, trial: Trial) -> None:
        """Begin an evaluation."""
        ...

    def wait(self, seconds: float) -> None:
        """Wait until one may have ended, not longer than this. Loses nothing when a signal cuts it short."""
        ...

    def ended(self) -> list[tuple[Trial, Outcome]]:
        """What has ended since, without waiting; these are not out any more."""
        ...

    def cancel(self) -> int:
        """Take back what has not begun, and say how many; these trials are not out any more, and stay pending."""
        ...

    def __enter__(self) -> Evaluator: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Take back all that is out and end whatever can be ended."""
        ...
