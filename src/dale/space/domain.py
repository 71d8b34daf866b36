"""What is left of a space: no point is asked twice while there is another.

Rounding to the user's units may make of a proposal a point that was seen before, or one that the constraints on the
inputs do not allow. Then a point far from all others takes its place.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.spatial.distance import cdist

from dale._arrays import Matrix, Vector
from dale.errors import SpaceExhausted
from dale.optim.sampling import far_from, farthest
from dale.space.allowed_set import AllowedSet
from dale.space.constraints import Constraints
from dale.space.space import Space

TRIES = 16  # for a point far from all others that is a new one when quantize
MANY = 4096  # points of a large finite space that are looked through for one that the constraints allow
ENUMERATED = 1024  # points of a finite space that is looked through as a whole instead
CANDIDATES = 512  # allowed points, of which the farthest from all others is taken


@dataclass(frozen=True)
class Untried:
    """The points of a space that may still be asked, given those seen.

    Attributes:
        space: The space.
        constraints: What the user allows of it.
        inputs: The same in the cube, for searches.
    """

    space: Space
    constraints: Constraints | None = None
    inputs: AllowedSet | None = None

    def check(self, seen: Matrix) -> None:
        """Raise ``SpaceExhausted`` where each point of a finite space is among those seen."""
        if self.exhausted(seen):
            raise _no_other(f"all {self.space.cardinality} points of the space")

    def exhausted(self, seen: Matrix) -> bool:
        """Whether each point of a finite space is among those seen."""
        n = self.space.cardinality
        return n is not None and n <= len(seen) and n <= len({p.tobytes() for p in seen})

    def allows(self, point: Vector) -> bool:
        """Whether the constraints on the inputs allow a point of the cube."""
        return self.constraints is None or self.constraints.allows(self.space.decode(point))

    def has(self, point: Vector, seen: Matrix) -> bool:
        """Whether a point (d,) of the cube is allowed and none of those seen (n, d)."""
        return not bool(np.any(np.all(seen == point, axis=1))) and self.allows(point)

    def another(self, seen: Matrix, rng: np.random.Generator) -> Vector:
        """A point that is far from those seen; where floats leave no other, one of them."""
        n = self.space.cardinality
        if n is not None and n <= ENUMERATED:
            left = [p for p in map(self.space.point, range(n)) if self.has(p, seen)]
            if not left:
                raise _no_other("all points of the space that the constraints allow")
            return left[np.argmax(np.min(cdist(left, seen), axis=1))] if len(seen) else left[0]
        for _ in range(TRIES):
            point = far_from_all(seen, self.space.dimension, rng, self.inputs, snap=self.space.snap_all)
            if self.has(point, seen):
                return point
        if n is not None:  # of one more than were seen, one is new
            first = int(rng.integers(min(n, 2**62)))
            tries = len(seen) + 1 if self.inputs is None else min(n, len(seen) + MANY)
            row = (self.space.point((first + k) % n) for k in range(tries))
            new = next((p for p in row if self.has(p, seen)), None)
            if new is None:
                raise _no_other("all points that the constraints allow, as far as they could be found,")
            return new
        # Where even rounding leads out of the allowed set, it is as thin as floats: a point of the pool again.
        return point if self.inputs is None or self.allows(point) else self.space.snap(self.inputs.pool[0])


def _no_other(what: str) -> SpaceExhausted:
    return SpaceExhausted(
        f"{what} have been asked, there is no other; "
        "tell those that are out and take the result, or make the space larger"
    )


def far_from_all(
    points: Matrix,
    dimension: int,
    rng: np.random.Generator,
    inputs: AllowedSet | None,
    snap: Callable[[Matrix], Matrix] | None = None,
) -> Vector:
    """An allowed point of the cube that is far from all given ones (n, d); with ``snap``, as the objective sees it."""
    if inputs is None:
        return far_from(points, dimension, rng, snap=snap)
    candidates = inputs.some(CANDIDATES, rng)
    return farthest(candidates if snap is None else snap(candidates), points)


class Rounding(NamedTuple):
    """Which points of the cube the objective can see, where it is not all of them.

    Attributes:
        n_parameters: That the coordinates stand for: several options take a coordinate each.
        snap: Points (m, d) as the objective sees them.
        free: Coordinates that move freely, (d,).
        ordered: Coordinates along which there is less and more, (d,): the free ones, whole numbers and steps.
        cells: How far it is from one whole number or step to the next, (d,); 0 where coordinates move freely.
        active: Which coordinates of points (m, d), as the objective sees them, stand for what it gets at all, (m, d).
    """

    n_parameters: int
    snap: Callable[[Matrix], Matrix]
    free: np.ndarray
    ordered: np.ndarray
    cells: Vector
    active: Callable[[Matrix], np.ndarray]
