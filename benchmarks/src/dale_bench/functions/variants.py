"""Moved and rotated variants of any test function, with the same minimum.

Let m be a minimiser of f in the unit cube (the one closest to the center, if there are several), t its new place and Q
an orthogonal matrix. In the unit cube, the variant is

    g(u) = f~(m + Q (u - t)),

with Q = I if it is only moved and t = m if it is only rotated. t is uniform in the central part of the cube, and Q
is uniform over all orthogonal matrices. Both depend on the seed and the name, so `f:moved:rotated` is `f:moved`,
rotated about its minimiser as `f:rotated` is. For some u the argument is outside the cube of f, where f~ extends f:

- If the formula of f is nowhere below the minimum, even outside the box (`Function.entire`; each formula gives the
  reason), f~ = f. A moved quadratic stays a quadratic, and smooth functions stay smooth.
- Otherwise (Michalewicz, Schwefel, GP samples, the real problems) f~ is f reflected at the faces of its cube: each
  coordinate follows a triangle wave. f~ is continuous with kinks on the faces, and all its values are values of f in
  its box. The value at the nearest point of the cube would be another valid extension, but if m is close to a face,
  most of the box would be an extrusion of that face.

In both cases f~ >= min f everywhere and g(t) = f(m) = min f, so the stated minimum is correct. The box of g may contain
more minimisers than the listed ones: reflections, or those that f has outside its box (Branin has one every 2 pi).
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
        raise ValueError(f"expected at least two dimensions to rotate, got {base.name}; use {base.name}:moved")
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
