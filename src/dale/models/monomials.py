"""Monomials of degree 1 .. m in d variables, with first and second derivatives: the features of a Taylor polynomial.

Each monomial is multiplied by the square root of its multinomial coefficient, so that the features of degree k have the
rotation-invariant kernel (z . z')^k. Derivatives are table lookups: that of a monomial by a variable is a factor times
a monomial of lower degree.

Shapes: p monomials; points Z (k, d), features (k, p), gradients (k, p, d), Hessians (k, d, d).
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import combinations_with_replacement
from typing import NamedTuple

import numpy as np

from dale._arrays import Matrix, Vector

MAX_TERMS = 90  # the degree is the largest with at most this many monomials ...
MAX_DEGREE = 6  # ... and at most this, but at least 2


class SecondDerivatives(NamedTuple):
    """The q second derivatives of monomials that are not zero, sorted by the pair of variables i <= j.

    Attributes:
        monomial: Index of the monomial, (q,).
        lower: Index of the monomial that its derivative is a multiple of, (q,); p stands for 1.
        factor: That multiple, (q,).
        begin: Where each pair begins, (d (d + 1) / 2,).
    """

    monomial: np.ndarray
    lower: np.ndarray
    factor: Vector
    begin: np.ndarray


class Monomials(NamedTuple):
    """All monomials of degree 1 .. m in d variables, each the product of a lower one and a variable.

    Attributes:
        degree: Of each monomial, (p,).
        coefficient: Square root of its multinomial coefficient, (p,).
        variables: The variables of each, (p, m), padded with d, which stands for 1.
        lower: Index of the monomial that its derivative by variable i is a multiple of, (p, d); p stands for 1.
        factor: That multiple, (p, d).
        second: Second derivatives.
    """

    degree: np.ndarray
    coefficient: Vector
    variables: np.ndarray
    lower: np.ndarray
    factor: Matrix
    second: SecondDerivatives

    def __call__(self, Z: Matrix) -> Matrix:
        """Features of points."""
        padded = _with_one(Z)
        features = padded[:, self.variables[:, 0]] * self.coefficient
        for column in self.variables.T[1:]:
            features *= padded[:, column]
        return features

    def with_gradients(self, Z: Matrix) -> tuple[Matrix, np.ndarray]:
        """Features and their gradients at points."""
        features = self(Z)
        padded = _with_one(features)
        return features, self.factor * padded[:, self.lower]

    def hessians(self, features: Matrix, weights: Matrix) -> np.ndarray:
        """Hessians of polynomials at points with these features.

        Args:
            features: Of the points, (k, p).
            weights: Of the polynomial, (p,), or of one for each point, (k, p).
        """
        k, d = len(features), self.factor.shape[1]
        padded = _with_one(features)
        terms = weights[..., self.second.monomial] * self.second.factor * padded[:, self.second.lower]
        hessian = np.zeros((k, d, d))
        if len(self.second.monomial) == 0:
            return hessian
        triangle = np.add.reduceat(terms, self.second.begin, axis=1)  # from degree 2 on every pair has a term
        i, j = _pairs(d)
        hessian[:, i, j] = hessian[:, j, i] = triangle
        return hessian


def _with_one(A: Matrix) -> Matrix:
    """A (k, p) with a column of ones."""
    padded = np.empty((len(A), A.shape[1] + 1), dtype=A.dtype)
    padded[:, :-1] = A
    padded[:, -1] = 1.0
    return padded


@lru_cache(maxsize=64)
def _pairs(dimension: int) -> tuple[np.ndarray, np.ndarray]:
    """All pairs of variables i <= j."""
    i, j = np.triu_indices(dimension)
    return i, j


@lru_cache(maxsize=64)
def monomials(dimension: int, degree: int) -> Monomials:
    """The monomials of a Taylor polynomial without its constant."""
    terms = [t for k in range(1, degree + 1) for t in combinations_with_replacement(range(dimension), k)]
    index = {t: i for i, t in enumerate(terms)} | {(): len(terms)}
    coefficient = np.array([_coefficient(t) for t in terms] + [1.0])
    lower = np.full((len(terms), dimension), len(terms))
    factor = np.zeros((len(terms), dimension))
    for a, term in enumerate(terms):
        for i in set(term):
            rest = list(term)
            rest.remove(i)
            lower[a, i] = index[tuple(rest)]
            factor[a, i] = term.count(i) * coefficient[a] / coefficient[lower[a, i]]
    variables = np.array([t + (dimension,) * (degree - len(t)) for t in terms])
    degrees = np.array([len(t) for t in terms])
    return Monomials(degrees, coefficient[:-1], variables, lower, factor, _second_derivatives(lower, factor))


def _second_derivatives(lower: np.ndarray, factor: Matrix) -> SecondDerivatives:
    """Second derivatives from first ones."""
    p, d = lower.shape
    # The derivatives of the monomial 1 are 0: one more row stands for it.
    padded_lower, padded_factor = np.vstack([lower, np.full((1, d), p)]), np.vstack([factor, np.zeros((1, d))])
    monomial: list[int] = []
    lower_twice: list[int] = []
    factors: list[float] = []
    begin: list[int] = []
    for i, j in zip(*np.triu_indices(d), strict=True):
        begin.append(len(monomial))
        both = factor[:, i] * padded_factor[lower[:, i], j]
        a = np.flatnonzero(both)
        monomial.extend(a)
        lower_twice.extend(padded_lower[lower[a, i], j])
        factors.extend(both[a])
    return SecondDerivatives(
        np.array(monomial, dtype=int), np.array(lower_twice, dtype=int), np.array(factors), np.array(begin)
    )


def _coefficient(term: tuple[int, ...]) -> float:
    """Square root of the multinomial coefficient: the number of orders in which its variables can be written."""
    orders = math.factorial(len(term))
    for variable in set(term):
        orders //= math.factorial(term.count(variable))
    return math.sqrt(orders)


def n_terms(dimension: int, degree: int) -> int:
    """Number of monomials of degree 1 .. ``degree``."""
    return math.comb(dimension + degree, degree) - 1


@lru_cache(maxsize=64)
def affordable_degree(dimension: int) -> int:
    """The highest degree that ``MAX_TERMS`` and ``MAX_DEGREE`` allow."""
    degree = 2
    while degree < MAX_DEGREE and n_terms(dimension, degree + 1) <= MAX_TERMS:
        degree += 1
    return degree
