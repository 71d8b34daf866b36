"""A local minimum as the user reads it: where it is, how deep, how sharp, and how well a fit determines it."""

from __future__ import annotations

from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import numpy as np
from scipy.special import ndtri

from dale._arrays import Matrix, Vector
from dale.history.direction import Direction
from dale.history.evaluation import check_positive


@dataclass(frozen=True, eq=False)
class LocalMinimum:
    """A local minimum of the Taylor model of the observations around it; where values are noisy, of a quadratic.

    Of an objective that is maximised, it is a local maximum.

    Where a local model of the method has converged and is finer, ``x`` and ``fun`` are those of its last center.

    Attributes:
        x: Minimiser of the model, as an array in the user's units.
        params: The same point as the objective takes it.
        fun: Predicted minimum.
        error: Error of the prediction: its standard deviation, more if the model predicts the observations worse than
            it claims; where values are noisy, the leave-one-out error of the quadratic.
        hessian: Hessian in the user's units: how sharp the minimum is. NaN where a parameter is fixed or a choice.
        condition: Ratio of the largest to the smallest eigenvalue of the Hessian in the unit cube.
        radius: Radius of the neighbourhood in the unit cube; of an ellipsoid, the geometric mean of its semi-axes.
        n_points: Number of observations that the model was fitted to.
        converged: Whether nothing is left to gain here: a local model of the method has converged, or the best
            observation equals the predicted minimum, and the error is as small, to within 1e-9 of the range of the
            better three quarters of all observations.
        direction: Whether the objective is minimised or maximised; then this is a local maximum, and the Hessian has
            negative eigenvalues.
        log: Which parameters have a logarithmic scale, (d,); empty for none.
        dependence: Derivatives of each parameter by the others where equalities determine some, (d, d); else None.

    Examples:
        >>> import dale
        >>> result = dale.minimize(lambda x: (x[0] - 1) ** 2 + 3 * x[1] ** 2, [(-2, 2)] * 2, budget=20, seed=0)
        >>> minimum = result.local_minima[0]
        >>> minimum.hessian.diagonal().round(3), minimum.converged
        (array([2., 6.]), True)
    """

    x: Vector
    params: Any
    fun: float
    error: float
    hessian: Matrix
    condition: float
    radius: float
    n_points: int
    converged: bool
    direction: Direction = Direction.MINIMIZE
    log: tuple[bool, ...] = field(default=(), repr=False)
    dependence: Matrix | None = field(default=None, repr=False)

    @property
    def curvature(self) -> Matrix:
        """The Hessian of what is minimised, (d, d): minus the Hessian at a maximum. Its eigenvalues are positive."""
        return self.direction.loss(self.hessian)

    def covariance(self, noise: float | None = None) -> Matrix:
        """Covariance of the parameters that a fit by this objective has at the minimum, in the user's units, (d, d).

        With H the Hessian, it is H^-1 where the objective is minus the logarithm of a likelihood, and 2 noise^2 H^-1
        where it is a sum of squared residuals; -H^-1 where the logarithm of a likelihood is maximised. Parameters that
        equalities determine follow from the others. NaN where a parameter is fixed or a choice.

        Args:
            noise: Standard deviation of each residual, for a sum of squares; None for minus a log likelihood. Where it
                is not known, estimate it from the residuals: sqrt(fun / (n - d)) for n of them.

        Raises:
            ValueError: The Hessian is not positive definite, so that some direction is not determined.
        """
        factor = (
            1.0
            if noise is None
            else 2
            * check_positive(noise, "noise", "a positive number or None", "leave it out for minus a log likelihood")
            ** 2
        )
        free, d, normalised = with_unit_diagonal(self.curvature)
        if len(free) == 0 or not np.linalg.eigvalsh(normalised)[0] > 0:
            raise ValueError("the Hessian is not positive definite: a direction of the parameters is not determined")
        covariance, known = np.full(self.hessian.shape, np.nan), free
        of_free = factor * np.linalg.inv(normalised) / np.outer(d[free], d[free])
        if self.dependence is not None:
            J = self.dependence[:, free]
            known = np.flatnonzero(np.any(J != 0, axis=1))
            of_free = J[known] @ of_free @ J[known].T
        covariance[np.ix_(known, known)] = of_free
        return covariance

    @property
    def correlation(self) -> Matrix:
        """Correlations of the parameters by ``covariance``, (d, d); they do not depend on the noise."""
        covariance = self.covariance()
        std = np.sqrt(np.diag(covariance))
        return np.asarray(covariance / np.outer(std, std))

    def intervals(self, level: float = 0.95, noise: float | None = None) -> Matrix:
        """Confidence intervals of the parameters of a fit, by a normal approximation, in the user's units, (d, 2).

        The approximation is made in the scale of the parameter: the interval of one with a logarithmic scale is
        symmetric in its logarithm, and positive.

        Args:
            level: Probability that an interval covers the true parameter.
            noise: As in ``covariance``.

        Examples:
            >>> import dale
            >>> t, y = np.array([0.0, 1.0, 2.0, 3.0]), np.array([1.1, 2.9, 5.2, 6.8])
            >>> fit = dale.minimize(lambda x: np.sum((x[0] + x[1] * t - y) ** 2), [(-9, 9)] * 2, budget=20, seed=0)
            >>> print(fit.local_minima[0].intervals(noise=0.2).round(1))
            [[0.8 1.4]
             [1.8 2.1]]
        """
        if not (isinstance(level, Real) and 0 < level < 1):
            raise ValueError(f"level must be a probability between 0 and 1, such as 0.95, got {level!r}")
        half = float(ndtri(0.5 + level / 2)) * np.sqrt(np.diag(self.covariance(noise)))
        x = np.array([np.nan if np.isnan(h) else float(v) for v, h in zip(self.x, half, strict=True)])
        if not any(self.log):
            return np.column_stack([x - half, x + half])
        log = np.array(self.log)
        factor = np.exp(np.divide(half, x, out=np.zeros(len(x)), where=log))
        return np.column_stack([np.where(log, x / factor, x - half), np.where(log, x * factor, x + half)])


def with_unit_diagonal(hessian: Matrix) -> tuple[np.ndarray, Vector, Matrix]:
    """A Hessian in the user's units, prepared for inversion: parameters may be of order 1e-9 and 1e9 in one problem.

    Returns:
        The rows of the parameters that are neither fixed nor choices, (k,); the roots d (n,) of the diagonal, NaN for
        the others; the Hessian of these k divided by d d', (k, k).
    """
    d = np.sqrt(np.diag(hessian))
    free = np.flatnonzero(np.isfinite(d))
    return free, d, (hessian / np.outer(d, d))[np.ix_(free, free)]
