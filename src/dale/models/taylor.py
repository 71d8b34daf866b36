"""The local Bayesian Taylor model: the paper's quadratic region, extended to all degrees, all near data and a shape.

In the frame of a region with center c, radius D and shape S (``models/ellipsoid.py``), in the coordinates
z = S^-1 (x - c) / D and with r = |z|,

    y(x) - y(c) = sum of w_a phi_a(z), all monomials of degree 1 .. m, + remainder(z).

*Features.* phi_a is the monomial times the square root of its multinomial coefficient (``models/monomials.py``), so
that features of degree k have the rotation-invariant kernel (z . z')^k. Degree 2 alone is the paper's k_q (eq. 19).

*Prior.* With t = D / rho and a common scale s, the weights are normal: practically unbounded for degree 1, with
standard deviation s t^(k - 2) for degree k >= 2. This is a Taylor series whose radius of convergence is rho, in units
of the cube: it does not change with D. The squares have a common part in addition: half the Hessian is h I plus
deviations, with h of standard deviation ``COMMON_CURVATURE_STD`` s. Without it a direction that no observation has
explored counts as flat, though the curvature of all the others is known; and the prior stays invariant to rotations. A
structured model may give it up for mixed second derivatives that are small a priori, by evidence.

*Remainder.* The omitted terms count as independent noise with standard deviation s t^(q - 2) r^q, the size of the first
of them: q = m + 1. Distant points therefore get less weight.

*Scales.* s by restricted maximum likelihood in closed form; rho and the degree by evidence: m, or 2 with q = 3, from
redundant data (more points than a quadratic has terms). The grid of rho goes down to three radii of the region, because
kinks and ripples look alike at every scale. A series that ends after its quadratic terms (rho far beyond the cube)
requires redundant data, and a log Bayes factor of ``MIN_LOG_BAYES_FACTOR``. The evidence is unimodal in log rho as far
as matters, so it is followed downhill from the middle of the grid.

*Numerics.* Weight space: [Phi P / sigma; I] = Q R, with the values as one more column, so that R contains the factor of
the posterior, the right-hand side and the residual. Forming Phi' Phi or a Gram matrix would square the condition number
and limit the accuracy to 1e-8 of the values; this one reaches their last digits.

Shapes: n observations X (n, d), y (n,); p features; points Z (k, d) in local coordinates.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from dale._arrays import Matrix, Vector
from dale.models.base import Prediction, PredictionDerivatives, std_with_derivatives
from dale.models.ellipsoid import Ellipsoid
from dale.models.monomials import MAX_DEGREE, Monomials, affordable_degree, monomials
from dale.models.series import MIN_VARIANCE, NUGGET, Noise, Series, SeriesData, SeriesFit, most_probable
from dale.optim.projected_newton import FunctionValues

MIN_LEVERAGE_LEFT = 1e-6  # 1 - leverage of a noisy observation, at least
MIN_FREEDOM = 1e-12  # 1 - leverage of an observation, below which rounding errors hide its leave-one-out error


class LeaveOneOut(NamedTuple):
    """Root mean squares of the errors of predictions, each of one observation from all others.

    Attributes:
        error: In units of the values.
        standardised: In units of the predicted std; 1 if the model is calibrated.
    """

    error: float
    standardised: float


@dataclass(frozen=True, eq=False)
class TaylorModel:
    """The posterior of a Taylor polynomial in the frame of a region; a ``Model`` in the coordinates z.

    Attributes:
        frame: Center, radius and shape of the region.
        value: y(c).
        Z: Observations in local coordinates, (n, d).
        differences: Their values minus y(c), (n,).
        terms: The features.
        series: Degree and radius of convergence.
        starts: The most probable series of each degree, this one first: where the search of a similar model starts.
        scale: s.
        weights: Posterior mean of the weights, (p,).
        covariance_factor: F with F F' their posterior covariance divided by s^2, (p, p).
        n_points: Number of observations used, without the center.
        loss: Negative logarithm of the evidence, up to a constant of the data.
        noise: The noise in the values; None for none.
        constant_factor: With noise, f with f f' the variance of the value at the center divided by s^2, (1 + p,); its
            last p entries correspond to the columns of F.
    """

    frame: Ellipsoid
    value: float
    Z: Matrix
    differences: Vector
    terms: Monomials
    series: Series
    starts: tuple[Series, ...]
    scale: float
    weights: Vector
    covariance_factor: Matrix
    n_points: int
    loss: float
    noise: Noise | None = None
    constant_factor: Vector | None = None

    @classmethod
    def fit(
        cls,
        frame: Ellipsoid,
        X: Matrix,
        y: Vector,
        value: float,
        *,
        max_degree: int = MAX_DEGREE,
        starts: Sequence[Series] = (),
        structured: bool = False,
        noise: Noise | None = None,
    ) -> TaylorModel:
        """From observations in the cube around a center, which is interpolated unless there is noise.

        Args:
            frame: Center, radius and shape of the region.
            X: Points.
            y: Their values.
            value: y(c).
            max_degree: Highest degree.
            starts: Where the search for rho starts: the series of a similar model, one for each degree; or a
                `Refinement`.
            structured: Whether mixed second derivatives may be small a priori, by evidence.
            noise: The noise in the values; None for none.

        Examples:
            >>> X = np.array([[0.4, 0.4], [0.6, 0.4], [0.4, 0.6], [0.5, 0.55], [0.6, 0.6], [0.45, 0.5], [0.5, 0.4]])
            >>> y = X[:, 0] ** 2 + X[:, 0] * X[:, 1]
            >>> model = TaylorModel.fit(Ellipsoid(np.array([0.5, 0.5]), 0.1), X, y, 0.5)
            >>> (model.gradient / model.radius).round(6)
            array([1.5, 0.5])
        """
        data = SeriesData.of(frame.to_local(X), y - value, min(affordable_degree(X.shape[1]), max_degree), noise)
        return cls.search(frame, value, data, starts, structured=structured)

    @classmethod
    def search(
        cls, frame: Ellipsoid, value: float, data: SeriesData, starts: Sequence[Series], *, structured: bool
    ) -> TaylorModel:
        """The same from data in the coordinates of the frame: another search of them repeats no fit."""
        found = most_probable(data, frame.radius, starts, structured=structured)
        return cls._of(frame, value, data, found[0][1], tuple(series for series, _ in found))

    def condition(self, Z: Matrix, differences: Vector) -> TaylorModel:
        """A new model with more observations in local coordinates, with the same degree and rho, and s estimated anew.

        Fantasies tell nothing about the function, so degree and rho are not chosen again.
        """
        noise = self.noise
        if noise is not None:
            noise = noise.with_more(len(Z))
        data = SeriesData.of(np.vstack([self.Z, Z]), np.append(self.differences, differences), self.degree, noise)
        fit = data.fit(self.series, self.radius)
        return self._of(self.frame, self.value, data, fit, (self.series,))

    @classmethod
    def _of(
        cls, frame: Ellipsoid, value: float, data: SeriesData, fit: SeriesFit, starts: tuple[Series, ...]
    ) -> TaylorModel:
        """From the posterior of one series, the first of those given."""
        d = data.Z.shape[1]
        weights, covariance_factor, constant, constant_factor = fit.weights(d)
        return cls(
            frame=frame,
            value=value + constant,
            Z=data.Z,
            differences=data.differences - constant,
            terms=monomials(d, starts[0].degree),
            series=starts[0],
            starts=starts,
            scale=math.sqrt(fit.variance),
            weights=weights,
            covariance_factor=covariance_factor,
            n_points=len(data.r),
            loss=fit.loss,
            noise=data.noise,
            constant_factor=constant_factor,
        )

    def surprise(self, X: Matrix, y: Vector, of: np.ndarray) -> float:
        """-log p of some of the values y (n,) at points X (n, d), given the others, for the series and s of this model.

        Args:
            X: Points.
            y: Their values.
            of: Which of them, (n,); the others are given.
        """
        Z, differences, total = self.frame.to_local(X), y - self.value, 0.0
        for sign, rows in ((1, slice(None)), (-1, ~of)):
            data = SeriesData.of(Z[rows], differences[rows], self.degree)
            fit = data.fit(self.series, self.radius)
            total += sign * fit.negative_log_density(len(data.r), max(self.scale**2, MIN_VARIANCE))
        return total

    def leave_one_out(self, within: float = 1.0) -> LeaveOneOut:
        """Of the observations with ``|z| <= within``, for the series and s of this model.

        Infinite if there is none, or if rounding errors hide the errors of all of them.
        """
        r = np.linalg.norm(self.Z, axis=1)
        noise = self.remainder(r) + NUGGET * self.scale * r
        residual, freedom = self._residuals(noise)
        use = (r <= within) & (freedom > MIN_FREEDOM)
        if not use.any():
            return LeaveOneOut(math.inf, math.inf)
        noise, freedom, residual = noise[use], freedom[use], residual[use]
        standardised = residual / (noise * np.sqrt(freedom))
        return LeaveOneOut(*(float(np.sqrt(np.mean(e**2))) for e in (residual / freedom, standardised)))

    def leave_one_out_errors(self) -> Vector:
        """With noise: standardised errors of predictions of each observation from all others, nearest first, (n,)."""
        error, std = self._leave_one_out()
        return error / std

    def leave_one_out_log_densities(self) -> Vector:
        """With noise: log p of each observation given all others, nearest first, (n,)."""
        error, std = self._leave_one_out()
        return -0.5 * (error / std) ** 2 - np.log(math.sqrt(2 * math.pi) * np.maximum(std, np.finfo(float).tiny))

    def _leave_one_out(self) -> tuple[Vector, Vector]:
        """With noise: errors of predictions of each observation from all others, and their std, nearest first, (n,)."""
        noise = np.hypot(self.remainder(np.linalg.norm(self.Z, axis=1)), self.scale * self.noise_std)
        residual, freedom = self._residuals(noise)
        freedom = np.maximum(freedom, MIN_LEVERAGE_LEFT)
        return residual / freedom, noise / np.sqrt(freedom)

    def _residuals(self, noise: Vector) -> tuple[Vector, Vector]:
        """Residuals of the observations, and 1 minus their leverages, for remainder and noise of these std, (n,).

        With B = A^-1 the posterior covariance of constant and weights, the leverage of a row a is a' B a / noise^2.
        """
        mean, std = self.predict_values(self.Z)
        return self.differences - mean, 1 - (std / noise) ** 2

    @property
    def noise_std(self) -> Vector:
        """Std of the noise in the observations, nearest first, in units of s, (n,)."""
        return np.zeros(self.n_points) if self.noise is None else self.series.noise * self.noise.std

    @cached_property
    def noise_at_center(self) -> float:
        """Std of the noise in one more value at the center: that of the center, unless it is an outlier."""
        if self.noise is None:
            return 0.0
        std = self.noise.std_of_one
        return self.scale * self.series.noise * float(min(std[0], np.median(std[: len(self.center) + 2])))

    def predict_values(self, Z: Matrix) -> Prediction:
        """With noise: mean and std of y(x) - y(c) at points, where y(c) is its mean; the std is that of y(x) itself."""
        features = self.terms(Z)
        V = features @ self.covariance_factor  # V V' is the posterior covariance of the values divided by s^2
        if self.constant_factor is not None:
            V = np.column_stack([np.full(len(V), self.constant_factor[0]), self.constant_factor[1:] + V])
        return Prediction(features @ self.weights, self.scale * np.linalg.norm(V, axis=1))

    @property
    def value_std(self) -> float:
        """With noise: standard deviation of the value at the center."""
        return 0.0 if self.constant_factor is None else self.scale * float(np.linalg.norm(self.constant_factor))

    @property
    def center(self) -> Vector:
        """c, (d,)."""
        return self.frame.center

    @property
    def radius(self) -> float:
        """D."""
        return self.frame.radius

    @property
    def rho(self) -> float:
        """Radius of convergence."""
        return self.series.rho

    @property
    def degree(self) -> int:
        """m."""
        return int(self.terms.degree[-1])

    @cached_property
    def gradient(self) -> Vector:
        """Gradient of the mean at the center, by z, (d,)."""
        return self.weights[: len(self.center)]

    @cached_property
    def hessian(self) -> Matrix:
        """Hessian of the mean at the center, by z, (d, d)."""
        return self.mean_derivatives(np.zeros((1, len(self.center)))).hessian[0]

    def remainder(self, r: Vector | float) -> Vector:
        """Standard deviation of the omitted terms at distance r from the center, in radii."""
        t = self.radius / self.rho
        return np.asarray(self.scale * t ** (self.degree - 1) * np.asarray(r) ** (self.degree + 1))

    def radius_of_remainder(self, std: float) -> float:
        """The distance from the center, in radii, at which the omitted terms have this standard deviation."""
        return float((std / max(float(self.remainder(1.0)), MIN_VARIANCE)) ** (1 / (self.degree + 1)))

    def curvatures(self, axes: Matrix | None = None) -> tuple[Matrix, Vector]:
        """Axes (columns), (d, d), and the RMS curvature at the center along each, (d,).

        The root mean square sqrt(lambda^2 + std^2) keeps the size of the prior along an axis that nobody has explored.

        Args:
            axes: The axes; None for the principal axes of the Hessian.
        """
        if axes is None:
            axes = np.linalg.eigh(self.hessian)[1]
        values = np.sum(axes * (self.hessian @ axes), axis=0)
        squares = 2 * np.where(self.terms.degree == 2, self.terms(axes.T), 0.0)
        std = self.scale * np.linalg.norm(squares @ self.covariance_factor, axis=1)
        return axes, np.hypot(values, std)

    def predict(self, Z: Matrix) -> Prediction:
        """Mean and std of y(x) - y(c) at points."""
        features = self.terms(Z)
        v = features @ self.covariance_factor
        std = self.scale * np.sqrt(np.maximum((v * v).sum(axis=1), MIN_VARIANCE))
        return Prediction(features @ self.weights, std)

    def mean_derivatives(self, Z: Matrix) -> FunctionValues:
        """Mean of y(x) - y(c) at points, with its gradients and Hessians."""
        features, gradients = self.terms.with_gradients(Z)
        return FunctionValues(
            features @ self.weights, self.weights @ gradients, self.terms.hessians(features, self.weights)
        )

    def derivatives(self, Z: Matrix) -> PredictionDerivatives:
        """Mean and std of y(x) - y(c) at points, with first and second derivatives."""
        features, gradients = self.terms.with_gradients(Z)
        v = features @ self.covariance_factor
        by_feature = v @ self.covariance_factor.T  # half of the variance's gradient by the features, divided by s^2
        J = gradients.transpose(0, 2, 1) @ self.covariance_factor  # (k, d, p)
        std, std_gradient, std_hessian = std_with_derivatives(
            np.maximum((v * v).sum(axis=1), MIN_VARIANCE),
            (by_feature[:, None, :] @ gradients)[:, 0],
            J @ J.transpose(0, 2, 1) + self.terms.hessians(features, by_feature),
        )
        return PredictionDerivatives(
            features @ self.weights,
            self.scale * std,
            self.weights @ gradients,
            self.scale * std_gradient,
            self.terms.hessians(features, self.weights),
            self.scale * std_hessian,
        )
