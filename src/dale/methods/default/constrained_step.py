"""The next step of a Taylor region where there are constraints: ``local.py``'s, subject to limits.

Each black-box constraint has a Taylor model around the same center. With mean m_j, std s_j and remainder e_j at z,
and c the constraint's value at the center, a step has to keep

    h_j(z) = c + m_j(z) + kappa (s_j(z) + e_j(z)) <= 0.

At a feasible center z = 0 keeps it, for there std and remainder vanish; and as the model learns, the limit comes
close to the boundary itself: this is how an optimum on the boundary is reached to many digits. kappa grows with the
failures in a row. Constraints on the inputs are known exactly, and are limits as they are.

Within them the step goes to the lowest mean or the best log EI, by the rules of ``local.py``. Its promise is
log EI + log P(feasible). Where nothing is feasible yet, the step lowers the violation instead, the sum of the positive
parts of the h_j; where the models see a way to bring it to nothing, the lowest mean there is taken.
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
    CERTAIN,
    LOG_EI,
    SAME_FACE,
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
SPARE = 1e-13  # in units of a constraint: how far inside its model's boundary a step aims, against rounding
MET = 1e-9  # in the same units: violations below this are none to a model
HAIR_OF_THE_CUBE = 4e-16  # how far inside the exact boundary a correction aims at first


@dataclass(frozen=True, eq=False)
class Around:
    """All that a region's models believe at a point z, with gradients: the objective first, then each constraint.

    Attributes:
        models: Taylor models around the same center, with the same features.
        values: Of the constraints at the center, (k,), in units.
        inputs: The constraints on the inputs; None for none.
        kappa: How many stds a constraint keeps to its boundary.
    """

    models: tuple[TaylorModel, ...]
    values: Vector
    inputs: AllowedSet | None
    kappa: float
    _last: list[tuple[bytes, tuple[Vector, Vector, Matrix, Matrix]]] = field(default_factory=list)

    def beliefs(self, z: Vector) -> tuple[Vector, Vector, Matrix, Matrix]:
        """Means (1 + k,) and stds (1 + k,) at a point (d,), and their gradients (1 + k, d)."""
        key = z.tobytes()
        if not self._last or self._last[0][0] != key:
            self._last[:] = [(key, self._believed(z))]
        return self._last[0][1]

    def _believed(self, z: Vector) -> tuple[Vector, Vector, Matrix, Matrix]:
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
        """Of the objective, with its gradient."""
        mean, _, gradient, _ = self.beliefs(z)
        return float(mean[0]), gradient[0]

    def negative_log_ei(self, target: float) -> Callable[[Vector], tuple[float, Vector]]:
        """-log EI with its gradient."""

        def below(z: Vector) -> tuple[float, Vector]:
            mean, std, mean_gradient, std_gradient = self.beliefs(z)
            s = float(std[0])
            u = (target - float(mean[0])) / s
            if not abs(u) < 1e100:
                return np.inf, np.zeros_like(z)
            level, p = log_h_at(u)
            return -(np.log(s) + level), (p * mean_gradient[0] - (1 - u * p) * std_gradient[0]) / s

        return below

    def black_box(self, z: Vector) -> tuple[Vector, Matrix]:
        """h_j at z (d,), with gradients: what black-box constraints leave."""
        mean, std, mean_gradient, std_gradient = (part[1:] for part in self.beliefs(z))
        r = float(np.linalg.norm(z))
        rest = np.array([float(m.remainder(r)) for m in self.models[1:]])
        rest_slope = np.outer(rest * (self.models[0].degree + 1), z) / max(r * r, MIN_VARIANCE)
        h = self.values + mean + self.kappa * (std + rest) + SPARE
        return h, mean_gradient + self.kappa * (std_gradient + rest_slope)

    def known(self, z: Vector) -> tuple[Vector, Matrix]:
        """Smooth margins of the inputs at z, with gradients."""
        if self.inputs is None:
            return np.empty(0), np.empty((0, len(z)))
        model = self.models[0]
        values, gradients = self.inputs.limits(np.clip(model.center + model.radius * z, 0.0, 1.0))
        return values, gradients * model.radius

    def limits(self, z: Vector) -> tuple[Vector, Matrix]:
        """All limits together."""
        (h, J), (g, G) = self.black_box(z), self.known(z)
        return np.append(h, g), np.vstack([J, G])

    def may(self, z: Vector) -> bool:
        """Whether a step keeps all limits, those of the inputs exactly."""
        if len(self.models) > 1 and not np.all(self.black_box(z)[0] <= 2 * SPARE):
            return False
        return self.inputs is None or bool(self.inputs.allowed(self.point(z)[None, :])[0])

    def point(self, z: Vector) -> Vector:
        """The point of the cube; what is on a face of it is there exactly."""
        c, D = self.models[0].center, self.models[0].radius
        low, high = np.abs(z + c / D) <= SAME_FACE, np.abs(z - (1 - c) / D) <= SAME_FACE
        return np.where(low, 0.0, np.where(high, 1.0, np.clip(c + D * z, 0.0, 1.0)))

    def log_feasible(self, Z: Matrix) -> Vector:
        """Logarithm of the probability that points (m, d) fulfil the black-box constraints, (m,)."""
        total = np.zeros(len(Z))
        for model, value in zip(self.models[1:], self.values, strict=True):
            mean, std = model.predict(Z)
            total = total + log_probability_below(Prediction(value + mean, std))
        return total

    def certain(self, z: Vector) -> bool:
        """Whether the constraints' models are all but certain at z: of their change, or of the room that is left."""
        r = float(np.linalg.norm(z))
        for model, value in zip(self.models[1:], self.values, strict=True):
            mean, std = (float(v[0]) for v in model.predict(z[None, :]))
            if not std + float(model.remainder(r)) < CERTAIN * max(abs(mean), -(value + mean)):
                return False
        return True

    def violation(self, Z: Matrix) -> Vector:
        """Sum of the positive parts of the constraints' means at points (m, d), (m,)."""
        means = np.array([v + m.predict(Z)[0] for m, v in zip(self.models[1:], self.values, strict=True)])
        return np.asarray(np.sum(np.maximum(means, 0.0), axis=0))


