"""One local problem: the data of a trust region, and the Taylor models fitted to them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from dale._arrays import Matrix, Vector
from dale.acquisition.base import negative_acquisition
from dale.acquisition.expected_improvement import LogExpectedImprovement
from dale.acquisition.feasibility import Feasibility, log_completes
from dale.acquisition.noisy import std_reduction, with_std_reduction
from dale.history.recommendation import MAX_DEGREE, Center
from dale.methods.default.settings import TaylorSettings
from dale.methods.default.shape import learn_shape
from dale.methods.default.step_box import Function
from dale.methods.default.trust_region import TrustRegion
from dale.models.base import Prediction, PredictionDerivatives
from dale.models.ellipsoid import Ellipsoid
from dale.models.failure_boundary import FailureBoundary
from dale.models.monomials import affordable_degree
from dale.models.series import Series, SeriesData
from dale.models.taylor import TaylorModel
from dale.optim.projected_newton import FunctionValues
from dale.space.domain import Domain

SAFE = 0.9  # an evaluation that completes with less of the highest probability may fail
LOG_EI = LogExpectedImprovement()
FAR_MARGIN = 1.0  # log density that distant observations have to gain for each of the nearest
REDUCTION_RTOL = 1e-3  # accuracy of predicted reductions, relative to the minimum reduction


@dataclass(frozen=True, eq=False)
class LocalProblem:
    """The data from which a step is computed.

    Attributes:
        X: Observed points, (n, d).
        y: Their standardised values less the lowest one, (n,).
        constraints: Their outcome constraints, each divided by its scale, (n, k).
        center: Row of the observation to step from.
        region: Trust region around it.
        pending: Pending points, (m, d).
        domain: Points that may be proposed.
        target: Best feasible value; infinite where none is feasible.
        min_reduction: Smaller reductions count as none.
        settings: Settings of the Taylor models.
        failures: Where evaluations fail; None if none has failed.
        failed: Points whose evaluation failed, (q, d); None for none.
        noisy: Fits a model with noise around an observation, in the metric of a region; None where there is no noise.
        is_exact: Whether another evaluation of an observed point would give the same value.
    """

    X: Matrix
    y: Vector
    constraints: Matrix
    center: int
    region: TrustRegion
    pending: Matrix
    domain: Domain
    target: float
    min_reduction: float
    settings: TaylorSettings
    failures: FailureBoundary | None = None
    failed: Matrix | None = None
    noisy: Callable[[int, TrustRegion], Center] | None = None
    is_exact: bool = True

    @property
    def atol(self) -> float:
        """Absolute tolerance of predicted reductions."""
        return REDUCTION_RTOL * self.min_reduction

    @property
    def seen(self) -> Matrix:
        """Points observed, failed or pending, (n + q + m, d)."""
        return np.vstack([self.X, self.pending] if self.failed is None else [self.X, self.failed, self.pending])

    @cached_property
    def movable(self) -> np.ndarray:
        """Coordinates that a step moves, (d,): options and parameters that are inactive at the center stay."""
        if self.domain.is_continuous:
            return np.ones(self.X.shape[1], dtype=bool)
        return self.domain.ordered & self.domain.active(self.X[self.center][None, :])[0]

    @cached_property
    def near(self) -> np.ndarray:
        """Rows of the observations that the models see: near ones in the region's metric, or enough of the nearest.

        Distant observations of a kinked or curved function say nothing about its center, however little they weigh.
        """
        if self._noisy_center is not None:
            return self._noisy_center.near
        return self._nearest(self.settings.neighbourhood.count(self._distances, self.X.shape[1]))

    @cached_property
    def _distances(self) -> Vector:
        """Distances of the observations from the center, in radii and in the shape of the region's last step, (n,)."""
        frame = Ellipsoid(self.X[self.center], self.region.radius, self.region.shape)
        return np.linalg.norm(frame.to_local(self.X), axis=1)

    def _nearest(self, n: int) -> np.ndarray:
        """Rows of the n observations nearest to the center in the metric of the region."""
        return np.argsort(self._distances, kind="stable")[:n]

    @cached_property
    def objective(self) -> TaylorModel:
        """The model of the objective in the most probable shape of the region."""
        s, region = self.settings, self.region
        if s.shapes:
            fit = partial(self._fit_objective, memory={})
            model = learn_shape(fit, region.shape, region.radius, self.movable, structured=s.structured)
        else:
            model = self._fit_objective()
        model = self._with_far_data(model)
        model = self._with_fantasies(model, min(self.target, float(np.min(self.y))), self.y)
        if not self.settings.calibrated or self.noisy is not None:  # the noise includes the errors of the model
            return model
        return replace(model, scale=self.region.spread * model.scale)

    @property
    def frame(self) -> Ellipsoid:
        """Center, radius and shape of the models."""
        return self.objective.frame

    @cached_property
    def constraint_models(self) -> tuple[TaylorModel, ...]:
        """The models of the outcome constraints: in the objective's frame, or in a ball where it is more probable."""
        return tuple(self._with_fantasies(self._fit_constraint(y), -np.inf, y) for y in self.constraints.T)

    def _fit_constraint(self, y: Vector) -> TaylorModel:
        """The model of an outcome constraint."""
        frames = [self.frame]
        if self.frame.shape is not None:
            frames.append(replace(self.frame, shape=None))
        return min((self._fit(frame, y) for frame in frames), key=lambda model: model.loss)

    def _with_far_data(self, near: TaylorModel) -> TaylorModel:
        """The model with distant observations too, if it predicts the nearest ones better from all others.

        They determine the high degrees of a polynomial in a curved valley, where the near ones do not suffice.
        """
        far = self._nearest(self.settings.neighbourhood.limit(self.X.shape[1]))
        if len(far) == len(self.near) or self.noisy is not None:
            return near
        wide = self._fit(near.frame, self.y, near.starts, rows=far)
        r = np.linalg.norm(near.frame.to_local(self.X), axis=1)
        inner = np.zeros(len(self.X), dtype=bool)
        inner[self.near[np.argsort(r[self.near], kind="stable")[: len(self.near) // 2]]] = True
        X, y = self.X, self.y
        surprise = near.surprise(X[self.near], y[self.near], inner[self.near])
        margin = FAR_MARGIN * float(np.sum(inner))
        return wide if wide.surprise(X[far], y[far], inner[far]) < surprise - margin else near

    def _fit_objective(
        self,
        shape: Matrix | None = None,
        starts: Sequence[Series] = (),
        *,
        structured: bool = False,
        memory: dict[bytes, SeriesData] | None = None,
    ) -> TaylorModel:
        """The model of the objective in a shape."""
        frame = Ellipsoid(self.X[self.center], self.region.radius, shape)
        return self._fit(frame, self.y, starts, structured=structured, memory=memory)

    def _fit(
        self,
        frame: Ellipsoid,
        y: Vector,
        starts: Sequence[Series] = (),
        *,
        structured: bool = False,
        rows: np.ndarray | None = None,
        memory: dict[bytes, SeriesData] | None = None,
    ) -> TaylorModel:
        """The model of values y (n,) in a frame; of near ones, or of these rows.

        ``memory`` has the same observations in the coordinates of each shape, so that searches share their fits.
        """
        value, rows, noise = float(y[self.center]), self.near if rows is None else rows, None
        if self._noisy_center is not None and y is self.y:
            noise, starts = self._noisy_center.noise, starts or self._noisy_center.model.starts
        memory, shape = {} if memory is None else memory, b"" if frame.shape is None else frame.shape.tobytes()
        if shape not in memory:
            degree = min(affordable_degree(self.X.shape[1]), self.settings.max_degree)
            degree = degree if noise is None else min(degree, MAX_DEGREE)
            memory[shape] = SeriesData.of(frame.to_local(self.X[rows]), y[rows] - value, degree, noise)
        return TaylorModel.search(frame, value, memory[shape], starts, structured=structured)

    @cached_property
    def _noisy_center(self) -> Center | None:
        """With noise: the observations that the models see, and their noise, from a model in the last shape."""
        return None if self.noisy is None else self.noisy(self.center, self.region)

    @property
    def target_difference(self) -> float:
        """The target less the value at the center."""
        return self.target - self.objective.value

    def _predict(self, Z: Matrix) -> Prediction:
        """Mean and std for the acquisition function: with noise, the std that one more evaluation takes away."""
        mean, std = self.objective.predict(Z)
        return Prediction(mean, std if self.noisy is None else std_reduction(std, self.objective.noise_at_center))

    def _derivatives(self, Z: Matrix) -> PredictionDerivatives:
        """The same with derivatives."""
        found = self.objective.derivatives(Z)
        return found if self.noisy is None else with_std_reduction(found, self.objective.noise_at_center)

    def _with_fantasies(self, model: TaylorModel, lowest: float, y: Vector) -> TaylorModel:
        """The model, conditioned on fantasies >= ``lowest`` at pending points, with the factor of its std."""
        if len(self.pending):
            Z = model.frame.to_local(self.pending)
            fantasies = np.clip(model.value + model.predict(Z).mean, lowest, np.max(y))
            model = model.condition(Z, fantasies - model.value)
        return replace(model, scale=self.settings.std_factor * model.scale)

    def log_completes(self, Z: Matrix) -> Vector:
        """Logarithm of the probability that evaluations at points (m, d) in local coordinates complete, (m,)."""
        return np.zeros(len(Z)) if self.failures is None else self.completes.log_probability(self.frame.to_cube(Z))

    def completes_at(self, z: Vector) -> float:
        """The probability that the evaluation at z (d,) completes, relative to the highest one anywhere."""
        if self.failures is None:
            return 1.0
        return float(np.exp(log_completes(self.failures, self.frame.to_cube(z[None, :]))[0]))

    def may_fail(self, z: Vector) -> bool:
        """Whether the evaluation at z (d,) is less likely to complete than elsewhere."""
        return self.completes_at(z) < SAFE

    def safe(self, Z: Matrix) -> Matrix:
        """Those of the points (m, d) in local coordinates whose evaluation is as likely to complete as elsewhere."""
        if self.failures is None:
            return Z
        return Z[log_completes(self.failures, self.frame.to_cube(Z)) >= math.log(SAFE)]

    def log_acquisition(self, Z: Matrix, target: float) -> Vector:
        """Log EI + log P(completes) at points (m, d) in local coordinates, (m,)."""
        log_ei = LOG_EI(self._predict(Z), target)
        return log_ei if self.failures is None else log_ei + self.log_completes(Z)

    def negative_log_acquisition(self, target: float) -> Function:
        """-(log EI + log P(completes)) of points in local coordinates, with its derivatives."""
        frame = self.frame
        if self.failures is None:
            return lambda Z: negative_acquisition(LOG_EI, self._derivatives(Z), target)
        T = frame.radius * (np.eye(len(frame.center)) if frame.shape is None else frame.shape)

        def fun(Z: Matrix) -> FunctionValues:
            ei = negative_acquisition(LOG_EI, self._derivatives(Z), target)
            value, gradient, hessian = self.completes.negative_log_feasibility(frame.to_cube(Z))
            return FunctionValues(ei.value + value, ei.gradient + gradient @ T, ei.hessian + T.T @ hessian @ T)

        return fun

    @property
    def completes(self) -> Feasibility:
        """The probability that an evaluation completes."""
        return Feasibility((), self.failures)
