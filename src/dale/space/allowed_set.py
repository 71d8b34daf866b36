"""The allowed set: the points of the unit cube that satisfy the input constraints; sampling and projection.

Few or no random points hit a thin set. So a pool of allowed points is computed once:

1. The allowed points of a Sobol sequence, which is extended if they are few.
2. If they are still few, the violation is minimised from the points with the least violation and from the first ones of
   the sequence. The violation is the sum of the positive parts of the constraint values, each divided by its std over
   the sequence.
3. If there are fewer than ``POOL_SIZE``, hit-and-run sampling adds points: from an allowed point it draws a point on a
   random line, and shrinks the line towards the start until the draw is allowed. This fills even thin rings evenly.

A boolean constraint has no gradient. Step 2 cannot use it, and searches return to the allowed set by bisection.
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

SOBOL_POWERS = (9, 12)  # lengths of the Sobol sequence, as powers of two
MIN_ALLOWED = 64  # minimum number of allowed points before other ways to find them are tried
N_MINIMISATIONS = 24  # points of the sequence from which the violation is minimised
POOL_SIZE = 128
N_ROUNDS = 4  # of hit-and-run sampling
MAX_SHRINKS = 24  # of one line
DIFFERENCE_STEP = 1e-6  # of finite differences, in sides of the cube
N_NEAR_POOL = 128  # points of the pool from which a sample is completed
MAX_SLSQP_STEPS = 15
MAX_ROUGH_BISECTIONS = 12  # if SLSQP follows
BOUNDARY_MARGIN = 4e-16  # in sides of the cube: initial distance from the boundary after a correction
MIN_ALLOWED_FRACTION = 0.25  # of uniform random points: below this, a sample is completed from the pool
CONSTRAINT_MARGINS = (1e-6, 0.0, 1e-3)  # scaled: tried in turn while the violation is minimised


@dataclass(frozen=True, eq=False)
class AllowedSet:
    """The points of the cube that the input constraints allow.

    Attributes:
        allowed: Exact check of points (m, d).
        values: Constraint values (m, k) at points (m, d), at most 0 where allowed.
        smooth: Which constraint values have gradients, (k,).
        scales: Standard deviations of the constraint values over the cube, (k,).
        pool: Allowed points, (p, d).
    """

    allowed: Callable[[Matrix], np.ndarray]
    values: Callable[[Matrix], Matrix]
    smooth: np.ndarray
    scales: Vector
    pool: Matrix

    @classmethod
    def of(
        cls,
        allowed: Callable[[Matrix], np.ndarray],
        values: Callable[[Matrix], Matrix],
        boolean: Callable[[], np.ndarray],
        dimension: int,
        last_error: Callable[[], str] = str,
    ) -> AllowedSet:
        """The set of a check and its constraint values.

        Args:
            allowed: Exact check of points (m, d).
            values: Constraint values (m, k) at points (m, d).
            boolean: Which of them come from a bool, (k,); called after the first evaluation.
            dimension: Number of coordinates.
            last_error: The last exception that a constraint raised, as text; empty if there was none.

        Raises:
            SpaceError: No allowed point was found.
        """
        for power in SOBOL_POWERS:
            net = (sobol(dimension, power) + 0.5 / 2**power) % 1.0
            at_net = values(net)
            inside = np.all(at_net <= 0, axis=1)
            if np.sum(inside) >= MIN_ALLOWED:
                break
        finite = np.where(np.isfinite(at_net), at_net, np.nan)
        with np.errstate(invalid="ignore", over="ignore"):
            std = np.array([np.nanstd(c) if np.any(np.isfinite(c)) else 1.0 for c in finite.T])
        scales = np.where(np.isfinite(std) & (std > 0), std, 1.0)
        without_pool = cls(allowed, values, ~boolean(), scales, np.empty((0, dimension)))
        points = net[inside][:POOL_SIZE]
        points = points[allowed(points)]
        if len(points) < MIN_ALLOWED:
            points = np.vstack([points, without_pool._minimised(net[~inside], at_net[~inside])])
        if len(points) == 0:
            lowest = np.array2string(np.min(at_net, axis=0), precision=3)
            error = f"; the last error in a constraint: {last_error()}" if last_error() else ""
            raise SpaceError(
                f"no point that the constraints allow was found among {len(net)} points of the space or by minimising "
                f"the violation from the best of them; expected values of at most 0, lowest values {lowest}{error}. "
                "Check the signs of the constraints, or choose bounds of which they allow a larger part"
            )
        rng = np.random.default_rng(np.random.SeedSequence(0, spawn_key=(0,)))
        while len(points) < POOL_SIZE:
            points = np.vstack([points, without_pool._random_walk(points, rng)])
        return cls(allowed, values, without_pool.smooth, scales, frozen(points[:POOL_SIZE]))

    def violation(self, points: Matrix) -> Vector:
        """Sum of the positive parts of the scaled constraint values at points (m, d), (m,)."""
        return np.asarray(np.sum(np.maximum(self.values(points), 0.0) / self.scales, axis=1))

    def smooth_values(self, x: Vector) -> tuple[Vector, Matrix]:
        """Scaled values (k,) of the smooth constraints at a point (d,), and their gradients (k, d)."""
        d = len(x)
        low, high = np.maximum(x - DIFFERENCE_STEP, 0.0), np.minimum(x + DIFFERENCE_STEP, 1.0)
        stencil = np.tile(x, (2 * d + 1, 1))
        stencil[np.arange(d), np.arange(d)] = low
        stencil[np.arange(d, 2 * d), np.arange(d)] = high
        values = self.values(np.clip(stencil, 0.0, 1.0))[:, self.smooth] / self.scales[self.smooth]
        with np.errstate(invalid="ignore"):
            gradients = (values[d : 2 * d] - values[:d]) / (high - low)[:, None]
        return values[-1], np.where(np.isfinite(gradients), gradients, 0.0).T

    def sample(self, n: int, rng: np.random.Generator) -> Matrix:
        """At least one allowed point, (m, d): those among n uniform random ones; if few, with points near the pool."""
        points = rng.random((n, self.pool.shape[1]))
        points = points[self.allowed(points)]
        if len(points) >= MIN_ALLOWED_FRACTION * n:
            return points
        near = self.pool[rng.integers(len(self.pool), size=N_NEAR_POOL)]
        return np.vstack([points, self._hit_and_run(near, rng)])

    def allowed_among(self, points: Matrix, incumbent: Vector, rng: np.random.Generator) -> Matrix:
        """The allowed ones of points (m, d); if they are few, with points near the pool and near the incumbent."""
        inside = points[self.allowed(points)]
        if len(inside) >= MIN_ALLOWED_FRACTION * len(points):
            return inside
        near = self.pool[rng.integers(len(self.pool), size=N_NEAR_POOL)]
        if self.allowed(incumbent[None, :])[0]:
            near = np.vstack([near, np.tile(incumbent, (N_NEAR_POOL // 4, 1))])
        return np.vstack([inside, self._hit_and_run(near, rng)])

    def project_back(
        self,
        fun: Callable[[Matrix], FunctionValues],
        ends: Matrix,
        values: Vector,
        starts: Matrix,
        lower: Vector | Matrix,
        upper: Vector | Matrix,
    ) -> tuple[Matrix, Vector]:
        """Make the minima of searches allowed.

        A minimum that is not allowed is moved towards its start by bisection. From there, the search continues subject
        to the smooth constraints.

        Args:
            fun: The function that was minimised.
            ends: Minima without input constraints, (m, d).
            values: Values there, (m,).
            starts: Allowed points from which the searches started, (m, d).
            lower: Lower bounds, (d,) or (m, d).
            upper: Upper bounds, (d,) or (m, d).

        Returns:
            Allowed points (m, d), and the values there, (m,).
        """
        ends, values = ends.copy(), values.copy()
        lower, upper = (np.broadcast_to(face, ends.shape) for face in (lower, upper))

        def fun_at(x: Vector) -> tuple[float, Vector]:
            result = fun(x[None, :])
            return float(result.value[0]), result.gradient[0]

        def is_allowed(x: Vector) -> bool:
            return bool(self.allowed(x[None, :])[0])

        max_bisections = MAX_ROUGH_BISECTIONS if self.smooth.any() else MAX_BISECTIONS
        for i in np.flatnonzero(~self.allowed(ends)):
            box = lower[i], upper[i]
            x = restore_feasibility(ends[i], starts[i], is_allowed, None, *box, max_bisections=max_bisections)
            assert x is not None  # the start is allowed
            if self.smooth.any():
                end, _ = minimize_slsqp(fun_at, self.smooth_values, x, *box, max_steps=MAX_SLSQP_STEPS)
                restored = restore_feasibility(end, x, is_allowed, self.smooth_values, *box, margin=BOUNDARY_MARGIN)
                x = x if restored is None or not fun_at(restored)[0] < fun_at(x)[0] else restored
            ends[i], values[i] = x, fun_at(x)[0]
        return ends, values

    def _random_walk(self, points: Matrix, rng: np.random.Generator) -> Matrix:
        """Allowed points (MIN_ALLOWED, d), ``N_ROUNDS`` hit-and-run steps away from some of the given ones (m, d)."""
        points = points[rng.integers(len(points), size=MIN_ALLOWED)]
        for _ in range(N_ROUNDS):
            points = self._hit_and_run(points, rng)
        return points

    def _hit_and_run(self, points: Matrix, rng: np.random.Generator) -> Matrix:
        """One hit-and-run step from each of the allowed points (m, d), to allowed points (m, d)."""
        (m, d), points = points.shape, points.copy()
        direction = rng.standard_normal((m, d))
        direction /= np.max(np.abs(direction), axis=1, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            ends = np.stack([-points / direction, (1 - points) / direction])
        ends = np.where(direction == 0, np.array([-np.inf, np.inf])[:, None, None], np.sort(ends, axis=0))
        low, high = np.max(ends[0], axis=1), np.min(ends[1], axis=1)
        waiting = np.arange(m)
        for _ in range(MAX_SHRINKS):
            t = low + (high - low) * rng.random(len(waiting))
            tried = np.clip(points[waiting] + t[:, None] * direction[waiting], 0.0, 1.0)
            allowed = self.allowed(tried)
            points[waiting[allowed]] = tried[allowed]
            low, high = np.where(t < 0, t, low)[~allowed], np.where(t < 0, high, t)[~allowed]
            waiting = waiting[~allowed]
            if len(waiting) == 0:
                break
        return points

    def _minimised(self, points: Matrix, values: Matrix) -> Matrix:
        """Allowed points (m, d), found by minimising the violation from some of the points (n, d), values (n, k)."""
        lower, upper = np.zeros(points.shape[1]), np.ones(points.shape[1])
        found = []
        violation = np.sum(np.maximum(values, 0.0) / self.scales, axis=1)
        least = np.argsort(violation, kind="stable")[: N_MINIMISATIONS // 2]
        # The first points of a Sobol sequence are spread over the whole cube.
        for i in np.unique([*least, *range(min(N_MINIMISATIONS, len(points)))]):
            if not self.smooth.any() or not np.isfinite(violation[i]):
                continue
            for margin in CONSTRAINT_MARGINS:
                x = least_violation(self._tightened(margin), points[i], lower, upper)
                if self.allowed(x[None, :])[0]:
                    found.append(x)
                    break
        return np.array(found).reshape(-1, points.shape[1])

    def _tightened(self, margin: float) -> Callable[[Vector], tuple[Vector, Matrix]]:
        """The smooth constraints with a margin added to their scaled values."""

        def tightened(x: Vector) -> tuple[Vector, Matrix]:
            values, gradients = self.smooth_values(x)
            return values + margin, gradients

        return tightened
