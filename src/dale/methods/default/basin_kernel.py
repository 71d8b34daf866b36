"""The kernel of the global model once a region has been closed: trend and ripples, by evidence.

A function with several basins has structure at two scales: a trend that tells where good basins are, and ripples, each
a basin of its own. With weights 1 - p and p the correlation is

    (1 - p) SE(L) + p SE(l),    or, if the ripples are a sum over the coordinates, (1 - p) SE(L) + p mean_i SE_i(l),

or a single SE(l), where the global model goes on as before (``global_search.py``). Mean and variance of the process are
integrated out or estimated in closed form. The evidence,

    -log p(v) = (n - 1) / 2 log s2 + log|K| / 2 + log(1' K^-1 1) / 2,    s2 = residual / (n - 1),

decides between the three kinds and their length-scales; log l has a normal prior around a quarter of the cube's
diagonal, and a second scale has to gain ``MIN_LOG_BAYES_FACTOR``. For each kind the evidence is followed uphill on a
grid.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy.spatial.distance import cdist

from dale._arrays import Matrix, Vector
from dale.history.observations import Observations
from dale.models.cholesky import CholeskyFactor
from dale.models.kernels.base import StationaryKernel
from dale.models.kernels.squared_exponential import SquaredExponential
from dale.models.kernels.sums import AdditiveSquaredExponential, WeightedSum
from dale.optim.grid import Index, descend_on_grid

SHORT = tuple(0.02 * 2 ** (0.5 * i) for i in range(12))  # l, in sides of the cube
LONG = (0.7, 2.0)  # L
RIPPLES = (1e-4, 1e-3, 1e-2, 0.1, 0.4)  # p
MIN_LOG_BAYES_FACTOR = 3.0  # that a second scale needs
MIN_OBSERVATIONS_PER_VARIABLE = 20  # from which on two scales may win: fewer tell little about ripples
LOG_SHORT_STD = 1.0  # of log l, a priori
JITTER = 1e-8


def most_probable_kernel(X: Matrix, v: Vector) -> StationaryKernel:
    """The kernel of the highest evidence for values v (n,) at points X (n, d).

    Examples:
        >>> X = np.linspace(0, 1, 30)[:, None]
        >>> most_probable_kernel(X, X[:, 0] ** 2).length_scale > 0.5
        True
    """
    n, d = X.shape
    squares = cdist(X, X, "sqeuclidean")
    searches = [_Search(squares, lambda l: np.exp(-0.5 * squares / l**2), v, d, single=True)]
    if n >= MIN_OBSERVATIONS_PER_VARIABLE * d:
        searches.append(_Search(squares, searches[0].ripples, v, d))
        if d > 1:
            searches.append(_Search(squares, lambda l: AdditiveSquaredExponential(l)(X, X), v, d))
    found = [search.descend() for search in searches]
    best = min(range(len(found)), key=lambda i: found[i][1])
    i, j, k = found[best][0]
    if best == 0:
        return SquaredExponential(SHORT[i])
    ripples = SquaredExponential(SHORT[i]) if best == 1 else AdditiveSquaredExponential(SHORT[i])
    return WeightedSum(((1 - RIPPLES[k], SquaredExponential(LONG[j])), (RIPPLES[k], ripples)))


@dataclass(frozen=True, eq=False)
class _Search:
    """Descent of the negative log evidence on the grid of l, L and p (the three indices), for one kind of kernel.

    Attributes:
        squares: Squared distances of the points, (n, n).
        ripples: Correlation of the ripples for a length-scale.
        v: Values, (n,).
        dimension: d.
        single: Whether there are only ripples.
    """

    squares: Matrix
    ripples: Callable[[float], Matrix]
    v: Vector
    dimension: int
    single: bool = False
    losses: dict[Index, float] = field(default_factory=dict)
    parts: dict[float, Matrix] = field(default_factory=dict)

    def loss(self, at: Index) -> float:
        """Negative log evidence, with the prior of the length-scale."""
        if at not in self.losses:
            l, L, p = SHORT[at[0]], LONG[at[1]], RIPPLES[at[2]]
            K = self._part(l, self.ripples)
            if not self.single:
                K = (1 - p) * self._part(-L, lambda _: np.exp(-0.5 * self.squares / L**2)) + p * K
            middle = 0.25 * math.sqrt(self.dimension)
            cost = 0.5 * (math.log(l / middle) / LOG_SHORT_STD) ** 2 + (0 if self.single else MIN_LOG_BAYES_FACTOR)
            self.losses[at] = negative_log_evidence(K, self.v) + cost
        return self.losses[at]

    def _part(self, key: float, part: Callable[[float], Matrix]) -> Matrix:
        if key not in self.parts:
            self.parts[key] = part(key)
        return self.parts[key]

    def descend(self) -> tuple[Index, float]:
        """The best of the descents from a few length-scales."""
        sizes = (len(SHORT), 1, 1) if self.single else (len(SHORT), len(LONG), len(RIPPLES))
        starts = [(i, 0, 0 if self.single else 2) for i in (2, 6, 9)]
        best = min((descend_on_grid(self.loss, start, sizes) for start in starts), key=self.loss)
        return best, self.loss(best)


def negative_log_evidence(K: Matrix, v: Vector) -> float:
    """-log p(v) of a correlation matrix K (n, n), up to a constant: the mean integrated out, the variance estimated."""
    n = len(v)
    K = K.copy()
    K[np.diag_indices(n)] += JITTER
    factor = CholeskyFactor.of(K)
    one, y = factor.solve_lower(np.column_stack([np.ones(n), v])).T
    a = float(one @ one)
    c = float(one @ y) / a
    s2 = max(float(y @ y) - c * c * a, 1e-12) / max(n - 1, 1)
    return 0.5 * ((n - 1) * math.log(s2) + factor.log_determinant + math.log(a))


class KernelCache:
    """The kernel of the last observations that it was chosen for."""

    def __init__(self) -> None:
        self._key = b""
        self._kernel: StationaryKernel = SquaredExponential(1.0)

    def kernel(
        self, observations: Observations, limit: int, data: Callable[[], tuple[Matrix, Vector]]
    ) -> StationaryKernel:
        """The most probable kernel for observations.

        Args:
            observations: What the kernel is chosen for.
            limit: How many of them the global model sees at most.
            data: Gives their points and values in the global model.
        """
        key = observations.X.tobytes() + observations.y.tobytes() + limit.to_bytes(8)
        if key != self._key:
            self._kernel = most_probable_kernel(*data())
            self._key = key
        return self._kernel
