"""The probability that outcome constraints hold, c_j(x) <= 0, and what is left of log EI under it.

Each constraint has a model of its own (``models/constraint_gp.py``). With mean mu and std s,

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
from dale.acquisition.base import LOG_SQRT_2PI, Acquisition, Curvature, chain_rule
from dale.acquisition.expected_improvement import negative_log_ei
from dale.models.base import PredictionDerivatives
from dale.models.gaussian_process import GaussianProcess
from dale.optim.projected_newton import FunctionValues

MIN_STD = 1e-9  # of compressed values


def violations(constraints: Matrix, units: Vector) -> Vector:
    """Sum of the positive parts of constraints (n, k), each in its unit (k,), (n,)."""
    return np.asarray(np.sum(np.maximum(constraints, 0.0) / units, axis=1))


def log_probability_below(mean: Vector, std: Vector) -> Vector:
    """log P(c <= 0)."""
    return np.asarray(log_ndtr(-mean / np.maximum(std, MIN_STD)))


def log_probability_below_to_second_order(mean: Vector, std: Vector) -> tuple[Acquisition, Curvature]:
    """The same with its derivatives by mean and std."""
    s = np.maximum(std, MIN_STD)
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

    models: tuple[GaussianProcess, ...]

    def log_probability(self, A: Matrix) -> Vector:
        """Logarithm of the probability that points (m, d) are feasible, (m,)."""
        total = np.zeros(len(A))
        for model in self.models:
            total = total + log_probability_below(*model.predict(A))
        return total

    def negative_log_feasibility(self, A: Matrix) -> FunctionValues:
        """-log P at points (m, d), with its derivatives."""
        surfaces = []
        for model in self.models:
            beliefs = model.derivatives(A)
            surfaces.append(chain_rule(beliefs, *log_probability_below_to_second_order(beliefs.mean, beliefs.std)))
        return _sum(surfaces)


def weighted(
    believe: Callable[[Matrix], PredictionDerivatives] | None, target: float, feasibility: Feasibility | None
) -> Callable[[Matrix], FunctionValues]:
    """-log EI - log P(feasible), for a search to go down on; without a model of the objective the latter alone."""

    def below(A: Matrix) -> FunctionValues:
        surfaces = [] if believe is None else [negative_log_ei(believe(A), target)]
        return _sum(surfaces if feasibility is None else [*surfaces, feasibility.negative_log_feasibility(A)])

    return below


def _sum(surfaces: list[FunctionValues]) -> FunctionValues:
    return FunctionValues(*(np.asarray(sum(parts)) for parts in zip(*surfaces, strict=True)))
