"""The factor of a growing set of points, remembered from one proposal to the next.

The optimizer is a function of its history, so what is remembered must not show: a factor that was extended row by row
differs in its last bits from one made at once. Hence a rule that makes the result a function of (kernel, points, base)
alone: the first ``base`` points are factored at once, each later point extends the factor. With the number of points at
the last change of the length-scale as ``base``, the factor at the length-scale in use costs O(n^2) for each new point,
and a resumed run arrives at the same bits. (What is factored anew: another length-scale, such as the one that Alg. 2
tries, and the points outside the regions while there are any.)

The Cholesky factor of a correlation matrix, K + jitter I = L L', and how it grows by a row.

This is the one place where jitter is added. A correlation matrix of close points is positive definite on paper only;
the least jitter of ``JITTERS`` that lets it be factored is taken, relative to its unit diagonal. It stands for noise of
standard deviation sqrt(jitter) sigma_f, 1e-5 of the prior std at best, below which this model cannot see.

Adding an observation extends the factor in O(n^2):

    L+ = [ L   0 ]     v = L^-1 k,   w = sqrt(1 + jitter - v'v).
         [ v'  w ]
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from dale._arrays import Matrix, Vector
from dale.models.kernels.base import StationaryKernel

JITTERS = tuple(10.0**power for power in range(-10, 1))  # the last one always factors
LEAST_PIVOT = 1e-14  # a smaller squared diagonal element is rounding error


class IncrementalCholesky:
    """Remembers the last factor that was asked for. Forgetting it changes nothing but the time taken."""

    def __init__(self) -> None:
        self._kernel: StationaryKernel | None = None
        self._base = 0
        self._points: Matrix = np.empty((0, 0))
        self._factor: CholeskyFactor | None = None
        self._refactored = 0  # number of points at which the jitter was last raised

    def factor(self, kernel: StationaryKernel, X: Matrix, base: int) -> CholeskyFactor:
        """CholeskyFactor of k(X, X) for points X (n, d), the first ``base`` of them at once and the rest one by one."""
        base = min(max(base, 1), len(X))
        known = self._usable(kernel, X, base)
        if known is None:
            factor, refactored = CholeskyFactor.of(kernel(X[:base], X[:base])), 0
        else:
            factor, refactored = known, self._refactored
        for n in range(len(factor), len(X)):
            grown = factor.extended(kernel(X[n : n + 1], X[:n])[0])
            if grown is None:
                grown = CholeskyFactor.of(kernel(X[: n + 1], X[: n + 1]), least_jitter=factor.jitter)
                refactored = n + 1
            factor = grown
        self._kernel, self._base, self._points = kernel, base, X
        self._factor, self._refactored = factor, refactored
        return factor

    def _usable(self, kernel: StationaryKernel, X: Matrix, base: int) -> CholeskyFactor | None:
        """The part of the remembered factor that the points begin with, if it came about by the same rule."""
        if self._factor is None or kernel != self._kernel or base != self._base:
            return None
        n = min(len(X), len(self._points))
        differ = np.flatnonzero(np.any(self._points[:n] != X[:n], axis=1))
        shared = int(differ[0]) if len(differ) else n
        if shared < max(base, self._refactored):
            return None
        return self._factor.truncated(shared) if shared < len(self._factor) else self._factor


@dataclass(frozen=True, eq=False)
class CholeskyFactor:
    """L (n, n), lower triangular, stored by rows, and the jitter that was needed.

    The layout matters: LAPACK solves by another path for a matrix stored by columns, and the last bits differ.
    """

    lower: Matrix
    jitter: float

    @classmethod
    def of(cls, K: Matrix, *, least_jitter: float = JITTERS[0]) -> CholeskyFactor:
        """CholeskyFactor a symmetric matrix with unit diagonal, with as little jitter as will do."""
        for jitter in JITTERS:
            if jitter < least_jitter:
                continue
            L = _cholesky(K, jitter)
            if L is not None:
                return cls(np.ascontiguousarray(L), jitter)
        raise FloatingPointError("a correlation matrix could not be factored: it holds NaN or is not symmetric")

    def extended(self, k: Vector) -> CholeskyFactor | None:
        """The factor with one more point, whose correlations with the others are k (n,); None if jitter is short."""
        v = self.solve_lower(k)
        pivot = 1 + self.jitter - v @ v
        if not pivot > LEAST_PIVOT:
            return None
        n = len(k)
        L = np.zeros((n + 1, n + 1))
        L[:n, :n] = self.lower
        L[n, :n] = v
        L[n, n] = math.sqrt(pivot)
        return CholeskyFactor(L, self.jitter)

    def truncated(self, n: int) -> CholeskyFactor:
        """The factor of the first n points."""
        return CholeskyFactor(np.ascontiguousarray(self.lower[:n, :n]), self.jitter)

    def solve_lower(self, b: Matrix) -> Matrix:
        """L^-1 b."""
        return _triangular(self.lower, b, transposed=False)

    def solve_upper(self, b: Matrix) -> Matrix:
        """L^-T b."""
        return _triangular(self.lower, b, transposed=True)

    def solve(self, b: Matrix) -> Matrix:
        """(L L')^-1 b."""
        return self.solve_upper(self.solve_lower(b))

    @property
    def log_determinant(self) -> float:
        """log |K + jitter I|."""
        return 2 * float(np.sum(np.log(np.diag(self.lower))))

    def __len__(self) -> int:
        return len(self.lower)


def _triangular(L: Matrix, b: Matrix, *, transposed: bool) -> Matrix:
    """L^-1 b or L^-T b. LAPACK itself: SciPy's wrapper takes longer than the solution for a few hundred points."""
    # LAPACK reads columns first, so a matrix stored by rows is handed over as its own transpose, upper triangular.
    x, _ = lapack.dtrtrs(L.T, b, lower=0, trans=0 if transposed else 1)
    return np.asarray(x)


def _cholesky(K: Matrix, jitter: float) -> Matrix | None:
    A = K.copy()
    A[np.diag_indices_from(A)] += jitter
    L, info = lapack.dpotrf(A, lower=1, clean=1)
    if info != 0 or not np.min(np.diag(L), initial=1.0) ** 2 > LEAST_PIVOT:
        return None
    return np.asarray(L)
