"""The domain of the search: the unit cube, snapped to the values that parameters can take, less disallowed points.

Values in the user's units are rounded to integers, steps and options, so many points of the cube are the same point to
the objective. A proposal is snapped to the point that the objective receives. If that was proposed before, or if the
input constraints do not allow it, a space-filling point replaces it. No point is proposed twice while another is left.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.distance import cdist

from dale._arrays import Matrix, Vector, frozen
from dale.errors import SpaceError, SpaceExhausted
from dale.optim.sampling import far_from, farthest
from dale.space.allowed_set import AllowedSet
from dale.space.constraints import Constraints, as_constraints
from dale.space.held import Held
from dale.space.point import Params
from dale.space.space import Space

N_TRIES = 16  # attempts to find a space-filling point that is new after snapping
N_CANDIDATES = 512  # allowed points from which the farthest from all others is chosen
MAX_ENUMERATED = 1024  # finite spaces with at most this many points are enumerated
MAX_SEARCHED = 4096  # points of a larger finite space that are searched for an allowed one


class Admitted(NamedTuple):
    """A point that may be evaluated.

    Attributes:
        unit_x: The point in the unit cube, snapped, (d,).
        params: The point in the user's units.
        replaced: Whether it replaces the proposed point.
    """

    unit_x: Vector
    params: Params
    replaced: bool


@dataclass(frozen=True, eq=False)
class Domain:
    """The points of the unit cube that may be proposed.

    Attributes:
        space: The user's space.
        constraints: Input constraints in the user's units; None for none.
        allowed_set: The same in the cube; None for none.
        held: Parameters that are held at given values; None for none.
    """

    space: Space
    constraints: Constraints | None = None
    allowed_set: AllowedSet | None = None
    held: Held | None = None

    @classmethod
    def of(cls, space: Space, constraints: Constraints | None = None) -> Domain:
        """The domain of a space and its input constraints; equalities imply some.

        Raises:
            SpaceError: No point that the constraints allow was found.
        """
        constraints = as_constraints(None, space) if constraints is None else constraints
        if constraints is None:
            return cls(space)
        allowed_set = AllowedSet.of(
            constraints.allowed,
            constraints.values,
            lambda: constraints.boolean,
            space.dimension,
            lambda: constraints.last_error,
        )
        return cls(space, constraints, allowed_set)

    @classmethod
    def unit(cls, dimension: int) -> Domain:
        """The whole cube."""
        return cls(Space.from_pairs([(0.0, 1.0)] * dimension))

    def holding(self, fixed: Any) -> Domain:
        """The slice of this domain in which some parameters have given values.

        Raises:
            SpaceError: There are input constraints, or the values are not in the space.
        """
        if self.allowed_set is not None:
            raise SpaceError(
                "fixed: parameters cannot be held under input constraints; give them bounds of equal values instead"
            )
        return replace(self, held=Held.of(fixed, self.space))

    @property
    def dimension(self) -> int:
        """Number of coordinates."""
        return self.space.dimension

    @cached_property
    def n_ordered(self) -> int:
        """Number of coordinates that are not those of options, at least 1; as all of them, whether held or not."""
        return max(int(np.sum(self.space.ordered)), 1)

    @cached_property
    def n_parameters(self) -> int:
        """Number of parameters that vary; a parameter with options may take several coordinates."""
        held = () if self.held is None else self.held.values
        return sum(self.space.n_coordinates(name) > 0 and name not in held for name in self.space.names)

    @cached_property
    def is_continuous(self) -> bool:
        """Whether all coordinates are continuous, so that snapping changes no point."""
        return bool(self.continuous.all())

    @cached_property
    def continuous(self) -> np.ndarray:
        """Which coordinates are continuous and not held, (d,)."""
        return self.space.continuous if self.held is None else self.space.continuous & ~self.held.columns

    @cached_property
    def ordered(self) -> np.ndarray:
        """Which coordinates have ordered values and are not held, (d,): continuous ones, integers and steps."""
        return self.space.ordered if self.held is None else self.space.ordered & ~self.held.columns

    @property
    def spacing(self) -> Vector:
        """Distance from one integer or step to the next, (d,); 0 where coordinates are continuous."""
        return self.space.spacing

    def snap(self, X: Matrix) -> Matrix:
        """Points (m, d), moved to the nearest values that their parameters can take, or to those that are held."""
        return self.space.snap_all(X if self.held is None else self.held.applied_to(X))

    def contains(self, X: Matrix) -> np.ndarray:
        """Which points (m, d) of the space have the values that are held, (m,)."""
        return np.ones(len(X), dtype=bool) if self.held is None else self.held.contains(X)

    def active(self, X: Matrix) -> np.ndarray:
        """Which coordinates of snapped points (m, d) belong to active parameters, (m, d)."""
        return self.space.active(X)

    def free(self, x: Vector) -> np.ndarray:
        """Which coordinates are continuous and active at a snapped point (d,), (d,)."""
        return self.continuous & self.active(x[None, :])[0]

    def allowed(self, X: Matrix) -> np.ndarray:
        """Which points (m, d) the input constraints allow, (m,)."""
        return np.ones(len(X), dtype=bool) if self.allowed_set is None else self.allowed_set.allowed(X)

    def allows(self, x: Vector) -> bool:
        """Whether the input constraints allow one point (d,)."""
        return self.constraints is None or self.constraints.allows(self.space.decode(x))

    def exhausted(self, seen: Matrix) -> bool:
        """Whether every point of a finite space is among those seen (n, d)."""
        n = self._cardinality
        return n is not None and n <= len(seen) and n <= len({p.tobytes() for p in seen[self.contains(seen)]})

    @cached_property
    def _cardinality(self) -> int | None:
        """Number of different points; None if it is not finite, or not known because parameters are conditional."""
        n = self.space.cardinality
        if n is None or self.held is None:
            return n
        if n <= MAX_ENUMERATED:
            return len(self._all_points)
        held = math.prod(self.space.parameters[name].cardinality or 1 for name in self.held.values)
        return None if self.space.conditions else n // held

    @cached_property
    def _all_points(self) -> list[Vector]:
        """All points of a small finite space."""
        points = (self._nth(k) for k in range(self.space.cardinality or 0))
        return list({p.tobytes(): p for p in points}.values())

    def _nth(self, k: int) -> Vector:
        """Point number k of a finite space; where parameters are held, several numbers have the same point."""
        point = self.space.encode_index(k)
        return point if self.held is None else frozen(self.snap(point[None, :])[0])

    def admit(self, x: Vector, seen: Matrix, rng: Callable[[], np.random.Generator]) -> Admitted:
        """The point x (d,), snapped; a space-filling point if that is among those seen (n, d) or not allowed.

        Raises:
            SpaceExhausted: No new point is left.
        """
        snapped = frozen(self.snap(x[None, :])[0])
        if self.is_new(snapped, seen):
            return self._admitted(snapped, replaced=False)
        return self._admitted(self.space_filling_point(seen, rng()), replaced=True)

    def _admitted(self, x: Vector, *, replaced: bool) -> Admitted:
        params = self.space.decode(x)
        params, unit_x = self.space.read(params) if self.held is None else self.held.read(params)
        return Admitted(unit_x, params, replaced)

    def check_not_exhausted(self, seen: Matrix) -> None:
        """Raise ``SpaceExhausted`` if every point of a finite space is among those seen (n, d)."""
        if self.exhausted(seen):
            raise self._exhausted(f"all {self._cardinality} points of the space")

    def is_new(self, x: Vector, seen: Matrix) -> bool:
        """Whether a snapped point (d,) is allowed and not among those seen (n, d)."""
        return not bool(np.any(np.all(seen == x, axis=1))) and self.allows(x)

    def far_from(self, points: Matrix, rng: np.random.Generator, *, snap: bool = False) -> Vector:
        """An allowed point far from all given ones (n, d); with ``snap``, it is snapped."""
        if self.allowed_set is None:
            return far_from(points, self.dimension, rng, snap=self.snap if snap else None)
        candidates = self.allowed_set.sample(N_CANDIDATES, rng)
        return farthest(self.snap(candidates) if snap else candidates, points)

    def space_filling_point(self, seen: Matrix, rng: np.random.Generator) -> Vector:
        """A new point far from those seen (n, d); a seen point if floating-point numbers leave no other.

        Raises:
            SpaceExhausted: All allowed points of a finite space have been seen.
        """
        n = self.space.cardinality
        if n is not None and n <= MAX_ENUMERATED:
            left = [p for p in self._all_points if self.is_new(p, seen)]
            if not left:
                raise self._exhausted("all points of the space", " that the constraints allow")
            return left[np.argmax(np.min(cdist(left, seen), axis=1))] if len(seen) else left[0]
        for _ in range(N_TRIES):
            point = self.far_from(seen, rng, snap=True)
            if self.is_new(point, seen):
                return point
        if n is not None:
            return self._next_new(n, seen, rng)
        # The allowed set is so thin that rounding leads out of it: return a point of the pool again.
        return point if self.allowed_set is None or self.allows(point) else self.space.snap(self.allowed_set.pool[0])

    def _next_new(self, n: int, seen: Matrix, rng: np.random.Generator) -> Vector:
        """A new point of a finite space of n points, by enumeration from a random one."""
        first = int(rng.integers(min(n, 2**62)))
        # Among len(seen) + 1 points at least one is new, but the constraints may not allow it.
        tries = len(seen) + 1 if self.allowed_set is None and self.held is None else min(n, len(seen) + MAX_SEARCHED)
        row = (self._nth((first + k) % n) for k in range(tries))
        new = next((p for p in row if self.is_new(p, seen)), None)
        if new is None:
            raise self._exhausted("all points", " that the constraints allow and that were found")
        return new

    def _exhausted(self, points: str, limits: str = "") -> SpaceExhausted:
        then = "make the space larger"
        if self.held is not None:  # then there are no constraints
            limits, then = f" with the held values {self.held}", "hold other values"
        return SpaceExhausted(
            f"{points}{limits} have been proposed; report the pending ones and call result(), or {then}"
        )
