"""The next step of one Taylor region: where its model promises most inside the region's box.

Log EI as everywhere else: the std of the model makes steps that improve its geometry attractive by themselves. The
search starts at the minimum of the mean (Newton on a polynomial) and at the best of many random points. After a
failure, every other step goes to the minimum of the mean itself: where little is left to gain, a std of twice as
much leads log EI astray again and again. So does a step of which the model is all but certain; and where it is so much
farther out (a linear or quadratic function, seen with redundant points) the box is the cube.
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
RANDOM_POINTS = 200
EXACT = Tolerance(gtol=1e-15, ftol=1e-15)  # the gradient in units of that at the center
ROUGH = Tolerance(gtol=1e-5, ftol=1e-9)
CERTAIN = 0.05  # std and remainder, as a part of the predicted decrease
STEP_RESOLUTION = (
    2.0**-12
)  # of the step's length: a step cannot be this exact, so finer digits would carry rounding errors
CERTAIN_RESOLUTION = 2.0**-26  # of a certain step's
OUTSIDE = 0.03  # what the promise of the next whole number counts for, beside those of the box
CLIMBED = 4  # points that the objective sees, how many are climbed from
SAME_FACE = 1e-12  # a coordinate this near to a face of the cube, in radii, is on it


@dataclass(frozen=True, eq=False)
class Step:
    """What a region proposes.

    Attributes:
        point: In the cube, (d,).
        z: The same in the model's coordinates.
        log_ei: Log EI, with log P(feasible) under constraints.
        mean: Predicted value minus that of the center.
        std: Its standard deviation.
        lowest: Minimum of the mean in the box, minus the center's value.
        certain: Whether the model is all but certain of it.
        model: The model that proposes it.
        violation_reduction: How far it lowers the violation of outcome constraints, where nothing is feasible yet.
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
    """Where a step may go, in the coordinates of a model around its center.

    Attributes:
        faces: Lower and upper ones of the cube, each (d,).
        cube: The same, 0 for coordinates that a step does not move.
        lower: Of the region's box, (d,).
        upper: The same.
        draws: Random points of the box, (m, d), half of them towards the center.
    """

    faces: tuple[Vector, Vector]
    cube: tuple[Vector, Vector]
    lower: Vector
    upper: Vector
    draws: Matrix