def constrained_step(problem: LocalProblem, rng: np.random.Generator) -> Step:
    """The best step of a region within input and outcome constraints."""
    c, D, domain = problem.X[problem.center], problem.region.radius, problem.domain
    model = problem.fit(problem.y, min(problem.target, float(np.min(problem.y))))
    others = [problem.fit(column, -np.inf) for column in problem.constraints.T]
    caution = KAPPA * (1 + problem.region.failures)
    around = Around((model, *others), problem.constraints[problem.center], domain.allowed_set, caution)
    _, cube, lower, upper, draws = step_bounds(c, D, domain, rng)
    draws = draws[domain.allowed(np.clip(c + D * draws, 0.0, 1.0))]
    # Input constraints have no gradients across rounded coordinates: they are checked once the step is rounded.
    smooth = around if domain.is_continuous else replace(around, inputs=None)
    search = _Search(smooth, lower, upper, draws, problem.atol)
    target = problem.target - float(problem.y[problem.center])
    certain = False
    if problem.target == np.inf:
        z = search.least_violated()
        lowest = -_reduction(around, z)
    else:
        z, lowest = search.lowest()
        if -lowest < problem.min_reduction and others:  # does caution alone leave nothing to gain?
            z, lowest = replace(search, around=replace(smooth, kappa=0.0)).lowest()
        certain = model.n_points > len(c) and is_certain(model, z, lowest) and around.certain(z)
        far = None
        if certain and problem.settings.allow_long_steps and np.max(np.abs(z)) >= BOUNDARY_STEP:
            far = _Search(smooth, cube[0], cube[1], z[None, :], problem.atol).lowest()
            far = far if far[1] < lowest and is_certain(model, *far) and around.certain(far[0]) else None
        if far is not None:
            z, lowest = far
        elif not certain and (int(problem.region.failures) % 2 == 0 or not lowest < 0):
            z = search.most_promising(z, target)
    if not domain.is_continuous:
        z = _seen(around, domain, problem.seen, np.vstack([z, draws]), target, z)
    x = around.point(z) if domain.is_continuous else np.clip(c + D * z, 0.0, 1.0)
    z = (x - c) / D
    mean, std = model.predict(z[None, :])
    log_acquisition = around.log_feasible(z[None, :])
    drop = _reduction(around, z) if problem.target == np.inf else None
    if drop is None:
        log_acquisition = log_acquisition + LOG_EI(Prediction(mean, std), target)
    return Step(x, z, float(log_acquisition[0]), float(mean[0]), float(std[0]), lowest, certain, model, drop)


def _reduction(around: Around, z: Vector) -> float:
    """How far a step lowers the violation of the outcome constraints."""
    return float(around.violation(np.zeros((1, len(z))))[0] - around.violation(z[None, :])[0])


