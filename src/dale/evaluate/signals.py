"""Ctrl-C and SIGTERM during a run: the first signal ends the run with a result, the second ends it immediately.

A signal may arrive while a trial is being recorded. So the first one only sets a flag. It takes effect, as a
``KeyboardInterrupt``, while the run waits for an evaluation or calls the callback, or before the next evaluation.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from dale.history.stopping import Status

DEFAULT_HANDLERS: dict[signal.Signals, Any] = {
    signal.SIGINT: signal.default_int_handler,
    signal.SIGTERM: signal.SIG_DFL,
}


class Signals:
    """A context manager that handles the signals, in the main thread and only where Python's default handler is set.

    Attributes:
        seen: The first signal that arrived; None before it.
        forced: Whether a second one arrived, whose ``KeyboardInterrupt`` must end the run immediately.
    """

    def __init__(self) -> None:
        self.seen: int | None = None
        self.forced = False
        self._interruptible = False
        self._process = os.getpid()
        self._handled: list[signal.Signals] = []

    def __enter__(self) -> Signals:
        if threading.current_thread() is threading.main_thread():
            self._handled = [n for n, default in DEFAULT_HANDLERS.items() if signal.getsignal(n) == default]
            for number in self._handled:
                signal.signal(number, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        for number in self._handled:
            if signal.getsignal(number) == self._handle:  # otherwise somebody else has set a handler since
                signal.signal(number, DEFAULT_HANDLERS[number])

    @property
    def status(self) -> Status:
        """The status of a run that a signal ended."""
        return Status.TERMINATED if self.seen == signal.SIGTERM else Status.INTERRUPTED

    def check(self) -> None:
        """Raise ``KeyboardInterrupt`` if a signal has arrived."""
        if self.seen is not None:
            raise KeyboardInterrupt

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Signals that arrive before or inside this block raise ``KeyboardInterrupt`` there."""
        self._interruptible = True
        try:
            self.check()
            yield
        finally:
            self._interruptible = False

    def _handle(self, number: int, _: FrameType | None) -> None:
        if os.getpid() != self._process:  # a fork that has not yet replaced this handler
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
        if self.seen is None:
            self.seen = number
        else:
            self.forced = True
        if self.forced or self._interruptible:
            raise KeyboardInterrupt
