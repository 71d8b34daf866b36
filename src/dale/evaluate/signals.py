"""Ctrl-C and SIGTERM while a run goes on: the first asks it to end, the second ends it at once.

A signal may arrive in the midst of a record. So the first is only noted, and takes effect where nothing can be lost:
while the run waits for an evaluation or calls the callback, by a ``KeyboardInterrupt``, or else before the next one.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

USUAL: dict[signal.Signals, Any] = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}


class Signals:
    """A context manager that takes the signals over, in the main thread and where nobody else has a handler.

    Attributes:
        seen: The first that arrived.
        at_once: Whether another has: the ``KeyboardInterrupt`` that it raised is not to be held up.
    """

    def __init__(self) -> None:
        self.seen: int | None = None
        self.at_once = False
        self._open = False
        self._process = os.getpid()
        self._taken: list[signal.Signals] = []

    def __enter__(self) -> Signals:
        if threading.current_thread() is threading.main_thread():
            self._taken = [number for number, usual in USUAL.items() if signal.getsignal(number) == usual]
            for number in self._taken:
                signal.signal(number, self._arrived)
        return self

    def __exit__(self, *_: object) -> None:
        for number in self._taken:
            if signal.getsignal(number) == self._arrived:  # else somebody has taken it meanwhile, and it is theirs
                signal.signal(number, USUAL[number])

    @property
    def message(self) -> str:
        """What to say of a run that was ended so."""
        return "Terminated" if self.seen == signal.SIGTERM else "Interrupted"

    def check(self) -> None:
        """Raise ``KeyboardInterrupt`` if a signal has been noted."""
        if self.seen is not None:
            raise KeyboardInterrupt

    @contextmanager
    def let_in(self) -> Iterator[None]:
        """A signal takes effect at once inside."""
        self._open = True
        try:
            self.check()
            yield
        finally:
            self._open = False

    def _arrived(self, number: int, _: FrameType | None) -> None:
        if os.getpid() != self._process:  # a fork that has not yet become an evaluation
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
        if self.seen is None:
            self.seen = number
        else:
            self.at_once = True
        if self.at_once or self._open:
            raise KeyboardInterrupt
