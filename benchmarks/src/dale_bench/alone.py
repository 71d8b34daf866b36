"""Measurements in a process of their own: no memory of others in it, and one thread for linear algebra."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Any, TypeVar

from dale_bench.runner import BLAS_VARIABLES

T = TypeVar("T")


def alone(function: Callable[..., T], *args: Any) -> T:
    """What a function of a module returns in a fresh process with one thread; what it raises is raised here."""
    with one_thread(), ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *args).result()


@contextmanager
def one_thread() -> Iterator[None]:
    """Processes that start within get one thread for linear algebra: it reads the variables when it is loaded."""
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
