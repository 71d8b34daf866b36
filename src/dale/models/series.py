"""The posterior of one Taylor series, and the choice of its degree, radius of convergence and structure by evidence.

The mathematics is that of ``models/taylor.py``; this module has its linear algebra.

Shapes: n observations Z (n, d) in local coordinates; p features.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dgeqrf, dtpqrt, dtrtrs

from dale._arrays import Matrix, Vector
from dale.models.monomials import monomials, n_terms
from dale.optim.grid import Index, descend_on_grid

MIXED_STDS = (1.0, 0.1, 0.01)  # factors of the prior std of mixed second derivatives
LINEAR_PRIOR_STD = 1e3  # of the linear weights, in units of s
COMMON_CURVATURE_STD = 3.0  # of the curvature that all directions have in common, in units of s
RHOS = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2)  # radii of convergence, in sides of the cube
FIRST_RHO = 0.8  # where the search for rho starts
SMALL_RHO_FACTOR = 4.0  # between radii of convergence below the least of RHOS ...
MIN_RHO_RADII = 3.0  # ... down to this, in radii of the region
QUADRATIC_RHOS = (12.8, 100.0, 1e4, 1e7)  # radii so large that the series is a quadratic in the whole cube
NEARLY_QUADRATIC_RHO = 0.8  # from which on quadratics are searched too
MIN_LOG_BAYES_FACTOR = 6.0  # evidence that one of QUADRATIC_RHOS needs
NOISE_RATIOS = tuple(float(ratio) for ratio in np.geomspace(1e-5, 1e7, 25))  # std of the noise, in units of s
EXCESS_LOG_STD = 0.35  # of the logarithm of a noise above the typical one
NOISE_MARGIN = 0.5  # log evidence that a larger noise may lack
NUGGET = 1e-10  # remainder of degree 1, against rounding errors
MIN_VARIANCE = 1e-300  # in units of s^2
BLOCK = 8  # columns at a time, in the factorisation with noise
WORK_COLUMNS = 32  # of the workspace without noise: less slows down factorisations of more than 128 columns
SAME_POINT = 1e-9  # points this close to the center, in radii, are the center


class Series(NamedTuple):
    """What the evidence decides of a Taylor series.

    Attributes:
        degree: m.
        rho: Radius of convergence.
        mixed: Factor of the prior std of mixed second derivatives.
        noise: Std of the noise in units of s, where there is any.
    """

    degree: int
    rho: float
    mixed: float = 1.0
    noise: float = 0.0

    @property
    def is_quadratic(self) -> bool:
        """Whether the series is a plain quadratic in the whole cube."""
        return self.rho > RHOS[-1]


class Refinement(tuple[Series, ...]):
    """Where a search starts that is near the first of these series alone, with its degree, where there are several."""


class SeriesFit(NamedTuple):
    """The posterior for one series."""

    loss: float  # negative logarithm of the evidence
    qr: Matrix  # the factorisation of LAPACK: R and the values in its upper triangle; with noise, the constant first
    std: Vector  # of the weights' own parts a priori, divided by s, (p,)
    variance: float  # s^2
    residual: float  # in units of s^2
    log_determinant: float  # of the covariance of the values, in units of s^2; half of it
    constant: bool = False  # whether there is a constant: with noise, the value at the center

    def weights(self, d: int) -> tuple[Vector, Matrix, float, Vector]:
        """Posterior mean of the weights, F with F F' their posterior covariance divided by s^2; the same of a constant.

        The root of the constant's variance is a vector (1 + p,), whose last p entries belong to the columns of F.
        """
        p, k = len(self.std), int(self.constant)
        R, y = np.triu(self.qr[k : p + k, k : p + k]), self.qr[: p + k, p + k]
        both = solve_upper(R, np.column_stack([y[k:], np.eye(p)]))
        constant, root = 0.0, np.zeros(1 + p)
        if k:
            first = self.qr[0, : p + 1]
            constant = float(y[0] - first[1:] @ both[:, 0]) / float(first[0])
            root = np.append(1.0, -first[1:] @ both[:, 1:]) / first[0]
        both = times_prior_root(both.T, self.std, d).T
        return both[:, 0], both[:, 1:], constant, root

    def negative_log_density(self, n: int, variance: float) -> float:
        """-log p of the n values for a given s^2, up to a constant of n."""
        return 0.5 * (n * math.log(variance) + self.residual / variance) + self.log_determinant


class Replicates(NamedTuple):
    """How replicates of m points scatter around their means.

    Attributes:
        n: Number of replicates of each point, (m,).
        squares: Sum of their squared differences from the mean, (m,).
    """

    n: Vector
    squares: Vector

    def rows(self, use: np.ndarray) -> Replicates:
        """Of some points."""
        return Replicates(self.n[use], self.squares[use])


@dataclass(frozen=True, eq=False)
class Noise:
    """The noise in the values, which may be means of replicates.

    Attributes:
        std: Relative standard deviations, (n,); where they are known, in units of the values.
        known: Whether they are known.
        replicates: The replicates of each value; None if there are none.
        typical: Std of a single value's noise by a model of more values, in units of the values; inf if there is none.
    """

    std: Vector
    known: bool = False
    replicates: Replicates | None = None
    typical: float = math.inf

    @cached_property
    def std_of_one(self) -> Vector:
        """Relative standard deviations of single values, (n,)."""
        return self.std if self.replicates is None else self.std * np.sqrt(self.replicates.n)

    @cached_property
    def scatter(self) -> tuple[float, int, float]:
        """Of all replicates: squared differences from their means, freedoms, sum of the logarithms of std for these.

        Differences and std are relative, as ``std`` is. All are 0 where the noise is known.
        """
        if self.replicates is None or self.known:
            return 0.0, 0, 0.0
        (n, squares), std = self.replicates, self.std_of_one
        return float(np.sum(squares / std**2)), round(float(np.sum(n - 1))), float(np.sum((n - 1) * np.log(std)))

    @cached_property
    def _max_unit(self) -> float:
        """The unit of the relative standard deviations in which the noise is the typical one."""
        return math.inf if self.known else self.typical / float(np.median(self.std_of_one))

    def excess(self, unit: float) -> float:
        """What noise above the typical one pays in log evidence; ``unit``: of the relative standard deviations."""
        if unit <= self._max_unit:
            return 0.0
        return 0.5 * (math.log(unit / max(self._max_unit, MIN_VARIANCE)) / EXCESS_LOG_STD) ** 2

    def with_more(self, n: int) -> Noise:
        """With n single values more, of typical noise."""
        replicates = self.replicates
        if replicates is not None:
            replicates = Replicates(np.append(replicates.n, [1.0] * n), np.append(replicates.squares, [0.0] * n))
        std = np.append(self.std, np.full(n, np.median(self.std)))
        return replace(self, std=std, replicates=replicates)

    def rows(self, use: np.ndarray) -> Noise:
        """Of some observations."""
        return replace(
            self, std=self.std[use], replicates=None if self.replicates is None else self.replicates.rows(use)
        )


@dataclass(frozen=True, eq=False)
class SeriesData:
    """Observations in local coordinates, the nearest first; without the center, unless there is noise.

    ``searched`` has the posteriors that searches have computed, so that the next search does not repeat them.
    """

    Z: Matrix
    differences: Vector
    r: Vector
    max_degree: int
    noise: Noise | None = None
    searched: dict[Series, SeriesFit] = field(default_factory=dict)

    @classmethod
    def of(cls, Z: Matrix, differences: Vector, max_degree: int, noise: Noise | None = None) -> SeriesData:
        """From observations in any order."""
        r = np.sqrt(np.sum(Z * Z, axis=1))
        # Nearest first: a stable factorisation of badly scaled rows needs rows of decreasing size.
        use = np.argsort(r, kind="stable")
        if noise is None:
            use = use[r[use] > SAME_POINT]
        return cls(Z[use], differences[use], r[use], max_degree, None if noise is None else noise.rows(use))

    @cached_property
    def _features(self) -> Matrix:
        """Monomials of the observations up to the highest degree, those of a lower degree first, (n, p).

        They are multiplied by the part of the prior's root that all series have in common, and stored by columns, as
        LAPACK expects them.
        """
        d = self.Z.shape[1]
        return np.asfortranarray(with_common_curvature(monomials(d, self.max_degree)(self.Z), d))

    def fit(self, series: Series, radius: float) -> SeriesFit:
        """The posterior for one series."""
        degree, t = series.degree, radius / series.rho
        (n, d), p, k = self.Z.shape, n_terms(self.Z.shape[1], degree), int(self.noise is not None)
        std = _prior_std(d, degree, t, series.mixed)
        noise = t ** (degree - 1.0) * self.r ** (degree + 1) + NUGGET * self.r
        if self.noise is not None:
            noise = np.hypot(noise, series.noise * self.noise.std)
            std = std.copy()
            std[:d] *= max(1.0, series.noise)
        A = np.empty((n, p + 2), order="F") if k else np.zeros((n + p, p + 1), order="F")
        A[:n, :k] = 1.0
        np.multiply(self._features[:, :p], std, out=A[:n, k : p + k])
        A[:n, p + k] = self.differences
        A[:n] /= noise[:, None]
        qr = _with_prior_first(A) if k else _with_prior_last(A)
        residual = float(qr[p + k, p + k]) ** 2 if n else 0.0
        freedom, scatter = max(n - d - k, 0), 0.0
        if self.noise is not None:
            squares, count, logs = self.noise.scatter
            residual += squares / series.noise**2
            freedom += count
            scatter = logs + count * math.log(series.noise)
        variance = max(residual / max(freedom, 1), MIN_VARIANCE)
        log_determinant = float(np.log(noise).sum() + np.log(np.abs(qr.diagonal()[: p + k])).sum()) + scatter
        loss = 0.5 * freedom * math.log(variance) + log_determinant
        if self.noise is not None:
            loss += self.noise.excess(math.sqrt(variance) * series.noise)
        if self.noise is not None and self.noise.known:
            variance = series.noise**-2.0
            loss = 0.5 * (freedom * (math.log(variance) - 1) + residual / variance) + log_determinant
        return SeriesFit(loss, qr, std, variance, residual, log_determinant, k == 1)


def most_probable(
    data: SeriesData, radius: float, starts: Sequence[Series], *, structured: bool
) -> list[tuple[Series, SeriesFit]]:
    """The series of the highest evidence of each degree, with its posterior, the most probable first.

    For each degree, downhill on the grid of rho: from the series of this degree among ``starts``, or from its middle.
    If an end is nearly quadratic, downhill from the largest rho too: the loss rises by the Bayes factor that a
    quadratic pays before it falls. To refine, where there are several degrees, is to go downhill from the first of the
    starts alone.
    """
    refine = isinstance(starts, Refinement) and data.max_degree > 2
    degree, redundant = data.max_degree, len(data.r) > n_terms(data.Z.shape[1], 2)
    mixed = MIXED_STDS if structured else (1.0,)
    noises = (0.0,) if data.noise is None else NOISE_RATIOS
    found: list[tuple[Series, SeriesFit]] = []
    for m in [starts[0].degree] if refine else sorted({2, degree} if redundant else {degree}):
        rhos = _small_rhos(radius) + RHOS + (QUADRATIC_RHOS if redundant and m == degree else ())
        walk = _Walk(data, radius, m, rhos, mixed, noises)
        end = walk.descend(next((series for series in starts if series.degree == m), Series(m, FIRST_RHO)))
        is_nearly_quadratic = max(series.rho for series, _ in [*found, end]) >= NEARLY_QUADRATIC_RHO
        if not refine and rhos[-1] > RHOS[-1] and is_nearly_quadratic:
            end = min(end, walk.descend(end[0]._replace(rho=rhos[-1])), key=lambda found: found[1].loss)
        found.append(end)
    return sorted(found, key=lambda found: found[1].loss)


@dataclass(frozen=True, eq=False)
class _Walk:
    """Descent of the loss on the grid of rho, of the structure and of the noise (the indices), for one degree."""

    data: SeriesData
    radius: float
    degree: int
    rhos: tuple[float, ...]
    mixed: tuple[float, ...]
    noises: tuple[float, ...]

    def series(self, at: Index) -> Series:
        """The series at a point of the grid."""
        return Series(self.degree, self.rhos[at[0]], self.mixed[at[1]], self.noises[at[2]])

    def fit(self, at: Index) -> SeriesFit:
        """Its posterior; the loss includes what a plain quadratic has to pay."""
        series, searched = self.series(at), self.data.searched
        if series not in searched:
            fit = self.data.fit(series, self.radius)
            searched[series] = fit._replace(loss=fit.loss + MIN_LOG_BAYES_FACTOR) if series.is_quadratic else fit
        return searched[series]

    def loss(self, at: Index) -> float:
        """Of the posterior."""
        return self.fit(at).loss

    def descend(self, first: Series) -> tuple[Series, SeriesFit]:
        """The end of the descent from a series."""
        i = min(range(len(self.rhos)), key=lambda i: abs(math.log(self.rhos[i] / first.rho)))
        j = self.mixed.index(first.mixed) if first.mixed in self.mixed else 0
        k = 0
        if first.noise > 0:
            k = min(range(len(self.noises)), key=lambda k: abs(math.log(self.noises[k] / first.noise)))
        elif len(self.noises) > 1:
            k = len(self.noises) // 2
        end = descend_on_grid(self.loss, (i, j, k), (len(self.rhos), len(self.mixed), len(self.noises)))
        limit = self.loss(end) + NOISE_MARGIN
        while end[2] + 1 < len(self.noises) and self.loss((*end[:2], end[2] + 1)) < limit:
            end = (*end[:2], end[2] + 1)  # where the evidence is flat, rather too much noise than too little
        return self.series(end), self.fit(end)


def _small_rhos(radius: float) -> tuple[float, ...]:
    """Radii of convergence below the least of RHOS, down to that of a region, in rising order."""
    n = math.ceil(math.log(RHOS[0] / (MIN_RHO_RADII * radius), SMALL_RHO_FACTOR)) - 1
    return tuple(RHOS[0] / SMALL_RHO_FACTOR**k for k in range(n, 0, -1))


def with_common_curvature(A: Matrix, d: int) -> Matrix:
    """A (k, p) times the symmetric square root of the covariance that the squares' weights have by their common part.

    Their block is I + COMMON_CURVATURE_STD^2 (all ones), whose root is I + c (all ones).
    """
    squares, c = _squares(d), (math.sqrt(1 + COMMON_CURVATURE_STD**2 * d) - 1) / d
    A = A.copy()
    A[:, squares] += c * np.sum(A[:, squares], axis=1, keepdims=True)
    return A


def times_prior_root(A: Matrix, std: Vector, d: int) -> Matrix:
    """A (k, p) times the root of the prior covariance of the weights; the std of the squares' own parts is 1."""
    return with_common_curvature(A, d) * std


