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
from dale.gp import Posterior, log_marginal_likelihood
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
        return cls(tuple(_fit(points, rounded(v, VALUE_GRAIN), pending) for points, v in columns))

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


def _fit(X: Matrix, v: Vector, pending: Matrix) -> Posterior:
    some = np.arange(len(X)) if len(X) <= ENOUGH else np.linspace(0, len(X) - 1, ENOUGH).astype(int)
    root_d = math.sqrt(X.shape[1])
    models = [Posterior.fit(SquaredExponential(l * root_d), X[some], v[some]) for l in LENGTH_SCALES]
    kernel = models[int(np.argmax([log_marginal_likelihood(m) for m in models]))].kernel
    posterior = Posterior.fit(kernel, X, v)
    if len(pending) == 0:
        return posterior
    mean, spread = posterior.predict(pending)
    return Posterior.fit(kernel, np.vstack([X, pending]), np.append(v, np.maximum(mean, spread)), posterior.prior)
