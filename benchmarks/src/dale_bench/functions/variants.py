"""Moved and rotated variants of any test function, with the same minimum.

Let m be a minimiser of f in the unit cube (the one nearest the center, if there are several), t the place it goes to
and Q an orthogonal matrix. The variant is, in the unit cube,

    g(u) = f~(m + Q (u - t)),

with Q = I where it is only moved and t = m where it is only rotated. t is uniform in the central part of the cube, Q
uniform over all orthogonal matrices; both come from the seed and the name, so `f:moved:rotated` is `f:moved`, turned
about its minimiser as `f:rotated` is. As u covers its cube, the argument leaves the cube of f; f~ continues f there:

- Where the formula of f goes nowhere below the minimum, also outside its box (`Function.entire`: why, stands at each
  formula), f~ = f. A moved quadratic stays a quadratic, and nothing smooth gets a kink.
- Elsewhere (Michalewicz, Schwefel, samples of a GP, the real ones) f~ is f mirrored at the faces of its cube, again and
  again (each coordinate runs to and fro in a triangle wave): continuous, with a kink on the faces, and every value of
  f~ is a value of f in its box. Continuing f by its value at the nearest point of the cube would be as true, but where
  m lies near a face most of the box would show nothing but that face, drawn out.

Either way f~ >= min f everywhere and g(t) = f(m) = min f: the stated minimum is the true one. The box of g may hold
more minimisers than are listed: mirror images, or those that f has outside its box (Branin has one every 2 pi).
"""

from dataclasses import dataclass, replace

import numpy as np

from dale._arrays import Matrix, Vector
from dale_bench.functions.function import CENTRAL, Function, random_rotation, stream

VARIANTS = ("moved", "rotated")


@dataclass(frozen=True)
class Placed:
    """f~(anchor + rotation (u - place)), as a formula in the user's units."""

    base: Function
    anchor: Vector  # in the unit cube
    place: Vector  # in the unit cube
    rotation: Matrix

    def __call__(self, x: Vector) -> Vector:
        """Values at points x."""
        v = self.anchor + (self.base.to_cube(x) - self.place) @ self.rotation.T
        return continued(self.base, v)


def continued(base: Function, v: Vector) -> Vector:
    """f~ at v (..., d), in the unit cube or outside it."""
    if base.entire:
        return base.true(base.from_cube(v))
    return base.true(base.from_cube(1 - np.abs(1 - np.mod(v, 2))))


def vary(base: Function, variants: frozenset[str], seed: int) -> Function:
    """The function `base`, moved, rotated or both."""
    if not variants:
        return base
    d = base.dimension
    if "rotated" in variants and d == 1:
        raise ValueError(f"{base.name} has one dimension: there is nothing to rotate; ask for {base.name}:moved")
    known = base.to_cube(base.minimisers)  # (k, d)
    anchor = known[np.argmin(np.linalg.norm(known - 0.5, axis=-1))]
    place, rotation = anchor, np.eye(d)
    if "moved" in variants:
        place = stream(seed, f"{base.name}:moved").uniform(*CENTRAL, size=d)
    if "rotated" in variants:
        rotation = random_rotation(stream(seed, f"{base.name}:rotated"), d)
    images = place + (known - anchor) @ rotation  # Q' = Q^-1, for rows
    kept = np.vstack([place, images[np.all((images >= 0) & (images <= 1), axis=-1) & np.any(images != place, axis=-1)]])
    chosen = [variant for variant in VARIANTS if variant in variants]
    return replace(
        base,
        name=":".join([base.name, *chosen]),
        true=Placed(base, anchor, place, rotation),
        minimisers=base.from_cube(kept),
        formula=f"{base.formula}; {' and '.join(chosen)}",
        smooth=base.smooth and base.entire,
        entire=base.entire,
    )
