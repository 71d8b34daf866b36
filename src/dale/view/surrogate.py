"""A Gaussian process of the whole objective, for plots only.

The method's own model is built to propose the next evaluation: its length-scale is cooled down below the one that
explains the data, so between observations it returns to their mean. A plot should show the best prediction of the whole
function instead. So this one has a length-scale for each parameter, the most probable one:

    y ~ N(c 1, s2 (K + eta R)),   K = product over the parameters g of k(|x_g - x'_g| / l_g),

with k the squared exponential or the Matern-5/2 correlation, whichever is more probable; x_g are the coordinates of
parameter g in the unit cube (several for a choice). R is the shape of the noise. Where values are noisy, eta is fitted
too; where they are not, it is a tiny constant. c and s2 have closed forms. With a = K^-1 (y - c 1),

    loss        = (n log s2 + log|K|) / 2 + sum of (log(l_g / l_0) / t)^2 / 2
    d loss      = tr(K^-1 dK) / 2 - a' dK a / (2 s2)

The log-normal prior of the l_g keeps parameters about which the data say nothing from looking important.
Because the kernel is a product over the parameters, averages over parameters have closed forms (``sobol.py``).

Shapes: X (n, d), values (n,), G parameters, queries (m, d).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property

import numpy as np
from scipy.optimize import minimize
from scipy.spatial.distance import cdist

from dale._arrays import Matrix, Vector
from dale._computing import computing
from dale.history.direction import Direction
from dale.history.observations import Observations
from dale.models.base import Prediction
from dale.models.cholesky import CholeskyFactor
from dale.models.preprocessing import THINNING_DISTANCE, thin
from dale.models.transforms import Standardize
from dale.space.space import Space

MAX_OBSERVATIONS = 500  # in the model; more are thinned, without noise to the best of those close to each other
MAX_FITTED = 160  # observations that the length-scales are fitted to
PRIOR_LENGTH_SCALE, PRIOR_LOG_STD = 0.5, 1.0  # l_0, in units of sqrt(G), and t
MIN_LENGTH_SCALE, MAX_LENGTH_SCALE = 0.02, 20.0
NUGGET = 1e-8  # eta where there is no noise
MIN_ETA, MAX_ETA = 1e-6, 10.0
CHUNK = 4096  # queries at a time


class Correlation(StrEnum):
    """The correlation function of one parameter."""

    SQUARED_EXPONENTIAL = "squared exponential"
    MATERN = "Matern 5/2"

    def __call__(self, r2: Matrix) -> Matrix:
        """Correlations at squared distances, in length-scales."""
        if self is Correlation.SQUARED_EXPONENTIAL:
            return np.exp(-0.5 * r2)
        s = np.sqrt(5 * r2)
        return (1 + s + s**2 / 3) * np.exp(-s)

    def log_slope(self, r2: Matrix) -> Matrix:
        """d log k / d log l."""
        if self is Correlation.SQUARED_EXPONENTIAL:
            return r2
        s = np.sqrt(5 * r2)
        return s**2 * (1 + s) / (3 + 3 * s + s**2)


@dataclass(frozen=True, eq=False)
class PlotSurrogate:
    """A model of the objective on the unit cube, with values in the user's units.

    Attributes:
        names: Names of the parameters that vary, (G,).
        groups: Coordinates of each of them.
        X: Observations, (n, d).
        z: Their standardised values, (n,).
        standardize: To these values.
        correlation: k.
        length_scales: l_g, (G,).
        noise: eta R, (n,): variances of the noise, divided by s2.
        direction: Of the objective: predictions have its sign.

    Examples:
        >>> import dale
        >>> space = dale.Space(a=(0, 1), b=(0, 1))
        >>> X = np.random.default_rng(0).random((30, 2))
        >>> model = PlotSurrogate.fit(X, np.sin(5 * X[:, 0]), space)
        >>> bool(model.length_scales[1] > 3 * model.length_scales[0])
        True
    """

    names: tuple[str, ...]
    groups: tuple[slice, ...]
    X: Matrix
    z: Vector
    standardize: Standardize
    correlation: Correlation
    length_scales: Vector
    noise: Vector
    direction: Direction = Direction.MINIMIZE

    @classmethod
    def of(cls, observations: Observations, space: Space, direction: Direction) -> PlotSurrogate:
        """Fit to the values of a run without outliers: a single huge value would flatten everything else."""
        noise, some = observations.noise, observations.has_value
        shape = (noise.known if noise.known is not None else np.ones(np.sum(some))) if noise.modelled else None
        return replace(cls.fit(observations.X[some], observations.y[some], space, shape), direction=direction)

    @classmethod
    @computing()
    def fit(cls, X: Matrix, y: Vector, space: Space, noise_std: Vector | None = None) -> PlotSurrogate:
        """Fit to values (n,) at points (n, d) of the unit cube.

        Args:
            X: The points.
            y: Their values.
            space: Which coordinates belong to which parameter.
            noise_std: Standard deviations of the noise up to a common factor, (n,); None for no noise.
        """
        if len(y) > MAX_OBSERVATIONS and noise_std is None:
            kept = thin(X, y, THINNING_DISTANCE * math.sqrt(X.shape[1]), MAX_OBSERVATIONS)
        else:
            kept = np.arange(len(y))[-MAX_OBSERVATIONS:]
        X, y = X[kept], y[kept]
        standardize = Standardize.of(y)
        names = tuple(name for name in space.names if space.n_coordinates(name) > 0)
        groups = tuple(space.columns(name) for name in names)
        shape = None if noise_std is None else _shape(noise_std[kept])
        sample = np.unique(np.linspace(0, len(y) - 1, MAX_FITTED).astype(int))
        data = _Data.of(X[sample], standardize(y[sample]), groups, None if shape is None else shape[sample])
        correlation, log_l, eta = min((data.most_probable(k) for k in Correlation), key=lambda fit: fit[0])[1:]
        noise = np.full(len(y), NUGGET) if shape is None else eta * shape
        return cls(names, groups, X, standardize(y), standardize, correlation, np.exp(log_l), noise)

    def factor_of(self, g: int, points: Matrix) -> Matrix:
        """Correlations of parameter g alone between its coordinates (m, k) and the observations, (m, n)."""
        r2 = cdist(points, self.X[:, self.groups[g]], "sqeuclidean") / self.length_scales[g] ** 2
        return self.correlation(r2)

    def _kernel(self, points: Matrix) -> Matrix:
        k = np.ones((len(points), len(self.X)))
        for g, columns in enumerate(self.groups):
            values, rows = np.unique(points[:, columns], axis=0, return_inverse=True)  # a grid has few of them
            k *= self.factor_of(g, values)[rows.reshape(-1)]
        return k

    @cached_property
    def _factor(self) -> CholeskyFactor:
        K = self._kernel(self.X)
        K[np.diag_indices_from(K)] += self.noise
        return CholeskyFactor.of(K)

    @cached_property
    def _moments(self) -> tuple[float, float]:
        """c and s2; of values without variation, 0 and 1."""
        return _moments(self._factor.solve(np.column_stack([np.ones(len(self.z)), self.z])), self.z)

    @cached_property
    def weights(self) -> Vector:
        """K^-1 (z - c), (n,)."""
        return self._factor.solve(self.z - self._moments[0])

    @property
    def scale(self) -> float:
        """One unit of the standardised values, in units of the objective."""
        return self.standardize.inverse_scale(1.0)

    @computing()
    def mean(self, points: Matrix) -> Vector:
        """The mean at points (m, d) of the unit cube, (m,)."""
        return self._in_units(np.concatenate([self._kernel(some) @ self.weights for some in _chunks(points)]))

    def _in_units(self, z: Vector) -> Vector:
        """Standardised deviations from c, (m,), in units of the objective."""
        losses = np.asarray(self.standardize.inverse(0.0) + self.scale * (z + self._moments[0]))
        return self.direction.from_loss(losses)

    @computing()
    def predict(self, points: Matrix) -> Prediction:
        """Mean and standard deviation of the objective, without noise, at points (m, d) of the unit cube."""
        means, variances = [], []
        for some in _chunks(points):
            k = self._kernel(some)
            v = self._factor.solve_lower(k.T)
            means.append(self._in_units(k @ self.weights))
            variances.append(self._moments[1] * np.maximum(1 - np.sum(v**2, axis=0), 0.0))
        return Prediction(np.concatenate(means), self.scale * np.sqrt(np.concatenate(variances)))

    @cached_property
    def explained(self) -> float:
        """Fraction of the variance of the values that predictions explain, each of one value from all others.

        1 for a perfect model, 0 or less for one that is no better than the mean of the values.
        """
        if len(self.z) < 2 or np.ptp(self.z) == 0:
            return 0.0
        inverse_diagonal = np.sum(self._factor.solve_lower(np.eye(len(self.z))) ** 2, axis=0)
        errors = self.weights / inverse_diagonal
        return 1 - float(np.mean(errors**2) / np.var(self.z))


@dataclass(frozen=True, eq=False)
class _Data:
    """What the length-scales are fitted to: squared distances of each parameter (n, n), values, shape of the noise."""

    r2: tuple[Matrix, ...]
    z: Vector
    shape: Vector | None

    @classmethod
    def of(cls, X: Matrix, z: Vector, groups: Sequence[slice], shape: Vector | None) -> _Data:
        return cls(tuple(cdist(X[:, g], X[:, g], "sqeuclidean") for g in groups), z, shape)

    def most_probable(self, correlation: Correlation) -> tuple[float, Correlation, Vector, float]:
        """The loss, the correlation function, log l (G,) and eta."""
        G, prior = len(self.r2), math.log(PRIOR_LENGTH_SCALE * math.sqrt(len(self.r2)))
        start, bounds = [prior] * G, [(math.log(MIN_LENGTH_SCALE), math.log(MAX_LENGTH_SCALE))] * G
        if self.shape is not None:
            start, bounds = [*start, math.log(0.05)], [*bounds, (math.log(MIN_ETA), math.log(MAX_ETA))]

        def loss(theta: Vector) -> tuple[float, Vector]:
            value, gradient = self._loss(theta, correlation)
            from_prior = (theta[:G] - prior) / PRIOR_LOG_STD
            gradient[:G] += from_prior / PRIOR_LOG_STD
            return value + float(from_prior @ from_prior) / 2, gradient

        found = minimize(loss, np.array(start), jac=True, bounds=bounds, method="L-BFGS-B", options={"maxiter": 60})
        return float(found.fun), correlation, found.x[:G], float(np.exp(found.x[-1]))

    def _loss(self, theta: Vector, correlation: Correlation) -> tuple[float, Vector]:
        n = len(self.z)
        scaled = [r2 * math.exp(-2 * log_l) for r2, log_l in zip(self.r2, theta, strict=False)]
        K = np.ones((n, n))
        for r2 in scaled:
            K *= correlation(r2)
        noise = np.full(n, NUGGET) if self.shape is None else math.exp(theta[-1]) * self.shape
        R = K + np.diag(noise)
        factor = CholeskyFactor.of(R)
        c, s2 = _moments(factor.solve(np.column_stack([np.ones(n), self.z])), self.z)
        a = factor.solve(self.z - c)
        inverse = factor.solve(np.eye(n))
        W = inverse - np.outer(a, a) / s2
        gradient = [0.5 * float(np.sum(W * K * correlation.log_slope(r2))) for r2 in scaled]
        if self.shape is not None:
            gradient.append(0.5 * float(np.diag(W) @ noise))
        return 0.5 * (n * math.log(s2) + factor.log_determinant), np.array(gradient)


def _moments(solved: Matrix, z: Vector) -> tuple[float, float]:
    """c and s2 from K^-1 [1, z] (n, 2); 0 and 1 for values without variation."""
    ones, values = solved.T
    c = float(values.sum() / ones.sum())
    s2 = float((z - c) @ (values - c * ones)) / len(z)
    return (c, s2) if s2 > 1e-12 else (0.0, 1.0)


def _shape(noise_std: Vector) -> Vector:
    """Variances of the noise, divided by their median."""
    ratio = noise_std / float(np.median(noise_std[noise_std > 0]))
    return np.clip(ratio, 1e-3, 1e3) ** 2


def _chunks(points: Matrix) -> list[Matrix]:
    return [points[i : i + CHUNK] for i in range(0, max(len(points), 1), CHUNK)]