@dataclass(frozen=True, eq=False)
class _Search:
    """Searches in one box, (d,), that begin at the center and at the best of some draws (m, d)."""

    around: Around
    lower: Vector
    upper: Vector
    draws: Matrix
    least: float

    def lowest(self) -> tuple[Vector, float]:
        """The lowest mean within the limits, and the value there; the center if there is none below it."""
        origin, drawn = np.zeros_like(self.lower), self._best()
        starts = np.vstack([origin, *drawn])
        free, value = lowest_mean(self.around.models[0], starts, self.lower, self.upper, self.least)
        if self.around.may(free):
            return free, value
        best = origin, 0.0
        for start in starts if drawn else [origin, free]:
            z, value = self._descend(self.around.mean, start)
            if value < best[1]:
                best = z, value
        return best

    def most_promising(self, z: Vector, target: float) -> Vector:
        """The best log EI within the limits, from the lowest mean and from the best draw."""
        below = self.around.negative_log_ei(target)
        best = z, self._weighed(z, target)
        starts = [z]
        if len(self.draws):
            means, stds = self.around.predict(self.draws)
            level = LOG_EI(Prediction(means[0], stds[0]), target) + self.around.log_feasible(self.draws)
            starts.append(self.draws[int(np.argmax(level))])
        for start in starts:
            there, _ = self._descend(below, start)
            promise = self._weighed(there, target)
            if promise > best[1]:
                best = there, promise
        return best[0]

    def least_violated(self) -> Vector:
        """The least violation; where there is none, the lowest mean there."""
        origin = np.zeros_like(self.lower)
        starts = [origin]
        if len(self.draws):
            starts.append(self.draws[int(np.argmin(self.around.violation(self.draws)))])
        hard = None if self.around.inputs is None else self.around.known
        best, least = origin, float(self.around.violation(origin[None, :])[0])
        for start in starts:
            z = least_violation(self.around.black_box, start, self.lower, self.upper, hard=hard)
            if np.max(self.around.black_box(z)[0]) < MET:
                z, _ = minimize_slsqp(self.around.mean, self.around.limits, z, self.lower, self.upper)
            if self.around.inputs is not None:
                z = self._back(z, origin, self._allowed, self.around.known)
            violation = float(self.around.violation(z[None, :])[0])
            if violation < least:
                best, least = z, violation
        return best

    def _weighed(self, z: Vector, target: float) -> float:
        mean, std = self.around.models[0].predict(z[None, :])
        promise = LOG_EI(Prediction(mean, std), target) + self.around.log_feasible(z[None, :])
        return float(promise[0])

    def _best(self) -> list[Vector]:
        """The draw with the lowest mean among those that the means of the constraints let pass."""
        if len(self.draws) == 0:
            return []
        means, _ = self.around.predict(self.draws)
        outside = np.any(means[1:] + self.around.values[:, None] > 0, axis=0)
        return [self.draws[int(np.argmin(np.where(outside, np.inf, means[0])))]]

    def _descend(self, function: Callable[[Vector], tuple[float, Vector]], start: Vector) -> tuple[Vector, float]:
        """The end of a search, pulled back towards its start, or towards the center where that is outside."""
        z, _ = minimize_slsqp(function, self.around.limits, start, self.lower, self.upper)
        inside = start if self.around.may(start) else np.zeros_like(start)
        z = self._back(z, inside, self.around.may, self.around.limits)
        return z, function(z)[0]

    def _back(
        self, z: Vector, inside: Vector, allowed: Callable[[Vector], bool], limits: ConstraintFunctions
    ) -> Vector:
        spare = HAIR_OF_THE_CUBE / self.around.models[0].radius
        back = restore_feasibility(z, inside, allowed, limits, self.lower, self.upper, margin=spare)
        return inside if back is None else back

    def _allowed(self, z: Vector) -> bool:
        return self.around.inputs is None or bool(self.around.inputs.allowed(self.around.point(z)[None, :])[0])


def _seen(around: Around, domain: Domain, X: Matrix, Z: Matrix, target: float, otherwise: Vector) -> Vector:
    """Of steps Z (m, d), as the objective sees them, the most promising allowed one to a point that is not in X (n, d).

    What moves freely is then searched from there, the rest stays. The center if there is none.
    """
    model = around.models[0]
    A = domain.snap(np.clip(model.center + model.radius * Z, 0.0, 1.0))
    known = {x.tobytes() for x in X}
    new = np.array([a.tobytes() not in known for a in A])
    if around.inputs is not None:
        new[new] = around.inputs.allowed(A[new])
    if not new.any():
        return np.zeros_like(otherwise)
    Z = (A[new] - model.center) / model.radius
    level = around.log_feasible(Z)
    if target < np.inf:
        level = level + LOG_EI(model.predict(Z), target)
    z = Z[int(np.argmax(level))]
    free = domain.free(model.center)
    if not free.any() or target == np.inf:
        return z
    low, high = (np.clip((face - model.center) / model.radius, -1.0, 1.0) for face in (0.0, 1.0))
    lower, upper = np.where(free, low, z), np.where(free, high, z)
    there, _ = minimize_slsqp(around.negative_log_ei(target), around.limits, z, lower, upper)
    back = restore_feasibility(
        there, z, around.may, around.limits, lower, upper, margin=HAIR_OF_THE_CUBE / model.radius
    )
    return z if back is None else back
