"""Alg. 3: local minimum region identification.

Around every observation, the balls of its k = N_U .. 2 N_U nearest neighbours are candidates. A candidate whose
observations fit a convex quadratic with a better minimum inside becomes a region. Every other candidate is kept with
its status, for plots and tests.

Where the paper is silent or misprinted: regions are appended, and only on success (its slots would be overwritten); the
minimiser must lie in the box too; a regression without a unique solution has a status of its own; overlaps are removed
best first, so that a chain A-B-C of overlapping balls leaves A and C.

Two points can be read in several ways, which are settings (``docs/paper.md`` compares them). The margin of line 24 is
measured from the center of the ball: every observation that close to it has to be in the fit. And a neighbourhood that
leaves one out is followed by the next larger one instead of a `break`; else no close point could be forced to
contribute.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from dale._arrays import Matrix, Vector
from dale.models.ellipsoid import Ellipsoid
from dale.models.kernels.mixed_global_local import region_of
from dale.models.quadratic_fit import QuadraticFit, n_unknowns

ROUNDING = 32.0  # a fit amplifies the rounding errors of its values by this factor at most
TIE = 1e-9  # minima of standardised values that differ by less are equal


class CandidateStatus(StrEnum):
    """The outcome for a candidate, in the order of the checks."""

    DEGENERATE = "degenerate"  # the regression has no unique solution
    NOT_CONVEX = "not convex"  # line 9
    OUTSIDE_BALL = "minimum outside the ball"  # line 14
    OUTSIDE_BOX = "minimum outside the box"
    NO_IMPROVEMENT = "no improvement"  # line 17
    CONVERGED = "converged"  # line 21
    IGNORES_NEIGHBOURS = "ignores neighbours"  # line 25
    OVERLAPS = "overlaps"  # line 31
    REGION = "region"


class MarginFrom(StrEnum):
    """What the margin of Alg. 3, line 24, is measured from."""

    CENTER = "center"  # X_i: all observations within the margin must be in the fit
    SURFACE = "surface"  # the ball: no other observation may be within the margin of it


@dataclass(frozen=True, eq=False)
class Region:
    """A ball whose observations fit a convex quadratic.

    Attributes:
        ball: The region.
        fit: The quadratic.
        members: Indices of the observations.
        minimiser: x*, (d,).
        minimum: y*.
    """

    ball: Ellipsoid
    fit: QuadraticFit
    members: np.ndarray
    minimiser: Vector
    minimum: float


@dataclass(frozen=True)
class Candidate:
    """The neighbourhood of observation ``index`` with ``k`` points, and its status."""

    index: int
    k: int
    status: CandidateStatus


@dataclass(frozen=True)
class Regions:
    """The live regions, best first and pairwise disjoint, and all candidates."""

    live: tuple[Region, ...] = ()
    candidates: tuple[Candidate, ...] = ()

    def inside(self, points: Matrix) -> np.ndarray:
        """Which of the points (m, d) are in one of the balls."""
        return region_of([region.ball for region in self.live], points) >= 0


@dataclass(frozen=True)
class RegionIdentification:
    """Settings of Alg. 3; called with the observations.

    Attributes:
        tolerance: Epsilon of line 21: a minimiser this close to an observation has converged.
        margin: Line 25: no observation that the fit leaves out may be closer than this.
        margin_from: Line 24: closer to what.
        continue_after: Outcomes after which the next larger neighbourhood is tried; after all others, none is. Empty
            for the `break` of all lines as printed.

    Examples:
        >>> literal = RegionIdentification(margin_from=MarginFrom.SURFACE, continue_after=())
    """

    tolerance: float = 1e-9  # Sec. 4
    margin: float = 0.05  # Alg. 3, line 25
    margin_from: MarginFrom = MarginFrom.CENTER
    continue_after: tuple[CandidateStatus, ...] = (CandidateStatus.IGNORES_NEIGHBOURS,)  # line 26

    def __post_init__(self) -> None:
        object.__setattr__(self, "margin_from", MarginFrom(self.margin_from))
        object.__setattr__(self, "continue_after", tuple(map(CandidateStatus, self.continue_after)))

    def __call__(self, X: Matrix, y: Vector, resolution: float = 0.0) -> Regions:
        """Regions of observations X (n, d) in the unit cube with standardised values y (n,).

        A predicted improvement must exceed ``ROUNDING`` times the ``resolution``, the rounding error of the values.
        """
        target = float(np.min(y)) - ROUNDING * resolution if len(y) else 0.0
        found: list[tuple[Region, Candidate]] = []
        candidates: list[Candidate] = []
        n, d = X.shape
        if n > n_unknowns(d):
            distances = cdist(X, X)
            nearest = np.argsort(distances, axis=1, kind="stable")
            for i in range(n):  # line 3
                for candidate, region in self._around(i, X, y, target, distances[i], nearest[i]):
                    if region is None:
                        candidates.append(candidate)
                    else:
                        found.append((region, candidate))
        live: list[Region] = []
        for region, candidate in _best_first(found):  # line 31
            if any(region.ball.overlaps(other.ball) for other in live):
                candidates.append(Candidate(candidate.index, candidate.k, CandidateStatus.OVERLAPS))
            else:
                live.append(region)
                candidates.append(candidate)
        return Regions(tuple(live), tuple(candidates))

    def _around(
        self, i: int, X: Matrix, y: Vector, target: float, distance: Vector, nearest: np.ndarray
    ) -> Iterator[tuple[Candidate, Region | None]]:
        """Lines 5-29: neighbourhoods of one observation of increasing size, up to the first failure that ends them."""
        n, d = X.shape
        for k in range(n_unknowns(d), min(2 * n_unknowns(d), n - 1) + 1):  # line 5
            members = nearest[:k]  # line 6; X_i counts
            ball = Ellipsoid(X[i], float(distance[members[-1]]))  # line 7
            fit = QuadraticFit.to(X[members], y[members], ball) if ball.radius > 0 else None  # line 8
            status = self._status(fit, ball, X, target, nearest[k])
            if status is CandidateStatus.REGION and fit is not None:
                yield Candidate(i, k, status), Region(ball, fit, members, fit.minimiser, fit.minimum)
                continue
            yield Candidate(i, k, status), None
            if status not in self.continue_after:
                return  # `break`: larger k are never tried

    def _status(
        self, fit: QuadraticFit | None, ball: Ellipsoid, X: Matrix, target: float, next_nearest: int
    ) -> CandidateStatus:
        """The first check of lines 9-25 that fails; of the observations left out, one is the nearest."""
        if fit is None:
            return CandidateStatus.DEGENERATE
        if not fit.is_convex:  # line 9
            return CandidateStatus.NOT_CONVEX
        x_star = fit.minimiser  # line 12
        if not ball.contains(x_star):  # line 14
            return CandidateStatus.OUTSIDE_BALL
        if np.any(x_star < 0) or np.any(x_star > 1):
            return CandidateStatus.OUTSIDE_BOX
        if fit.minimum > target:  # line 17
            return CandidateStatus.NO_IMPROVEMENT
        if np.min(np.linalg.norm(X - x_star, axis=1)) < self.tolerance:  # lines 20-21
            return CandidateStatus.CONVERGED
        if self._ignores(X[next_nearest], ball):  # lines 24-25
            return CandidateStatus.IGNORES_NEIGHBOURS
        return CandidateStatus.REGION

    def _ignores(self, x: Vector, ball: Ellipsoid) -> bool:
        """Whether an observation (d,) that the fit leaves out is too close."""
        if self.margin_from is MarginFrom.SURFACE:
            return bool(ball.distance(x) < self.margin)
        return bool(np.linalg.norm(x - ball.center) < self.margin or ball.contains(x))  # inside: as far as a member


def _best_first(found: list[tuple[Region, Candidate]]) -> Iterator[tuple[Region, Candidate]]:
    """By minimum; of equal ones the first found.

    The same members around another center, or other members of an exact quadratic, give the same minimum up to
    rounding, on which a run must not depend.
    """
    left = list(found)
    while left:
        lowest = min(region.minimum for region, _ in left)
        yield left.pop(next(i for i, (region, _) in enumerate(left) if region.minimum <= lowest + TIE))


def identify_regions(X: Matrix, y: Vector, **settings: Any) -> Regions:
    """Alg. 3 on observations X (n, d) of the unit cube with values y (n,).

    Args:
        X: The observed points.
        y: Their values.
        settings: Of ``RegionIdentification``.

    Examples:
        >>> X = np.array([[0.2], [0.3], [0.45], [0.5], [0.95]])
        >>> [region] = identify_regions(X, (X[:, 0] - 0.35) ** 2).live
        >>> region.minimiser.round(6)
        array([0.35])
    """
    return RegionIdentification(**settings)(X, y)
