"""TODO docstring."""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import combinations_with_replacement
from typing import NamedTuple

import numpy as np

from dale._arrays import Matrix, Vector

MOST_TERMS = 90  # the degree is the largest with no more monomials ...
MOST_DEGREE = 6  # ... and no larger than this, though at least 2


class Twice(NamedTuple):
    """Second derivatives of monomials that are not zero, sorted by the pair of variables i <= j.

    Attributes:
        of: Number of the monomial, (q,).
        rest: Number of what remains of it; p stands for 1, (q,).
        factor: And its factor, (q,).
        begin: Where each pair begins, (d (d + 1) / 2,).
    """

    of: np.ndarray
    rest: np.ndarray
    factor: Vector
    begin: np.ndarray


class Monomials(NamedTuple):
    """All monomials of degree 1 .. m in d variables, each the product of a lower one and a variable.

    Attributes:
        degree: Of each monomial, (p,).
        root: Root of its multinomial coefficient, (p,).
        variables: The factors of each, (p, m), filled up with d, which stands for 1.
        lower: Number of the monomial that remains when variable i is taken away once, (p, d); p stands for 1.
        factor: How often variable i is in it, times ``root`` over that of the remaining one, (p, d).
        twice: What remains when two variables are taken away.
    """

    degree: np.ndarray
    root: Vector
    variables: np.ndarray
    lower: np.ndarray
    factor: Matrix
    twice: Twice

    def __call__(self, Z: Matrix) -> Matrix:
        """Features (m, p) of points (m, d)."""
        padded = np.hstack([Z, np.ones((len(Z), 1))])
        features = padded[:, self.variables[:, 0]] * self.root
        for column in self.variables.T[1:]:
            features *= padded[:, column]
        return features

    def with_gradients(self, Z: Matrix) -> tuple[Matrix, np.ndarray]:
        """Features (m, p) and their gradients (m, p, d) at points (m, d)."""
        features = self(Z)
        padded = np.hstack([features, np.ones((len(Z), 1))])
        return features, self.factor * padded[:, self.lower]

    def hessians(self, features: Matrix, weights: Matrix) -> np.ndarray:
        """Second derivatives (m, d, d) of the polynomials with these weights, (p,) or (m, p), at m points.

        Args:
            features: Of the points, (m, p).
            weights: The same for all points, or those of each.
        """
        m, d = len(features), self.factor.shape[1]
        padded = np.hstack([features, np.ones((m, 1))])
        parts = weights[..., self.twice.of] * self.twice.factor * padded[:, self.twice.rest]
        hessian = np.zeros((m, d, d))
        if len(self.twice.of) == 0:
            return hessian
        triangle = np.add.reduceat(parts, self.twice.begin, axis=1)  # from degree 2 on every pair has a term
        i, j = np.triu_indices(d)
        hessian[:, i, j] = hessian[:, j, i] = triangle
        return hessian


@lru_cache(maxsize=64)
def monomials(dimension: int, degree: int) -> Monomials:
    """The monomials of a Taylor polynomial without its constant."""
    terms = [t for k in range(1, degree + 1) for t in combinations_with_replacement(range(dimension), k)]
    number = {t: i for i, t in enumerate(terms)} | {(): len(terms)}
    root = np.array([_root(t) for t in terms] + [1.0])
    lower = np.full((len(terms), dimension), len(terms))
    factor = np.zeros((len(terms), dimension))
    for a, term in enumerate(terms):
        for i in set(term):
            rest = list(term)
            rest.remove(i)
            lower[a, i] = number[tuple(rest)]
            factor[a, i] = term.count(i) * root[a] / root[lower[a, i]]
    variables = np.array([t + (dimension,) * (degree - len(t)) for t in terms])
    return Monomials(np.array([len(t) for t in terms]), root[:-1], variables, lower, factor, _twice(lower, factor))


def _twice(lower: np.ndarray, factor: Matrix) -> Twice:
    """Second derivatives from first ones."""
    p, d = lower.shape
    # The monomial 1 has no variable to take away: one more row, of zeros, stands for it.
    again, factor_again = np.vstack([lower, np.full((1, d), p)]), np.vstack([factor, np.zeros((1, d))])
    of: list[int] = []
    rest: list[int] = []
    factors: list[float] = []
    begin: list[int] = []
    for i, j in zip(*np.triu_indices(d), strict=True):
        begin.append(len(of))
        both = factor[:, i] * factor_again[lower[:, i], j]
        a = np.flatnonzero(both)
        of.extend(a)
        rest.extend(again[lower[a, i], j])
        factors.extend(both[a])
    return Twice(np.array(of, dtype=int), np.array(rest, dtype=int), np.array(factors), np.array(begin))


def _root(term: tuple[int, ...]) -> float:
    ways = math.factorial(len(term))
    for variable in set(term):
        ways //= math.factorial(term.count(variable))
    return math.sqrt(ways)


def n_terms(dimension: int, degree: int) -> int:
    """Number of monomials of degree 1 .. ``degree``."""
    return math.comb(dimension + degree, degree) - 1


@lru_cache(maxsize=64)
def affordable_degree(dimension: int) -> int:
    """Degree of the model: as high as ``MOST_TERMS`` allows."""
    degree = 2
    while degree < MOST_DEGREE and n_terms(dimension, degree + 1) <= MOST_TERMS:
        degree += 1
    return degree
