"""The next step of a trust region: the maximum of log EI, or the minimum of the mean, of its Taylor model in its box.

Log EI takes the std of the model into account, so steps that improve the geometry of the data need no separate rule.
The search for its maximum starts at the minimum of the mean (by Newton's method) and at the best of many random points.
The step goes to the minimum of the mean itself in two cases:

- After an odd number of failures in a row: close to a minimum, an overstated std can mislead log EI repeatedly.
- If the model is certain of its predicted reduction. If it is also certain of a lower minimum outside the box, as for a
  linear or quadratic function with redundant observations, the step leaves the box (a long step).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dale._arrays import Matrix, Vector
from dale.acquisition.base import maximize_acquisition
from dale.acquisition.expected_improvement import LogExpectedImprovement
from dale.methods.default.local_model import LocalProblem
from dale.methods.default.trust_region import BOUNDARY_STEP
from dale.models.base import Prediction
from dale.models.preprocessing import quantize
from dale.models.taylor import TaylorModel
from dale.optim.projected_newton import Tolerance, minimize_on_box
from dale.space.domain import Domain

LOG_EI = LogExpectedImprovement()
N_DRAWS = 200  # random points of the box
MEAN_TOLERANCE = Tolerance(gtol=1e-15, ftol=1e-15)  # gtol relative to the gradient at the center
LOG_EI_TOLERANCE = Tolerance(gtol=1e-5, ftol=1e-9)
MAX_UNCERTAINTY = 0.05  # std plus remainder of a certain step, relative to the predicted reduction
STEP_RESOLUTION = 2.0**-12  # of the step's length; finer digits would only carry rounding errors
CERTAIN_RESOLUTION = 2.0**-26  # of a certain step's length
NEIGHBOUR_WEIGHT = 0.03  # weight of the EI at neighbouring integers outside the box
N_STARTS = 4  # snapped points from which log EI is maximised
BOUNDARY_TOLERANCE = 1e-12  # in radii: a coordinate this close to a face of the cube is set to it


@dataclass(frozen=True, eq=False)
class Step:
    """A step of a trust region.

    Attributes:
        point: Its end in the cube, (d,).
        z: The same in the coordinates of the model.
        log_ei: Log EI; with constraints, log EI + log P(feasible).
        mean: Predicted value minus the value at the center.
        std: Its standard deviation.
        lowest: Minimum of the mean in the box, minus the value at the center.
        certain: Whether the model is certain of the predicted reduction.
        model: The model of the objective.
        violation_reduction: Predicted reduction of the violation of outcome constraints while no observation is
            feasible; None otherwise.
    """

    point: Vector
    z: Vector
    log_ei: float
    mean: float
    std: float
    lowest: float
    certain: bool
    model: TaylorModel
    violation_reduction: float | None = None


class StepBounds(NamedTuple):
    """Bounds of a step, in the coordinates of the model.

    Attributes:
        faces: Lower and upper faces of the cube, each (d,).
        cube: The same, but 0 for coordinates that a step does not move.
        lower: Lower bounds of the region's box, (d,).
        upper: Upper bounds of the region's box, (d,).
        draws: Random points of the box, (m, d); half of them are scaled towards the center.
    """

    faces: tuple[Vector, Vector]
    cube: tuple[Vector, Vector]
    lower: Vector
    upper: Vector
    draws: Matrix


def step_bounds(center: Vector, radius: float, domain: Domain, rng: np.random.Generator) -> StepBounds:
    """The bounds of a region. Options and parameters that are inactive at its center do not move."""
    faces = -center / radius, (1 - center) / radius
    movable = True if domain.is_continuous else domain.ordered & domain.active(center[None, :])[0]
    cube = np.where(movable, faces[0], 0.0), np.where(movable, faces[1], 0.0)
    lower, upper = np.maximum(cube[0], -1.0), np.minimum(cube[1], 1.0)
    draws = lower + (upper - lower) * rng.random((N_DRAWS, len(center)))
    draws[::2] *= rng.random((N_DRAWS // 2, 1))
    return StepBounds(faces, cube, lower, upper, draws)


def best_step(problem: LocalProblem, rng: np.random.Generator) -> Step:
    """The best step of a region without constraints.

    In a space with discrete parameters, the step ends at a point of the domain, and options do not change.
    """
    X, y, domain = problem.X, problem.y, problem.domain
    c, D, best = X[problem.center], problem.region.radius, float(np.min(y))
    model = problem.fit(y, best)
    faces, cube, lower, upper, draws = step_bounds(c, D, domain, rng)
    mean, std = model.predict(draws)
    z, lowest = lowest_mean(model, np.array([np.zeros_like(c), draws[np.argmin(mean)]]), lower, upper, problem.atol)
    certain = model.n_points > len(c) and is_certain(model, z, lowest)
    far = _long_step(model, z, lowest, cube, problem.atol) if certain and problem.settings.allow_long_steps else None
    target = best - float(y[problem.center])
    if far is not None:
        z, lowest = far
    elif not certain and (int(problem.region.failures) % 2 == 0 or not lowest < 0):
        start = draws[np.argmax(LOG_EI(Prediction(mean, std), target))]
        maxima, values = maximize_acquisition(
            LOG_EI, model.derivatives, target, np.array([z, start]), lower, upper, tolerance=LOG_EI_TOLERANCE
        )
        z = maxima[int(np.argmax(np.where(np.isnan(values), -np.inf, values)))]
    low, high = (np.abs(z - face) <= BOUNDARY_TOLERANCE for face in faces)
    resolution = CERTAIN_RESOLUTION if certain else STEP_RESOLUTION
    z = np.where(low | high, z, quantize(z, resolution * _power_of_two(float(np.max(np.abs(z))))))
    x = np.where(low, 0.0, np.where(high, 1.0, np.clip(c + D * z, 0.0, 1.0)))
    if not domain.is_continuous:
        x = _best_snapped(model, domain, problem.seen, np.vstack([x, c + D * draws]), target)
        z = (x - c) / D
    mean_there, std_there = model.predict(z[None, :])
    if not domain.is_continuous:  # the minimum of the mean between points of the domain cannot be evaluated
        lowest = float(mean_there[0])
        certain = certain and is_certain(model, z, lowest)
    log_ei = LOG_EI(Prediction(mean_there, std_there), target)
    return Step(x, z, float(log_ei[0]), float(mean_there[0]), float(std_there[0]), lowest, certain, model)


def _long_step(
    model: TaylorModel, z: Vector, lowest: float, cube: tuple[Vector, Vector], atol: float
) -> tuple[Vector, float] | None:
    """The minimum of the mean in the cube; None unless it is lower than in the box and the model certain of it."""
    if np.max(np.abs(z)) < BOUNDARY_STEP:
        return None
    far, value = lowest_mean(model, z[None, :], *cube, atol)
    return (far, value) if value < lowest and is_certain(model, far, value) else None


def lowest_mean(model: TaylorModel, starts: Matrix, lower: Vector, upper: Vector, atol: float) -> tuple[Vector, float]:
    """The minimum of the mean in a box, from the starts (m, d) and from the corner that the gradient points to."""
    starts = np.vstack([starts, np.where(model.gradient > 0, lower, upper)])
    steepest = max(float(np.max(np.abs(model.gradient))), np.finfo(float).tiny)
    tolerance = Tolerance(MEAN_TOLERANCE.gtol * steepest, MEAN_TOLERANCE.ftol, atol)
    Z, values = minimize_on_box(model.mean_derivatives, starts, lower, upper, tolerance=tolerance)
    i = int(np.argmin(values))
    return Z[i], float(values[i])


def _best_snapped(model: TaylorModel, domain: Domain, X: Matrix, A: Matrix, target: float) -> Vector:
    """Of points A (m, d), snapped to the domain, the one with the highest log EI that is not in X (n, d).

    Log EI is maximised over the continuous coordinates; the others keep their values. Neighbouring integers are
    candidates too, however small the box is. The continuous coordinates may then move as far as the integer does.
    The first point if all of them are in X.
    """
    A = domain.snap(np.clip(A, 0.0, 1.0))
    seen = {x.tobytes() for x in X}
    new = np.array([a for a in A if a.tobytes() not in seen]).reshape(-1, A.shape[1])
    if len(new) == 0:
        return A[0]
    z, log_ei = _maximized(model, domain, new, 1.0, target)
    neighbours = np.array([a for a in _neighbours(model.center, domain) if a.tobytes() not in seen])
    if len(neighbours):
        max_norm = max(1.0, float(np.max(domain.spacing)) / model.radius)
        z_neighbour, log_ei_neighbour = _maximized(model, domain, neighbours, max_norm, target)
        if log_ei_neighbour + math.log(NEIGHBOUR_WEIGHT) > log_ei:
            z = z_neighbour
    return domain.snap(np.clip(model.center + model.radius * z[None, :], 0.0, 1.0))[0]


def _neighbours(center: Vector, domain: Domain) -> Matrix:
    """The center with one integer or stepped coordinate moved to the next or previous value, (m, d)."""
    stepped = np.flatnonzero(domain.ordered & ~domain.continuous & domain.active(center[None, :])[0])
    shifts = np.zeros((2 * len(stepped), len(center)))
    shifts[np.arange(len(stepped)), stepped] = domain.spacing[stepped]
    shifts[len(stepped) + np.arange(len(stepped)), stepped] = -domain.spacing[stepped]
    return domain.snap(np.clip(center + shifts, 0.0, 1.0))


def _maximized(model: TaylorModel, domain: Domain, A: Matrix, max_norm: float, target: float) -> tuple[Vector, float]:
    """The highest log EI from the best of points A (m, d), over the continuous coordinates; and its value."""
    Z = (A - model.center) / model.radius
    at_starts = LOG_EI(model.predict(Z), target)
    z = Z[np.argsort(-at_starts, kind="stable")[:N_STARTS]]
    free = domain.free(model.center)
    if not free.any():
        return z[0], float(np.max(at_starts))
    low, high = (np.clip((face - model.center) / model.radius, -max_norm, max_norm) for face in (0.0, 1.0))
    lower, upper = np.where(free, low, z), np.where(free, high, z)
    maxima, values = maximize_acquisition(
        LOG_EI, model.derivatives, target, z, lower, upper, tolerance=LOG_EI_TOLERANCE
    )
    values = np.where(np.isnan(values), -np.inf, values)
    return maxima[int(np.argmax(values))], float(np.max(values))


def is_certain(model: TaylorModel, z: Vector, mean: float) -> bool:
    """Whether std and remainder at z (d,) are small relative to the predicted reduction, -mean."""
    std = float(model.predict(z[None, :])[1][0])
    return std + float(model.remainder(float(np.linalg.norm(z)))) < -MAX_UNCERTAINTY * mean


def _power_of_two(length: float) -> float:
    """The next power of two; 1 for a step of length 0."""
    return 2.0 ** math.ceil(math.log2(length)) if length > 0 else 1.0
