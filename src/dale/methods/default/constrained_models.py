"""The models of a step under constraints: of the objective, of each outcome constraint, and the input constraints.

A step has coordinates z in the frame of the objective's model, which may have learnt a shape S. A valley of the
objective need not be one of a constraint. So the model of a constraint is in the same frame or in a ball, whichever is
more probable (``local_model.py``); a model in a ball has the coordinates S z.

With mean m_j, std s_j and remainder e_j of outcome constraint j at z, and c_j its value at the center, a step has to
satisfy

    h_j(z) = c_j + m_j(z) + kappa (s_j(z) + e_j(z)) + reserve |c_j| <= 0.

Without a shape, the faces of the cube are bounds of z. In a shape they are linear constraints.

Shapes: k outcome constraints, d coordinates.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from dale._arrays import Matrix, Vector
from dale.acquisition.expected_improvement import log_h_at
from dale.acquisition.feasibility import Feasibility, log_probability_below
from dale.methods.default.local_model import LOG_EI
from dale.methods.default.local_step import MAX_UNCERTAINTY
from dale.methods.default.step_box import FACE_TOLERANCE, StepBox
from dale.models.base import Prediction
from dale.models.series import MIN_VARIANCE
from dale.models.taylor import TaylorModel
from dale.space.allowed_set import AllowedSet

CONSTRAINT_MARGIN = 1e-13  # added to the scaled constraint values, so that rounding errors do not violate them


@dataclass(frozen=True, eq=False)
class ConstrainedModels:
    """Taylor models of the objective and of the outcome constraints around one center, with the input constraints.

    Attributes:
        objective: Model of the objective.
        outcomes: Models of the outcome constraints.
        values: Scaled values of the outcome constraints at the center, (k,).
        box: Where a step may end.
        allowed_set: Input constraints; None for none.
        kappa: Number of stds by which a predicted constraint value stays below 0.
        completes: The probability that an evaluation completes; None if none has failed.
        reserve: Fraction of a constraint's value at the center by which its predicted value stays below 0, too.
    """

    objective: TaylorModel
    outcomes: tuple[TaylorModel, ...]
    values: Vector
    box: StepBox
    allowed_set: AllowedSet | None
    kappa: float
    reserve: float = 0.0
    completes: Feasibility | None = None
    _last: list[tuple[bytes, tuple[Vector, Vector, Matrix, Matrix]]] = field(default_factory=list)

    def _map(self, model: TaylorModel) -> Matrix | None:
        """T if the coordinates of a model are T z; None if they are z."""
        return self.box.frame.shape if model.frame.shape is None else None

    def predictions(self, z: Vector) -> tuple[Vector, Vector, Matrix, Matrix]:
        """Means (1 + k,) and stds (1 + k,) at a point z (d,), and their gradients (1 + k, d); cached for the last z."""
        key = z.tobytes()
        if not self._last or self._last[0][0] != key:
            self._last[:] = [(key, self._predictions(z))]
        return self._last[0][1]

    def _predictions(self, z: Vector) -> tuple[Vector, Vector, Matrix, Matrix]:
        models = (self.objective, *self.outcomes)
        terms = max((model.terms for model in models), key=lambda t: len(t.degree))  # others' features come first
        features, gradients = terms.with_gradients(z[None, :])
        mapped: tuple[Matrix, np.ndarray] | None = None
        means, stds, mean_gradients, std_gradients = [], [], [], []
        for model in models:
            p, T = len(model.weights), self._map(model)
            F, G = features[0, :p], gradients[0, :p]
            if T is not None:
                mapped = mapped or terms.with_gradients((T @ z)[None, :])
                F, G = mapped[0][0, :p], mapped[1][0, :p] @ T
            v = F @ model.covariance_factor
            root = np.sqrt(max(float(v @ v), MIN_VARIANCE))
            means.append(float(F @ model.weights))
            stds.append(model.scale * root)
            mean_gradients.append(model.weights @ G)
            std_gradients.append(model.scale * ((model.covariance_factor @ v) @ G) / root)
        return np.array(means), np.array(stds), np.array(mean_gradients), np.array(std_gradients)

    def predict_outcomes(self, Z: Matrix) -> tuple[Matrix, Matrix]:
        """Means (k, m) and stds (k, m) of the outcome constraints at points (m, d)."""
        means, stds = np.empty((len(self.outcomes), len(Z))), np.empty((len(self.outcomes), len(Z)))
        for j, model in enumerate(self.outcomes):
            T = self._map(model)
            means[j], stds[j] = model.predict(Z if T is None else Z @ T.T)
        return self.values[:, None] + means, stds

    def mean(self, z: Vector) -> tuple[float, Vector]:
        """Mean of the objective at z (d,), with its gradient."""
        mean, _, gradient, _ = self.predictions(z)
        return float(mean[0]), gradient[0]

    def negative_log_ei(self, target: float) -> Callable[[Vector], tuple[float, Vector]]:
        """-(log EI + log P(completes)) as a function of z (d,), with its gradient."""

        def negative(z: Vector) -> tuple[float, Vector]:
            mean, std, mean_gradient, std_gradient = self.predictions(z)
            s = float(std[0])
            u = (target - float(mean[0])) / s
            if not abs(u) < 1e100:
                return np.inf, np.zeros_like(z)
            log_h, p = log_h_at(u)
            value, gradient = -(np.log(s) + log_h), (p * mean_gradient[0] - (1 - u * p) * std_gradient[0]) / s
            if self.completes is None:
                return value, gradient
            frame = self.box.frame
            fails, by_x, _ = self.completes.negative_log_feasibility(frame.to_cube(z[None, :]))
            by_z = frame.radius * (by_x[0] if frame.shape is None else by_x[0] @ frame.shape)
            return value + float(fails[0]), gradient + by_z

        return negative

    def outcome_constraints(self, z: Vector) -> tuple[Vector, Matrix]:
        """h_j at z (d,), with gradients: (k,) and (k, d)."""
        mean, std, mean_gradient, std_gradient = (part[1:] for part in self.predictions(z))
        remainder, remainder_gradient = self._remainders(z)
        margin = self.reserve * np.abs(self.values) + CONSTRAINT_MARGIN
        h = self.values + mean + self.kappa * (std + remainder) + margin
        return h, mean_gradient + self.kappa * (std_gradient + remainder_gradient)

    def _remainders(self, z: Vector) -> tuple[Vector, Matrix]:
        """e_j at z (d,), with gradients: (k,) and (k, d)."""
        values, gradients = np.empty(len(self.outcomes)), np.empty((len(self.outcomes), len(z)))
        for j, model in enumerate(self.outcomes):
            T = self._map(model)
            own = z if T is None else T @ z
            r = float(np.linalg.norm(own))
            values[j] = model.remainder(r)
            gradient = values[j] * (model.degree + 1) * own / max(r * r, MIN_VARIANCE)
            gradients[j] = gradient if T is None else gradient @ T
        return values, gradients

    def input_constraints(self, z: Vector) -> tuple[Vector, Matrix]:
        """Smooth values of the input constraints at z (d,), and in a shape of the faces of the cube, with gradients."""
        frame, movable = self.box.frame, self.box.movable
        x = frame.to_cube(z)
        values, gradients = np.empty(0), np.empty((0, len(z)))
        if self.allowed_set is not None:
            values, gradients = self.allowed_set.smooth_values(np.clip(x, 0.0, 1.0))
        if frame.shape is None:
            return values, frame.radius * gradients
        faces = np.eye(len(z))[movable]
        values = np.concatenate([values, -x[movable], x[movable] - 1])
        return values, frame.radius * np.vstack([gradients, -faces, faces]) @ frame.shape

    def constraints(self, z: Vector) -> tuple[Vector, Matrix]:
        """All constraints at z (d,), with gradients."""
        (h, J), (g, G) = self.outcome_constraints(z), self.input_constraints(z)
        return np.append(h, g), np.vstack([J, G])

    def is_within(self, z: Vector) -> bool:
        """Whether a step satisfies all constraints, the input constraints exactly."""
        if self.outcomes and not np.all(self.outcome_constraints(z)[0] <= 2 * CONSTRAINT_MARGIN):
            return False
        return self.is_allowed(z)

    def is_allowed(self, z: Vector) -> bool:
        """Whether a step stays in the cube and satisfies the input constraints."""
        if np.max(np.abs(self.box.frame.to_cube(z) - 0.5)) > 0.5 + FACE_TOLERANCE:
            return False
        return self.allowed_set is None or bool(self.allowed_set.allowed(self.box.point(z)[None, :])[0])

    def log_feasible(self, Z: Matrix) -> Vector:
        """Logarithm of the probability that points (m, d) satisfy the outcome constraints, (m,)."""
        total = np.zeros(len(Z))
        for mean, std in zip(*self.predict_outcomes(Z), strict=True):
            total = total + log_probability_below(Prediction(mean, std))
        return total

    def log_acquisition(self, Z: Matrix, target: float) -> Vector:
        """Log EI + log P(feasible) at points (m, d), (m,); the latter alone while nothing feasible is known."""
        log_feasible = self.log_feasible(Z)
        if self.completes is not None:
            log_feasible = log_feasible + self.completes.log_probability(self.box.frame.to_cube(Z))
        return log_feasible if target == np.inf else log_feasible + LOG_EI(self.objective.predict(Z), target)

    def certain(self, z: Vector) -> bool:
        """Whether std and remainder of each constraint at z are small relative to its change or its distance from 0."""
        mean, std = (part[:, 0] for part in self.predict_outcomes(z[None, :]))
        size = np.maximum(np.abs(mean - self.values), -mean)
        return bool(np.all(std + self._remainders(z)[0] < MAX_UNCERTAINTY * size))

    def violation(self, Z: Matrix) -> Vector:
        """Sum of the positive parts of the constraints' means at points (m, d), (m,)."""
        return np.asarray(np.sum(np.maximum(self.predict_outcomes(Z)[0], 0.0), axis=0))
