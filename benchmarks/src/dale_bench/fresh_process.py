"""Measurements in a new process: without the memory of other measurements, and with one BLAS thread."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Any, TypeVar

T = TypeVar("T")

BLAS_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def in_fresh_process(function: Callable[..., T], *args: Any) -> T:
    """Call a module-level function in a new process with one BLAS thread; return its result or raise its exception."""
    with one_blas_thread(), ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *args).result()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Give processes that start inside the context one BLAS thread. BLAS reads these variables when it is loaded."""
    before = {name: os.environ.get(name) for name in BLAS_VARIABLES}
    os.environ.update(dict.fromkeys(BLAS_VARIABLES, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
