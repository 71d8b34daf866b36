"""The probability that outcome constraints hold, c_j(x) <= 0, and what is left of log EI under it.

Each constraint has a model of its own (``models/constraint_gp.py``). With mean mu and spread s,

    log P(c <= 0) = log Phi(u),   u = -mu / s,
    (log Phi)' = r = phi(u) / Phi(u),   (log Phi)'' = -r (u + r),

and constraints are taken as independent, so that their logarithms add up.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr

from dale._arrays import Matrix, Vector
from dale.acquisition.base import LOG_SQRT_2PI, Acquisition, Curvature, by_chain_rule
from dale.acquisition.expected_improvement import disappointment
from dale.models.base import Beliefs
from dale.models.gaussian_process import Posterior
from dale.optim.projected_newton import Surface

LEAST_SPREAD = 1e-9  # of compressed values


def violations(constraints: Matrix, units: Vector) -> Vector:
    """Sum of the positive parts of constraints (n, k), each in its unit (k,), (n,)."""
    return np.asarray(np.sum(np.maximum(constraints, 0.0) / units, axis=1))


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
    """The probability that all constraints hold.

    Attributes:
        models: One for each constraint.
    """

    models: tuple[Posterior, ...]

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
