"""The allowed part of the unit cube, for methods: what may be proposed, and where allowed points are to be found.

A thin set is hit by few random points or by none. So some allowed points, the pool, are found once:

1. Of a Sobol net, more and more of it, those that are allowed.
2. If they are few, the violation (the sum of the margins' positive parts, each in units of its std over the net) is
   minimised from the best of the net, and from some points all over the cube.
3. If they are still few, they are made more by hit and run: from an allowed point along a random line to a random point
   of it, nearer and nearer to where it started until that is allowed. This fills even a ring or a needle evenly.

A constraint that says yes or no only has no gradient: step 2 is of no use to it, and the searches walk back into the set.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dale._arrays import Matrix, Vector, frozen
from dale.errors import SpaceError
from dale.optim.projected_newton import FunctionValues
from dale.optim.sampling import sobol
from dale.optim.slsqp import MAX_BISECTIONS, least_violation, minimize_slsqp, restore_feasibility

NETS = (9, 12)  # sizes, as powers of two
ENOUGH = 64  # allowed points of a net, below which it is enlarged
REPAIRS = 24  # points of the net from which the violation is minimised
POOL = 128
ROUNDS = 4  # of hit and run
SHRINKS = 24  # tries along one line
SLOPE = 1e-6  # step of the differences, in sides of the cube
NEAR = 128  # points that are taken from the pool then
STEPS = 15  # of a search within the margins
ROUGHLY = 12  # halvings on the way back to where a search within the margins begins
SPARE = 4e-16  # how far inside, in sides of the cube, a correction aims at first
FEW = 0.25  # of the points wanted: from the pool as well, if the cube at large gives fewer


@dataclass(frozen=True, eq=False)
class AllowedSet:
    """What the constraints on the inputs allow.

    Attributes:
        allowed: Which points (m, d) of the cube may be proposed.
        margins: Numbers (m, k) at points (m, d) that are at most 0 where allowed.
        smooth: Which of them have gradients, (k,).
        units: How much each of them varies over the cube, (k,).
        pool: Allowed points, (p, d).
    """

    allowed: Callable[[Matrix], np.ndarray]
    margins: Callable[[Matrix], Matrix]
    smooth: np.ndarray
    units: Vector
    pool: Matrix

    @classmethod
    def of(
        cls,
        allowed: Callable[[Matrix], np.ndarray],
        margins: Callable[[Matrix], Matrix],
        flat: Callable[[], np.ndarray],
        dimension: int,
        trouble: Callable[[], str] = str,
    ) -> AllowedSet:
        """From a check and its margins; an error if no allowed point can be found.

        Args:
            allowed: The exact check.
            margins: Its numbers.
            flat: Which of them say yes or no only, once they have been looked at.
            dimension: Number of coordinates.
            trouble: What the last constraint to raise has said.
        """
        for power in NETS:
            net = (sobol(dimension, power) + 0.5 / 2**power) % 1.0
            values = margins(net)
            inside = np.all(values <= 0, axis=1)
            if np.sum(inside) >= ENOUGH:
                break
        finite = np.where(np.isfinite(values), values, np.nan)
        with np.errstate(invalid="ignore", over="ignore"):
            std = np.array([np.nanstd(c) if np.any(np.isfinite(c)) else 1.0 for c in finite.T])
        units = np.where(np.isfinite(std) & (std > 0), std, 1.0)
        bare = cls(allowed, margins, ~flat(), units, np.empty((0, dimension)))
        points = net[inside][:POOL]
        points = points[allowed(points)]
        if len(points) < ENOUGH:
            points = np.vstack([points, bare._repaired(net[~inside], values[~inside])])
        if len(points) == 0:
            raise SpaceError(
                f"no point that the constraints allow was found among {len(net)} points of the space and by going from "
                f"the best of them towards smaller violations; the least violations of the single constraints were "
                f"{np.array2string(np.min(values, axis=0), precision=3)} (wanted: at most 0)"
                + (f"; the last error in a constraint: {trouble()}" if trouble() else "")
                + ". Check their signs, or make the space such that an allowed point is easier to meet"
            )
        rng = np.random.default_rng(np.random.SeedSequence(0, spawn_key=(0,)))
        while len(points) < POOL:
            points = np.vstack([points, bare._walked(points, rng)])
        return cls(allowed, margins, bare.smooth, units, frozen(points[:POOL]))

    def violation(self, points: Matrix) -> Vector:
        """Sum of the positive parts of the margins at points (m, d), in their units, (m,)."""
        return np.asarray(np.sum(np.maximum(self.margins(points), 0.0) / self.units, axis=1))

    def limits(self, x: Vector) -> tuple[Vector, Matrix]:
        """Smooth margins (k,) at a point (d,) of the cube and their gradients (k, d), in their units."""
        d = len(x)
        low, high = np.maximum(x - SLOPE, 0.0), np.minimum(x + SLOPE, 1.0)
        around = np.tile(x, (2 * d + 1, 1))
        around[np.arange(d), np.arange(d)] = low
        around[np.arange(d, 2 * d), np.arange(d)] = high
        values = self.margins(np.clip(around, 0.0, 1.0))[:, self.smooth] / self.units[self.smooth]
        with np.errstate(invalid="ignore"):
            gradients = (values[d : 2 * d] - values[:d]) / (high - low)[:, None]
        return values[-1], np.where(np.isfinite(gradients), gradients, 0.0).T

    def some(self, n: int, rng: np.random.Generator) -> Matrix:
        """About n allowed points (m, d), at least one: of the whole cube, and where it gives few, near the pool's."""
        points = rng.random((n, self.pool.shape[1]))
        points = points[self.allowed(points)]
        if len(points) >= FEW * n:
            return points
        return np.vstack([points, self._hit_and_run(self.pool[rng.integers(len(self.pool), size=NEAR)], rng)])

    def allowed_among(self, points: Matrix, incumbent: Vector, rng: np.random.Generator) -> Matrix:
        """Which of some points (m, d) are allowed; where they are few, with others from the pool and the incumbent."""
        inside = points[self.allowed(points)]
        if len(inside) >= FEW * len(points):
            return inside
        near = self.pool[rng.integers(len(self.pool), size=NEAR)]
        if self.allowed(incumbent[None, :])[0]:
            near = np.vstack([near, np.tile(incumbent, (NEAR // 4, 1))])
        return np.vstack([inside, self._hit_and_run(near, rng)])

    def walked_back(
        self,
        below: Callable[[Matrix], FunctionValues],
        ends: Matrix,
        values: Vector,
        starts: Matrix,
        lower: Vector | Matrix,
        upper: Vector | Matrix,
    ) -> tuple[Matrix, Vector]:
        """Where searches have ended (m, d) and what they found (m,), made allowed.

        An end that is not allowed goes back towards its start, which is; from there the search goes on within the
        margins.
        """
        ends, values = ends.copy(), values.copy()
        lower, upper = (np.broadcast_to(face, ends.shape) for face in (lower, upper))

        def at(x: Vector) -> tuple[float, Vector]:
            surface = below(x[None, :])
            return float(surface.value[0]), surface.gradient[0]

        def one(x: Vector) -> bool:
            return bool(self.allowed(x[None, :])[0])

        for i in np.flatnonzero(~self.allowed(ends)):
            box = lower[i], upper[i]
            x = restore_feasibility(
                ends[i], starts[i], one, None, *box, max_bisections=ROUGHLY if self.smooth.any() else MAX_BISECTIONS
            )
            assert x is not None  # there is a start to go back to
            if self.smooth.any():
                there, _ = minimize_slsqp(at, self.limits, x, *box, max_steps=STEPS)
                back = restore_feasibility(there, x, one, self.limits, *box, margin=SPARE)
                x = x if back is None or not at(back)[0] < at(x)[0] else back
            ends[i], values[i] = x, at(x)[0]
        return ends, values

    def _walked(self, points: Matrix, rng: np.random.Generator) -> Matrix:
        """Allowed points (ENOUGH, d), some steps of hit and run away from the given ones."""
        points = points[rng.integers(len(points), size=ENOUGH)]
        for _ in range(ROUNDS):
            points = self._hit_and_run(points, rng)
        return points

    def _hit_and_run(self, points: Matrix, rng: np.random.Generator) -> Matrix:
        """One step of hit and run from allowed points (m, d): never out of the set."""
        (m, d), points = points.shape, points.copy()
        direction = rng.standard_normal((m, d))
        direction /= np.max(np.abs(direction), axis=1, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            ends = np.stack([-points / direction, (1 - points) / direction])
        ends = np.where(direction == 0, np.array([-np.inf, np.inf])[:, None, None], np.sort(ends, axis=0))
        low, high = np.max(ends[0], axis=1), np.min(ends[1], axis=1)
        waiting = np.arange(m)
        for _ in range(SHRINKS):
            t = low + (high - low) * rng.random(len(waiting))
            tried = np.clip(points[waiting] + t[:, None] * direction[waiting], 0.0, 1.0)
            good = self.allowed(tried)
            points[waiting[good]] = tried[good]
            low, high = np.where(t < 0, t, low)[~good], np.where(t < 0, high, t)[~good]
            waiting = waiting[~good]
            if len(waiting) == 0:
                break
        return points

    def _repaired(self, points: Matrix, values: Matrix) -> Matrix:
        """Allowed points (m, d), found by minimising the violation from some points (n, d)."""
        lower, upper = np.zeros(points.shape[1]), np.ones(points.shape[1])
        found = []
        spoilt = np.sum(np.maximum(values, 0.0) / self.units, axis=1)
        least = np.argsort(spoilt, kind="stable")[: REPAIRS // 2]
        for i in np.unique([*least, *range(min(REPAIRS, len(points)))]):  # the net begins with points all over the cube
            if not self.smooth.any() or not np.isfinite(spoilt[i]):
                continue
            for spare in (1e-6, 0.0, 1e-3):
                x = least_violation(self._tighter(spare), points[i], lower, upper)
                if self.allowed(x[None, :])[0]:
                    found.append(x)
                    break
        return np.array(found).reshape(-1, points.shape[1])

    def _tighter(self, spare: float) -> Callable[[Vector], tuple[Vector, Matrix]]:
        def limits(x: Vector) -> tuple[Vector, Matrix]:
            values, gradients = self.limits(x)
            return values + spare, gradients

        return limits
