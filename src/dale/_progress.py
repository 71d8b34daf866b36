"""A progress bar on standard error, or a widget in a notebook. tqdm is imported only when a bar is shown.

If standard error is closed, full or not read, the bar is dropped, and the run continues.
"""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, TextIO

FORMAT = "{l_bar}{bar}| {n_fmt}/{total_fmt} [{elapsed}<{remaining}{postfix}]"
_lock = threading.RLock()


class Progress:
    """A progress bar as a context manager.

    Args:
        total: The amount of work.
        show: Whether to show the bar. None shows it if standard error is a terminal, and in a notebook.
        initial: The amount that earlier runs have done. The estimate of the remaining time leaves it out.
    """

    def __init__(self, total: int, show: bool | None, initial: int = 0) -> None:
        self.show = sys.stderr is not None and (_is_visible() if show is None else bool(show))
        self._bar: Any = None
        with self._dropped_on_error():
            self._bar = _bar(total, initial) if self.show else None

    def __enter__(self) -> Progress:
        return self

    def write(self, done: int, note: str) -> None:
        """Show how much is done, and a note."""
        if self._bar is not None:
            with self._dropped_on_error():
                self._bar.set_postfix_str(note, refresh=done == self._bar.n)
                self._bar.update(done - self._bar.n)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Inside this block others may write to the terminal: the bar is erased, and drawn again after it."""
        with self._dropped_on_error():
            if self._bar is not None:
                self._bar.clear()
        try:
            yield
        finally:
            with self._dropped_on_error():
                if self._bar is not None:
                    self._bar.refresh()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            with self._dropped_on_error():
                self._bar.close()

    @contextmanager
    def _dropped_on_error(self) -> Iterator[None]:
        try:
            yield
        except (OSError, ValueError):
            self.show = False
            if self._bar is not None:
                self._bar.disable = True  # it writes nothing when it is deleted either
                self._bar = None


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a stream is a terminal; one that is missing or closed is none."""
    return stream is not None and not getattr(stream, "closed", False) and stream.isatty()


def _is_visible() -> bool:
    """Whether someone may see a bar: on a terminal or in a notebook, where standard error is no terminal."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return is_terminal(sys.stderr) or hasattr(shell, "kernel")


def _bar(total: int, initial: int) -> Any:
    """A bar of tqdm that starts no thread and makes no semaphore, so that processes can be forked safely."""
    from tqdm import TqdmWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TqdmWarning)  # without ipywidgets, a notebook gets the text bar
        from tqdm.auto import tqdm

    class Bar(tqdm):  # type: ignore[misc]  # tqdm has no types
        monitor_interval = 0  # no thread that refreshes the bar

    if not hasattr(tqdm, "_lock"):  # otherwise a bar of the user's has made a lock, which is shared
        Bar.set_lock(_lock)  # instead of the default, a semaphore of multiprocessing
    # No minimum number of iterations, and the mean rate: evaluations may be slow, and end several at a time.
    return Bar(total=total, initial=initial, miniters=0, smoothing=0, dynamic_ncols=True, bar_format=FORMAT)
