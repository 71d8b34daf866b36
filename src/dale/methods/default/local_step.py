"""The next step of a trust region: the maximum of log EI, or the minimum of the mean, of its Taylor model in its box.

Log EI takes the std of the model into account, so steps that improve the geometry of the data need no separate rule.
The search for its maximum starts at the minimum of the mean (by Newton's method) and at the best of many random points.
The step goes to the minimum of the mean itself in two cases:

- After an odd number of failures in a row: close to a minimum, an overstated std can mislead log EI repeatedly.
- If the model is certain of its predicted reduction. If it is also certain of a lower minimum outside the box, as for a
  linear or quadratic function with redundant observations, the step leaves the box (a long step).

If the evaluation there may fail, the step goes to the maximum of log EI + log P(completes) in both cases. At the
boundary of the set where evaluations fail, this bisects: the middle of the interval in which the boundary is has the
largest product of reduction and probability.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial.distance import cdist

from dale._arrays import Matrix, Vector
from dale.methods.default.local_model import LocalProblem
from dale.methods.default.mixed_step import LOG_EI_TOLERANCE, best_snapped
from dale.methods.default.step_box import StepBox
from dale.methods.default.trust_region import BOUNDARY_STEP
from dale.models.preprocessing import quantize
from dale.models.taylor import TaylorModel
from dale.optim.projected_newton import Tolerance

LONG_REACH = 8.0  # of a long step in a shaped region, in radii; in a ball and of a quadratic it may go anywhere
MEAN_TOLERANCE = Tolerance(gtol=1e-15, ftol=1e-15)  # gtol relative to the gradient at the center
MAX_UNCERTAINTY = 0.05  # std plus remainder of a certain step, relative to the predicted reduction
STEP_RESOLUTION = 2.0**-12  # of the step's length; finer digits would only carry rounding errors
SURE_GAIN = 2.0  # predicted reductions below so many stds of the noise are within it
ASIDE = 0.05  # least distance of a step from observed points where values are rough, in radii
HALVINGS = 12  # of steps that may fail: a search starts at the best of them
CERTAIN_RESOLUTION = 2.0**-26  # of a certain step's length


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
        may_fail: Whether the evaluation of the best step may fail, so that this one keeps away from there.
        violation_reduction: Predicted reduction of the violation of outcome constraints while no observation is
            feasible; None otherwise.
        completes: Probability that its evaluation completes, relative to the highest one anywhere.
    """

    point: Vector
    z: Vector
    log_ei: float
    mean: float
    std: float
    lowest: float
    certain: bool
    model: TaylorModel
    may_fail: bool = False
    violation_reduction: float | None = None
    completes: float = 1.0


def step_box(problem: LocalProblem) -> StepBox:
    """Where a step may end."""
    return StepBox(problem.frame, problem.movable)


def best_step(problem: LocalProblem, rng: np.random.Generator) -> Step:
    """The best step of a region without constraints.

    In a space with discrete parameters, the step ends at a point of the domain, and options do not change.
    """
    model, target = problem.objective, problem.target_difference
    box = step_box(problem)
    draws = box.draws(rng)
    lowest_drawn = draws[np.argmin(model.predict(draws).mean)]
    z, lowest = lowest_mean(model, np.array([np.zeros(len(model.center)), lowest_drawn]), box, problem.atol)
    certain = model.n_points > len(z) and is_certain(model, z, lowest)
    far = _long_step(problem, box, z, lowest) if certain else None
    if far is not None:
        z, lowest = far
    may_fail = problem.may_fail(z)
    certain = certain and not may_fail
    if may_fail or (not certain and (int(problem.region.failures) % 2 == 0 or not lowest < 0)):
        starts = shortened(z, draws) if may_fail else draws
        within_noise = may_fail and -lowest < SURE_GAIN * model.noise_at_center
        if within_noise:  # a search for the boundary would gain nothing
            starts = np.vstack([np.zeros(len(z)), problem.safe(starts)])
        best = starts[np.argsort(-problem.log_acquisition(starts, target), kind="stable")[: 3 if may_fail else 1]]
        if within_noise:
            z = best[0]
        else:
            z = box.minimize(problem.negative_log_acquisition(target), np.vstack([z, best]), LOG_EI_TOLERANCE)[0]
    if problem.noisy is not None and problem.is_exact:
        z = _aside(problem, z, draws, target)
    x = _rounded(box, z, CERTAIN_RESOLUTION if certain else STEP_RESOLUTION)
    if not problem.domain.is_continuous:
        x = best_snapped(problem, np.vstack([x, model.frame.to_cube(draws)]), target)
    z = model.frame.to_local(x)
    mean_there, std_there = model.predict(z[None, :])
    if may_fail or not problem.domain.is_continuous:  # the minimum of the mean cannot be evaluated
        lowest = float(mean_there[0])
        certain = certain and is_certain(model, z, lowest)
    log_ei = problem.log_acquisition(z[None, :], target)
    mean, std, completes = float(mean_there[0]), float(std_there[0]), problem.completes_at(z)
    return Step(x, z, float(log_ei[0]), mean, std, lowest, certain, model, may_fail, completes=completes)


