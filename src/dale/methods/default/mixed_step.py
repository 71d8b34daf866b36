"""The end of a step in a space with discrete parameters: the best point of the domain near its region.

The region's box is searched as if all coordinates were continuous (``local_step.py``). Its best points are snapped to
the domain, and from there log EI is maximised over the continuous coordinates. Neighbouring values of integer and
stepped coordinates are candidates too, however small the box is, until something near them has been observed: far from
the box, the model has a large std whatever is known there, and its log EI would lead there repeatedly. In a shape the
continuous coordinates follow where discrete ones are snapped or moved, so that points in a narrow valley stay in it.
"""

from __future__ import annotations

import math

import numpy as np

from dale._arrays import Matrix, Vector
from dale.methods.default.local_model import LocalProblem
from dale.methods.default.step_box import StepBox
from dale.models.ellipsoid import Ellipsoid
from dale.optim.projected_newton import Tolerance
from dale.space.domain import Domain

LOG_EI_TOLERANCE = Tolerance(gtol=1e-5, ftol=1e-9)
NEIGHBOUR_WEIGHT = 0.03  # weight of the EI at neighbouring integers outside the box
N_STARTS = 4  # snapped points from which log EI is maximised


def best_snapped(problem: LocalProblem, A: Matrix, target: float) -> Vector:
    """Of points A (m, d), snapped to the domain, the one with the highest log EI that has not been observed.

    Log EI is maximised over the continuous coordinates; the others keep their values. Unexplored neighbouring integers
    are candidates too, however small the box is. The continuous coordinates may then move as far as the integer does.
    The first point if all of them have been observed.
    """
    model, domain = problem.objective, problem.domain
    A = snap(model.frame, domain, A)
    seen = {x.tobytes() for x in problem.seen}
    new = np.array([a for a in A if a.tobytes() not in seen]).reshape(-1, A.shape[1])
    near, norm = neighbours(model.frame, domain, problem.seen)
    if len(new) + len(near) == 0:
        return A[0]
    z, log_ei = _maximized(problem, new, 1.0, target) if len(new) else (np.zeros(A.shape[1]), -math.inf)
    if len(near):
        z_neighbour, log_ei_neighbour = _maximized(problem, near, max(1.0, norm), target)
        if log_ei_neighbour + math.log(NEIGHBOUR_WEIGHT) > log_ei:
            z = z_neighbour
    return domain.snap(np.clip(model.frame.to_cube(z[None, :]), 0.0, 1.0))[0]


def snap(frame: Ellipsoid, domain: Domain, A: Matrix) -> Matrix:
    """Points A (m, d) of a region, snapped to the domain; in a shape, continuous coordinates follow the discrete ones.

    They move by the shortest step, in the metric of the region, that leads to the values of the discrete ones. A point
    in a narrow valley thus stays in it.
    """
    snapped = domain.snap(np.clip(A, 0.0, 1.0))
    free = domain.free(frame.center)
    if frame.shape is None or not free.any():
        return snapped
    steps = _shortest(frame.shape, snapped - A, ~free)
    return domain.snap(np.clip(np.where(free, A + steps, snapped), 0.0, 1.0))


def _shortest(shape: Matrix, steps: Matrix, held: np.ndarray) -> Matrix:
    """The shortest steps in the metric of a shape that move held coordinates as given ones (m, d) do, (m, d)."""
    return np.asarray(steps[:, held] @ (shape @ np.linalg.pinv(shape[held])).T)


def neighbours(frame: Ellipsoid, domain: Domain, seen: Matrix) -> tuple[Matrix, float]:
    """The center with one integer or stepped coordinate moved to the next or previous value, (m, d).

    In a shape also with the continuous coordinates following. Without those that are explored by the points seen
    (n, d). The second result is the largest norm, in radii, of the shortest steps that lead to these values.
    """
    center, free = frame.center, domain.free(frame.center)
    stepped = np.flatnonzero(domain.ordered & ~domain.continuous & domain.active(center[None, :])[0])
    shifts = np.zeros((2 * len(stepped), len(center)))
    shifts[np.arange(len(stepped)), stepped] = domain.spacing[stepped]
    shifts[len(stepped) + np.arange(len(stepped)), stepped] = -domain.spacing[stepped]
    A = domain.snap(np.clip(center + shifts, 0.0, 1.0))
    steps = A - center
    if frame.shape is not None:
        steps = _shortest(frame.shape, steps, ~free)
        A = np.vstack([A, domain.snap(np.clip(np.where(free, center + steps, A), 0.0, 1.0))])
    norm = float(np.max(np.linalg.norm(frame.to_local(center + steps), axis=1), initial=0.0))
    return A[[not is_explored(a, frame, domain, seen) for a in A]], norm


def is_explored(point: Vector, frame: Ellipsoid, domain: Domain, seen: Matrix) -> bool:
    """Whether something is known near a point (d,) with other values of the discrete coordinates than the center.

    A point seen (n, d) has the same values of the discrete coordinates and is, in the metric of the region, at most as
    far from it as the center is.
    """
    same = seen[np.all((seen == point) | domain.free(frame.center), axis=1)]
    z = frame.to_local(point)
    return bool(np.any(np.max(np.abs(frame.to_local(same) - z), axis=1, initial=0.0) <= np.linalg.norm(z)))


def _maximized(problem: LocalProblem, A: Matrix, reach: float, target: float) -> tuple[Vector, float]:
    """The highest log EI from the best of points A (m, d), over the continuous coordinates; and its value."""
    model = problem.objective
    Z = model.frame.to_local(A)
    at_starts = problem.log_acquisition(Z, target)
    starts = Z[np.argsort(-at_starts, kind="stable")[:N_STARTS]]
    free = problem.domain.free(model.center)
    if not free.any():
        return starts[0], float(np.max(at_starts))
    z, loss = StepBox(model.frame, problem.movable, reach).minimize(
        problem.negative_log_acquisition(target), starts, LOG_EI_TOLERANCE, held=~free
    )
    return z, -loss
