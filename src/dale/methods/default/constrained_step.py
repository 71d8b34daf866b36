"""The next step of a trust region under constraints: that of ``local_step.py``, subject to them.

A step has to satisfy the outcome constraints h_j(z) <= 0 of ``constrained_models.py``, with a margin of kappa stds. At
a feasible center z = 0 satisfies them, because std and remainder vanish there. As the model becomes more certain, the
constraint h_j <= 0 approaches the true boundary, so an optimum on the boundary is reached to many digits. kappa grows
with the failures in a row. Input constraints are known exactly and apply as they are.

The margin has two faults, and a remedy for each:

- Where the center is on the boundary, a step along it has almost no room: the std grows with its length, and the step
  creeps. So a step without the margin, of kappa = 0, is taken instead if its predicted reduction times its probability
  of being feasible is larger. If it turns out to be infeasible, the model has learnt the boundary there. It is not
  taken twice in a row.
- The error of a model may be a part of each change that it predicts, however short the step is, which a std does not
  tell. So after infeasible steps in a row, a step leaves a part of the room that the center has, the reserve, as in
  the rule of the fraction to the boundary of interior-point methods (Nocedal & Wright 2006, sec. 19.2). Where the
  center violates a constraint, the step goes beyond its boundary by this part.

Subject to these constraints the step goes to the lowest mean or to the highest log EI, by the rules of
``local_step.py``. It competes with log EI + log P(feasible). While no observation is feasible, the step minimises the
violation instead: the sum of the positive parts of the h_j. If the models predict that it can be reduced to 0, the step
goes to the lowest mean among such points.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import nnls

from dale._arrays import Matrix, Vector
from dale.methods.default.constrained_models import ConstrainedModels
from dale.methods.default.local_model import LocalProblem
from dale.methods.default.local_step import Step, is_certain, long_box, lowest_mean, shortened, step_box
from dale.methods.default.mixed_step import NEIGHBOUR_WEIGHT, neighbours, snap
from dale.methods.default.step_box import StepBox
from dale.optim.slsqp import ConstraintFunctions, least_violation, minimize_slsqp, restore_feasibility

KAPPA = 1.0
MULTIPLIER_SHARES = (0.99, 0.9999, 0.999999)  # below 1: the constraints stay active
ACTIVE = 1e-6  # in radii: a constraint this close to its boundary is active
FIRST_RESERVE, MAX_RESERVE = 0.1, 0.8  # after one infeasible step and after many; it doubles with each
FEASIBILITY_TOLERANCE = 1e-9  # scaled violations below this count as none
BOUNDARY_MARGIN = 4e-16  # in sides of the cube: initial distance from the exact boundary after a correction


def constrained_step(problem: LocalProblem, rng: np.random.Generator, n_infeasible: int = 0) -> Step:
    """The best step of a region under input and outcome constraints.

    Args:
        problem: Data and models of the region.
        rng: Draws the points that a search starts from.
        n_infeasible: Number of local steps in a row that have ended at infeasible points.
    """
    domain, model = problem.domain, problem.objective
    box, frame = step_box(problem), model.frame
    models = ConstrainedModels(
        objective=model,
        outcomes=problem.constraint_models,
        values=problem.constraints[problem.center],
        box=box,
        allowed_set=domain.allowed_set,
        kappa=KAPPA * (1 + problem.region.failures),
        reserve=_reserve(n_infeasible),
        completes=None if problem.failures is None else problem.completes,
    )
    draws = box.draws(rng)
    draws = draws[domain.allowed(np.clip(frame.to_cube(draws), 0.0, 1.0))]
    # Input constraints have no gradients along discrete coordinates: they are checked after snapping.
    smooth = models if domain.is_continuous else replace(models, allowed_set=None)
    search = _Search(smooth, box, draws, problem.atol)
    target = problem.target - float(problem.y[problem.center])
    certain = may_fail = False
    if problem.target == np.inf:
        z = search.least_violation()
        lowest = -_violation_reduction(models, z)
    else:
        z, lowest = search.lowest()
        if problem.constraint_models and (n_infeasible == 0 or -lowest < problem.min_reduction):
            z, lowest = search.bold_if_better(z, lowest)
        certain = model.n_points > len(z) and is_certain(model, z, lowest) and models.certain(z)
        far = None
        wide = long_box(problem, box, z) if certain else None
        if wide is not None:
            far = _Search(smooth, wide, z[None, :], problem.atol).lowest()
            far = far if far[1] < lowest and is_certain(model, *far) and models.certain(far[0]) else None
        if far is not None:
            z, lowest = far
        may_fail = problem.may_fail(z)
        certain = certain and not may_fail
        if may_fail:
            z = replace(search, draws=shortened(z, draws)).highest_log_ei(z, target)
        elif far is None and not certain and (int(problem.region.failures) % 2 == 0 or not lowest < 0):
            z = search.highest_log_ei(z, target)
    x = box.point(z)
    if not domain.is_continuous:
        x = _best_snapped(models, problem, np.vstack([z, draws]), target)
    z = frame.to_local(x)
    mean, std = (float(part[0]) for part in model.predict(z[None, :]))
    log_ei = float(models.log_acquisition(z[None, :], target)[0])
    reduction = _violation_reduction(models, z) if problem.target == np.inf else None
    if may_fail:  # the minimum of the mean cannot be evaluated
        lowest = mean
    return Step(x, z, log_ei, mean, std, lowest, certain, model, may_fail, reduction, problem.completes_at(z))


def _reserve(n_infeasible: int) -> float:
    """The reserve after so many infeasible steps in a row."""
    return min(FIRST_RESERVE * 2.0 ** (n_infeasible - 1), MAX_RESERVE) if n_infeasible else 0.0


def _violation_reduction(models: ConstrainedModels, z: Vector) -> float:
    """Predicted reduction of the violation of the outcome constraints by a step."""
    return float(models.violation(np.zeros((1, len(z))))[0] - models.violation(z[None, :])[0])


@dataclass(frozen=True, eq=False)
class _Search:
    """Searches in one box (d,), each started at the center and at the best of some draws (m, d).

    Attributes:
        models: Models of the objective and of the constraints.
        box: The box.
        draws: Random points of the box, (m, d).
        atol: Absolute tolerance of predicted reductions.
    """

    models: ConstrainedModels
    box: StepBox
    draws: Matrix
    atol: float

    @property
    def lower(self) -> Vector:
        """Lower bounds of z, (d,)."""
        return self.box.bounds[0]

    @property
    def upper(self) -> Vector:
        """Upper bounds of z, (d,)."""
        return self.box.bounds[1]

    def lowest(self) -> tuple[Vector, float]:
        """The point with the lowest mean under the constraints, and the mean there; the center if none is lower."""
        origin, drawn = np.zeros_like(self.lower), self._best_draw()
        starts = np.vstack([origin, *drawn])
        unconstrained, value = lowest_mean(self.models.objective, starts, self.box, self.atol)
        if self.models.is_within(unconstrained):
            return unconstrained, value
        best = origin, 0.0
        for start in starts if drawn else [origin, unconstrained]:
            z, value = self._minimize(self.models.mean, start)
            if value < best[1]:
                best = z, value
        return self._along_the_boundary(*best)

    def bold_if_better(self, z: Vector, value: float) -> tuple[Vector, float]:
        """The lowest mean without the margin, if it promises more than the one with it, z (d,) of this value."""
        bold = replace(self, models=replace(self.models, kappa=0.0)).lowest()
        log_feasible = self.models.log_feasible(np.array([bold[0], z]))
        promises = -np.array([bold[1], value]) * np.exp(log_feasible)
        return bold if promises[0] > promises[1] else (z, value)

    def _along_the_boundary(self, z: Vector, value: float) -> tuple[Vector, float]:
        """The lowest mean from a minimum z (d,) and its value, found more precisely where constraints are active.

        Where the mean is steep across the boundary and almost flat along it, a search cannot see the slope along the
        boundary. With multipliers m of the active constraints, mean + share m h has the same minimum under the
        constraints, but is flat across the boundary, too.
        """
        for share in MULTIPLIER_SHARES:
            multipliers = self._multipliers(z)
            if not multipliers.any():
                break

            def shifted(at: Vector, weights: Vector = share * multipliers) -> tuple[float, Vector]:
                mean, gradient = self.models.mean(at)
                h, J = self.models.constraints(at)
                return mean + float(weights @ h), gradient + weights @ J

            end, _ = self._minimize(shifted, z)
            mean = self.models.mean(end)[0]
            if mean < value:
                z, value = end, mean
        return z, value

    def _multipliers(self, z: Vector) -> Vector:
        """Multipliers (q,) of the constraints that are active at z (d,)."""
        gradient = self.models.mean(z)[1]
        h, J = self.models.constraints(z)
        norm = np.sqrt(np.sum(J * J, axis=1))
        active = h > -ACTIVE * norm
        faces = np.vstack([-np.eye(len(z))[z <= self.lower], np.eye(len(z))[z >= self.upper]])
        normals = np.vstack([J[active], faces])
        multipliers = np.zeros(len(h))
        if active.any() and np.isfinite(normals).all() and np.isfinite(gradient).all():
            with suppress(RuntimeError):  # too many iterations
                multipliers[active] = nnls(normals.T, -gradient)[0][: int(np.sum(active))]
        return multipliers

    def highest_log_ei(self, z: Vector, target: float) -> Vector:
        """The point with the highest log EI under the constraints, from the lowest mean z and from the best draw."""
        starts = [z]
        if len(self.draws):
            starts.append(self.draws[int(np.argmax(self.models.log_acquisition(self.draws, target)))])
        ends = np.array([z, *(self._minimize(self.models.negative_log_ei(target), start)[0] for start in starts)])
        values = self.models.log_acquisition(ends, target)
        return np.asarray(ends[int(np.argmax(np.where(np.isnan(values), -np.inf, values)))])

    def least_violation(self) -> Vector:
        """The point with the least violation; among points without a violation, the lowest mean."""
        origin = np.zeros_like(self.lower)
        starts = [origin]
        if len(self.draws):
            starts.append(self.draws[int(np.argmin(self.models.violation(self.draws)))])
        is_hard = self.models.allowed_set is not None or self.box.frame.shape is not None
        hard = self.models.input_constraints if is_hard else None
        best, least = origin, float(self.models.violation(origin[None, :])[0])
        for start in starts:
            z = least_violation(self.models.outcome_constraints, start, self.lower, self.upper, hard=hard)
            if np.max(self.models.outcome_constraints(z)[0]) < FEASIBILITY_TOLERANCE:
                z, _ = minimize_slsqp(self.models.mean, self.models.constraints, z, self.lower, self.upper)
            if is_hard:
                z = self._restored(z, origin, self.models.is_allowed, self.models.input_constraints)
            violation = float(self.models.violation(z[None, :])[0])
            if violation < least:
                best, least = z, violation
        return best

    def _best_draw(self) -> list[Vector]:
        """The draw with the lowest mean where all constraints are predicted to hold; empty without draws."""
        if len(self.draws) == 0:
            return []
        infeasible = np.any(self.models.predict_outcomes(self.draws)[0] > 0, axis=0)
        mean = self.models.objective.predict(self.draws).mean
        return [self.draws[int(np.argmin(np.where(infeasible, np.inf, mean)))]]

    def _minimize(self, fun: Callable[[Vector], tuple[float, Vector]], start: Vector) -> tuple[Vector, float]:
        """A minimum under the constraints, and the value there.

        Feasibility is restored towards the start, or towards the center if the start violates a constraint.
        """
        z, _ = minimize_slsqp(fun, self.models.constraints, start, self.lower, self.upper)
        feasible = start if self.models.is_within(start) else np.zeros_like(start)
        z = self._restored(z, feasible, self.models.is_within, self.models.constraints)
        return z, fun(z)[0]

    def _restored(
        self, z: Vector, feasible: Vector, allowed: Callable[[Vector], bool], constraints: ConstraintFunctions
    ) -> Vector:
        """The point z (d,), made feasible by moving it towards a feasible point (d,)."""
        margin = BOUNDARY_MARGIN / self.box.frame.radius
        restored = restore_feasibility(z, feasible, allowed, constraints, self.lower, self.upper, margin=margin)
        return feasible if restored is None else restored


def _best_snapped(models: ConstrainedModels, problem: LocalProblem, Z: Matrix, target: float) -> Vector:
    """Of steps Z (m, d), snapped to the domain, the new end with the highest log acquisition.

    Log EI is maximised from there over the continuous coordinates. As without constraints (``mixed_step.py``),
    neighbouring integers are candidates too. The center if no end is new and allowed.
    """
    frame, domain = models.box.frame, problem.domain
    found = _best_end(models, problem, snap(frame, domain, frame.to_cube(Z)), target)
    A, norm = neighbours(frame, domain, problem.seen)
    wide = replace(models, box=replace(models.box, reach=max(1.0, norm)))
    neighbour = _best_end(wide, problem, A, target)
    if found is None or (neighbour is not None and neighbour[1] + math.log(NEIGHBOUR_WEIGHT) > found[1]):
        found = neighbour
    return frame.center if found is None else found[0]


def _best_end(
    models: ConstrainedModels, problem: LocalProblem, A: Matrix, target: float
) -> tuple[Vector, float] | None:
    """The end with the highest log acquisition from the best of new and allowed points A (m, d), and its value."""
    seen = {x.tobytes() for x in problem.seen}
    A = A[[a.tobytes() not in seen for a in A]]
    A = A[problem.domain.allowed(A)]
    if len(A) == 0:
        return None
    Z = models.box.frame.to_local(A)
    values = models.log_acquisition(Z, target)
    best, free = int(np.argmax(values)), problem.domain.free(models.box.frame.center)
    if not free.any() or target == np.inf:
        return A[best], float(values[best])
    x = np.where(free, models.box.point(_maximized(models, Z[best], ~free, target)), A[best])
    return x, float(models.log_acquisition(models.box.frame.to_local(x)[None, :], target)[0])


def _maximized(models: ConstrainedModels, start: Vector, held: np.ndarray, target: float) -> Vector:
    """The highest log EI under the constraints, from a start (d,) with whose values coordinates (d,) are held."""
    Q, low, high = models.box.holding(start[None, :], held)

    def fun(z: Vector) -> tuple[float, Vector]:
        value, gradient = models.negative_log_ei(target)(Q @ z)
        return value, gradient @ Q

    def constraints(z: Vector) -> tuple[Vector, Matrix]:
        values, gradients = models.constraints(Q @ z)
        return values, gradients @ Q

    end, _ = minimize_slsqp(fun, constraints, Q.T @ start, low[0], high[0])
    restored = restore_feasibility(
        end,
        Q.T @ start,
        lambda z: models.is_within(Q @ z),
        constraints,
        low[0],
        high[0],
        margin=BOUNDARY_MARGIN / models.box.frame.radius,
    )
    return start if restored is None else Q @ restored
