"""BLAS on one thread while dale thinks.

The matrices of a proposal are small: more threads win little on them, and lose much where the cores are busy with
evaluations. So the libraries that numpy and scipy call are held to one thread meanwhile.

How far such a setting reaches was found by experiment, from which threads took part in a product of matrices:

- OpenBLAS with threads of its own, as in the wheels of numpy (0.3.31) and scipy (0.3.30), has one number for the
  process. ``openblas_set_num_threads_local`` is no exception: called in one thread, it holds for all others, and for
  good. So the first caller inside lowers the number and the last one out puts it back; what other threads of the
  program multiply meanwhile, they multiply on one thread each.
- OpenBLAS built with OpenMP (0.3.21) obeys OpenMP's number, and that is the calling thread's.
  ``openblas_set_num_threads`` lowers it for the caller, and the last one out could not put it back for the others.
- MKL (2026.2) has ``MKL_Set_Num_Threads_Local``, and that is the calling thread's.

Where none of these is found (Accelerate, BLIS; on Windows all but the wheels), nothing is done.
"""

from __future__ import annotations

import ctypes
import importlib
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

CALLERS = ("numpy.linalg._umath_linalg", "scipy.linalg._flapack")  # compiled modules, linked to the BLAS of each
OPENBLAS = ("scipy_openblas_{}64_", "scipy_openblas_{}", "openblas_{}64_", "openblas_{}")
OPENMP = 2  # what openblas_get_parallel returns for a build with OpenMP

Swap = Callable[[int], int]  # sets the number for the calling thread, returns what it was


class Shared(NamedTuple):
    """The number of threads that a library keeps for the whole process."""

    get: Callable[[], int]
    put: Callable[[int], object]


class Controls(NamedTuple):
    """All that can be set: for the calling thread only, and for all threads."""

    own: tuple[Swap, ...]
    shared: tuple[Shared, ...]


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """BLAS works on one thread inside and as before afterwards, if nested or in several threads at once too."""
    own, shared = controls()
    before = [swap(1) for swap in own]
    if shared:
        _lowered.enter(shared)
    try:
        yield
    finally:
        if shared:
            _lowered.leave()
        for swap, number in zip(own, before, strict=True):
            swap(number)


class _Lowered:
    """Which threads are inside, and the shared numbers as they were before the first of them."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.inside: list[int] = []
        self.before: list[tuple[Shared, int]] = []

    def enter(self, shared: tuple[Shared, ...]) -> None:
        with self.lock:
            if not self.inside:
                self.before = [(library, library.get()) for library in shared]
                for library, number in self.before:
                    if number != 1:
                        library.put(1)
            self.inside.append(threading.get_ident())

    def leave(self) -> None:
        with self.lock:
            self.inside.remove(threading.get_ident())
            if not self.inside:
                self.restore()

    def restore(self) -> None:
        for library, number in self.before:
            if number != 1 and library.get() == 1:  # else somebody has set it meanwhile, and it is theirs
                library.put(number)
        self.before = []

    def after_fork(self) -> None:
        """A forked process has the forking thread only: no other one will come out, nor let go of the lock."""
        self.lock = threading.Lock()
        self.inside = [thread for thread in self.inside if thread == threading.get_ident()]
        if not self.inside:
            self.restore()


_lowered = _Lowered()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_lowered.after_fork)


@lru_cache(maxsize=1)
def controls() -> Controls:
    """The libraries that numpy and scipy use; looked up at the first proposal."""
    own: dict[int | None, Swap] = {}
    shared: dict[int | None, Shared] = {}
    for library in _libraries():  # both may use the same one: told apart by where the function lies
        if swap := _function(library, "MKL_Set_Num_Threads_Local", ctypes.c_int, ctypes.c_int):
            own[_address(swap)] = swap
        for name in OPENBLAS:
            get = _function(library, name.format("get_num_threads"), ctypes.c_int)
            put = _function(library, name.format("set_num_threads"), None, ctypes.c_int)
            if not (get and put):
                continue
            parallel = _function(library, name.format("get_parallel"), ctypes.c_int)
            omp_get = _function(library, "omp_get_max_threads", ctypes.c_int)
            omp_put = _function(library, "omp_set_num_threads", None, ctypes.c_int)
            if parallel and parallel() == OPENMP and omp_get and omp_put:
                own[_address(omp_put)] = _swap(omp_get, omp_put)
            else:
                shared[_address(put)] = Shared(get, put)
    return Controls(tuple(own.values()), tuple(shared.values()))


def _libraries() -> list[ctypes.CDLL]:
    """Handles that lead to the BLAS of numpy and of scipy, which are loaded already."""
    found: list[ctypes.CDLL] = []
    for name in CALLERS:
        with suppress(ImportError, AttributeError, OSError):  # a numpy or scipy that is built in another way
            file = Path(str(importlib.import_module(name).__file__))
            if sys.platform == "win32":  # symbols are looked up in one file, not in those it needs
                beside = file.parents[2] / f"{name.split('.')[0]}.libs"
                found += [ctypes.CDLL(str(path)) for path in beside.glob("*openblas*.dll")]
            else:
                found.append(ctypes.CDLL(str(file)))
    return found


def _function(
    library: ctypes.CDLL, name: str, returns: type[ctypes.c_int] | None, *takes: type[ctypes.c_int]
) -> ctypes._NamedFuncPointer | None:
    function: ctypes._NamedFuncPointer | None = getattr(library, name, None)
    if function is not None:
        function.restype, function.argtypes = returns, takes
    return function


def _address(function: ctypes._NamedFuncPointer) -> int | None:
    return ctypes.cast(function, ctypes.c_void_p).value


def _swap(get: Callable[[], int], put: Callable[[int], object]) -> Swap:
    def swap(number: int) -> int:
        before = get()
        put(number)
        return before

    return swap
