"""A tree of Gaussian processes (Assael et al.): the cube is cut into boxes, and every box has a model of its own.

Objectives may vary fast in one part of the cube and slowly in another, which no single length-scale and variance
describes. A binary tree cuts the cube along its axes; a leaf is a Gaussian process with its own length-scale, mean and
variance, given the observations in its box. Values in different boxes are independent, so as a kernel it is

    k(x, x') = s2_i k_i(x, x') in the same leaf i, else 0.

*Where to cut.* Of all axes and all gaps between observations, a leaf is cut where a constant with its own variance on
each side describes the values best, the heteroscedastic form of a regression tree: the smallest

    n_1 log v_1 + n_2 log v_2,   v_i the variance of the n_i values on a side, plus a small fraction of the leaf's.

*Whether to cut.* Only if the evidence of the two models exceeds that of one by more than the penalty of BIC for three
more parameters: log p(y_1) + log p(y_2) > log p(y) + 3/2 log n.

*The length-scale of a leaf.* A leaf has few observations, so those of the nodes above it have a say, too, with a weight
that falls by half from level to level: of a grid, the length-scale that maximises

    sum_j 2^-j log p(y_j | l) / n_j,   j = 0 the leaf, 1 its parent, ...

Departures from the source: it learns all parameters of a leaf by such a weighted likelihood, with an estimated noise;
our mean and variance are those of the leaf, and there is no noise. Both rules for cuts and the weights 2^-j are ours.

Reference: Assael, Wang, Shahriari & de Freitas, "Heteroscedastic Treed Bayesian Optimisation", arXiv:1410.7172, 2014.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from dale._arrays import Matrix, Vector
from dale.models.base import Prediction, PredictionGradient
from dale.models.gaussian_process import GaussianProcess
from dale.models.kernels.base import KernelFactory
from dale.models.likelihood import best_of, log_marginal_likelihood

MIN_VARIANCE_SHARE = 1e-3  # of the leaf's variance, added to those of both sides: equal values are not infinitely good
PARENT_WEIGHT = 0.5  # of a level relative to the one below


class Cut(NamedTuple):
    """Points with x[axis] <= threshold are on the lower side."""

    axis: int
    threshold: float

    def is_lower(self, A: Matrix) -> np.ndarray:
        """Which points (m, d) are on the lower side."""
        return np.asarray(A[:, self.axis] <= self.threshold)


@dataclass(frozen=True)
class TreeSettings:
    """How a tree grows.

    Attributes:
        kernel: Makes the kernel of a leaf from its length-scale.
        grid: Length-scales to choose from, in increasing order.
        min_leaf: Smallest number of observations in a leaf.
        max_depth: Largest number of cuts above a leaf.
    """

    kernel: KernelFactory
    grid: tuple[float, ...]
    min_leaf: int
    max_depth: int


@dataclass(frozen=True, eq=False)
class TreedGaussianProcess:
    """A leaf, or a cut with a tree on each side.

    Attributes:
        leaf: The model, if this is a leaf.
        cut: Where the box is cut, if it is not.
        sides: The trees below and above the cut.

    Examples:
        >>> from dale.models.kernels import SquaredExponential
        >>> X = np.linspace(0, 1, 24)[:, None]
        >>> y = np.where(X[:, 0] < 0.5, 0.01 * X[:, 0], np.sin(40 * X[:, 0]))
        >>> tree = TreedGaussianProcess.fit(TreeSettings(SquaredExponential, (0.03, 0.1, 0.3, 1.0), 6, 3), X, y)
        >>> tree.n_leaves
        2
    """

    leaf: GaussianProcess | None = None
    cut: Cut | None = None
    sides: tuple[TreedGaussianProcess, ...] = ()

    @classmethod
    def fit(
        cls, settings: TreeSettings, X: Matrix, y: Vector, *, _above: Vector | None = None, _depth: int = 0
    ) -> TreedGaussianProcess:
        """Grow a tree on observations X (n, d), y (n,)."""
        models = [GaussianProcess.fit(settings.kernel(l), X, y) for l in settings.grid]
        evidence = np.array([log_marginal_likelihood(model) for model in models])
        score = evidence / len(y) + (0.0 if _above is None else PARENT_WEIGHT * _above)
        cut = best_cut(X, y, settings.min_leaf) if _depth < settings.max_depth else None
        if cut is not None:
            lower = cut.is_lower(X)
            gain = sum(_evidence(settings, X[side], y[side]) for side in (lower, ~lower)) - float(np.max(evidence))
            if gain > 1.5 * math.log(len(y)):
                sides = (
                    cls.fit(settings, X[side], y[side], _above=score, _depth=_depth + 1) for side in (lower, ~lower)
                )
                return cls(cut=cut, sides=tuple(sides))
        return cls(leaf=models[best_of(score)])

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return 1 if self.leaf is not None else sum(side.n_leaves for side in self.sides)

    def leaf_at(self, x: Vector) -> GaussianProcess:
        """The model of the box that a point (d,) is in."""
        if self.leaf is not None:
            return self.leaf
        return self._side(x).leaf_at(x)

    def predict(self, A: Matrix) -> Prediction:
        """Mean and std at points A (m, d)."""
        if self.leaf is not None or self.cut is None:
            return self._leaf.predict(A)
        mean, std, lower = np.empty(len(A)), np.empty(len(A)), self.cut.is_lower(A)
        for side, chosen in zip(self.sides, (lower, ~lower), strict=True):
            if np.any(chosen):
                mean[chosen], std[chosen] = side.predict(A[chosen])
        return Prediction(mean, std)

    def predict_with_gradient(self, x: Vector) -> PredictionGradient:
        """Mean, std and their gradients at one point x (d,), within its box."""
        return self.leaf_at(x).predict_with_gradient(x)

    def condition(self, X: Matrix, y: Vector) -> TreedGaussianProcess:
        """A tree with more observations X (k, d), y (k,) in its leaves; no leaf is cut."""
        if self.leaf is not None or self.cut is None:
            return replace(self, leaf=self._leaf.condition(X, y)) if len(X) else self
        lower = self.cut.is_lower(X)
        sides = (side.condition(X[c], y[c]) for side, c in zip(self.sides, (lower, ~lower), strict=True))
        return replace(self, sides=tuple(sides))

    def shrunk(self, divisor: float) -> TreedGaussianProcess:
        """The same with all variances divided."""
        leaf = None if self.leaf is None else self.leaf.shrunk(divisor)
        return replace(self, leaf=leaf, sides=tuple(side.shrunk(divisor) for side in self.sides))

    @property
    def _leaf(self) -> GaussianProcess:
        if self.leaf is None:
            raise ValueError("expected a leaf or a cut, got neither")
        return self.leaf

    def _side(self, x: Vector) -> TreedGaussianProcess:
        lower = self.cut is None or bool(self.cut.is_lower(x[None, :])[0])
        return self.sides[0 if lower else 1]


def _evidence(settings: TreeSettings, X: Matrix, y: Vector) -> float:
    """Largest log p(y | l) of the grid."""
    return max(log_marginal_likelihood(GaussianProcess.fit(settings.kernel(l), X, y)) for l in settings.grid)


def best_cut(X: Matrix, y: Vector, min_leaf: int) -> Cut | None:
    """The cut with the smallest n_1 log v_1 + n_2 log v_2; None if a side would have less than ``min_leaf`` values."""
    n, d = X.shape
    variance = float(np.var(y))
    if n < 2 * min_leaf or variance == 0:
        return None
    best, found = math.inf, None
    n_lower = np.arange(1, n)
    for axis in range(d):
        order = np.argsort(X[:, axis], kind="stable")
        x, z = X[order, axis], y[order] - np.mean(y)
        cost = _cost(z, n_lower, MIN_VARIANCE_SHARE * variance)
        cost[(n_lower < min_leaf) | (n - n_lower < min_leaf) | (np.diff(x) <= 0)] = math.inf
        i = int(np.argmin(cost))
        if cost[i] < best:
            best, found = float(cost[i]), Cut(axis, float(0.5 * (x[i] + x[i + 1])))
    return found


def _cost(z: Vector, n_lower: np.ndarray, share: float) -> Vector:
    """n_1 log v_1 + n_2 log v_2 for all cuts of centered values z (n,), ordered along an axis: (n - 1,)."""
    n_upper = len(z) - n_lower
    sums, squares = np.cumsum(z)[:-1], np.cumsum(z**2)[:-1]
    lower = squares / n_lower - (sums / n_lower) ** 2
    upper = (np.sum(z**2) - squares) / n_upper - ((np.sum(z) - sums) / n_upper) ** 2
    return n_lower * np.log(np.maximum(lower, 0) + share) + n_upper * np.log(np.maximum(upper, 0) + share)
