"""The factor of a growing set of points, remembered from one proposal to the next.

The optimizer is a function of its history, so what is remembered must not show: a factor that was extended row by row
differs in its last bits from one made at once. Hence a rule that makes the result a function of (kernel, points, base)
alone: the first ``base`` points are factored at once, each later point extends the factor. With the number of points at
the last change of the length-scale as ``base``, the factor at the length-scale in use costs O(n^2) for each new point,
and a resumed run arrives at the same bits. (What is factored anew: another length-scale, such as the one that Alg. 2
tries, and the points outside the regions while there are any.)
"""

from __future__ import annotations

import numpy as np

from dale.arrays import Matrix
from dale.gp.cholesky import Factor
from dale.kernels import StationaryKernel


class GrowingFactor:
    """Remembers the last factor that was asked for. Forgetting it changes nothing but the time taken."""

    def __init__(self) -> None:
        self._kernel: StationaryKernel | None = None
        self._base = 0
        self._points: Matrix = np.empty((0, 0))
        self._factor: Factor | None = None
        self._refactored = 0  # number of points at which the jitter was last raised

    def factor(self, kernel: StationaryKernel, X: Matrix, base: int) -> Factor:
        """Factor of k(X, X) for points X (n, d), the first ``base`` of them at once and the rest one by one."""
        base = min(max(base, 1), len(X))
        known = self._usable(kernel, X, base)
        if known is None:
            factor, refactored = Factor.of(kernel(X[:base], X[:base])), 0
        else:
            factor, refactored = known, self._refactored
        for n in range(len(factor), len(X)):
            grown = factor.extended(kernel(X[n : n + 1], X[:n])[0])
            if grown is None:
                grown = Factor.of(kernel(X[: n + 1], X[: n + 1]), least_jitter=factor.jitter)
                refactored = n + 1
            factor = grown
        self._kernel, self._base, self._points = kernel, base, X
        self._factor, self._refactored = factor, refactored
        return factor

    def _usable(self, kernel: StationaryKernel, X: Matrix, base: int) -> Factor | None:
        """The part of the remembered factor that the points begin with, if it came about by the same rule."""
        if self._factor is None or kernel != self._kernel or base != self._base:
            return None
        n = min(len(X), len(self._points))
        differ = np.flatnonzero(np.any(self._points[:n] != X[:n], axis=1))
        shared = int(differ[0]) if len(differ) else n
        if shared < max(base, self._refactored):
            return None
        return self._factor.truncated(shared) if shared < len(self._factor) else self._factor
