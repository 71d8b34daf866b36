"""The state in which dale computes, whatever the program of the user has set."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from dale._blas import one_blas_thread


@contextmanager
def computing() -> Iterator[None]:
    """Every computation of a proposal or a result happens inside this block.

    BLAS has one thread. Floating-point errors, such as the underflow of a kernel between distant points, are expected
    and neither raise nor warn, also after ``np.seterr(all="raise")`` or ``python -W error``. It can be nested, and used
    in several threads at once.
    """
    with one_blas_thread(), np.errstate(all="ignore"):
        yield
