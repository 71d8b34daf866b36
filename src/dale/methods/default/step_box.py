"""Where a step of a region may end: the box |z_i| <= 1 in the frame of the region, cut with the unit cube.

In a ball the faces of the cube are bounds of single coordinates z_i. With a shape S they cut the box at an angle. There
the minimum is searched in the box alone at first. While it lies outside the cube, the coordinate of the cube that it
violates most is held at its face: with the rows A of D S that belong to the held coordinates, and A' = Q R,

    A z = (faces - c)   <=>   R' z'_1..k = (faces - c),   z = Q z',

so that in the rotated coordinates z' the first k are known and the others are searched in the box again. Nothing but
the orientation of the box changes, and that means nothing: the prior of the model is invariant to rotations. Once the
minimum lies in the cube, a coordinate is released if the function falls from its face inwards, as in an active-set
method: with the gradient g by z and A' m = g, in the least squares sense, m_i is the slope along the held coordinate i.

In the same way steps hold the coordinates that they must not move, and discrete coordinates keep the values of a start.

Shapes: k starts (k, d).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import qr, solve_triangular

from dale._arrays import Matrix, Vector
from dale.models.ellipsoid import Ellipsoid
from dale.optim.projected_newton import FunctionValues, Tolerance, minimize_on_box

N_DRAWS = 200  # random points of the box
FACE_TOLERANCE = 1e-12  # in radii: a coordinate this close to a face of the cube is set to it

Function = Callable[[Matrix], FunctionValues]


@dataclass(frozen=True, eq=False)
class StepBox:
    """The points that a step may reach.

    Attributes:
        frame: Center, radius and shape of the region.
        movable: Which coordinates of the cube a step moves, (d,).
        reach: Half the side of the box, in radii.
    """

    frame: Ellipsoid
    movable: np.ndarray
    reach: float = 1.0

    @cached_property
    def bounds(self) -> tuple[Vector, Vector]:
        """Bounds of z; with a shape, which acts on movable coordinates alone, they leave out the faces of the cube."""
        c, D = self.frame.center, self.frame.radius
        low, high = np.full(len(c), -self.reach), np.full(len(c), self.reach)
        if self.frame.shape is None:
            low, high = np.maximum(-c / D, low), np.minimum((1 - c) / D, high)
        return np.where(self.movable, low, 0.0), np.where(self.movable, high, 0.0)

    def draws(self, rng: np.random.Generator) -> Matrix:
        """Random points of the box in the cube, (m, d); half of them are scaled towards the center."""
        low, high = self.bounds
        Z = low + (high - low) * rng.random((N_DRAWS, len(low)))
        Z[::2] *= rng.random((N_DRAWS // 2, 1))
        return self.inside(Z)

    def inside(self, Z: Matrix) -> Matrix:
        """Points (m, d) in local coordinates, those outside the cube pulled back along the way from the center."""
        if self.frame.shape is None:
            return np.clip(Z, *self.bounds)
        steps = np.where(self.movable, self.frame.to_cube(Z) - self.frame.center, 0.0)
        room = np.where(steps > 0, 1 - self.frame.center, self.frame.center)
        with np.errstate(divide="ignore", invalid="ignore"):
            fraction = np.min(np.where(np.abs(steps) > room, room / np.abs(steps), 1.0), axis=1)
        return self.frame.to_local(self.frame.center + fraction[:, None] * steps)

    def minimize(
        self, fun: Function, starts: Matrix, tolerance: Tolerance, held: np.ndarray | None = None
    ) -> tuple[Vector, float]:
        """The lowest minimum of a function of z in the box and the cube, from several starts in them, and its value.

        Args:
            fun: The function with its derivatives.
            starts: In local coordinates.
            tolerance: When to stop.
            held: Coordinates of the cube that keep the values of their start, (d,), besides those that do not move.
        """
        fixed = ~self.movable if held is None else held | ~self.movable
        if self.frame.shape is None:
            _, low, high = self.holding(starts, fixed)
            z, values = minimize_on_box(fun, starts, low, high, tolerance=tolerance)
            i = _lowest(values)
            return z[i], float(values[i])
        return self._minimize_in_cube(fun, starts, tolerance, fixed)

    def _minimize_in_cube(
        self, fun: Function, starts: Matrix, tolerance: Tolerance, fixed: np.ndarray
    ) -> tuple[Vector, float]:
        """The lowest minimum in a shaped box and the cube, and its value; no higher than at the starts."""
        best: tuple[Vector, float] | None = None
        faces, tried = np.zeros_like(fixed), set()  # which coordinates are held at a face
        while True:
            z, value, x = self._minimize_shaped(fun, starts, tolerance, fixed | faces)
            face = np.round(np.clip(x, 0, 1))
            violation = np.where(fixed | faces, -np.inf, np.maximum(-x, x - 1))
            if np.max(violation) > FACE_TOLERANCE * self.frame.radius:
                best = best or _best_of(starts, fun(starts).value)
                faces[int(np.argmax(violation))] = True
            else:
                best = best if best and not value < best[1] else (z, value)
                descent = np.where(faces, np.where(face == 0, -1, 1) * self._slopes(fun, z, fixed | faces), -np.inf)
                if not np.max(descent) > 0:
                    return best
                faces[int(np.argmax(descent))] = False
            held = np.where(faces, face, -1).tobytes()
            if held in tried:
                return best
            tried.add(held)
            starts = self.frame.to_local(np.where(faces, face, x))[None, :]

    def _slopes(self, fun: Function, z: Vector, held: np.ndarray) -> Vector:
        """Slopes of a function along the coordinates of the cube that are held at a minimum z (d,); 0 along others."""
        assert self.frame.shape is not None
        slopes = np.zeros(len(z))
        if held.any():
            A = self.frame.radius * self.frame.shape[held]
            slopes[held] = np.linalg.lstsq(A.T, fun(z[None, :]).gradient[0], rcond=None)[0]
        return slopes

    def _minimize_shaped(
        self, fun: Function, starts: Matrix, tolerance: Tolerance, fixed: np.ndarray
    ) -> tuple[Vector, float, Vector]:
        """The lowest minimum in the box, its value and its point of the cube; ``fixed`` coordinates do not move."""
        Q, low, high = self.holding(starts, fixed)
        rotated = _rotated(fun, Q) if fixed.any() else fun
        Z, values = minimize_on_box(rotated, starts @ Q, low, high, tolerance=tolerance)
        i = _lowest(values)
        z = Q @ Z[i]
        return z, float(values[i]), self.frame.to_cube(z)

    def holding(self, starts: Matrix, fixed: np.ndarray) -> tuple[Matrix, Matrix, Matrix]:
        """Coordinates z' = Q' z in which ``fixed`` coordinates of the cube (d,) keep the values of the starts (k, d).

        Returns:
            Q (d, d), and bounds of z', (k, d): equal ones where it is known.
        """
        frame, Q = self.frame, np.eye(len(fixed))
        if frame.shape is None:
            low, high = self.bounds
            return Q, np.where(fixed, starts, low), np.where(fixed, starts, high)
        low, high = np.full(starts.shape, -self.reach), np.full(starts.shape, self.reach)
        if fixed.any():
            A = frame.radius * frame.shape[fixed]
            Q, R = qr(A.T)
            steps = frame.to_cube(starts)[:, fixed] - frame.center[fixed]
            low[:, : len(A)] = high[:, : len(A)] = solve_triangular(R[: len(A)], steps.T, trans=1).T
        return Q, low, high

    def point(self, z: Vector) -> Vector:
        """The point of the cube; coordinates at a face are exactly 0 or 1, unmovable ones exactly the center's."""
        x = np.where(self.movable, self.frame.to_cube(z), self.frame.center)
        near = FACE_TOLERANCE * self.frame.radius
        return np.where(x <= near, 0.0, np.where(x >= 1 - near, 1.0, x))


def _lowest(values: Vector) -> int:
    return int(np.argmin(np.where(np.isnan(values), np.inf, values)))


def _best_of(Z: Matrix, values: Vector) -> tuple[Vector, float]:
    """The point with the lowest value, and that; infinity instead of NaN."""
    i = _lowest(values)
    return Z[i], np.inf if np.isnan(values[i]) else float(values[i])


def _rotated(fun: Function, Q: Matrix) -> Function:
    """The function in the coordinates z' with z = Q z'."""

    def rotated(Z: Matrix) -> FunctionValues:
        value, gradient, hessian = fun(Z @ Q.T)
        return FunctionValues(value, gradient @ Q, Q.T @ hessian @ Q)

    return rotated
