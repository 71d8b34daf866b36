"""The page of a run in progress, written again as trials end."""

from __future__ import annotations

import logging
import os
import warnings
from contextlib import suppress
from time import monotonic
from types import TracebackType
from typing import Any

from dale.errors import ReportWarning
from dale.history.failures import exception_line
from dale.history.result import Result
from dale.optimizer import Optimizer
from dale.store.run import open_run
from dale.view.report.page import check_path, html_of, write
from dale.view.run_view import RunView, view_of

MIN_INTERVAL = 1.0  # seconds from the end of one write to the begin of the next
MAX_SHARE = 0.05  # of the time of a run that may be spent on its page
log = logging.getLogger("dale")


class LiveReport:
    """The page of an optimizer, as a context manager.

    A page that cannot be computed or written never ends the run: there is one warning, and later writes try again. If
    an exception ends the block, the page says so. It is not written more often than about once a second, and less often
    if it takes long.

    Args:
        path: The file.
        optimizer: The run.
        budget: Its number of evaluations.
    """

    def __init__(self, path: str | os.PathLike[str], optimizer: Optimizer, budget: int) -> None:
        self.path = check_path(path, optimizer.store)
        self._optimizer = optimizer
        self._budget = budget
        self._next = -float("inf")
        self._stale = True
        self._warned = False

    def __enter__(self) -> LiveReport:
        self.update()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if isinstance(error, Exception):
            message = f"The run ended with an error ({exception_line(f'{type(error).__name__}: {error}')})"
            self._write(lambda: view_of(self._optimizer), message=message)
        elif kind is not None:
            self._write(lambda: view_of(self._optimizer), message="Interrupted")

    @property
    def due(self) -> float:
        """When the page has to be written next, on the clock of ``monotonic``; infinite while it is up to date."""
        return self._next if self._stale else float("inf")

    def update(self, *, changed: bool = True) -> None:
        """Write the page, if it is time to.

        Args:
            changed: Whether a trial has ended since the last call.
        """
        self._stale = self._stale or changed
        if self._stale and monotonic() >= self._next:
            self._write(lambda: view_of(self._optimizer), live=True)

    def end(self, result: Result) -> None:
        """Write the page of the result, which reloads itself no longer."""
        self._write(lambda: self._view(result))

    def _view(self, result: Result) -> RunView:
        store = self._optimizer.store
        stored = None if store is None else open_run(store, self._optimizer.space)
        return RunView(view_of(result).snapshot, result, stored)

    def _write(self, view: Any, *, live: bool = False, message: str | None = None) -> None:
        began = monotonic()
        try:
            write(html_of(view(), live=live, budget=self._budget, message=message), self.path)
        except Exception as error:  # whatever it is, the run is worth more than its page
            self._warn(error)
        cost = monotonic() - began
        self._next = monotonic() + max(MIN_INTERVAL, cost / MAX_SHARE)
        self._stale = False

    def _warn(self, error: Exception) -> None:
        text = f"{self.path} could not be written, the run continues: {type(error).__name__}: {error}"
        log.warning(text, exc_info=error)
        if self._warned:
            return
        self._warned = True
        with suppress(ReportWarning):  # if the user has made warnings errors, the run continues even then
            warnings.warn(text, ReportWarning, stacklevel=2)
