"""The next step of a trust region under constraints: that of ``local_step.py``, subject to them.

Each outcome constraint has a Taylor model around the same center. With mean m_j, std s_j and remainder e_j at z, and
c_j the value of the constraint at the center, a step has to satisfy

    h_j(z) = c_j + m_j(z) + kappa (s_j(z) + e_j(z)) <= 0.

At a feasible center z = 0 satisfies it, because std and remainder vanish there. As the model becomes more certain, the
constraint h_j <= 0 approaches the true boundary, so an optimum on the boundary is reached to many digits. kappa grows
with the failures in a row. Input constraints are known exactly and apply as they are.

Subject to these constraints the step goes to the lowest mean or to the highest log EI, by the rules of
``local_step.py``. It competes with log EI + log P(feasible). While no observation is feasible, the step minimises the
violation instead: the sum of the positive parts of the h_j. If the models predict that it can be reduced to 0, the step
goes to the lowest mean among such points.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from dale._arrays import Matrix, Vector
from dale.acquisition.expected_improvement import log_h_at
from dale.acquisition.feasibility import log_probability_below
from dale.methods.default.local_model import LocalProblem
from dale.methods.default.local_step import (
    BOUNDARY_TOLERANCE,
    LOG_EI,
    MAX_UNCERTAINTY,
    Step,
    is_certain,
    lowest_mean,
    step_bounds,
)
from dale.methods.default.trust_region import BOUNDARY_STEP
from dale.models.base import Prediction
from dale.models.taylor import MIN_VARIANCE, TaylorModel
from dale.optim.slsqp import ConstraintFunctions, least_violation, minimize_slsqp, restore_feasibility
from dale.space.allowed_set import AllowedSet
from dale.space.domain import Domain

KAPPA = 1.0
CONSTRAINT_MARGIN = 1e-13  # added to the scaled constraint values, so that rounding errors do not violate them
FEASIBILITY_TOLERANCE = 1e-9  # scaled violations below this count as none
BOUNDARY_MARGIN = 4e-16  # in sides of the cube: initial distance from the exact boundary after a correction


@dataclass(frozen=True, eq=False)
class ConstrainedModels:
    """Taylor models of the objective and of the outcome constraints around one center, with the input constraints.

    Attributes:
        models: The objective's model, then one for each outcome constraint, all with the same features.
        values: Scaled values of the outcome constraints at the center, (k,).
        allowed_set: Input constraints; None for none.
        kappa: Number of stds by which a predicted constraint value stays below 0.
    """

    models: tuple[TaylorModel, ...]
    values: Vector
    allowed_set: AllowedSet | None
    kappa: float
    _last: list[tuple[bytes, tuple[Vector, Vector, Matrix, Matrix]]] = field(default_factory=list)

    def predictions(self, z: Vector) -> tuple[Vector, Vector, Matrix, Matrix]:
        """Means (1 + k,) and stds (1 + k,) at a point z (d,), and their gradients (1 + k, d); cached for the last z."""
        key = z.tobytes()
        if not self._last or self._last[0][0] != key:
            self._last[:] = [(key, self._predictions(z))]
        return self._last[0][1]

    def _predictions(self, z: Vector) -> tuple[Vector, Vector, Matrix, Matrix]:
        features, gradients = self.models[0].terms.with_gradients(z[None, :])
        F, S = features[0], gradients[0]
        means, stds, mean_gradients, std_gradients = [], [], [], []
        for model in self.models:
            v = F @ model.covariance_factor
            root = np.sqrt(max(float(v @ v), MIN_VARIANCE))
            means.append(float(F @ model.weights))
            stds.append(model.scale * root)
            mean_gradients.append(model.weights @ S)
            std_gradients.append(model.scale * ((model.covariance_factor @ v) @ S) / root)
        return np.array(means), np.array(stds), np.array(mean_gradients), np.array(std_gradients)

    def predict(self, Z: Matrix) -> tuple[Matrix, Matrix]:
        """Means (1 + k, m) and stds (1 + k, m) at points (m, d)."""
        predictions = [model.predict(Z) for model in self.models]
        return np.array([p[0] for p in predictions]), np.array([p[1] for p in predictions])

    def mean(self, z: Vector) -> tuple[float, Vector]:
        """Mean of the objective at z (d,), with its gradient."""
        mean, _, gradient, _ = self.predictions(z)
        return float(mean[0]), gradient[0]

    def negative_log_ei(self, target: float) -> Callable[[Vector], tuple[float, Vector]]:
        """-log EI as a function of z (d,), with its gradient."""

        def negative(z: Vector) -> tuple[float, Vector]:
            mean, std, mean_gradient, std_gradient = self.predictions(z)
            s = float(std[0])
            u = (target - float(mean[0])) / s
            if not abs(u) < 1e100:
                return np.inf, np.zeros_like(z)
            log_h, p = log_h_at(u)
            return -(np.log(s) + log_h), (p * mean_gradient[0] - (1 - u * p) * std_gradient[0]) / s

        return negative

    def outcome_constraints(self, z: Vector) -> tuple[Vector, Matrix]:
        """h_j at z (d,), with gradients: (k,) and (k, d)."""
        mean, std, mean_gradient, std_gradient = (part[1:] for part in self.predictions(z))
        r = float(np.linalg.norm(z))
        remainder = np.array([float(m.remainder(r)) for m in self.models[1:]])
        remainder_gradient = np.outer(remainder * (self.models[0].degree + 1), z) / max(r * r, MIN_VARIANCE)
        h = self.values + mean + self.kappa * (std + remainder) + CONSTRAINT_MARGIN
        return h, mean_gradient + self.kappa * (std_gradient + remainder_gradient)

    def input_constraints(self, z: Vector) -> tuple[Vector, Matrix]:
        """Smooth values of the input constraints at z (d,), with gradients."""
        if self.allowed_set is None:
            return np.empty(0), np.empty((0, len(z)))
        model = self.models[0]
        values, gradients = self.allowed_set.smooth_values(np.clip(model.center + model.radius * z, 0.0, 1.0))
        return values, gradients * model.radius

    def constraints(self, z: Vector) -> tuple[Vector, Matrix]:
        """All constraints at z (d,), with gradients."""
        (h, J), (g, G) = self.outcome_constraints(z), self.input_constraints(z)
        return np.append(h, g), np.vstack([J, G])

    def is_within(self, z: Vector) -> bool:
        """Whether a step satisfies all constraints, the input constraints exactly."""
        if len(self.models) > 1 and not np.all(self.outcome_constraints(z)[0] <= 2 * CONSTRAINT_MARGIN):
            return False
        return self.allowed_set is None or bool(self.allowed_set.allowed(self.point(z)[None, :])[0])

    def point(self, z: Vector) -> Vector:
        """The point of the cube; coordinates at a face are exactly 0 or 1."""
        c, D = self.models[0].center, self.models[0].radius
        low, high = np.abs(z + c / D) <= BOUNDARY_TOLERANCE, np.abs(z - (1 - c) / D) <= BOUNDARY_TOLERANCE
        return np.where(low, 0.0, np.where(high, 1.0, np.clip(c + D * z, 0.0, 1.0)))

    def log_feasible(self, Z: Matrix) -> Vector:
        """Logarithm of the probability that points (m, d) satisfy the outcome constraints, (m,)."""
        total = np.zeros(len(Z))
        for model, value in zip(self.models[1:], self.values, strict=True):
            mean, std = model.predict(Z)
            total = total + log_probability_below(Prediction(value + mean, std))
        return total

    def certain(self, z: Vector) -> bool:
        """Whether std and remainder of each constraint at z are small relative to its change or its distance from 0."""
        r = float(np.linalg.norm(z))
        for model, value in zip(self.models[1:], self.values, strict=True):
            mean, std = (float(v[0]) for v in model.predict(z[None, :]))
            if not std + float(model.remainder(r)) < MAX_UNCERTAINTY * max(abs(mean), -(value + mean)):
                return False
        return True

    def violation(self, Z: Matrix) -> Vector:
        """Sum of the positive parts of the constraints' means at points (m, d), (m,)."""
        means = np.array([v + m.predict(Z)[0] for m, v in zip(self.models[1:], self.values, strict=True)])
        return np.asarray(np.sum(np.maximum(means, 0.0), axis=0))