def step_bounds(center: Vector, radius: float, domain: Domain, rng: np.random.Generator) -> StepBounds:
    """Of a region: options, and what is inactive at its center, do not move."""
    faces = -center / radius, (1 - center) / radius
    moves = True if domain.is_continuous else domain.ordered & domain.active(center[None, :])[0]
    cube = np.where(moves, faces[0], 0.0), np.where(moves, faces[1], 0.0)
    lower, upper = np.maximum(cube[0], -1.0), np.minimum(cube[1], 1.0)
    draws = lower + (upper - lower) * rng.random((RANDOM_POINTS, len(center)))
    draws[::2] *= rng.random((RANDOM_POINTS // 2, 1))
    return StepBounds(faces, cube, lower, upper, draws)


def best_step(problem: LocalProblem, rng: np.random.Generator) -> Step:
    """The best step of a region without constraints.

    Where the objective does not see all points, integers are stepped to the nearest ones, and options stay.
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
        tops, levels = maximize_acquisition(
            LOG_EI, model.derivatives, target, np.array([z, start]), lower, upper, tolerance=ROUGH
        )
        z = tops[int(np.argmax(np.where(np.isnan(levels), -np.inf, levels)))]
    low, high = (np.abs(z - face) <= SAME_FACE for face in faces)
    resolution = CERTAIN_RESOLUTION if certain else STEP_RESOLUTION
    z = np.where(low | high, z, quantize(z, resolution * _power_of_two(float(np.max(np.abs(z))))))
    x = np.where(low, 0.0, np.where(high, 1.0, np.clip(c + D * z, 0.0, 1.0)))
    if not domain.is_continuous:
        x = _best_seen(model, domain, problem.seen, np.vstack([x, c + D * draws]), target)
        z = (x - c) / D
    mean_there, std_there = model.predict(z[None, :])
    if not domain.is_continuous:  # nothing can be gained between the points that the objective sees
        lowest = float(mean_there[0])
        certain = certain and is_certain(model, z, lowest)
    log_ei = LOG_EI(Prediction(mean_there, std_there), target)
    return Step(x, z, float(log_ei[0]), float(mean_there[0]), float(std_there[0]), lowest, certain, model)


def _long_step(
    model: TaylorModel, z: Vector, lowest: float, cube: tuple[Vector, Vector], atol: float
) -> tuple[Vector, float] | None:
    """The minimum of the mean in the whole cube, if it is lower than that in the box and the model certain of it."""
    if np.max(np.abs(z)) < BOUNDARY_STEP:
        return None
    far, value = lowest_mean(model, z[None, :], *cube, atol)
    return (far, value) if value < lowest and is_certain(model, far, value) else None


def lowest_mean(model: TaylorModel, starts: Matrix, lower: Vector, upper: Vector, least: float) -> tuple[Vector, float]:
    """The minimum of the mean in a box, from the starts (m, d) and from the corner that the gradient points to."""
    starts = np.vstack([starts, np.where(model.gradient > 0, lower, upper)])
    steepest = max(float(np.max(np.abs(model.gradient))), np.finfo(float).tiny)
    tolerance = Tolerance(EXACT.gtol * steepest, EXACT.ftol, least)
    Z, values = minimize_on_box(model.mean_derivatives, starts, lower, upper, tolerance=tolerance)
    i = int(np.argmin(values))
    return Z[i], float(values[i])


def _best_seen(model: TaylorModel, domain: Domain, X: Matrix, A: Matrix, target: float) -> Vector:
    """Of points A (m, d), as the objective sees them, the most promising that is not among X (n, d); else the first.

    What moves freely is climbed with, the rest stays. The next whole numbers count too, however small the box may be:
    where they change, what moves freely may have to go as far.
    """
    A = domain.snap(np.clip(A, 0.0, 1.0))
    known = {x.tobytes() for x in X}
    new = np.array([a for a in A if a.tobytes() not in known]).reshape(-1, A.shape[1])
    if len(new) == 0:
        return A[0]
    z, promise = _climbed(model, domain, new, 1.0, target)
    others = np.array([a for a in _neighbours(model.center, domain) if a.tobytes() not in known])
    if len(others):
        reach = max(1.0, float(np.max(domain.spacing)) / model.radius)
        far, far_promise = _climbed(model, domain, others, reach, target)
        if far_promise + math.log(OUTSIDE) > promise:
            z = far
    return domain.snap(np.clip(model.center + model.radius * z[None, :], 0.0, 1.0))[0]


def _neighbours(center: Vector, domain: Domain) -> Matrix:
    """The center with one whole number, or step, changed to the next, (m, d)."""
    some = np.flatnonzero(domain.ordered & ~domain.continuous & domain.active(center[None, :])[0])
    shifts = np.zeros((2 * len(some), len(center)))
    shifts[np.arange(len(some)), some] = domain.spacing[some]
    shifts[len(some) + np.arange(len(some)), some] = -domain.spacing[some]
    return domain.snap(np.clip(center + shifts, 0.0, 1.0))


def _climbed(model: TaylorModel, domain: Domain, A: Matrix, reach: float, target: float) -> tuple[Vector, float]:
    """Of points (m, d) the most promising, once what moves freely has been climbed with; and its log EI."""
    Z = (A - model.center) / model.radius
    promise = LOG_EI(model.predict(Z), target)
    z = Z[np.argsort(-promise, kind="stable")[:CLIMBED]]
    free = domain.free(model.center)
    if not free.any():
        return z[0], float(np.max(promise))
    low, high = (np.clip((face - model.center) / model.radius, -reach, reach) for face in (0.0, 1.0))
    lower, upper = np.where(free, low, z), np.where(free, high, z)
    tops, promises = maximize_acquisition(LOG_EI, model.derivatives, target, z, lower, upper, tolerance=ROUGH)
    promises = np.where(np.isnan(promises), -np.inf, promises)
    return tops[int(np.argmax(promises))], float(np.max(promises))


def is_certain(model: TaylorModel, z: Vector, decrease: float) -> bool:
    """Whether std and remainder are little beside a predicted decrease."""
    std = float(model.predict(z[None, :])[1][0])
    return std + float(model.remainder(float(np.linalg.norm(z)))) < -CERTAIN * decrease


def _power_of_two(length: float) -> float:
    return 2.0 ** math.ceil(math.log2(length)) if length > 0 else 1.0
