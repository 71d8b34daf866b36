"""One line on standard error that says how a run is going. No dependency, no threads."""

from __future__ import annotations

import shutil
import sys
import time
from types import TracebackType

from dale.history.trial import Trial

BAR = 20  # characters
EVERY = 0.1  # seconds between two updates


class Progress:
    """A context manager; ``show=None`` shows the line if standard error is a terminal.

    Args:
        total: How much is to be done.
        show: Whether to show the line.
        before: How much was done before, in no time of this run's.
    """

    def __init__(self, total: int, show: bool | None, before: int = 0) -> None:
        self.total = total
        self.before = before
        self.show = sys.stderr.isatty() if show is None else bool(show)
        self._started = time.monotonic()
        self._shown = -EVERY

    def __enter__(self) -> Progress:
        return self

    def update(self, done: int, trial: Trial, best: float | None) -> None:
        """Show the state after a trial, and the best value so far."""
        value = "none yet" if best is None else f"{best:.6g}"
        self.write(done, f"best {value}  last: {trial.reason.source}")

    def write(self, done: int, note: str) -> None:
        """Show how much is done, and a note."""
        elapsed = time.monotonic() - self._started
        if not self.show or (elapsed - self._shown < EVERY and done < self.total):
            return
        self._shown = elapsed
        filled = BAR * done // self.total
        left = elapsed / max(done - self.before, 1) * (self.total - done)
        bar = "█" * filled + "░" * (BAR - filled)
        text = f"{bar} {done}/{self.total}  {elapsed:.0f} s, {left:.0f} s left  {note}"
        width = shutil.get_terminal_size().columns - 1
        sys.stderr.write("\r" + text[:width].ljust(width))
        sys.stderr.flush()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.show:
            sys.stderr.write("\n")