def constrained_step(problem: LocalProblem, rng: np.random.Generator) -> Step:
    """The best step of a region under input and outcome constraints."""
    c, D, domain = problem.X[problem.center], problem.region.radius, problem.domain
    model = problem.fit(problem.y, min(problem.target, float(np.min(problem.y))))
    constraint_models = [problem.fit(column, -np.inf) for column in problem.constraints.T]
    kappa = KAPPA * (1 + problem.region.failures)
    models = ConstrainedModels(
        (model, *constraint_models), problem.constraints[problem.center], domain.allowed_set, kappa
    )
    _, cube, lower, upper, draws = step_bounds(c, D, domain, rng)
    draws = draws[domain.allowed(np.clip(c + D * draws, 0.0, 1.0))]
    # Input constraints have no gradients along discrete coordinates: they are checked after snapping.
    smooth = models if domain.is_continuous else replace(models, allowed_set=None)
    search = _Search(smooth, lower, upper, draws, problem.atol)
    target = problem.target - float(problem.y[problem.center])
    certain = False
    if problem.target == np.inf:
        z = search.least_violation()
        lowest = -_violation_reduction(models, z)
    else:
        z, lowest = search.lowest()
        if -lowest < problem.min_reduction and constraint_models:  # perhaps only because of kappa
            z, lowest = replace(search, models=replace(smooth, kappa=0.0)).lowest()
        certain = model.n_points > len(c) and is_certain(model, z, lowest) and models.certain(z)
        far = None
        if certain and problem.settings.allow_long_steps and np.max(np.abs(z)) >= BOUNDARY_STEP:
            far = _Search(smooth, cube[0], cube[1], z[None, :], problem.atol).lowest()
            far = far if far[1] < lowest and is_certain(model, *far) and models.certain(far[0]) else None
        if far is not None:
            z, lowest = far
        elif not certain and (int(problem.region.failures) % 2 == 0 or not lowest < 0):
            z = search.highest_log_ei(z, target)
    if not domain.is_continuous:
        z = _best_snapped(models, domain, problem.seen, np.vstack([z, draws]), target)
    x = models.point(z) if domain.is_continuous else np.clip(c + D * z, 0.0, 1.0)
    z = (x - c) / D
    mean, std = model.predict(z[None, :])
    log_acquisition = models.log_feasible(z[None, :])
    reduction = _violation_reduction(models, z) if problem.target == np.inf else None
    if reduction is None:
        log_acquisition = log_acquisition + LOG_EI(Prediction(mean, std), target)
    return Step(x, z, float(log_acquisition[0]), float(mean[0]), float(std[0]), lowest, certain, model, reduction)


