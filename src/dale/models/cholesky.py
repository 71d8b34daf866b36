"""The Cholesky factor of a correlation matrix, K + jitter I = L L', and how it grows by a row.

This is the only place where jitter is added. The correlation matrix of close points is positive definite in exact
arithmetic only; the smallest jitter of ``JITTERS`` that lets it be factored is used, relative to its unit diagonal. It
stands for noise of standard deviation sqrt(jitter) sigma_f: at least 1e-5 of the prior std, the resolution of the
model.

An observation with correlations k (n,) to the others extends the factor in O(n^2):

    L+ = [ L   0 ]     v = L^-1 k,   w = sqrt(1 + jitter - v'v).
         [ v'  w ]

A factor that was extended row by row differs in its last bits from one computed at once, but a proposal must be a
function of the history alone. So ``IncrementalCholesky`` follows a rule that makes its result a function of (kernel,
points, base): the first ``base`` points are factored at once, each later point extends the factor. With the number of
points at the last change of the length-scale as ``base``, each new point costs O(n^2), and a resumed run computes the
same bits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from dale._arrays import Matrix, Vector
from dale.models.kernels.base import StationaryKernel

JITTERS = tuple(10.0**power for power in range(-10, 1))  # the last one always factors
MIN_PIVOT = 1e-14  # a smaller squared diagonal element is rounding error


@dataclass(frozen=True, eq=False)
class CholeskyFactor:
    """L (n, n), lower triangular, stored by rows, and the jitter that was added.

    The layout matters: for a matrix stored by columns LAPACK uses another code path, and the last bits differ.

    Examples:
        >>> factor = CholeskyFactor.of(np.array([[1.0, 0.5], [0.5, 1.0]]))
        >>> factor.solve(np.array([1.5, 1.5])).round(6)
        array([1., 1.])
    """

    lower: Matrix
    jitter: float

    @classmethod
    def of(cls, K: Matrix, *, min_jitter: float = JITTERS[0]) -> CholeskyFactor:
        """Factor a symmetric matrix with unit diagonal, with the smallest jitter that works."""
        for jitter in JITTERS:
            if jitter < min_jitter:
                continue
            L = _cholesky(K, jitter)
            if L is not None:
                return cls(np.ascontiguousarray(L), jitter)
        raise FloatingPointError("a correlation matrix could not be factored: it contains NaN or is not symmetric")

    def extended(self, k: Vector) -> CholeskyFactor | None:
        """The factor with one more point, of correlations k (n,) with the others; None if it needs more jitter."""
        v = self.solve_lower(k)
        pivot = 1 + self.jitter - v @ v
        if not pivot > MIN_PIVOT:
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
        """``log |K + jitter I|``."""
        return 2 * float(np.sum(np.log(np.diag(self.lower))))

    def __len__(self) -> int:
        return len(self.lower)


class IncrementalCholesky:
    """Keeps the last factor to extend it. This saves time and never changes a result.

    Examples:
        >>> from dale.models.kernels import SquaredExponential
        >>> cache, X = IncrementalCholesky(), np.linspace(0, 1, 5)[:, None]
        >>> [len(cache.factor(SquaredExponential(0.2), X[:n], base=3)) for n in (3, 4, 5)]
        [3, 4, 5]
    """

    def __init__(self) -> None:
        self._kernel: StationaryKernel | None = None
        self._base = 0
        self._points: Matrix = np.empty((0, 0))
        self._factor: CholeskyFactor | None = None
        self._refactored = 0  # number of points at which the jitter was last raised

    def factor(self, kernel: StationaryKernel, X: Matrix, base: int) -> CholeskyFactor:
        """The factor of k(X, X) for points X (n, d): the first ``base`` of them at once, the rest one by one."""
        base = min(max(base, 1), len(X))
        known = self._usable(kernel, X, base)
        if known is None:
            factor, refactored = CholeskyFactor.of(kernel(X[:base], X[:base])), 0
        else:
            factor, refactored = known, self._refactored
        for n in range(len(factor), len(X)):
            grown = factor.extended(kernel(X[n : n + 1], X[:n])[0])
            if grown is None:
                grown = CholeskyFactor.of(kernel(X[: n + 1], X[: n + 1]), min_jitter=factor.jitter)
                refactored = n + 1
            factor = grown
        self._kernel, self._base, self._points = kernel, base, X
        self._factor, self._refactored = factor, refactored
        return factor

    def _usable(self, kernel: StationaryKernel, X: Matrix, base: int) -> CholeskyFactor | None:
        """The part of the last factor that the points begin with, if it was computed by the same rule."""
        if self._factor is None or kernel != self._kernel or base != self._base:
            return None
        n = min(len(X), len(self._points))
        differ = np.flatnonzero(np.any(self._points[:n] != X[:n], axis=1))
        shared = int(differ[0]) if len(differ) else n
        if shared < max(base, self._refactored):
            return None
        return self._factor.truncated(shared) if shared < len(self._factor) else self._factor


def _triangular(L: Matrix, b: Matrix, *, transposed: bool) -> Matrix:
    """L^-1 b or L^-T b. By LAPACK: SciPy's wrapper takes longer than the solution for a few hundred points."""
    if len(L) == 0:  # no observations; LAPACK would print an error
        return b
    # LAPACK expects columns, so a matrix stored by rows is passed as its own transpose, which is upper triangular.
    x, _ = lapack.dtrtrs(L.T, b, lower=0, trans=0 if transposed else 1)
    return np.asarray(x)


def _cholesky(K: Matrix, jitter: float) -> Matrix | None:
    """L of K + jitter I; None if a pivot is too small."""
    A = K.copy()
    A[np.diag_indices_from(A)] += jitter
    L, info = lapack.dpotrf(A, lower=1, clean=1)
    if info != 0 or not np.min(np.diag(L), initial=1.0) ** 2 > MIN_PIVOT:
        return None
    return np.asarray(L)
