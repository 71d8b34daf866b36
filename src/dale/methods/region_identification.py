"""Alg. 3: local minimum region identification.

Around every observation, balls that hold its k = N_U .. 2 N_U nearest neighbours are tried; one that looks like a
convex quadratic with a better minimum inside becomes a region. Every candidate that does not is kept with the reason,
for plots, tests and the curious.

Where the paper is silent or misprinted: regions are appended on success only (its slots would be overwritten), the
minimiser must lie in the box too, a regression without a unique answer is a reason of its own, and overlaps are removed
by keeping the best first, so that a chain A-B-C of overlapping balls leaves A and C.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from scipy.spatial.distance import cdist

from dale._arrays import Matrix, Vector
from dale.models.ellipsoid import Ball
from dale.models.quadratic_fit import QuadraticFit, n_unknowns

ROUNDING = 32.0  # a fit passes the rounding errors of its points on, this much enlarged at worst
TIE = 1e-9  # minima of standardised values that differ by less are equal


class CandidateStatus(StrEnum):
    """What became of a candidate, in the order of the tests."""

    DEGENERATE = "degenerate"  # the regression has no unique answer
    NOT_CONVEX = "not convex"  # line 9
    OUTSIDE_BALL = "minimum outside the ball"  # line 14
    OUTSIDE_BOX = "minimum outside the box"
    NO_IMPROVEMENT = "no improvement"  # line 17
    CONVERGED = "converged"  # line 21
    IGNORES_NEIGHBOURS = "ignores neighbours"  # line 25
    OVERLAPS = "overlaps"  # line 31
    REGION = "region"


@dataclass(frozen=True, eq=False)
class Region:
    """A ball whose ``members`` (indices of observations) look like a convex quadratic."""

    ball: Ball
    fit: QuadraticFit
    members: np.ndarray
    minimiser: Vector  # x*, (d,)
    minimum: float  # y*


@dataclass(frozen=True)
class Candidate:
    """Neighbourhood of observation ``index`` with ``k`` points, and what became of it."""

    index: int
    k: int
    verdict: CandidateStatus


@dataclass(frozen=True)
class Regions:
    """The live regions, best first and pairwise disjoint, and everything that was tried."""

    live: tuple[Region, ...] = ()
    tried: tuple[Candidate, ...] = ()

    def inside(self, points: Matrix) -> np.ndarray:
        """Which of the points (m, d) are in one of the balls."""
        inside = np.zeros(len(points), dtype=bool)
        for region in self.live:
            inside |= region.ball.contains(points)
        return inside


@dataclass(frozen=True)
class RegionIdentification:
    """Settings of Alg. 3; call it with the observations.

    Attributes:
        tolerance: Epsilon of line 21: a minimiser this close to an observation has converged.
        margin: Line 25: no observation outside the ball may be closer to it than this.
    """

    tolerance: float = 1e-9  # Sec. 4
    margin: float = 0.05  # Alg. 3, line 25

    def __call__(self, X: Matrix, y: Vector, resolution: float = 0.0) -> Regions:
        """Regions of observations X (n, d) in the unit cube with standardised values y (n,).

        A predicted improvement has to exceed ``ROUNDING`` times the ``resolution``, the rounding error of the values.
        """
        least = float(np.min(y)) - ROUNDING * resolution if len(y) else 0.0
        found: list[tuple[Region, Candidate]] = []
        tried: list[Candidate] = []
        n, d = X.shape
        if n > n_unknowns(d):
            distances = cdist(X, X)
            nearest = np.argsort(distances, axis=1, kind="stable")
            for i in range(n):  # line 3
                for candidate, region in self._around(i, X, y, least, distances[i], nearest[i]):
                    if region is None:
                        tried.append(candidate)
                    else:
                        found.append((region, candidate))
        live: list[Region] = []
        for region, candidate in _best_first(found):  # line 31
            if any(region.ball.overlaps(other.ball) for other in live):
                tried.append(Candidate(candidate.index, candidate.k, CandidateStatus.OVERLAPS))
            else:
                live.append(region)
                tried.append(candidate)
        return Regions(tuple(live), tuple(tried))

    def _around(
        self, i: int, X: Matrix, y: Vector, least: float, distance: Vector, nearest: np.ndarray
    ) -> Iterator[tuple[Candidate, Region | None]]:
        """Lines 5-29: ever larger neighbourhoods of one observation, up to the first that fails."""
        n, d = X.shape
        for k in range(n_unknowns(d), min(2 * n_unknowns(d), n - 1) + 1):  # line 5
            members = nearest[:k]  # line 6; X_i counts
            ball = Ball(X[i], float(distance[members[-1]]))  # line 7
            fit = QuadraticFit.to(X[members], y[members], ball) if ball.radius > 0 else None  # line 8
            verdict = self._judge(fit, ball, X, least, nearest[k:])
            if verdict is not CandidateStatus.REGION or fit is None:
                yield Candidate(i, k, verdict), None
                return  # `break`: larger k are never tried
            yield Candidate(i, k, verdict), Region(ball, fit, members, fit.minimiser, fit.minimum)

    def _judge(
        self, fit: QuadraticFit | None, ball: Ball, X: Matrix, least: float, others: np.ndarray
    ) -> CandidateStatus:
        if fit is None:
            return CandidateStatus.DEGENERATE
        if not fit.is_convex:  # line 9
            return CandidateStatus.NOT_CONVEX
        x_star = fit.minimiser  # line 12
        if not ball.contains(x_star):  # line 14
            return CandidateStatus.OUTSIDE_BALL
        if np.any(x_star < 0) or np.any(x_star > 1):
            return CandidateStatus.OUTSIDE_BOX
        if fit.minimum > least:  # line 17
            return CandidateStatus.NO_IMPROVEMENT
        if np.min(np.linalg.norm(X - x_star, axis=1)) < self.tolerance:  # lines 20-21
            return CandidateStatus.CONVERGED
        if np.min(ball.distance(X[others])) < self.margin:  # lines 24-25
            return CandidateStatus.IGNORES_NEIGHBOURS
        return CandidateStatus.REGION


def _best_first(found: list[tuple[Region, Candidate]]) -> Iterator[tuple[Region, Candidate]]:
    """By minimum; of equals the one found first.

    The same members seen from another center, or other members of an exact quadratic, give the same minimum up to
    rounding, and a run must not depend on that.
    """
    left = list(found)
    while left:
        lowest = min(region.minimum for region, _ in left)
        yield left.pop(next(i for i, (region, _) in enumerate(left) if region.minimum <= lowest + TIE))


def identify_regions(X: Matrix, y: Vector, *, tolerance: float = 1e-9, margin: float = 0.05) -> Regions:
    """Alg. 3 on observations X (n, d) of the unit cube with values y (n,)."""
    return RegionIdentification(tolerance, margin)(X, y)