def _violation_reduction(models: ConstrainedModels, z: Vector) -> float:
    """Predicted reduction of the violation of the outcome constraints by a step."""
    return float(models.violation(np.zeros((1, len(z))))[0] - models.violation(z[None, :])[0])


@dataclass(frozen=True, eq=False)
class _Search:
    """Searches in one box (d,), each started at the center and at the best of some draws (m, d).

    Attributes:
        models: Models of the objective and of the constraints.
        lower: Lower bounds of the box, (d,).
        upper: Upper bounds of the box, (d,).
        draws: Random points of the box, (m, d).
        atol: Absolute tolerance of predicted reductions.
    """

    models: ConstrainedModels
    lower: Vector
    upper: Vector
    draws: Matrix
    atol: float

    def lowest(self) -> tuple[Vector, float]:
        """The point with the lowest mean under the constraints, and the mean there; the center if none is lower."""
        origin, drawn = np.zeros_like(self.lower), self._best_draw()
        starts = np.vstack([origin, *drawn])
        unconstrained, value = lowest_mean(self.models.models[0], starts, self.lower, self.upper, self.atol)
        if self.models.is_within(unconstrained):
            return unconstrained, value
        best = origin, 0.0
        for start in starts if drawn else [origin, unconstrained]:
            z, value = self._minimize(self.models.mean, start)
            if value < best[1]:
                best = z, value
        return best

    def highest_log_ei(self, z: Vector, target: float) -> Vector:
        """The point with the highest log EI under the constraints, from the lowest mean z and from the best draw."""
        fun = self.models.negative_log_ei(target)
        best = z, self._log_acquisition(z, target)
        starts = [z]
        if len(self.draws):
            means, stds = self.models.predict(self.draws)
            at_draws = LOG_EI(Prediction(means[0], stds[0]), target) + self.models.log_feasible(self.draws)
            starts.append(self.draws[int(np.argmax(at_draws))])
        for start in starts:
            end, _ = self._minimize(fun, start)
            value = self._log_acquisition(end, target)
            if value > best[1]:
                best = end, value
        return best[0]

    def least_violation(self) -> Vector:
        """The point with the least violation; among points without a violation, the lowest mean."""
        origin = np.zeros_like(self.lower)
        starts = [origin]
        if len(self.draws):
            starts.append(self.draws[int(np.argmin(self.models.violation(self.draws)))])
        hard = None if self.models.allowed_set is None else self.models.input_constraints
        best, least = origin, float(self.models.violation(origin[None, :])[0])
        for start in starts:
            z = least_violation(self.models.outcome_constraints, start, self.lower, self.upper, hard=hard)
            if np.max(self.models.outcome_constraints(z)[0]) < FEASIBILITY_TOLERANCE:
                z, _ = minimize_slsqp(self.models.mean, self.models.constraints, z, self.lower, self.upper)
            if self.models.allowed_set is not None:
                z = self._restored(z, origin, self._allowed, self.models.input_constraints)
            violation = float(self.models.violation(z[None, :])[0])
            if violation < least:
                best, least = z, violation
        return best

    def _log_acquisition(self, z: Vector, target: float) -> float:
        """Log EI + log P(feasible)."""
        mean, std = self.models.models[0].predict(z[None, :])
        value = LOG_EI(Prediction(mean, std), target) + self.models.log_feasible(z[None, :])
        return float(value[0])

    def _best_draw(self) -> list[Vector]:
        """The draw with the lowest mean where all constraints are predicted to hold; empty without draws."""
        if len(self.draws) == 0:
            return []
        means, _ = self.models.predict(self.draws)
        infeasible = np.any(means[1:] + self.models.values[:, None] > 0, axis=0)
        return [self.draws[int(np.argmin(np.where(infeasible, np.inf, means[0])))]]

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
        margin = BOUNDARY_MARGIN / self.models.models[0].radius
        restored = restore_feasibility(z, feasible, allowed, constraints, self.lower, self.upper, margin=margin)
        return feasible if restored is None else restored

    def _allowed(self, z: Vector) -> bool:
        """Whether a step satisfies the input constraints."""
        allowed_set = self.models.allowed_set
        return allowed_set is None or bool(allowed_set.allowed(self.models.point(z)[None, :])[0])


