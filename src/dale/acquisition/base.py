"""What every acquisition function offers, its derivatives by the coordinates, and its maximum on a box.

An acquisition function a(mean, std, best) rates an evaluation by the prediction of a model and by the best value so
far; larger is better. It is a small frozen value, such as ``LogExpectedImprovement()``, which a method is given.

With m, s the gradients and M, S the Hessians of mean and std, the chain rule gives

    gradient = a_m m + a_s s
    Hessian  = a_m M + a_s S + (a_mm m + a_ms s) m' + (a_ms m + a_ss s) s'.

Shapes: k points in d dimensions; mean, std and the partial derivatives (k,), gradients (k, d), Hessians (k, d, d).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from enum import StrEnum
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from dale._arrays import Matrix, Vector
from dale.models.base import Prediction, PredictionDerivatives
from dale.optim.projected_newton import FunctionValues, Tolerance, minimize_on_box

LOG_SQRT_2PI = 0.5 * math.log(2 * math.pi)
MAX_STANDARDIZED_GAIN = 1e150  # a larger |u| overflows when it is squared


class Partials(NamedTuple):
    """Values and partial derivatives by mean and std, all of the shape of the prediction."""

    value: Vector
    by_mean: Vector
    by_std: Vector


class SecondPartials(NamedTuple):
    """Second partial derivatives by mean and std, all of the shape of the prediction."""

    by_mean_mean: Vector
    by_mean_std: Vector
    by_std_std: Vector


class Acquisition(Protocol):
    """Rates evaluations; larger is better. Enough for ``BayesianOptimization``, which searches by gradients."""

    @property
    def is_log(self) -> bool:
        """Whether values are logarithms of a quantity in units of the objective, so that differences are ratios."""
        ...

    def __call__(self, prediction: Prediction, best: float) -> Vector:
        """Values for predictions, given the best value so far."""
        ...

    def partials(self, prediction: Prediction, best: float) -> Partials:
        """Values and first derivatives."""
        ...


class Quantity(StrEnum):
    """What the values of an acquisition function are, or the logarithms of.

    An acquisition function names it as its attribute ``quantity``; without one, it is an expected improvement.
    """

    EXPECTED_IMPROVEMENT = "expected improvement"  # in units of the objective
    OPTIMISTIC_IMPROVEMENT = "optimistic improvement"  # in units of the objective
    PROBABILITY = "probability"
    INFORMATION = "information"

    @property
    def has_unit(self) -> bool:
        """Whether it is in units of the objective."""
        return self in (Quantity.EXPECTED_IMPROVEMENT, Quantity.OPTIMISTIC_IMPROVEMENT)


def quantity_of(acquisition: Acquisition) -> Quantity:
    """What the values of an acquisition function are."""
    return Quantity(getattr(acquisition, "quantity", Quantity.EXPECTED_IMPROVEMENT))


class AcquisitionState(NamedTuple):
    """What an acquisition function may adapt itself to before it is maximised.

    Attributes:
        n: Number of evaluations so far, pending ones included.
        dimension: Number of coordinates.
        best: The best value so far.
        predict: Gives the model's prediction at points that cover the cube.
    """

    n: int
    dimension: int
    best: float
    predict: Callable[[], Prediction]


@runtime_checkable
class AdaptiveAcquisition(Protocol):
    """An acquisition function that depends on the number of evaluations or on the whole model."""

    def adapted(self, state: AcquisitionState) -> Acquisition:
        """The acquisition function to maximise in this state."""
        ...


def adapted(acquisition: Acquisition, state: AcquisitionState) -> Acquisition:
    """The function itself, unless it adapts to the state."""
    return acquisition.adapted(state) if isinstance(acquisition, AdaptiveAcquisition) else acquisition


class SecondOrderAcquisition(Acquisition, Protocol):
    """An acquisition function for Newton's method, which the default method searches by."""

    def to_second_order(self, prediction: Prediction, best: float) -> tuple[Partials, SecondPartials]:
        """Values with first and second derivatives, for predictions at k points, (k,)."""
        ...


def check_acquisition(acquisition: Any, *, log_for: str = "", second_order: bool = False) -> None:
    """Raise an error unless this is an acquisition function that can be used.

    Args:
        acquisition: What a method was given.
        log_for: The part of the method that compares logarithms; empty if there is none.
        second_order: Whether second derivatives are required.
    """
    methods = ("__call__", "partials", *(("to_second_order",) if second_order else ()))
    usable = all(callable(getattr(acquisition, name, None)) for name in methods) and hasattr(acquisition, "is_log")
    if isinstance(acquisition, type) or not usable:
        required = "SecondOrderAcquisition" if second_order else "Acquisition"
        raise TypeError(
            f"acquisition: expected a dale.acquisition.{required} such as LogExpectedImprovement(), got {acquisition!r}"
        )
    if log_for and not acquisition.is_log:
        raise ValueError(
            f"acquisition: {log_for} compares logarithms; expected a function with is_log=True such as "
            f"LogExpectedImprovement(), got {acquisition!r}"
        )


