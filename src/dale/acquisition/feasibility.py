"""The probability that a point is feasible, and an acquisition function weighted by it.

A point is feasible if its evaluation completes and its outcome constraints c_j(x) <= 0 hold.

Each constraint has a model of its own (``models/constraint_gp.py``). With its mean mu and std s,

    log P(c <= 0) = log Phi(u),   u = -mu / s,
    (log Phi)' = r = phi(u) / Phi(u),   (log Phi)'' = -r (u + r).

Constraints count as independent, so that their logarithms add up.

An evaluation completes with the probability P = w Phi(u) + (1 - w) q (``models/failure_boundary.py``), u from the model
of the signed distance to the boundary of the failing set. With the share p = w Phi(u) / P of the first term,

    (log P)' = p (log Phi)',   (log P)'' = p (log Phi)'' + p (1 - p) (log Phi)'^2.

Shapes: k points in d dimensions.

Reference: Gardner, Kusner, Xu, Weinberger & Cunningham, "Bayesian Optimization with Inequality Constraints", ICML 2014.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr

from dale._arrays import Matrix, Vector
from dale.acquisition.base import (
    LOG_SQRT_2PI,
    Partials,
    SecondOrderAcquisition,
    SecondPartials,
    chain_rule,
    negative_acquisition,
)
from dale.models.base import Prediction, PredictionDerivatives
from dale.models.failure_boundary import FailureBoundary
from dale.models.gaussian_process import GaussianProcess
from dale.optim.projected_newton import FunctionValues

MIN_STD = 1e-9  # of the transformed constraint values
ASYMPTOTIC_BELOW = -1e4  # u below which phi / Phi = -u to all digits


def violations(constraints: Matrix, scales: Vector) -> Vector:
    """Sum of the positive parts of constraint values (n, q), each divided by its scale (q,): (n,)."""
    return np.asarray(np.sum(np.maximum(constraints, 0.0) / scales, axis=1))


def log_probability_below(prediction: Prediction) -> Vector:
    """log P(c <= 0)."""
    return np.asarray(log_ndtr(-prediction.mean / np.maximum(prediction.std, MIN_STD)))


def log_probability_below_to_second_order(prediction: Prediction) -> tuple[Partials, SecondPartials]:
    """log P(c <= 0) with its derivatives by mean and std."""
    s = np.maximum(prediction.std, MIN_STD)
    u = -prediction.mean / s
    value = log_ndtr(u)
    with np.errstate(over="ignore", invalid="ignore"):
        r = np.where(u < ASYMPTOTIC_BELOW, -u, np.exp(-0.5 * u * u - LOG_SQRT_2PI - value))
        second = np.where(u < ASYMPTOTIC_BELOW, -1.0, -r * (u + r))
    return (
        Partials(value, -r / s, -u * r / s),
        SecondPartials(second / s**2, (r + u * second) / s**2, (2 * u * r + u * u * second) / s**2),
    )


@dataclass(frozen=True, eq=False)
class Feasibility:
    """The probability that an evaluation completes and that all outcome constraints hold.

    Attributes:
        models: One for each constraint.
        failures: Where evaluations fail; None if none has failed.

    Examples:
        >>> from dale.models import fit_constraints
        >>> X = np.linspace(0, 1, 6)[:, None]
        >>> feasibility = Feasibility(fit_constraints(X, X - 0.5, pending=np.empty((0, 1))))
        >>> np.exp(feasibility.log_probability(np.array([[0.1], [0.9]]))).round(3)
        array([1., 0.])
    """

    models: tuple[GaussianProcess, ...]
    failures: FailureBoundary | None = None

    def log_probability(self, A: Matrix) -> Vector:
        """Logarithm of the probability that points (k, d) are feasible, (k,)."""
        total = np.zeros(len(A))
        for model in self.models:
            total = total + log_probability_below(model.predict(A))
        if self.failures is not None:
            log_outside = log_probability_below(self.failures.distance.predict(A)) + self.failures.log_cells(A)
            total = total + _mixed(self.failures, log_outside)
        return total

    def negative_log_feasibility(self, A: Matrix) -> FunctionValues:
        """-log P at points (k, d), with its derivatives."""
        terms = [_negative_log_below(model, A) for model in self.models]
        if self.failures is not None:
            value, gradient, hessian = _negative_log_below(self.failures.distance, A)
            value = value - self.failures.log_cells(A)
            log_p = _mixed(self.failures, -value)
            share = np.exp(_log(self.failures.weight) - value - log_p)[:, None]
            outer = gradient[:, :, None] * gradient[:, None, :]
            hessian = share[:, :, None] * (hessian - (1 - share[:, :, None]) * outer)
            terms.append(FunctionValues(-log_p, share * gradient, hessian))
        return _sum(terms)


def log_completes(failures: FailureBoundary, A: Matrix) -> Vector:
    """Logarithm of the probability that evaluations at points (k, d) complete, over its highest value, (k,)."""
    return Feasibility((), failures).log_probability(A) - failures.log_highest


def feasibility_weighted(
    acquisition: SecondOrderAcquisition,
    predict: Callable[[Matrix], PredictionDerivatives] | None,
    best: float,
    feasibility: Feasibility | None,
) -> Callable[[Matrix], FunctionValues]:
    """Minus (acquisition + log P(feasible)), to be minimised.

    Args:
        acquisition: A logarithm (``is_log``), so that adding log P multiplies by the probability.
        predict: Predictions of the objective; None to use log P alone.
        best: The value to improve on.
        feasibility: The outcome constraints; None for none.
    """

    def fun(A: Matrix) -> FunctionValues:
        terms = [] if predict is None else [negative_acquisition(acquisition, predict(A), best)]
        return _sum(terms if feasibility is None else [*terms, feasibility.negative_log_feasibility(A)])

    return fun


def _negative_log_below(model: GaussianProcess, A: Matrix) -> FunctionValues:
    """-log P(c <= 0) at points (k, d), with its derivatives."""
    derivatives = model.derivatives(A)
    first, second = log_probability_below_to_second_order(Prediction(derivatives.mean, derivatives.std))
    return chain_rule(derivatives, first, second)


def _mixed(failures: FailureBoundary, log_outside: Vector) -> Vector:
    """log P(completes), given the logarithms of the probabilities to be outside the boundary, (k,)."""
    random = _log(1 - failures.weight) + math.log(failures.rate)
    return np.logaddexp(_log(failures.weight) + log_outside, random)


def _log(p: float) -> float:
    return math.log(p) if p > 0 else -math.inf


def _sum(terms: list[FunctionValues]) -> FunctionValues:
    return FunctionValues(*(np.asarray(sum(parts)) for parts in zip(*terms, strict=True)))