def _best_snapped(models: ConstrainedModels, domain: Domain, X: Matrix, Z: Matrix, target: float) -> Vector:
    """Of steps Z (m, d), snapped to the domain, the one with the highest log acquisition whose end is not in X (n, d).

    From there log EI is maximised over the continuous coordinates. The center if all steps are in X or not allowed.
    """
    model = models.models[0]
    A = domain.snap(np.clip(model.center + model.radius * Z, 0.0, 1.0))
    seen = {x.tobytes() for x in X}
    new = np.array([a.tobytes() not in seen for a in A])
    if models.allowed_set is not None:
        new[new] = models.allowed_set.allowed(A[new])
    if not new.any():
        return np.zeros(Z.shape[1])
    Z = (A[new] - model.center) / model.radius
    log_acquisition = models.log_feasible(Z)
    if target < np.inf:
        log_acquisition = log_acquisition + LOG_EI(model.predict(Z), target)
    z = Z[int(np.argmax(log_acquisition))]
    free = domain.free(model.center)
    if not free.any() or target == np.inf:
        return z
    low, high = (np.clip((face - model.center) / model.radius, -1.0, 1.0) for face in (0.0, 1.0))
    lower, upper = np.where(free, low, z), np.where(free, high, z)
    end, _ = minimize_slsqp(models.negative_log_ei(target), models.constraints, z, lower, upper)
    margin = BOUNDARY_MARGIN / model.radius
    restored = restore_feasibility(end, z, models.is_within, models.constraints, lower, upper, margin=margin)
    return z if restored is None else restored
