"""What is believed about black-box constraints: c_j(x) <= 0, told with each value.

For the global side each constraint has a Gaussian process of its own, with the length-scale that explains it best. It
sees asinh(c / unit), the unit being the median size of c: this keeps the sign, and a constraint that grows over many
decades away from its boundary does not hide what it does there. With mean mu and spread s,

    log P(c <= 0) = log Phi(u),   u = -mu / s,
    (log Phi)' = r = phi(u) / Phi(u),   (log Phi)'' = -r (u + r),

and constraints are taken as independent, so that their logarithms add up. A pending point is believed to violate a
little (by a spread), for else the same point would be asked again and again.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr

from dale.acquisition import LOG_SQRT_2PI, Acquisition, Curvature
from dale.arrays import Matrix, Vector
from dale.beliefs import Beliefs
from dale.climb import by_chain_rule, disappointment
from dale.descent import Surface
from dale.gp import Factor, Posterior, closed_form_prior, log_marginal_likelihood
from dale.kernels import SquaredExponential
from dale.methods.observations import VALUE_GRAIN, merged, rounded

LENGTH_SCALES = tuple(float(l) for l in np.geomspace(0.08, 2.5, 8))
LEAST_SPREAD = 1e-9  # of compressed values
ENOUGH = 200  # observations from which the length-scale is chosen


def violations(constraints: Matrix, units: Vector) -> Vector:
    """Sum of the positive parts of constraints (n, k), each in its unit (k,), (n,)."""
    return np.asarray(np.sum(np.maximum(constraints, 0.0) / units, axis=1))


def units_of(constraints: Matrix) -> Vector:
    """What one unit of each constraint is, (k,): its median size, so that a few absurd values do not count."""
    median = np.median(np.abs(constraints), axis=0)
    largest = np.max(np.abs(constraints), axis=0)
    return np.where(median > 0, median, np.where(largest > 0, largest, 1.0))


def log_probability_below(mean: Vector, spread: Vector) -> Vector:
    """log P(c <= 0)."""
    return np.asarray(log_ndtr(-mean / np.maximum(spread, LEAST_SPREAD)))


def log_probability_below_with_curvature(mean: Vector, spread: Vector) -> tuple[Acquisition, Curvature]:
    """The same with its derivatives by mean and spread."""
    s = np.maximum(spread, LEAST_SPREAD)
    u = -mean / s
    value = log_ndtr(u)
    with np.errstate(over="ignore", invalid="ignore"):
        r = np.where(u < -1e4, -u, np.exp(-0.5 * u * u - LOG_SQRT_2PI - value))
        bend = np.where(u < -1e4, -1.0, -r * (u + r))
    return (
        Acquisition(value, -r / s, -u * r / s),
        Curvature(bend / s**2, (r + u * bend) / s**2, (2 * u * r + u * u * bend) / s**2),
    )


@dataclass(frozen=True, eq=False)
class Feasibility:
    """The global models of all constraints.

    Attributes:
        models: One for each, of compressed values.
    """

    models: tuple[Posterior, ...]

    @classmethod
    def of(cls, X: Matrix, constraints: Matrix, pending: Matrix) -> Feasibility:
        """From points (n, d) with their constraints (n, k); others (m, d) are being evaluated."""
        everywhere = np.ones(len(X), dtype=bool)
        compressed = np.arcsinh(constraints / units_of(constraints))
        columns = [merged(X, column, everywhere) for column in compressed.T]
        points, values = columns[0][0], [rounded(v, VALUE_GRAIN) for _, v in columns]
        kernels = [SquaredExponential(l * math.sqrt(X.shape[1])) for l in LENGTH_SCALES]
        some = np.unique(np.linspace(0, len(points) - 1, ENOUGH).astype(int))
        factors = [Factor.of(kernel(points[some], points[some])) for kernel in kernels]  # the same for all constraints
        models = []
        for v in values:
            fits = [
                Posterior(kernel, points[some], v[some], factor, closed_form_prior(factor, v[some]))
                for kernel, factor in zip(kernels, factors, strict=True)
            ]
            best = max(fits, key=log_marginal_likelihood)
            models.append(
                _believing(best if len(some) == len(points) else Posterior.fit(best.kernel, points, v), pending)
            )
        return cls(tuple(models))

    def log_probability(self, A: Matrix) -> Vector:
        """Logarithm of the probability that points (m, d) are feasible, (m,)."""
        total = np.zeros(len(A))
        for model in self.models:
            total = total + log_probability_below(*model.predict(A))
        return total

    def doubt(self, A: Matrix) -> Surface:
        """-log P at points (m, d), with its derivatives."""
        surfaces = []
        for model in self.models:
            beliefs = model.predict_with_curvatures(A)
            surfaces.append(by_chain_rule(beliefs, *log_probability_below_with_curvature(beliefs.mean, beliefs.spread)))
        return _sum(surfaces)


def weighted(
    believe: Callable[[Matrix], Beliefs] | None, target: float, feasibility: Feasibility | None
) -> Callable[[Matrix], Surface]:
    """-log EI - log P(feasible), for a search to go down on; without a model of the objective the latter alone."""

    def below(A: Matrix) -> Surface:
        surfaces = [] if believe is None else [disappointment(believe(A), target)]
        return _sum(surfaces if feasibility is None else [*surfaces, feasibility.doubt(A)])

    return below


def _sum(surfaces: list[Surface]) -> Surface:
    return Surface(*(np.asarray(sum(parts)) for parts in zip(*surfaces, strict=True)))


def _believing(posterior: Posterior, pending: Matrix) -> Posterior:
    """The model that believes pending points (m, d) to violate by a spread, if not by more."""
    if len(pending) == 0:
        return posterior
    mean, spread = posterior.predict(pending)
    X, v = np.vstack([posterior.points, pending]), np.append(posterior.values, np.maximum(mean, spread))
    return Posterior.fit(posterior.kernel, X, v, posterior.prior)
