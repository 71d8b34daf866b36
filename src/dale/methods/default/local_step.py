"""The next step of one Taylor region: where its model promises most inside the region's box.

Log EI as everywhere else: the std of the model makes steps that improve its geometry attractive by themselves. The
search starts at the minimum of the mean (Newton on a polynomial) and at the best of many random points. After a
failure, every other step goes to the minimum of the mean itself: where little is left to gain, a std of twice as
much leads log EI astray again and again. So does a step of which the model is all but certain; and where it is so much
farther out (a linear or quadratic function, seen with redundant points) the box is the cube.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from dale._arrays import Matrix, Vector
from dale.acquisition.expected_improvement import log_expected_improvement, maximize_acquisition
from dale.methods.default.trust_region import AT_THE_FACE, FIRST_RADIUS, PATIENCE, TrustRegion
from dale.models.monomials import MOST_DEGREE
from dale.models.preprocessing import quantize
from dale.models.taylor import FAR_RHOS, RHOS, TaylorModel
from dale.optim.projected_newton import Tolerance, minimize_on_box
from dale.space.domain import Rounding

RANDOM_POINTS = 200
EXACT = Tolerance(gtol=1e-15, ftol=1e-15)  # the gradient in units of that at the center
HAIR = 1e-3  # how exact a gain has to be, in units of nothing
ROUGH = Tolerance(gtol=1e-5, ftol=1e-9)
CERTAIN = 0.05  # std and remainder, as a part of the predicted decrease
STEP_RESOLUTION = (
    2.0**-12
)  # of the step's length: a step cannot be this exact, so finer digits would carry rounding errors
CERTAIN_RESOLUTION = 2.0**-26  # of a certain step's
OUTSIDE = 0.03  # what the promise of the next whole number counts for, beside those of the box
CLIMBED = 4  # points that the objective sees, how many are climbed from
SAME_FACE = 1e-12  # a coordinate this near to a face of the cube, in radii, is on it


@dataclass(frozen=True)
class LocalModel:
    """Settings of the Taylor regions, one for each thing that an ablation may take away.

    Attributes:
        most_degree: Of the polynomials.
        far_rhos: Radii of convergence beyond the cube, for plain quadratics; they have to be earned.
        first_radius: Of a new region.
        patience: Failures in a row before a radius is halved.
        confidence: The model's std is multiplied by this.
        leap: Whether a certain model may step out of its box.
    """

    most_degree: int = MOST_DEGREE
    far_rhos: tuple[float, ...] = FAR_RHOS
    first_radius: float = FIRST_RADIUS
    patience: int = PATIENCE
    confidence: float = 0.5
    leap: bool = True

    def step(
        self,
        X: Matrix,
        y: Vector,
        center: int,
        region: TrustRegion,
        pending: Matrix,
        rng: np.random.Generator,
        rounding: Rounding | None = None,
        nothing: float = 0.0,
    ) -> Step:
        """The best step from observation number ``center`` of X (n, d), y (n,), others (m, d) being evaluated.

        Where the objective does not see all points, whole numbers are stepped to the nearest ones, and options stay.
        A gain below ``nothing`` is none.
        """
        c, D, best = X[center], region.radius, float(np.min(y))
        model = self.fit(X, y, center, D, pending, best)
        X = np.vstack([X, pending])
        faces, cube, lower, upper, draws = step_bounds(c, D, rounding, rng)
        mean, std = model.predict(draws)
        least = HAIR * nothing
        z, lowest = lowest_mean(model, np.array([np.zeros_like(c), draws[np.argmin(mean)]]), lower, upper, least)
        certain = model.n_points > len(c) and is_certain(model, z, lowest)
        leap = _leap(model, z, lowest, cube[0], cube[1], least) if certain and self.leap else None
        target = best - float(y[center])
        if leap is not None:
            z, lowest = leap
        elif not certain and (int(region.failures) % 2 == 0 or not lowest < 0):
            start = draws[np.argmax(log_expected_improvement(mean, std, target).value)]
            tops, promises = maximize_acquisition(
                model.derivatives, target, np.array([z, start]), lower, upper, tolerance=ROUGH
            )
            z = tops[int(np.argmax(np.where(np.isnan(promises), -np.inf, promises)))]
        low, high = (np.abs(z - face) <= SAME_FACE for face in faces)
        grain = CERTAIN_RESOLUTION if certain else STEP_RESOLUTION
        z = np.where(low | high, z, quantize(z, grain * _power_of_two(float(np.max(np.abs(z))))))
        x = np.where(low, 0.0, np.where(high, 1.0, np.clip(c + D * z, 0.0, 1.0)))
        if rounding is not None:
            x = _best_seen(model, rounding, X, np.vstack([x, c + D * draws]), target)
            z = (x - c) / D
        mean_there, std_there = model.predict(z[None, :])
        if rounding is not None:  # between what the objective sees nothing can be gained
            lowest = float(mean_there[0])
            certain = certain and is_certain(model, z, lowest)
        promise = log_expected_improvement(mean_there, std_there, target).value
        return Step(x, z, float(promise[0]), float(mean_there[0]), float(std_there[0]), lowest, certain, model)

    def fit(self, X: Matrix, y: Vector, center: int, radius: float, pending: Matrix, lowest: float) -> TaylorModel:
        """The model around observation ``center``; what is pending is believed, though nothing below ``lowest``."""
        model = self._fit(X, y, center, radius)
        if len(pending) == 0:
            return model
        believed = model.value + model.predict((pending - X[center]) / radius)[0]
        X, y = np.vstack([X, pending]), np.append(y, np.clip(believed, lowest, np.max(y)))
        return self._fit(X, y, center, radius, (model.rho,))  # beliefs are no evidence

    def _fit(
        self, X: Matrix, y: Vector, center: int, radius: float, rhos: tuple[float, ...] | None = None
    ) -> TaylorModel:
        model = TaylorModel.fit(
            X,
            y,
            X[center],
            float(y[center]),
            radius,
            most_degree=self.most_degree,
            rhos=rhos or RHOS,
            far_rhos=() if rhos else self.far_rhos,
        )
        return replace(model, scale=self.confidence * model.scale)


@dataclass(frozen=True, eq=False)
class Step:
    """What a region proposes.

    Attributes:
        point: In the cube, (d,).
        z: The same in the model's coordinates.
        promise: Log EI.
        mean: Predicted value minus that of the center.
        std: Its standard deviation.
        lowest: Minimum of the mean in the box, minus the center's value.
        certain: Whether the model is all but certain of it.
        model: The model that proposes it.
        drop: How far it lowers the violation of black-box constraints, in their units, where nothing is feasible yet.
    """

    point: Vector
    z: Vector
    promise: float
    mean: float
    std: float
    lowest: float
    certain: bool
    model: TaylorModel
    drop: float | None = None


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


def step_bounds(center: Vector, radius: float, rounding: Rounding | None, rng: np.random.Generator) -> StepBounds:
    """Of a region: options, and what is inactive at its center, do not move."""
    faces = -center / radius, (1 - center) / radius
    moves = True if rounding is None else rounding.ordered & rounding.active(center[None, :])[0]
    cube = np.where(moves, faces[0], 0.0), np.where(moves, faces[1], 0.0)
    lower, upper = np.maximum(cube[0], -1.0), np.minimum(cube[1], 1.0)
    draws = lower + (upper - lower) * rng.random((RANDOM_POINTS, len(center)))
    draws[::2] *= rng.random((RANDOM_POINTS // 2, 1))
    return StepBounds(faces, cube, lower, upper, draws)


def _leap(
    model: TaylorModel, z: Vector, lowest: float, lower: Vector, upper: Vector, least: float
) -> tuple[Vector, float] | None:
    """The minimum of the mean in the whole cube, if it is lower than that in the box and the model certain of it."""
    if np.max(np.abs(z)) < AT_THE_FACE:
        return None
    far, value = lowest_mean(model, z[None, :], lower, upper, least)
    return (far, value) if value < lowest and is_certain(model, far, value) else None


def lowest_mean(model: TaylorModel, starts: Matrix, lower: Vector, upper: Vector, least: float) -> tuple[Vector, float]:
    """The minimum of the mean in a box, from the starts (m, d) and from the corner that the gradient points to."""
    starts = np.vstack([starts, np.where(model.gradient > 0, lower, upper)])
    steepest = max(float(np.max(np.abs(model.gradient))), np.finfo(float).tiny)
    tolerance = Tolerance(EXACT.gtol * steepest, EXACT.ftol, least)
    Z, values = minimize_on_box(model.mean_derivatives, starts, lower, upper, tolerance=tolerance)
    i = int(np.argmin(values))
    return Z[i], float(values[i])


def _best_seen(model: TaylorModel, rounding: Rounding, X: Matrix, A: Matrix, target: float) -> Vector:
    """Of points A (m, d), as the objective sees them, the most promising that is not among X (n, d); else the first.

    What moves freely is climbed with, the rest stays. The next whole numbers count too, however small the box may be:
    where they change, what moves freely may have to go as far.
    """
    A = rounding.snap(np.clip(A, 0.0, 1.0))
    known = {x.tobytes() for x in X}
    new = np.array([a for a in A if a.tobytes() not in known]).reshape(-1, A.shape[1])
    if len(new) == 0:
        return A[0]
    z, promise = _climbed(model, rounding, new, 1.0, target)
    others = np.array([a for a in _neighbours(model.center, rounding) if a.tobytes() not in known])
    if len(others):
        reach = max(1.0, float(np.max(rounding.cells)) / model.radius)
        far, far_promise = _climbed(model, rounding, others, reach, target)
        if far_promise + math.log(OUTSIDE) > promise:
            z = far
    return rounding.snap(np.clip(model.center + model.radius * z[None, :], 0.0, 1.0))[0]


def _neighbours(center: Vector, rounding: Rounding) -> Matrix:
    """The center with one whole number, or step, changed to the next, (m, d)."""
    some = np.flatnonzero(rounding.ordered & ~rounding.free & rounding.active(center[None, :])[0])
    shifts = np.zeros((2 * len(some), len(center)))
    shifts[np.arange(len(some)), some] = rounding.cells[some]
    shifts[len(some) + np.arange(len(some)), some] = -rounding.cells[some]
    return rounding.snap(np.clip(center + shifts, 0.0, 1.0))


def _climbed(model: TaylorModel, rounding: Rounding, A: Matrix, reach: float, target: float) -> tuple[Vector, float]:
    """Of points (m, d) the most promising, once what moves freely has been climbed with; and its log EI."""
    Z = (A - model.center) / model.radius
    promise = log_expected_improvement(*model.predict(Z), target).value
    z = Z[np.argsort(-promise, kind="stable")[:CLIMBED]]
    free = rounding.free & rounding.active(model.center[None, :])[0]
    if not free.any():
        return z[0], float(np.max(promise))
    low, high = (np.clip((face - model.center) / model.radius, -reach, reach) for face in (0.0, 1.0))
    lower, upper = np.where(free, low, z), np.where(free, high, z)
    tops, promises = maximize_acquisition(model.derivatives, target, z, lower, upper, tolerance=ROUGH)
    promises = np.where(np.isnan(promises), -np.inf, promises)
    return tops[int(np.argmax(promises))], float(np.max(promises))


def is_certain(model: TaylorModel, z: Vector, decrease: float) -> bool:
    """Whether std and remainder are little beside a predicted decrease."""
    std = float(model.predict(z[None, :])[1][0])
    return std + float(model.remainder(float(np.linalg.norm(z)))) < -CERTAIN * decrease


def _power_of_two(length: float) -> float:
    return 2.0 ** math.ceil(math.log2(length)) if length > 0 else 1.0
