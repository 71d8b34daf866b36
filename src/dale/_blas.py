"""Limit BLAS to one thread while dale computes a proposal.

The matrices of a proposal are small. More threads gain little on them, and cost much where the cores are busy with
evaluations. So the BLAS libraries of NumPy and SciPy run on one thread while dale works.

``threadpoolctl`` finds the libraries and sets their number of threads. Its context managers are not used, because they
are not thread-safe: of two threads that overlap, the second saves the limit of the first as the number to restore.
What has to be done instead depends on the scope of the number, which was measured by observing which threads take part
in a matrix product:

- OpenBLAS with its own threads, as in the wheels of NumPy and SciPy, has one number for the whole process. The first
  thread inside lowers it and the last one out restores it. Matrix products of other threads use one thread meanwhile.
- OpenBLAS built with OpenMP, and MKL, have one number for each calling thread. Each thread sets and restores its own.

The scope of BLIS depends on its version, and Accelerate cannot be controlled. Both are left as they are.
"""

from __future__ import annotations

import os
import platform
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import NamedTuple, Protocol


class Library(Protocol):
    """The part of ``threadpoolctl.LibController`` that is used here."""

    internal_api: str

    def get_num_threads(self) -> int:
        """Return the number of threads."""

    def set_num_threads(self, num_threads: int) -> int | None:
        """Set the number of threads."""


class Libraries(NamedTuple):
    """The loaded BLAS libraries, by the scope of their number of threads."""

    per_thread: tuple[Library, ...]
    per_process: tuple[Library, ...]


def cpu_kind() -> str:
    """The kind of CPU that the BLAS libraries compute for: another kind rounds differently, in the last digits."""
    kinds = {str(getattr(library, "architecture", None) or "") for scope in libraries() for library in scope}
    return ", ".join(sorted(kinds - {""})) or platform.machine()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread inside the block. It can be nested, and used in several threads at once."""
    per_thread, per_process = libraries()
    before = [(library, _limit_calling_thread(library)) for library in per_thread]
    if per_process:
        _process_limit.enter(per_process)
    try:
        yield
    finally:
        if per_process:
            _process_limit.leave()
        for library, number in before:
            library.set_num_threads(number)


@lru_cache(maxsize=1)
def libraries() -> Libraries:
    """Find the BLAS libraries of NumPy and SciPy, once: it takes a few milliseconds."""
    import scipy.linalg  # noqa: F401  # loads the BLAS of SciPy; that of NumPy comes with numpy
    from threadpoolctl import ThreadpoolController

    found = ThreadpoolController().select(user_api="blas").lib_controllers
    openblas = [library for library in found if library.internal_api == "openblas"]
    openmp = [library for library in openblas if library.threading_layer == "openmp"]
    mkl = [library for library in found if library.internal_api == "mkl"]
    return Libraries(
        per_thread=tuple(library for library in openmp + mkl if library.get_num_threads() is not None),
        per_process=tuple(library for library in openblas if library not in openmp),
    )


def _limit_calling_thread(library: Library) -> int:
    """Set a library to one thread for the calling thread, and return the number that restores it."""
    before = library.get_num_threads()
    returned = library.set_num_threads(1)
    if library.internal_api == "mkl" and returned is not None:
        return returned  # 0 where the thread had no number of its own: it follows the one of the process again
    return before


def _set_for_process(library: Library, number: int) -> None:
    """Set the number of threads of a library for the whole process, whichever thread has set it before.

    Since threadpoolctl 3.8, the first thread to set an OpenBLAS controls it, and calls from other threads silently do
    nothing. Here the last thread out has to restore what the first one has set, so the control is released.
    """
    release = getattr(library, "clear_controlling_thread", None)
    if release is not None:
        release(force=True)
    library.set_num_threads(number)
    if release is not None:
        release(force=True)


class _ProcessLimit:
    """Keeps the numbers of the process at one from the first entry to the last exit.

    Attributes:
        lock: Held while numbers are set. A fork waits for it, so that no lock of threadpoolctl is held in the child.
        inside: Identifiers of the threads inside, one for each entry.
        before: The numbers to restore.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.inside: list[int] = []
        self.before: list[tuple[Library, int]] = []

    def enter(self, per_process: tuple[Library, ...]) -> None:
        with self.lock:
            if not self.inside:
                self.before = [(library, library.get_num_threads()) for library in per_process]
                for library, number in self.before:
                    if number != 1:
                        _set_for_process(library, 1)
            self.inside.append(threading.get_ident())

    def leave(self) -> None:
        with self.lock:
            self.inside.remove(threading.get_ident())
            if not self.inside:
                self.restore()

    def restore(self) -> None:
        for library, number in self.before:
            if number != 1 and library.get_num_threads() == 1:  # otherwise someone else has set it: leave it
                _set_for_process(library, number)
        self.before = []

    def before_fork(self) -> None:
        self.lock.acquire()

    def after_fork_in_parent(self) -> None:
        self.lock.release()

    def after_fork_in_child(self) -> None:
        """Forget the threads that do not exist in the child, and restore the numbers if none is left inside."""
        self.lock = threading.RLock()
        self.inside = [thread for thread in self.inside if thread == threading.get_ident()]
        if not self.inside:
            self.restore()


_process_limit = _ProcessLimit()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_process_limit.before_fork,
        after_in_parent=_process_limit.after_fork_in_parent,
        after_in_child=_process_limit.after_fork_in_child,
    )