@lru_cache(maxsize=256)
def _prior_std(d: int, degree: int, t: float, mixed: float) -> Vector:
    """Prior std of the weights' own parts, divided by s, (p,)."""
    degrees = monomials(d, degree).degree
    std = np.where(degrees == 1, LINEAR_PRIOR_STD, t ** (degrees - 2.0))
    std[_mixed(d)] *= mixed
    std.setflags(write=False)  # shared by all that ask for it
    return std


@lru_cache(maxsize=64)
def _mixed(dimension: int) -> np.ndarray:
    """Indices of the products of two different variables among the monomials."""
    i, j = np.triu_indices(dimension)
    return dimension + np.flatnonzero(i != j)


@lru_cache(maxsize=64)
def _squares(dimension: int) -> np.ndarray:
    """Indices of the squares among the monomials, (d,)."""
    i, j = np.triu_indices(dimension)
    return dimension + np.flatnonzero(i == j)


def _with_prior_last(A: Matrix) -> Matrix:
    """R of A = Q R in the upper triangle; the last rows of A become the prior's, one for each column but the last.

    Without noise, rows differ by many orders of magnitude: the largest have to come first.
    """
    p = A.shape[1] - 1
    A[len(A) - p :, :p].flat[:: p + 1] = 1.0
    return np.asarray(dgeqrf(A, lwork=WORK_COLUMNS * (p + 1), overwrite_a=True)[0])


def _with_prior_first(A: Matrix) -> Matrix:
    """R of [I; A] = Q R in the upper triangle; I has no rows for the first column, the constant, and the last.

    Noise bounds the size of the rows, so the prior may come first: then LAPACK makes use of its zeros.
    """
    q = A.shape[1]
    prior = np.zeros((q, q), order="F")
    prior.flat[q + 1 : -1 : q + 1] = 1.0
    R, *_ = dtpqrt(0, min(BLOCK, q), prior, A, overwrite_a=True, overwrite_b=True)
    return np.asarray(R)


def solve_upper(R: Matrix, b: Matrix) -> Matrix:
    """R^-1 b for an upper triangular R. By LAPACK: SciPy's wrapper takes longer than the solution."""
    # LAPACK expects columns, so a matrix stored by rows is passed as its own transpose, which is lower triangular.
    by_columns = bool(R.flags.f_contiguous)
    x, _ = dtrtrs(R if by_columns else R.T, b, lower=not by_columns, trans=not by_columns)
    return np.asarray(x)