def chain_rule(derivatives: PredictionDerivatives, first: Partials, second: SecondPartials) -> FunctionValues:
    """Minus a function of mean and std, with its derivatives by the coordinates; NaN where they are not finite."""
    m, s = derivatives.mean_gradient, derivatives.std_gradient
    (value, by_mean, by_std), (by_mean_mean, by_mean_std, by_std_std) = first, second
    with np.errstate(invalid="ignore", over="ignore"):
        gradient = by_mean[:, None] * m + by_std[:, None] * s
        by_mean_gradient = by_mean_mean[:, None] * m + by_mean_std[:, None] * s
        by_std_gradient = by_mean_std[:, None] * m + by_std_std[:, None] * s
        hessian = (
            by_mean[:, None, None] * derivatives.mean_hessian
            + by_std[:, None, None] * derivatives.std_hessian
            + by_mean_gradient[:, :, None] * m[:, None, :]
            + by_std_gradient[:, :, None] * s[:, None, :]
        )
    usable = np.isfinite(hessian).all(axis=(1, 2))
    return FunctionValues(
        np.where(usable & np.isfinite(gradient).all(axis=1), -value, np.nan),
        -gradient,
        np.where(usable[:, None, None], -hessian, 0.0),
    )


def negative_acquisition(
    acquisition: SecondOrderAcquisition, derivatives: PredictionDerivatives, best: float
) -> FunctionValues:
    """Minus an acquisition function with its derivatives by the coordinates, to be minimised."""
    with np.errstate(invalid="ignore", over="ignore"):
        first, second = acquisition.to_second_order(Prediction(derivatives.mean, derivatives.std), best)
    return chain_rule(derivatives, first, second)


def maximize_acquisition(
    acquisition: SecondOrderAcquisition,
    predict: Callable[[Matrix], PredictionDerivatives],
    best: float,
    starts: Matrix,
    low: Vector | Matrix,
    high: Vector | Matrix,
    *,
    tolerance: Tolerance,
    max_steps: int = 30,
) -> tuple[Matrix, Vector]:
    """Local maxima of an acquisition function on a box, by Newton's method from each of the starts (k, d).

    Args:
        acquisition: The function.
        predict: The model's predictions with derivatives at points.
        best: The value to improve on.
        starts: Starting points.
        low: Lower bounds of the box, (d,), or of one box for each start, (k, d).
        high: Upper bounds, likewise.
        tolerance: When to stop.
        max_steps: Maximum number of steps.

    Returns:
        The maxima, (k, d), and the values there, (k,); NaN where the model gave none.

    Examples:
        >>> from dale.acquisition import LogExpectedImprovement
        >>> from dale.models import GaussianProcess
        >>> from dale.models.kernels import SquaredExponential
        >>> model = GaussianProcess.fit(SquaredExponential(0.3), np.array([[0.2], [0.8]]), np.array([1.0, 1.0]))
        >>> x, _ = maximize_acquisition(LogExpectedImprovement(), model.derivatives, 1.0, np.array([[0.4]]),
        ...                             np.zeros(1), np.ones(1), tolerance=Tolerance(gtol=1e-9, ftol=1e-12))
        >>> x.round(3)
        array([[0.5]])
    """

    def fun(A: Matrix) -> FunctionValues:
        return negative_acquisition(acquisition, predict(A), best)

    maxima, losses = minimize_on_box(fun, starts, low, high, tolerance=tolerance, max_steps=max_steps)
    return maxima, -losses


def standardized_gain(gain: Vector, std: Vector) -> tuple[np.ndarray, Vector, Vector]:
    """Where the outcome is certain, the std without zeros, and u = gain / std, clipped so that its square is finite.

    Where gain / std would overflow, the std is negligible and the outcome counts as certain.
    """
    with np.errstate(over="ignore"):
        certain = (std <= 0) | (gain > MAX_STANDARDIZED_GAIN * std)
        positive_std = np.where(certain, 1.0, std)
        u = np.clip(gain / positive_std, -MAX_STANDARDIZED_GAIN, MAX_STANDARDIZED_GAIN)
        return certain, positive_std, u