def _aside(problem: LocalProblem, z: Vector, draws: Matrix, target: float) -> Vector:
    """The step z (d,) or, if it leads to an observed point, the best of the others (m, d) that do not, (d,).

    Where values are rough, the model does not interpolate, and its best step may be a point whose value is known.
    """
    seen = problem.frame.to_local(problem.seen)
    if np.min(np.linalg.norm(seen - z, axis=1)) >= ASIDE:
        return z
    new = draws[np.min(cdist(draws, seen), axis=1) >= ASIDE]
    return new[np.argmax(problem.log_acquisition(new, target))] if len(new) else z


def shortened(z: Vector, draws: Matrix) -> Matrix:
    """The step z (d,) and random ones (m, d), shortened by powers of 2: the best point may be close to the center."""
    factors = 0.5 ** np.arange(HALVINGS + 1)
    return np.vstack([factors[:, None] * z, np.resize(factors, len(draws))[:, None] * draws])


def _rounded(box: StepBox, z: Vector, resolution: float) -> Vector:
    """The point of the cube at z (d,), rounded in local coordinates; coordinates at a face of the cube stay there."""
    exact = box.point(z)
    length = float(np.max(np.abs(z)))
    grid = resolution * (2.0 ** math.ceil(math.log2(length)) if length > 0 else 1.0)
    return np.where((exact == 0) | (exact == 1), exact, box.point(quantize(z, grid)))


def long_box(problem: LocalProblem, box: StepBox, z: Vector) -> StepBox | None:
    """The box of a long step; None if the step z (d,) stays inside its own.

    None after a failure, too, which has shown that the model is certain without reason; but the evidence for a
    quadratic includes that failure.
    """
    is_quadratic = problem.objective.series.is_quadratic
    if not problem.settings.allow_long_steps or np.max(np.abs(z)) < BOUNDARY_STEP:
        return None
    if problem.region.failures and not is_quadratic:
        return None
    anywhere = box.frame.shape is None or is_quadratic
    return replace(box, reach=box.frame.reach if anywhere else LONG_REACH)


def _long_step(problem: LocalProblem, box: StepBox, z: Vector, lowest: float) -> tuple[Vector, float] | None:
    """The minimum of the mean far outside the box; None unless it is lower than inside and the model certain of it."""
    wide = long_box(problem, box, z)
    if wide is None:
        return None
    far, value = lowest_mean(problem.objective, z[None, :], wide, problem.atol)
    return (far, value) if value < lowest and is_certain(problem.objective, far, value) else None


def lowest_mean(model: TaylorModel, starts: Matrix, box: StepBox, atol: float) -> tuple[Vector, float]:
    """The minimum of the mean in a box, from the starts (m, d) and from the corner that the gradient points to."""
    corner = np.where(model.gradient > 0, *box.bounds)
    starts = np.vstack([starts, box.inside(corner[None, :])])
    steepest = max(float(np.max(np.abs(model.gradient))), np.finfo(float).tiny)
    tolerance = Tolerance(MEAN_TOLERANCE.gtol * steepest, MEAN_TOLERANCE.ftol, atol)
    return box.minimize(model.mean_derivatives, starts, tolerance)


def is_certain(model: TaylorModel, z: Vector, mean: float) -> bool:
    """Whether std and remainder at z (d,) are small relative to the predicted reduction, -mean."""
    std = float(model.predict(z[None, :])[1][0])
    return std + float(model.remainder(float(np.linalg.norm(z)))) < -MAX_UNCERTAINTY * mean
